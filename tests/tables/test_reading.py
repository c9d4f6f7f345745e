"""Files as they are declared: keys of a format, encodings, names, sheets, and paths in place of tables."""

import zipfile
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import inbounds as ib
from inbounds.plan.template import skeleton
from inbounds.tables import text_files
from inbounds.tables.csv_files import read_header, scan
from inbounds.tables.csv_irregular import find_irregular
from inbounds.tables.csv_structure import check_structure, split_records
from inbounds.tables.engine import tally
from inbounds.tables.formats import Format
from inbounds.tables.places import open_place
from inbounds.tables.request import Request
from inbounds.tables.schema import DataError, Levels, Numeric, quantise_column
from inbounds.tables.sources import read
from inbounds.tables.text_files import File, read_blocks
from tests.app.test_cli import called

CITY = Levels("city", ("Köln", "Bonn"), other="Bonn", missing="Köln")
NUMBER = Numeric.of("x", (0, 100), missing=0)
STEPS = quantise_column(NUMBER, resolution=1 << 12)


def write(folder, content, name="t.csv"):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def total(path, **keys):
    """Rows, and the sum of x in whole numbers."""
    frame = read(open_place(path, [NUMBER], written=Format(**keys)), [NUMBER])
    (cells,) = tally(frame, [Request((), (STEPS,))])
    count, sums, _ = cells[()]
    return count, sums[0] * 100 / STEPS.count


@pytest.mark.claim("encodings")
@pytest.mark.parametrize("block", [1, 2, 3, 5, 1 << 20])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "latin-1", "cp1252"])
def test_bytes_become_utf_8_wherever_blocks_end(tmp_path, monkeypatch, encoding, block):
    monkeypatch.setattr(text_files, "BLOCK", block)
    text = "city,x\nKöln,1\n" + ("" if "1" in encoding[-4:] else "😀,2\n") + '"a\nb",3\n'
    file = File(write(tmp_path, text.encode(encoding)), "the file", Format(encoding=encoding))
    assert b"".join(read_blocks(file)) == text.encode()
    assert read_header(file) == ("city", "x")
    records = b"".join(record for record, _ in split_records(file))
    assert records == text.encode().partition(b"\n")[2]
    assert sum(count for _, count in split_records(file)) == check_structure(file, 2)


@pytest.mark.claim("encodings")
@pytest.mark.parametrize(
    ("encoding", "bad"),
    [("utf-8", b"\xff"), ("utf-16-le", b"\x3d\xd8"), ("utf-16-be", b"\xd8\x3d"), ("cp1252", b"\x81")],
)
def test_bytes_that_are_no_character_move_no_other(tmp_path, encoding, bad):
    """Before a separator, a line break and the end of the file."""
    start, comma, feed = (text.encode(encoding) for text in ("city,x\nBonn", ",1\nK", "\n"))
    content = start + bad + comma + bad + ",2".encode(encoding) + bad + feed + "Köln,3".encode(encoding)
    frame = scan(str(write(tmp_path, content)), [CITY, NUMBER], written=Format(encoding=encoding))
    assert frame.select("city", "x").collect().rows() == [("Bonn\ufffd", "1"), ("K\ufffd", "2\ufffd"), ("Köln", "3")]


def test_encodings_that_are_not_what_they_say(tmp_path):
    for content, encoding, words in (
        ("x\n1\n".encode("utf-16"), "utf-8", 'write encoding = "utf-16" under'),
        ("x\n1\n".encode("utf-16-le"), "utf-16", '"utf-16-le" (Windows) or "utf-16-be"'),
        ("x\n1\n".encode("utf-16") + b"\0", "utf-16", "an odd number of bytes"),
        ("größe\n1\n".encode("latin-1"), "utf-8", 'as in encoding = "latin-1"'),
    ):
        with pytest.raises(DataError) as caught:
            total(write(tmp_path, content), encoding=encoding)
        assert words in str(caught.value)


def test_compressed_files_in_another_encoding(tmp_path):
    import gzip

    path = write(tmp_path, gzip.compress("stadt;x\nKöln;1,5\n".encode("latin-1")), "t.csv.gz")
    assert total(path, encoding="latin-1", separator=";", decimal=",") == (1, 1.5)
    many = "stadt;x\n" + "Köln;1,5\n" * 300_000
    packed = pa.compress(many.encode("utf-16"), codec="zstd", asbytes=True)
    found = total(write(tmp_path, packed, "t.csv.zst"), encoding="utf-16", separator=";", decimal=",")
    assert found == (300_000, 450_000)
    with pytest.raises(DataError, match="cannot be read"):
        total(write(tmp_path, path.read_bytes()[:-9], "cut.csv.gz"), encoding="latin-1")
    broken = bytearray(path.read_bytes())
    broken[14] ^= 0xFF
    with pytest.raises(DataError, match=r"cannot be read|no column|not CSV"):
        total(write(tmp_path, bytes(broken), "broken.csv.gz"), encoding="latin-1")


