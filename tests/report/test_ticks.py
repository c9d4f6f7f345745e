"""Ticks of axes, compared with brute force: all round steps, all multiples, all days of the calendar."""

import math
from datetime import date, timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inbounds.report.ticks import choose_step, extend, list_numbers, list_times

ENDS = st.tuples(st.floats(-1e12, 1e12, allow_subnormal=False), st.floats(-1e12, 1e12, allow_subnormal=False)).filter(
    lambda ends: ends[1] - ends[0] > 1e-9 * max(abs(ends[0]), abs(ends[1]), 1e-100)
)
COUNTS = st.integers(1, 10)
# Days from the year 1 to 9999.
FIRST, LAST = -719162, 2932896
START = date(1970, 1, 1)


def nearest_step(low: float, high: float, count: int) -> list[Fraction]:
    """The steps 1, 2, 5 · 10^k nearest to the wanted one by ratio: two of them where rounding decides."""
    wanted = (Fraction(high) - Fraction(low)) / count
    steps = [factor * Fraction(10) ** power for factor in (1, 2, 5) for power in range(-120, 16)]
    away = {step: max(step / wanted, wanted / step) for step in steps}
    least = min(away.values())
    return [step for step, ratio in away.items() if ratio <= least * (1 + Fraction(1, 10**9))]


@given(ENDS, COUNTS)
def test_the_step_is_the_nearest_round_number(ends: tuple[float, float], count: int) -> None:
    assert choose_step(*ends, count).size in nearest_step(*ends, count)


def test_the_next_step_is_not_the_nearest() -> None:
    assert Fraction(5) not in nearest_step(0, 10, 4)


@given(ENDS, COUNTS)
def test_ticks_are_all_multiples_on_the_axis(ends: tuple[float, float], count: int) -> None:
    low, high = map(Fraction, ends)
    step = choose_step(*ends, count).size
    near = [round(low / step) + i for i in range(-3, 40)]
    expected = [float(i * step) for i in near if low - step / 10**9 <= i * step <= high + step / 10**9]
    ticks = list_numbers(*ends, count)
    assert [tick.at for tick in ticks] == expected
    # d3 promises about as many as were asked for: the step is wrong by less than a factor of √2.5.
    assert math.floor(count / 1.59) <= len(ticks) <= math.ceil(count * 1.59) + 1


@given(ENDS, COUNTS, st.booleans())
def test_labels_say_where_ticks_are(ends: tuple[float, float], count: int, percent: bool) -> None:
    ticks = list_numbers(*ends, count, percent=percent)
    labels = [tick.label for tick in ticks]
    assert len(set(labels)) == len(labels)
    for tick in ticks:
        read = float(tick.label.replace(",", "").replace("−", "-").removesuffix("%"))
        assert math.isclose(read, tick.at * (100 if percent else 1), rel_tol=1e-9, abs_tol=0)


def test_large_and_small_numbers_are_short() -> None:
    assert [tick.label for tick in list_numbers(-5e11, 1e12, 3)] == ["−5e11", "0", "5e11", "1e12"]
    assert [tick.label for tick in list_numbers(0, 3e-9, 3)] == ["0", "1e−9", "2e−9", "3e−9"]


@given(ENDS, st.integers(3, 10))
def test_extended_axes_end_at_ticks_and_are_not_much_longer(ends: tuple[float, float], count: int) -> None:
    low, high = extend(*ends, count)
    assert low <= ends[0] < ends[1] <= high
    ticks = list_numbers(low, high, count)
    assert math.isclose(ticks[0].at, low, abs_tol=1e-9 * (high - low))
    assert math.isclose(ticks[-1].at, high, abs_tol=1e-9 * (high - low))
    assert high - low <= (ends[1] - ends[0]) * (1 + 8 / count)


@pytest.mark.parametrize("number", [0.0, 5.0, -3e9, 1e-20])
def test_a_point_becomes_an_axis(number: float) -> None:
    low, high = extend(number, number, 4)
    assert low < number < high
    assert len(list_numbers(low, high, 4)) >= 2
    assert len(list_numbers(number, number, 4)) == 1


def as_day(number: float) -> date:
    return START + timedelta(days=int(number))


@given(st.integers(FIRST, LAST), st.integers(1, 4000), st.integers(2, 5))
def test_dates_are_all_days_of_one_kind(first: int, length: int, count: int) -> None:
    last = min(first + length, LAST)
    ticks = list_times(first, last, count, "date")
    days = [START + timedelta(days=i) for i in range(first, last + 1)]
    kinds = [
        days,
        [day for day in days if (day - START).days % 2 == 0],
        [day for day in days if day.weekday() == 0],
        [day for day in days if day.day == 1],
        [day for day in days if day.day == 1 and day.month in (1, 4, 7, 10)],
        *([day for day in days if day.day == day.month == 1 and day.year % n == 0] for n in (1, 2, 5, 10)),
    ]
    assert [as_day(tick.at) for tick in ticks] in kinds
    assert len(ticks) <= 2 * count + 2
    for tick in ticks:
        assert as_day(tick.at).isoformat().startswith(tick.label)
        assert tick.at == int(tick.at)


@pytest.mark.parametrize(
    ("low", "high", "clock", "labels"),
    [
        (0, 3600, "datetime", ["01-01 00:00", "01-01 00:15", "01-01 00:30", "01-01 00:45", "01-01 01:00"]),
        (10, 30, "datetime", ["00:00:10", "00:00:15", "00:00:20", "00:00:25", "00:00:30"]),
        (0, 4 * 86_400, "datetime", ["1970-01-01", "1970-01-02", "1970-01-03", "1970-01-04", "1970-01-05"]),
        (0, 28, "date", ["1970-01-05", "1970-01-12", "1970-01-19", "1970-01-26"]),
        (0, 120, "date", ["1970-01", "1970-02", "1970-03", "1970-04", "1970-05"]),
        (0, 14_610, "date", ["1970", "1980", "1990", "2000", "2010"]),
    ],
)
def test_times_are_written_as_far_as_they_differ(low: float, high: float, clock: str, labels: list[str]) -> None:
    assert [tick.label for tick in list_times(low, high, 4, clock)] == labels


@given(st.floats(-6e10, 2.5e11), st.floats(1, 1e9), st.integers(2, 5))
def test_times_lie_on_the_axis_in_order(low: float, length: float, count: int) -> None:
    places = [tick.at for tick in list_times(low, low + length, count, "datetime")]
    assert places == sorted(set(places))
    assert all(low <= at <= low + length for at in places)
    assert len(places) <= 2 * count + 2
