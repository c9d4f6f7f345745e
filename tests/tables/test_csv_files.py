"""CSV files: what is one, and that one of its records is one record, against a reader of one byte at a time."""

import gzip
import random

import polars as pl
import pytest

import inbounds as ib
from inbounds.tables import text_files
from inbounds.tables.csv_files import read_header, scan
from inbounds.tables.csv_structure import check_structure
from inbounds.tables.schema import DataError, Levels, Numeric
from inbounds.tables.text_files import File


def parse(content):
    """The records of a file, byte by byte, or None where it is not as RFC 4180 has it."""
    content = content.removeprefix(b"\xef\xbb\xbf")
    records, record, field, state = [], [], b"", "start"
    i = 0
    while i < len(content):
        byte = content[i : i + 1]
        feed = content[i : i + 2] == b"\r\n" and state != "quoted"
        if state == "quoted":
            if byte == b'"':
                state = "closed"
            else:
                field += byte
        elif byte == b'"' and state in ("start", "closed"):
            field += b'"' if state == "closed" else b""
            state = "quoted"
        elif byte == b",":
            record.append(field)
            field, state = b"", "start"
        elif byte == b"\n" or feed:
            records.append([*record, field])
            record, field, state = [], b"", "start"
            i += feed
        elif state == "closed" or byte in b'"\r':
            return None
        else:
            field += byte
            state = "plain"
        i += 1
    if state == "quoted":
        return None
    if record or field or state != "start":
        records.append([*record, field])
    return records if records and len({len(one) for one in records}) == 1 else None


def a_file(tmp_path, content, name="t.csv"):
    path = tmp_path / name
    # A file that is cut off and written again is put on the disk at once.
    path.unlink(missing_ok=True)
    path.write_bytes(content)
    return File(path, f"the file {name!r}")


@pytest.mark.claim("csv-structure")
@pytest.mark.claim("csv")
@pytest.mark.parametrize("block", [1, 2, 3, 7, 1 << 20])
def test_every_short_file_is_read_as_byte_by_byte(tmp_path, monkeypatch, block):
    """Files of the bytes that matter: refused alike, or read alike, wherever blocks end."""
    monkeypatch.setattr(text_files, "BLOCK", block)
    rng, seen = random.Random(block), {True: 0, False: 0}
    for _ in range(1500):
        header = rng.choice([b"a\n", b"a,b\n", b"a,b\r\n", b'"a","b"\n', b'"a\n","b,"\n'])
        content = header + bytes(rng.choices(b',"\n\r1x', weights=[3, 4, 3, 1, 3, 2], k=rng.randrange(14)))
        file, expected = a_file(tmp_path, content), parse(content)
        seen[expected is not None] += 1
        names = read_header(file)
        if expected is None:
            with pytest.raises(DataError, match="not CSV by RFC 4180"):
                check_structure(file, len(names))
            continue
        assert [name.encode() for name in names] == expected[0]
        assert check_structure(file, len(names)) == len(expected) - 1
        column = Levels(names[0], ("1", "x"), other="1", missing="x")
        rows = scan(str(file.path), [column]).select(names).collect().rows()
        assert [tuple((one or "").encode() for one in row) for row in rows] == [tuple(one) for one in expected[1:]]
    assert min(seen.values()) > 200


def test_a_file_is_checked_before_its_values_are_read(tmp_path):
    """Ragged rows, quotes within a field, a lone carriage return: one sentence, and nothing of the file in it."""
    for row in (b"secret", b"secret,1,2", b'sec"ret,1', b'"secret"x,1', b"sec\rret,1", b'"secret,1', b""):
        path = a_file(tmp_path, b"a,b\n1,2\n" + row + b"\n3,4\n").path
        with pytest.raises(DataError, match=r"the file 't\.csv' is not CSV by RFC 4180") as caught:
            scan(str(path), [Numeric.of("a", (0, 1), missing=0)])
        assert "secret" not in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_field_with_line_breaks_is_one_field(tmp_path):
    """A remark of a thousand rows in a column that nobody asks for: as many rows as records."""
    injected = '"' + "\n".join(["1,1"] * 1000) + '"'
    path = a_file(tmp_path, f"a,remark\n{'0,x' + chr(10)}0,{injected}\n0,y\n".encode()).path
    frame = scan(str(path), [Numeric.of("a", (0, 1))])
    assert frame.select(pl.len()).collect().item() == 3
    assert ib.count(frame, epsilon=10**6, neighbours="add-remove").value == 3


def test_headers(tmp_path):
    assert read_header(a_file(tmp_path, b'\xef\xbb\xbf"a,\n1","b ""c"""\r\n1,2')) == ("a,\n1", 'b "c"')
    assert read_header(a_file(tmp_path, b"a")) == ("a",)
    for content, words in (
        (b"", "has no header"),
        (b"\n1\n", "has no header"),
        (b"\xff,a\n", "is not text in UTF-8"),
        (b'"a"b,c\n', "has a quote where none belongs"),
        ("a,b\n1,2\n".encode("utf-16"), 'is in UTF-16; write encoding = "utf-16"'),
    ):
        with pytest.raises(DataError, match=words):
            read_header(a_file(tmp_path, content))
    names = ["a", "b", "b"]
    path = a_file(tmp_path, (",".join(names) + "\n1,2,3\n").encode()).path
    assert scan(str(path), [Numeric.of("a", (0, 9))]).select(pl.len()).collect().item() == 1
    with pytest.raises(DataError, match="two columns of the name 'b'"):
        scan(str(path), [Numeric.of("b", (0, 9))])


def test_files_of_one_table_have_one_header(tmp_path):
    for number, header in enumerate(("a,b", "b,a")):
        (tmp_path / f"{number}.csv").write_text(f"{header}\n1,2\n")
    with pytest.raises(DataError, match="do not have the same columns in the same order"):
        scan(str(tmp_path), [Numeric.of("a", (0, 9))])


def test_compressed_files(tmp_path):
    """By their first bytes, whatever they are called; several members, and what is cut off or packed otherwise."""
    whole = gzip.compress(b"a\n1\n2\n") + gzip.compress(b"3\n")
    column = [Numeric.of("a", (0, 9))]
    for name in ("t.csv", "t.csv.gz"):
        try:
            found = scan(str(a_file(tmp_path, whole, name).path), column).select(pl.len()).collect().item()
        except DataError as error:
            found = 3 if "compressed in a way that is not known" in str(error) else 0
        assert found == 3
    with pytest.raises(DataError, match="cannot be read"):
        scan(str(a_file(tmp_path, whole[:30], "t.csv.gz").path), column)


def test_a_secret_place_shows_no_name(tmp_path, monkeypatch):
    from inbounds.tables.places import open_place

    monkeypatch.setenv("TABLE", str(a_file(tmp_path, b"a\n1,2\n", "ward-7.csv").path))
    with pytest.raises(DataError, match="the file is not CSV") as caught:
        open_place("env:TABLE", [Numeric.of("a", (0, 9))])
    assert "ward" not in str(caught.value)
