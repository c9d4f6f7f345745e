"""The record travels as text, proves itself, and an edited one is refused."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from inbounds.privacy.certificate import CertificateError, _digest, verify
from inbounds.record import RecordError
from tests.records import body_of, record_with
from tests.release.cases import every_call, table

CALLS = every_call()


@pytest.mark.parametrize("name", CALLS)
def test_every_release_travels_as_text(name):
    release = CALLS[name](table(210), epsilon=0.7)
    again = ib.Release.from_json(release.to_json())
    assert again == release
    assert again.table.tolist() == release.table.tolist() if release.axes else again.table == release.table
    assert release.epsilon == 0.7
    assert verify(release.certificate.to_dict()).loss <= Fraction(7, 10)
    assert release.certificate.loss > Fraction(699, 1000)
    assert release.neighbours == ("add-remove" if "add-remove" in name else "substitute")
    assert release.bounding == ("truncated" if "truncated" in name else "bit")
    of_persons = any(word in name for word in ("kept", "folded"))
    assert release.unit == ("person" if "persons" in name or of_persons else "record")
    assert release.terms.rows == (None if "add-remove" in name else 70 if of_persons else 210)
    # Of how many records it is, is secret in a selection, and where several rows of each person are kept.
    assert release.rows == (None if any(word in name for word in ("where", "skipping", "kept")) else release.terms.rows)
    assert hash(release) == hash(again)
    assert release.statistic.name.replace("_", " ") in str(release).lower().replace("_", " ")


@pytest.fixture
def record():
    return body_of(ib.mean(table(210), "income", bounds=(0, 200), epsilon=1, method="direct"))


@pytest.mark.parametrize(
    "edit",
    [
        {"value": 3.0},
        {"noisy": ["3"]},
        {"noisy": ["1/3"]},
        {"noisy": ["300"]},
        {"noisy": []},
        {"noisy": "3"},
        {"units": ["2"]},
        {"bounds": [["0", "1"]]},
        {"bounds": [["0"]]},
        {"statistic": "median"},
        {"method": "guess"},
        {"method": "root of a released variance"},
        {"axes": [["a"]]},
        {"axes": [["a", "b"]]},
        {"columns": [{"name": "x"}]},
        {"rows": "many"},
        {"contributions": 2.5},
        {"more": 1},
        {"format": "inbounds-release/2"},
        {"certificate": {}},
        {"notes": [1]},
        {"unit": "household"},
    ],
)
def test_an_edited_record_is_refused(record, edit):
    assert ib.Release.from_json(record_with(record)).statistic.name == "mean"
    with pytest.raises((RecordError, CertificateError)):
        ib.Release.from_json(record_with(record | edit))
    (name,) = edit
    if name in record:
        with pytest.raises((RecordError, CertificateError)):
            ib.Release.from_json(record_with({key: value for key, value in record.items() if key != name}))


@pytest.mark.parametrize("text", ["", "[]", "3", "{}", "null", '{"format": "inbounds-release/1"}', "[" * 100_000])
def test_what_is_no_record(text):
    with pytest.raises(RecordError):
        ib.Release.from_json(text)


def _resigned(record, **certificate):
    """The record with an edited certificate whose digest fits."""
    body = {k: v for k, v in (record["certificate"] | certificate).items() if k != "digest"}
    return record | {"certificate": body | {"digest": _digest(body)}}


def _wider(record, upper):
    return record | {"columns": [record["columns"][0] | {"upper": upper}]}


def test_a_record_that_claims_more_than_was_certified_is_refused(record):
    """Arithmetic of the certificate holds in all of them; it is for another statistic than the record's."""
    falsehoods = [
        record | {"contributions": 50, "unit": "person"},
        record | {"rows": 2},
        record | {"columns": []},
        _wider(record, "1000"),
        record | {"statistic": "sum"},
        _resigned(record, neighbours="add-remove") | {"rows": None},
        _resigned(record, neighbours="add-remove") | {"rows": None, "denominator": 50},
    ]
    for false in falsehoods:
        with pytest.raises((RecordError, CertificateError)):
            ib.Release.from_json(record_with(false))
    # A hundredth of the sensitivity for a hundredth of ε: the same noise, and a certificate that is true in itself.
    part = record["certificate"]
    move = -(-part["move"] // 100)
    small = _resigned(
        record,
        sensitivity=str(Fraction(part["sensitivity"]) / 100),
        move=move,
        epsilon="1/50",
        loss=str(Fraction(move * part["divisor"], 1 << part["exponent"])),
    )
    assert verify(small["certificate"]).epsilon == Fraction(1, 50)
    with pytest.raises(RecordError, match="'certificate' does not follow"):
        ib.Release.from_json(record_with(small))


def test_tables_and_matrices_count_every_change():
    t = table(210)
    histogram = body_of(ib.histogram(t, "region", levels=["n", "s", "e", "w"], epsilon=1, repair="none"))
    half = _resigned(histogram, draws=1, epsilon="1/2", loss=str(Fraction(histogram["certificate"]["loss"]) / 2))
    assert verify(half["certificate"]).draws == 1
    with pytest.raises(RecordError, match="does not follow"):
        ib.Release.from_json(record_with(half))
    bounds = {"age": (0, 100), "weight": (20, 140)}
    matrix = body_of(ib.covariance(t, bounds=bounds, epsilon=1))
    for lie in ({"units": [str(Fraction(u) / 2) for u in matrix["units"]]}, {"rows": 100}):
        with pytest.raises(RecordError):
            ib.Release.from_json(record_with(matrix | lie))
    split = body_of(ib.covariance(t, bounds=bounds, epsilon=1, method="split"))
    with pytest.raises(RecordError):
        ib.Release.from_json(record_with(split | {"rows": 100}))
    keywords = {"bounds": bounds, "by": "group", "levels": ["a", "b"], "epsilon": 1}
    counts = {g: int((t["group"] == g).sum()) for g in "ab"}
    pooled = ib.pooled_covariance(t, sizes=counts, **keywords)
    assert pooled.columns[-1].sizes == tuple(counts.values())
    assert ib.Release.from_json(pooled.to_json()) == pooled
    (note,) = pooled.notes
    assert "not for one that changes its group" in note
    assert note in " ".join(str(pooled).split())
    with pytest.raises(RecordError, match="'notes' does not follow"):
        ib.Release.from_json(record_with(body_of(pooled) | {"notes": []}))
    assert ib.pooled_covariance(t, **keywords).notes == ()
    secret = body_of(pooled)
    secret["columns"][-1]["sizes"] = []
    with pytest.raises(RecordError, match="does not follow"):
        ib.Release.from_json(record_with(secret))
    secret["columns"][-1]["sizes"] = [1, 1]
    with pytest.raises(RecordError, match="does not follow"):
        ib.Release.from_json(record_with(secret))
    grouped = body_of(ib.mean(t, "age", bounds=(0, 100), by="group", levels=["a", "b"], epsilon=1))
    once = _resigned(grouped, draws=1, epsilon="1/2", loss=str(Fraction(grouped["certificate"]["loss"]) / 2))
    with pytest.raises(RecordError):
        ib.Release.from_json(record_with(once))


def test_names_that_come_twice(record):
    text = record_with(record)
    twice = text.replace('"value": ', '"value": 12345, "value": ')
    assert twice != text
    with pytest.raises(RecordError, match="has a field twice"):
        ib.Release.from_json(twice)


def test_the_certificate_must_be_for_the_statistic(record):
    other = body_of(ib.sum(table(210), "income", bounds=(0, 200), epsilon=1))
    with pytest.raises(RecordError, match="'certificate' does not follow"):
        ib.Release.from_json(record_with(record | {"certificate": other["certificate"]}))


def test_a_release_shows_what_was_done():
    release = ib.mean(
        {"age": [30.5, None, 70.0]},
        "age",
        bounds=(0, 100),
        missing=40,
        epsilon=1,
        bounding="truncated",
        contributions=2,
    )
    (rule,) = release.columns
    assert (rule.name, rule.lower, rule.upper, rule.missing, rule.other) == ("age", 0, 100, "40", None)
    assert rule.step == Fraction(100, 100 * 2**6)
    assert (release.unit, release.contributions) == ("person", 2)
    assert release.mechanism.bounding == "truncated"
    histogram = ib.histogram(["a", None], levels=["a", "b"], missing="b", epsilon=1)
    assert histogram.columns[0].cells == ("a", "b")
    assert histogram.columns[0].missing == "b"
    assert histogram.axes == (("a", "b"),)
    assert histogram.value.dtype == int
    with pytest.raises(ValueError, match="no single law"):
        _ = histogram.mechanism
    assert isinstance(ib.count(["a"], level="a", epsilon=1).value, int)


def test_records_hold_nothing_but_public_numbers():
    """Two tables that differ in every record make records that differ in their noisy numbers alone."""
    made = [ib.mean([x] * 100, bounds=(0, 1), epsilon=1) for x in (0.123456, 0.654321)]
    texts = [body_of(release) for release in made]
    for text in texts:
        assert "123456" not in json.dumps(text)
        del text["noisy"], text["value"]
    assert texts[0] == texts[1]
    assert "123456" not in repr(made[0])


@pytest.mark.parametrize("noisy", ["1/3", "201", "-1"])
def test_noisy_numbers_lie_on_the_certified_grid(record, noisy):
    """Even where the value was edited to fit: it is clipped to the bounds, so the second and third would look right."""
    value = min(max(float(Fraction(noisy)), 0.0), 200.0)
    with pytest.raises(RecordError, match="not on the grid"):
        ib.Release.from_json(record_with(record | {"noisy": [noisy], "value": value}))


def test_large_records_travel_in_pieces():
    """What is the same for all cells is written once, and counted when it is read."""
    levels = list(range(300))
    for release in (
        ib.histogram([5] * 1000, levels=levels, epsilon=1),
        ib.proportions([5] * 1000, levels=levels, epsilon=1),
        ib.crosstab({"a": [1, 2], "b": [1, 1]}, levels={"a": levels[:20], "b": levels[:12]}, epsilon=1),
        ib.mean({"x": [1.0], "g": [5]}, "x", bounds=(0, 2), by="g", levels=levels, epsilon=1),
    ):
        record = body_of(release)
        assert record["bounds"].keys() == {"all", "count"}
        assert ib.Release.from_json(release.to_json()) == release
        assert release.table.tolist() == record["value"]
        for lie in ({"count": 7}, {"count": 10**12}, {"count": -300}, {"all": ["0", "1/3"]}):
            if release.statistic.name == "mean" and "all" in lie:
                continue
            with pytest.raises(RecordError):
                ib.Release.from_json(record_with(record | {"bounds": record["bounds"] | lie}))
    # Lists of their own for few numbers: such a record is read by people.
    few = body_of(ib.histogram([5], levels=[5, 6], epsilon=1))
    assert few["units"] == ["1", "1"]


FINER = {
    "counts": lambda: ib.histogram(list("aab"), levels=list("ab"), epsilon=1, neighbours="add-remove"),
    "counts that add up": lambda: ib.histogram(list("aab"), levels=list("ab"), epsilon=1, repair="project"),
    "shares": lambda: ib.proportions(list("aab"), levels=list("ab"), epsilon=1),
    "shares of noisy counts": lambda: ib.proportions(
        list("aab"), levels=list("ab"), epsilon=1, neighbours="add-remove"
    ),
    "noisy sums": lambda: ib.mean([0.5, 1.0], bounds=(0, 1), epsilon=1, neighbours="add-remove"),
}


@pytest.mark.parametrize("kind", FINER)
def test_numbers_in_a_finer_unit_than_was_paid_for(kind):
    """A thousand times the number in a thousandth of the unit: the same value, and a thousand times the loss."""
    made = FINER[kind]()
    finer = {"noisy": tuple(1000 * x for x in made.noisy), "units": tuple(unit / 1000 for unit in made.units)}
    forged = replace(made, **finer)
    assert np.allclose(forged.value, made.value)
    with pytest.raises(RecordError):
        ib.Release.from_json(forged.to_json())


def test_last_digits_may_be_rounded_elsewhere():
    """Eigenvalues differ in their last digits from processor to processor; more than that is an edit."""
    t = table(210)
    bounds = {"age": (0, 100), "weight": (20, 140), "income": (0, 200)}
    made = ib.covariance(t, bounds=bounds, epsilon=100)
    record = body_of(made)
    for factor, accepted in ((1 + 1e-10, True), (1 + 1e-8, False)):
        other = record | {"value": (factor * np.array(record["value"])).tolist()}
        if accepted:
            assert ib.Release.from_json(record_with(other)) == made
        else:
            with pytest.raises(RecordError, match="'value' does not follow"):
                ib.Release.from_json(record_with(other))
    for value in ("x", [[1]], record["value"][:2], [["x"] * 3] * 3, [[True] * 3] * 3, None):
        with pytest.raises(RecordError, match="'value' does not follow"):
            ib.Release.from_json(record_with(record | {"value": value}))
    single = body_of(ib.mean(t, "age", bounds=(0, 100), epsilon=1, method="direct"))
    with pytest.raises(RecordError, match="'value' does not follow"):
        ib.Release.from_json(record_with(single | {"value": single["value"] * (1 + 1e-12) + 1e-12}))
