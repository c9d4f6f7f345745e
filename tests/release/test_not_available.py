"""Correlations next to a released variance of 0: not available, wherever they are shown, and never a 0 or a NaN."""

import csv
import io
import json
import math
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from inbounds.record import Releases
from inbounds.report.html import to_html
from inbounds.report.markdown import to_markdown
from inbounds.report.rows import collect_sections, to_csv
from tests.records import body_of, record_with

BOUNDS = {"a": (0, 1), "b": (0, 1), "c": (0, 1)}


def made(zero=("a",), **keywords):
    """A correlation whose variances of some columns came out at 0, or below."""
    rng = np.random.default_rng(2)
    data = {name: rng.random(500) for name in BOUNDS}
    data["c"] = (data["b"] + data["c"]) / 2
    drawn = ib.correlation(data, bounds=BOUNDS, epsilon=5, **(keywords or {"method": "elements"}))
    noisy, places = list(drawn.noisy), {"a": 0, "b": 3, "c": 5}
    for name in zero:
        noisy[places[name]] = Fraction(0) if keywords else -abs(noisy[places[name]])
    made = replace(drawn, noisy=tuple(noisy))
    return replace(made, notes=made.own_notes())


@pytest.fixture
def release():
    return made()


def test_what_is_hidden_and_what_is_not(release):
    value = release.value
    assert np.ma.is_masked(value)
    assert value.mask.tolist() == [[False, True, True], [True, False, False], [True, False, False]]
    assert value.tolist()[0] == [1.0, None, None]
    assert np.isnan(value.filled()[0, 1])
    assert release.flat_values()[:3] == (1.0, None, None)
    # The other columns are a correlation matrix of their own.
    assert 0.3 < value[1, 2] == value[2, 1] <= 1
    rest = made(zero=())
    assert not isinstance(rest.value, np.ma.MaskedArray)
    assert rest.notes == ()
    assert rest.unavailable() == []
    assert None not in rest.flat_values()


def test_the_note_says_why_and_what_to_do(release):
    (note,) = release.notes
    assert note.startswith("correlations with a are not available: noise left a variance of 0")
    assert "a larger epsilon, closer bounds or more rows" in note
    assert "a, c are not available" in made(zero=("a", "c")).notes[0]


def test_no_nan_in_text_json_and_tables(release):
    assert "not available" in str(release)
    assert release._repr_html_().count("not available") == 4
    text = release.to_json()
    assert json.loads(text)["releases"][release.title]["value"][0] == [1.0, None, None]
    again = ib.Release.from_json(text)
    assert again == release
    assert again.value.tolist() == release.value.tolist()
    assert release.to_polars()["value"].null_count() == 4
    assert not release.to_polars()["value"].is_nan().any()
    assert int(release.to_pandas()["value"].isna().sum()) == 4
    for shown in (str(release), release._repr_html_(), text, repr(release)):
        assert "nan" not in shown.lower()
    # An array of doubles has no other word; a 0 would be taken for a value.
    assert int(np.isnan(np.asarray(release)).sum()) == 4


def test_a_number_in_place_of_what_is_not_available_is_refused(release):
    body = body_of(release)
    for lie in (0.0, 0, 1e-300, "", False):
        forged = json.loads(json.dumps(body))
        forged["value"][0][1] = lie
        with pytest.raises(ib.errors.RecordError, match="'value' does not follow"):
            ib.Release.from_json(record_with(forged))
    hidden = json.loads(json.dumps(body))
    hidden["value"][1][2] = hidden["value"][2][1] = None
    with pytest.raises(ib.errors.RecordError, match="'value' does not follow"):
        ib.Release.from_json(record_with(hidden))
    with pytest.raises(ib.errors.RecordError, match="'notes' does not follow"):
        ib.Release.from_json(record_with(body | {"notes": []}))


def test_its_error_is_not_told_and_its_interval_is_everything(release):
    error = release.error
    assert error.rmse.mask.tolist() == error.bias.mask.tolist() == release.value.mask.tolist()
    assert "of what is available" in str(error)
    assert 0 < error.rmse[1, 2] < 2
    for kind in ("population", "noise"):
        interval = release.interval(kind=kind, method="normal" if kind == "population" else None)
        assert (interval.lower[0, 1], interval.upper[0, 1]) == (-1, 1)
        assert interval.lower[1, 2] <= release.value[1, 2] <= interval.upper[1, 2]
        assert "nan" not in str(interval)
    other = made(zero=())
    for method in ("mover", "guaranteed"):
        off = ib.inference.difference(release, other, method=method, kind="noise")
        assert np.isfinite(off.lower).all()
        assert off.lower[0, 1] == pytest.approx(
            -1 - other.interval(0.975 if method == "guaranteed" else 0.95, kind="noise").upper[0, 1]
        )


def test_reports_say_so(release):
    releases = Releases({"r": release})
    sections = collect_sections(releases)
    lines = list(csv.DictReader(io.StringIO("".join(to_csv(sections)))))
    assert [line["value"] for line in lines][:3] == ["1.0", "", ""]
    assert lines[1]["note"] == "not available: a released variance is 0"
    assert (lines[1]["rmse"], lines[1]["bias"], lines[0]["note"]) == ("", "", "")
    assert (lines[1]["lower"], lines[1]["upper"]) == ("-1.0", "1.0")
    assert float(lines[5]["value"]) == release.value[1, 2]
    for page in (to_markdown(releases, sections), to_html(releases, sections)):
        assert "not available" in page
        assert "so they say nothing (a, b; a, c)" in page
        assert "nan" not in page.lower().replace("finance", "")
    # A cell for each pair, and a shade for each that has a value.
    cells = re.findall(r'<td class="value (.*?)">(.+?)</td>', to_html(releases, sections))
    assert [(bool(shade), text == "not available") for shade, text in cells] == [(False, True)] * 2 + [(True, False)]


def test_of_all_columns_and_of_sums():
    everything = made(zero=tuple(BOUNDS))
    assert everything.value.compressed().tolist() == [1.0, 1.0, 1.0]
    assert ib.Release.from_json(everything.to_json()) == everything
    # Noise of a truncated variance ends at 0, and a covariance next to it is as it was drawn.
    split = made(method="split", bounding="truncated")
    assert split.value.mask[0].tolist() == [False, True, True]
    small = {"x": [0.5] * 3, "y": [0.0, 0.5, 1.0]}
    for _ in range(50):
        of_sums = ib.correlation(small, bounds={"x": (0, 1), "y": (0, 1)}, epsilon=0.1, neighbours="add-remove")
        again = ib.Release.from_json(of_sums.to_json())
        assert again == of_sums
        assert all(x is None or math.isfinite(x) for x in of_sums.flat_values())
        if of_sums.notes:
            assert of_sums.value.mask.tolist() == [[False, True], [True, False]]
            break
    else:
        pytest.fail("noise a hundred times as large as a variance left none at 0")
    release = ib.covariance(small, bounds={"x": (0, 1), "y": (0, 1)}, epsilon=0.1)
    assert release.unavailable() == []


def test_charts_leave_them_out(release):
    values = [row["value"] for row in release.plot().to_dict()["datasets"].popitem()[1]]
    assert values.count(None) == 4