def test_numbers_and_missing_values_as_declared(tmp_path):
    path = write(tmp_path, 'x\n"1,5"\n2.5\nNA\n"NA"\n-\n\n')
    # A decimal comma within quotes is no number where a point is declared.
    assert total(path) == (6, 2.5)
    assert total(path, null_values=("NA", "-")) == (6, 2.5)
    path = write(tmp_path, "x;y\n1,5;\n1.000;\n1.5;\n12%;\n1 000;\n50 €;\n")
    assert total(path, separator=";", decimal=",") == (6, 1.5)
    assert total(path, separator=";", decimal=",", thousands=".") == (6, 101.5)
    assert total(path, separator=";", decimal=",", thousands=" ") == (6, 101.5)
    city = Levels("city", ("NA", "Bonn"), missing="Bonn", other="Bonn")
    for keys, expected in (({}, {(0,): 1, (1,): 1}), ({"null_values": ("NA",)}, {(1,): 2})):
        table = open_place(write(tmp_path, "city\nNA\nBonn\n"), [city], written=Format(**keys))
        (cells,) = tally(read(table, [city]), [Request((city,))])
        assert {place: cell[0] for place, cell in cells.items()} == expected


def test_lines_above_the_header_and_files_without_one(tmp_path):
    path = write(tmp_path, 'Survey "2026\n\nx,y\n1,2\n3,4\n')
    assert total(path, skip_lines=2) == (2, 4)
    column = Numeric.of("column_2", (0, 100))
    frame = scan(str(write(tmp_path, "x^2,2\n3,4\n")), [column], written=Format(header=False))
    assert frame.select("column_1", "column_2").collect().rows() == [("x^2", "2"), ("3", "4")]
    assert frame.head(1).collect().height == 1
    assert frame.filter(pl.col("column_2") == "4").select(pl.len()).collect().item() == 1
    with pytest.raises(DataError, match="has no records"):
        scan(str(write(tmp_path, "")), [column], written=Format(header=False))
    with pytest.raises(DataError, match="has no header"):
        total(path, skip_lines=9)


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path):
    path = write(tmp_path, "1\n2\n")
    column = Numeric.of("column_1", (0, 9))
    frame = read(scan(str(path), [column], written=Format(header=False)), [column])
    path.write_text("1\n2\n3\n")
    with pytest.raises(DataError):
        tally(frame, [Request((), (quantise_column(column, resolution=1 << 12),))])


def test_all_records_are_counted_by_a_checked_structure(tmp_path):
    """A count of all rows reads no column, and is of records all the same."""
    path = write(tmp_path, 'a,b\n1,"2\n3"\n4,5\n')
    assert ib.count(path, epsilon=10**6, neighbours="add-remove").value == 2
    with pytest.raises(DataError, match="more or fewer fields"):
        ib.count(write(tmp_path, "a,b\n1\n"), epsilon=1, neighbours="add-remove")


@pytest.mark.parametrize(
    ("keys", "word"),
    [
        ({"separator": ""}, "separator must be one character"),
        ({"separator": "||"}, "separator must be one character"),
        ({"separator": "a"}, "separator must be a character of ASCII"),
        ({"separator": "§"}, "separator must be a character of ASCII"),
        ({"quote": "''"}, "quote must be one character"),
        ({"quote": ","}, "quote must be another character than separator"),
        ({"decimal": ","}, "decimal must be another character than separator, got ',' for both; .*separator = \";\""),
        ({"decimal": ";"}, "decimal must be one of"),
        ({"thousands": "x"}, "thousands must be one of"),
        ({"thousands": "."}, "thousands must be another character than decimal"),
        ({"encoding": "ebcdic"}, "encoding must be one of 'utf-8'"),
        ({"encoding": "utf-7"}, "encoding must be one of 'utf-8'"),
        ({"encoding": 8}, "encoding must be one of 'utf-8'"),
        ({"null_values": "NA"}, "null_values must be a list of texts"),
        ({"null_values": (1,)}, "null_values must be a list of texts"),
        ({"header": 1}, "header must be true or false"),
        ({"skip_lines": -1}, "skip_lines must be >= 0"),
        ({"skip_lines": 10**6}, "skip_lines must be at most"),
        ({"sheet": ""}, "sheet must be the name of a sheet"),
    ],
)
def test_formats_that_make_no_sense(keys, word):
    with pytest.raises((ValueError, TypeError), match=f"^{word}"):
        Format(**keys)


