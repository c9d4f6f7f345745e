"""How numbers are rounded and judged: one rule each, tried on many numbers, and on some whose verdict is clear."""

import math
import re

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import inbounds as ib
from inbounds._estimates import QUALITY_RULE, Estimate, find_places, write_rounded
from inbounds.record.possible import list_possible
from inbounds.report.rows import collect_sections

SIZES = st.one_of(st.floats(1e-9, 1e12), st.floats(1e-25, 1e25))
VALUES = st.one_of(st.floats(-1e9, 1e9), st.floats(-1, 1), st.floats(-1e-9, 1e-9), st.floats(-1e24, 1e24))


@given(SIZES)
def test_an_error_keeps_one_or_two_digits(error):
    shown = float(write_rounded(error, find_places(error)).replace(",", ""))
    assert abs(shown - error) <= 0.17 * error
    digits = re.sub(r"e.*|[^0-9]", "", f"{shown:.9e}").rstrip("0")
    assert 1 <= len(digits) <= 2
    assert len(digits) == 1 or digits[0] in "12"


@given(VALUES, SIZES)
@settings(max_examples=300)
def test_a_rounded_number_differs_by_less_than_its_error(value, error):
    shown = float(write_rounded(value, find_places(error)).replace(",", ""))
    # Smaller distances are lost in floating point.
    assert abs(shown - value) <= 0.51 * 10.0 ** -find_places(error) * (1 + 1e-9) + 1e-14 * abs(value)
    assert abs(shown - value) <= error / 5 + 1e-12 * abs(value)


@given(VALUES, SIZES, SIZES)
@settings(max_examples=300)
def test_rounded_limits_still_cover(value, below, above):
    # Smaller distances are lost in floating point.
    assume(min(below, above) > 1e-9 * abs(value))
    estimate = Estimate(value, value - below, value + above)
    lower, upper = (float(end.replace(",", "")) for end in estimate.write_ends())
    slack = 1e-6 * (below + above) + 1e-9 * abs(value)
    assert lower <= estimate.lower + slack
    assert upper >= estimate.upper - slack
    # And they add no more than a digit's worth on each side.
    unit = 10.0 ** -find_places(estimate.margin if estimate.is_even else (below + above) / 2)
    assert upper - lower <= below + above + 2.001 * unit + slack


@pytest.mark.parametrize(
    ("value", "lower", "upper", "percent", "text"),
    [
        (0.21345, 0.2074, 0.2196, True, "21.3 % ± 0.6"),
        (49.316, 48.7, 49.9, False, "49.3 ± 0.6"),
        (1412, 1322, 1500, False, "1,410 ± 90"),
        (1.634e23, 1.611e23, 1.657e23, False, "1.634e23 ± 2.3e21"),
        (4.03e16, 3.97e16, 4.09e16, False, "4.03e16 ± 6e14"),
        (1.5024e-9, 1.4984e-9, 1.5064e-9, False, "1.502e-9 ± 4e-12"),
        (3, 0, 10.2, False, "3 (0 to 11)"),
        (0.0001, 0, 0.004, True, "0.01 % (0.00 to 0.40)"),
        (-0.0004, -0.05, 0.05, False, "0.00 ± 0.05"),
        (1.0, 1.0, 1.0, False, "1"),
        (None, -1.0, 1.0, False, "not available"),
        (123.456789, None, None, False, "123.457"),
    ],
)
def test_texts(value, lower, upper, percent, text):
    assert Estimate(value, lower, upper).write(percent=percent) == text


# Value, interval, what is possible; the verdict of a statistician who knows what the number is.
VERDICTS = {
    "a share with a small margin": (0.213, 0.207, 0.219, (0, 1), "reliable"),
    "a rare thing": (0.004, 0.001, 0.007, (0, 1), "rough"),
    "a common thing: what is rare is the rest": (0.996, 0.993, 0.999, (0, 1), "rough"),
    "a count": (1412, 1320, 1500, (0, 20000), "reliable"),
    "a small count": (3, 0, 10, (0, 20000), "rough"),
    "a mean far from zero in narrow bounds": (128.4, 126.5, 130.2, (70, 220), "reliable"),
    "a temperature, of which nobody says that it has a zero": (0.3, -0.8, 1.4, (-40, 50), "reliable"),
    "a correlation near zero": (0.02, -0.02, 0.06, (-1, 1), "reliable"),
    "a correlation of either sign": (0.1, -0.4, 0.6, (-1, 1), "rough"),
    "a correlation of which nothing is known": (0.1, -1, 0.85, (-1, 1), "tells nothing"),
    "a share that may be anything": (0.5, 0.02, 0.97, (0, 1), "tells nothing"),
    "limits beyond what is possible do not count": (0.2, -5, 0.3, (0, 1), "rough"),
    "a sum without limits": (500, -300, 1300, (-math.inf, math.inf), "rough"),
    "a count without an upper limit": (12000, 11900, 12100, (0, math.inf), "reliable"),
    "an exact number": (1, 1, 1, (-1, 1), "reliable"),
}


@pytest.mark.parametrize("what", VERDICTS)
def test_quality(what):
    value, lower, upper, possible, verdict = VERDICTS[what]
    assert Estimate(value, lower, upper, None, possible).quality == verdict


