"""Files as people have them: read as an independent reader reads them, or refused by both, and then free of charge."""

from dataclasses import replace

import pytest

import inbounds as ib
from inbounds.tables import csv_structure
from inbounds.tables.formats import Format
from inbounds.tables.schema import DataError
from tests.tables import dirty

# Of the files that `python -m tests.tables.dirty` compares, those that the suite takes time for.
SHARE = range(0, 490, 8)


@pytest.mark.claim("numerals")
@pytest.mark.claim("null-values")
@pytest.mark.claim("encodings")
def test_dirty_files_are_read_alike_or_refused_by_both(tmp_path):
    kinds = [dirty.compare(number, tmp_path, engines=number % 5 == 0) for number in SHARE]
    assert [fault for _, faults in kinds for fault in faults] == []
    assert {kind for kind, _ in kinds} == {"read", "refused"}
    assert sum(kind == "read" for kind, _ in kinds) >= 30


def test_every_key_and_every_defect_is_tried():
    """The files differ in what they should differ in, and are the same every time."""
    files = [dirty.make_file(number) for number in range(490)]
    assert files[7] == dirty.make_file(7)
    assert {file.defect for file in files} == {None, *dirty.DEFECTS}
    pairs = {(file.keys["encoding"], file.keys["separator"]) for file in files}
    assert len(pairs) == 35
    for key, least in (("quote", 3), ("decimal", 2), ("thousands", 5), ("null_values", 5), ("header", 2)):
        assert len({file.keys[key] for file in files}) >= least, key


@pytest.mark.parametrize("key", ["decimal", "null_values", "encoding"])
def test_the_comparison_sees_a_reader_that_is_wrong(tmp_path, monkeypatch, key):
    """The control: a key that the reader does not hear of."""
    heard = dirty.Dirty.written.fget
    default = getattr(Format(), key)
    monkeypatch.setattr(dirty.Dirty, "written", property(lambda file: _without(heard(file), key, default)))
    assert [fault for number in range(0, 60, 2) for fault in dirty.compare(number, tmp_path, engines=False)[1]]


def _without(written, key, default):
    return replace(written, **{key: default, "thousands": None})


def test_the_comparison_sees_a_structure_that_is_not_checked(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_structure, "_require", lambda *_: None)
    broken = [number for number in range(200) if dirty.make_file(number).defect in ("stray quote", "fields")]
    assert any(_compare(number, tmp_path) for number in broken[:12])


def _compare(number, folder):
    try:
        return dirty.compare(number, folder, engines=False)[1]
    except DataError:
        # Read by no rule, an engine fails over it in the middle of a count.
        return ["failed"]


def test_a_file_that_structure_refuses_costs_nothing(tmp_path):
    """Whatever the defect: the ledger has not heard of it."""
    seen = set()
    for number in range(490):
        file = dirty.make_file(number)
        if file.defect in seen or file.defect is None or not file.keys["header"]:
            continue
        path = tmp_path / f"{number}.csv"
        path.write_bytes(file.content)
        if dirty.read_independently(file) is not None:
            continue
        seen.add(file.defect)
        data = {key: value for key, value in file.keys.items() if value is not None}
        plan = ib.Plan.of(
            {
                "data": {"source": str(path), "rows": 5} | data | {"null_values": list(data["null_values"])},
                "budget": {"epsilon": 1, "ledger": str(tmp_path / "ledger")},
                "columns": {"amount": {"bounds": [0, 1000], "missing": 7}},
                "release": [{"name": "amount", "statistic": "mean", "columns": ["amount"]}],
            }
        )
        with pytest.raises(DataError, match="nothing was spent") as caught:
            ib.release(plan)
        assert "\n" not in str(caught.value)
        assert not (tmp_path / "ledger").exists()
        made = ib.check(plan)
        assert not made.passes
        assert made.inspection.irregular[0][1].count >= 1
    assert len(seen) >= 6