def test_keys_belong_to_their_files(tmp_path):
    pl.DataFrame({"x": [1.0]}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="separator belongs to a CSV file, and the source is a Parquet file"):
        total(tmp_path / "t.parquet", separator=";")
    with pytest.raises(ValueError, match="sheet belongs to an Excel file, and the source is a CSV file"):
        total(write(tmp_path, "x\n1\n"), sheet="one")


def test_tables_of_databases_are_listed(tmp_path):
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("create table visits as select 1 as x; create schema old; create table old.visits (x int)")
    for source in (tmp_path / "t.duckdb", str(tmp_path / "t.duckdb")):
        with pytest.raises(
            ValueError, match=r"needs table=.* under \[data\] of a plan.*; it has 'old.visits', 'visits'"
        ):
            ib.mean(source, "x", bounds=(0, 1), epsilon=1)


def test_a_path_in_place_of_a_table(tmp_path):
    path = write(tmp_path, "x\n1\n2\n3\n")
    pl.DataFrame({"x": [1.0, 2.0, 3.0]}).write_parquet(tmp_path / "t.parquet")
    for source in (path, str(path), tmp_path / "t.parquet", f"file://{path}"):
        assert abs(ib.mean(source, "x", bounds=(0, 10), epsilon=10**6).value - 2) < 0.01
    # A list of texts is data, also where one of them is a path.
    assert ib.count([str(path), "a"], level="a", epsilon=10**6).value == 1
    with pytest.raises(TypeError, match="column must be given for a table"):
        ib.mean(path, bounds=(0, 10), epsilon=1)
    with pytest.raises(DataError, match="there is no file"):
        ib.mean(tmp_path / "none.csv", "x", bounds=(0, 10), epsilon=1)
    with pytest.raises(DataError, match="the table has no rows"):
        ib.mean(write(tmp_path, "x\n", "empty.csv"), "x", bounds=(0, 10), epsilon=1)
    plan = ib.Plan.of(
        {
            "data": {"rows": 2, "separator": ";", "decimal": ","},
            "budget": {"epsilon": 10**6},
            "columns": {"x": {"bounds": [0, 10]}},
            "release": [{"name": "x", "statistic": "mean", "columns": ["x"]}],
        }
    )
    # As the plan says that files are written.
    assert abs(ib.release(plan, data=write(tmp_path, "y;x\n0;1,5\n0;2,5\n"))["x"].value - 2) < 0.01


def test_the_skeleton_of_a_plan_has_the_keys(tmp_path, monkeypatch, capsys):
    path = write(tmp_path, "größe\tx\n1\t2\n".encode("utf-16"), "t.tsv")
    status, _, err = called(monkeypatch, capsys, "plan", "init", path, "--out", "-")
    assert status == 2
    assert 'encoding = "utf-16"' in err
    status, _, err = called(monkeypatch, capsys, "plan", "init", path, "--out", "-", "--encoding", "utf-16")
    assert status == 2
    assert "--separator" in err
    words = ["--encoding", "utf-16", "--separator", "\\t"]
    status, said, _ = called(monkeypatch, capsys, "plan", "init", path, "--out", "-", *words)
    assert status == 0
    assert 'separator = "\\t"\nencoding = "utf-16"\n' in said
    assert '# "größe" = { bounds = [LOWER, UPPER] }   # number' in said
    keys = Format(null_values=("NA", "-"), header=False, skip_lines=1)
    text = skeleton(str(write(tmp_path, "title\na,b\n")), written=keys)
    assert 'null_values = ["NA", "-"]\nheader = false\nskip_lines = 1\n' in text
    assert "# column_2 = " in text


def test_where_a_file_is_not_of_its_form(tmp_path):
    """For the curator: how many rows, and the lines that the first of them begin in."""
    content = 'a;b\n1;2\n1\n"x\ny";2\n1;2;3\n"x"y;1\nx"y"z;1\n1\r2;1\n1;2\n;"open\n1;2\n'
    file = File(write(tmp_path, content), "the file", Format(separator=";"))
    with pytest.raises(DataError, match="not CSV as it is declared"):
        check_structure(file, 2)
    found = find_irregular(file, 2)
    assert found.lines == (3, 6, 7, 8, 9)
    assert (found.count, found.records) == (6, 9)
    assert len(found.rules) == 5
    fine = File(write(tmp_path, "a\n1\n2"), "the file")
    assert (find_irregular(fine, 1).count, find_irregular(fine, 1).records) == (0, 2)


# Excel

CELLS = {str: '<c r="{0}" t="inlineStr"><is><t>{1}</t></is></c>', bool: '<c r="{0}" t="b"><v>{1:d}</v></c>'}