def test_means_of_both_signs_are_also_measured_from_zero():
    delay = (10.5, 7.9, 13.1, None, (-60.0, 600.0))
    assert Estimate(*delay).quality == "reliable"
    assert Estimate(*delay, from_zero=True).quality == "rough"
    assert Estimate(128.4, 126.5, 130.2, None, (70.0, 220.0), from_zero=True).quality == "reliable"
    made = ib.Releases({"m": ib.mean([1.0] * 400, bounds=(-5, 5), epsilon=1), "p": ib.proportion([1] * 9, epsilon=1)})
    assert [row.from_zero for section in collect_sections(made) for row in section.rows()] == [True, False]


@given(st.floats(-60, 600), st.floats(0.01, 2000), st.sampled_from([1, 100]))
def test_no_impossible_number_is_shown(value, half, scale):
    """Also not by rounding: -60 with an interval up to 600 is not -100."""
    low, high = max(value - half, -60.0), min(value + half, 600.0)
    estimate = Estimate(value, low, high, None, (-60.0, 600.0))
    texts = [estimate.write_value(percent=scale == 100).removesuffix(" %"), *estimate.write_ends(percent=scale == 100)]
    assert all(-60 * scale <= float(text.replace(",", "")) <= 600 * scale for text in texts)


@given(st.floats(0.001, 0.999), st.floats(0.0001, 0.5), st.floats(1.01, 4))
def test_a_wider_interval_is_never_better(value, half, wider):
    order = ["reliable", "rough", "tells nothing"]
    narrow, wide = (
        Estimate(value, value - h, value + h, None, (0.0, 1.0)).quality for h in (half, min(half * wider, 1.0))
    )
    assert order.index(narrow) <= order.index(wide)


def test_without_an_interval_twice_the_expected_error_is_taken():
    assert Estimate(0.5, rmse=0.02, possible=(0, 1)).quality == "reliable"
    assert Estimate(0.5, rmse=0.1, possible=(0, 1)).quality == "rough"
    assert Estimate(0.5, rmse=0.3, possible=(0, 1)).quality == "tells nothing"
    assert Estimate(0.5).quality is None
    assert Estimate(None, 0, 1, 0.1, (0, 1)).quality is None


def test_the_rule_says_its_numbers():
    assert "a tenth" in QUALITY_RULE
    assert "four fifths" in QUALITY_RULE


TABLE = {"x": [1.0, 2.0, 3.0, 4.0], "y": [0.0, 1.0, 0.0, 1.0], "g": ["a", "a", "b", "b"]}
BOUNDS = {"x": (0, 10), "y": (-1, 1)}
CALLS = {
    "mean": (lambda: ib.mean(TABLE, "x", bounds=(0, 10), epsilon=1), [(0, 10)]),
    "sum": (lambda: ib.sum(TABLE, "x", bounds=(0, 10), epsilon=1), [(0, 40)]),
    "sums of groups": (lambda: ib.sum(TABLE, "x", bounds=(2, 10), by="g", levels=["a", "b"], epsilon=1), [(0, 40)] * 2),
    "unknown rows": (lambda: ib.sum(TABLE, "x", bounds=(0, 9), epsilon=1, neighbours="add-remove"), [(0, math.inf)]),
    "count": (lambda: ib.count(TABLE, "g", level="a", epsilon=1), [(0, 4)]),
    "proportion": (lambda: ib.proportion(TABLE, "g", level="a", epsilon=1), [(0, 1)]),
    "variance": (lambda: ib.variance(TABLE, "x", bounds=(0, 10), epsilon=1), [(0, 100 / 3)]),
    "deviation": (lambda: ib.standard_deviation(TABLE, "x", bounds=(0, 10), epsilon=1), [(0, math.sqrt(100 / 3))]),
    "correlation": (lambda: ib.correlation(TABLE, bounds=BOUNDS, epsilon=1), [(-1, 1)] * 4),
}


@pytest.mark.parametrize("what", CALLS)
def test_what_is_possible(what):
    call, ranges = CALLS[what]
    made = call()
    found = list_possible(made)
    assert found == [pytest.approx(one) for one in ranges]
    for value, (low, high) in zip(made.flat_values(), found, strict=True):
        assert value is None or low - 1e-9 <= value <= high + 1e-9


def test_covariances_are_judged_by_the_released_variances():
    table = {"x": [1.0, 2.0, 3.0, 9.0] * 100, "y": [0.0, 1.0, 0.0, 1.0] * 100}
    made = ib.covariance(table, bounds=BOUNDS, epsilon=100)
    (xx, xy), (_, yy) = made.value
    reach = math.sqrt(xx * yy)
    most = 400 / 399
    found = list_possible(made)
    assert found[0] == pytest.approx((0, 25 * most))
    assert found[1] == found[2] == pytest.approx((-reach, reach))
    assert abs(xy) <= reach
    moments = ib.moments(table, bounds=BOUNDS, epsilon=100)
    assert list_possible(moments)[:2] == [(0, 10), (-1, 1)]
    assert list_possible(moments)[3][1] == pytest.approx(math.sqrt(np.prod(moments.value.variance)))
    # Before a release, by the bounds.
    blank = list_possible(made.without_numbers())
    assert blank[1] == pytest.approx((-5 * most, 5 * most))