def workbook(folder, sheets, name="t.xlsx"):
    """A minimal Excel file: by sheet, rows of cells."""
    head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    types = "http://schemas.openxmlformats.org/package/2006"
    rels = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    count = range(1, len(sheets) + 1)
    files = {
        "[Content_Types].xml": f'<Types xmlns="{types}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
        + "".join(f'<Override PartName="/xl/s{i}.xml" ContentType="{kind}.worksheet+xml"/>' for i in count)
        + "</Types>",
        "_rels/.rels": f'<Relationships xmlns="{types}/relationships"><Relationship Id="r" '
        f'Type="{rels}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{rels}"><sheets>'
        + "".join(f'<sheet name="{n}" sheetId="{i}" r:id="r{i}"/>' for i, n in zip(count, sheets, strict=True))
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{types}/relationships">'
        + "".join(f'<Relationship Id="r{i}" Type="{rels}/worksheet" Target="s{i}.xml"/>' for i in count)
        + "</Relationships>",
    }
    for i, rows in zip(count, sheets.values(), strict=True):
        lines = "".join(f'<row r="{j}">{"".join(_cells(j, row))}</row>' for j, row in enumerate(rows, 1))
        files[f"xl/s{i}.xml"] = f'<worksheet xmlns="{main}"><sheetData>{lines}</sheetData></worksheet>'
    with zipfile.ZipFile(folder / name, "w") as book:
        for path, content in files.items():
            book.writestr(path, head + content)
    return folder / name


def _cells(number, row):
    for letter, value in zip("ABCDEF", row, strict=False):
        if value is not None:
            yield CELLS.get(type(value), '<c r="{0}"><v>{1}</v></c>').format(f"{letter}{number}", value)


@pytest.fixture
def excel():
    pytest.importorskip("python_calamine", reason="SKIPPED LOUDLY: no python-calamine; `make lock` has it")
    return workbook


@pytest.mark.claim("excel")
def test_a_sheet_is_read_cell_by_cell(tmp_path, excel):
    """As lists of the same objects are; blank rows are no records, wherever they stand."""
    rows = [[1, "Köln"], ["2", None], [None, None], [True, "Bonn"], ["NA", "Paris"], [1e9, 7], [None, None]]
    path = excel(tmp_path, {"one": [["x", "city"], *rows]})
    kept = [row for row in rows if row != [None, None]]
    lists = {"x": [row[0] for row in kept], "city": [row[1] for row in kept]}
    requests = [Request((CITY,)), Request((), (STEPS,))]
    columns = [CITY, NUMBER]
    assert tally(read(open_place(path, columns), columns), requests)[1] == tally(read(lists, columns), requests)[1]
    found = [dict(cells.items()) for cells in tally(read(open_place(path, columns), columns), requests)]
    assert found == [dict(cells.items()) for cells in tally(read(lists, columns), requests)]
    assert total(path) == total(path, null_values=("NA",)) == (5, 104.0)
    assert total(path, null_values=("2",)) == (5, 102.0)


@pytest.mark.claim("excel")
def test_sheets_that_cannot_be_read(tmp_path, excel):
    several = excel(tmp_path, {"one": [["x"], [1]], "two": [["title"], ["x"], [5]]})
    assert total(several, sheet="one") == (1, 1.0)
    assert total(several, sheet="two", skip_lines=1) == (1, 5.0)
    cases = [
        (several, {}, r"several sheets: 'one', 'two'; name one, as in sheet = ... under \[data\]"),
        (several, {"sheet": "three"}, "has no sheet 'three'; it has 'one', 'two'"),
        (several, {"sheet": "two"}, "no column 'x'"),
        (write(tmp_path, "x\n1\n", "no.xlsx"), {}, "it is no Excel file"),
        (excel(tmp_path, {"one": []}, "e.xlsx"), {}, "has no header"),
        (excel(tmp_path, {"one": [["x"], [1, 2]]}, "r.xlsx"), {}, "to the right of its last column that has a name"),
        (excel(tmp_path, {"one": [["x", "x"], [1, 2]]}, "d.xlsx"), {}, "two columns of the name 'x'"),
    ]
    for path, keys, words in cases:
        with pytest.raises(DataError, match=words):
            total(path, **keys)
    nameless = Numeric.of("column_1", (0, 9))
    frame = open_place(excel(tmp_path, {"one": [[1], [2]]}, "n.xlsx"), [nameless], written=Format(header=False))
    assert len(frame) == 2
    with pytest.raises(ValueError, match="an Excel file is read by one reader"):
        open_place(several, [NUMBER], engine="duckdb")
    assert read(open_place(several, None, written=Format(sheet="one")), []).columns == ["x"]
    assert isinstance(several, Path)
