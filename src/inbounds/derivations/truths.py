"""Plausible ranges of means, spreads and group sizes, and the truths at their corners.

The error of a correlation rises as values are narrower, that of a variance from moments as the mean lies nearer to a
bound, that of a group's mean as the group is smaller. None of it is known before a release. So errors are computed at a
typical truth and at the corners of what is plausible: of what the user states as ``{"sd": (5, 20), "mean": (40, 60),
"size": (50, 5000)}``, and otherwise of these, with W the width of a column's bounds, n records and J groups:

- standard deviations from W/50 to W/2, which is the largest possible; W/10 typically;
- means anywhere within the bounds that such a standard deviation allows; their middle typically;
- correlations of 0 and, between all columns, 0.9; 0 typically;
- of a selection a hundredth of the table's records to all of them; a quarter typically;
- groups from a thousandth of an even share n/J (but no fewer than ten records) to four times it; a quarter typically.
  Of pooled statistics sizes add up to n: even ones, and others in a geometric sequence from 1 to 1000.

Of a range that is stated the typical standard deviation is the geometric middle, and the mean the middle. Sizes of
groups are then typically a geometric sequence from one end to the other: the small groups have most of the error.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal, TypeAlias

import numpy as np

from inbounds import _check
from inbounds._check import Array
from inbounds.derivations import plausible
from inbounds.derivations.base import Situation

# What a plausible number or range without a name is of.
Meaning: TypeAlias = Literal["centre", "total", "spread", "squared spread", "matrix"]
KEYS = ("sd", "mean", "size")
_NARROWEST, _USUAL, _WIDEST = 1 / 50, 1 / 10, 1 / 2
_CORRELATED = 0.9
_NEAR = 0.95
_SMALLEST, _FEWEST, _QUARTER, _LARGEST = 1 / 1000, 10.0, 1 / 4, 4.0


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """One plausible truth: means and covariances of the columns, and the number of records in each group."""

    means: Array
    matrix: Array
    sizes: Array


@dataclass(frozen=True, slots=True, eq=False)
class Truths:
    """The typical truth, the corners of what is plausible, and what was assumed for them, in words."""

    typical: Truth
    corners: tuple[Truth, ...]
    assumed: str

    def assume(self) -> tuple[tuple[Truth, ...], str]:
        """What `Derivation.assume` gives."""
        return self.corners, self.assumed


def find_truths(seen: Situation, meaning: Meaning, *, pooled: bool = False, placed: bool = True) -> Truths:
    """What is plausible: stated, assumed, or the one `Truth` that is asked about.

    ``placed`` says that errors depend on where means lie, ``meaning`` what a number without a name is. Of a
    ``"centre"`` the spread does not matter.
    """
    if isinstance(seen.plausible, Truth):
        return Truths(seen.plausible, (), "")
    stated = _read(seen, meaning)
    widths = seen.columns[:, 1] - seen.columns[:, 0]
    fixed = plausible.covariances(seen) if meaning == "matrix" and _is_table(seen.plausible) else None
    spreads = _spreads(stated, widths) if fixed is None else np.tile(np.sqrt(fixed.diagonal()), (3, 1))
    sizes, words = _sizes(seen, next((one["size"] for one in stated if "size" in one), None), pooled=pooled)
    matrices = list(spreads[:1] if meaning == "centre" or (spreads[0] == spreads[2]).all() else spreads)
    related = [0.0] if len(widths) == 1 or fixed is not None else [0.0, _CORRELATED]

    def truth(spread: Array, place: float, correlation: float, size: Array) -> Truth:
        matrix = _correlated(spread, correlation) if fixed is None else fixed
        means = _place(seen, stated, np.zeros_like(spread) if meaning == "centre" else spread, place)
        return Truth(means, matrix, size)

    # Errors rise towards a bound, and fall at it, where noise is clamped; at the upper one they are the same.
    places = [0.0, -1.0] + ([1.0] if any("mean" in one for one in stated) else [-_NEAR] if meaning == "centre" else [])
    places = places if placed else [0.0]
    corners = tuple(truth(*chosen) for chosen in product(matrices, places, related, sizes[::2]))
    assumed = [] if meaning == "centre" or fixed is not None else [_say_spreads(stated)]
    assumed += [_say_means(stated)] if placed else []
    assumed += ["correlations of 0 to 0.9"] if len(related) > 1 else []
    text = ", ".join([*filter(None, assumed), *words])
    return Truths(truth(spreads[1], 0.0, 0.0, sizes[1 % len(sizes)]), corners, text)


def typical_truth(seen: Situation, meaning: Meaning) -> Truth:
    """What is typical of the columns of one table; a number without a name says nothing of spreads here, but for those
    of spreads."""
    plain = seen.plausible is not None and not isinstance(seen.plausible, Mapping | Truth)
    known = replace(seen, plausible=None) if plain and meaning in ("centre", "total") else seen
    return find_truths(known, meaning, placed=False).typical


def plausible_sizes(seen: Situation, groups: int) -> list[Array]:
    """The least, typical and largest numbers of records of the groups, or of a selection."""
    stated = _read(seen, "centre") if isinstance(seen.plausible, Mapping) and len(seen.columns) else []
    known = next((one["size"] for one in stated if "size" in one), None)
    sizes, _ = _sizes(replace(seen, groups=groups), known, pooled=False)
    return [sizes[0], sizes[1 % len(sizes)], sizes[-1]]


def of_one_number(stated: Any, meaning: Meaning | None, ends: Sequence[float], rows: int | None) -> Any:
    """What is plausible of one number, where a mean or a standard deviation of the column is stated for it.

    ``meaning`` says what the number is of its column. Without the part that it needs nothing is known.
    """
    if not isinstance(stated, Mapping):
        return stated
    if meaning is None:
        raise TypeError("plausible must be a number or a pair (low, high) here, not sd, mean and size")
    (known,) = _by_column(stated, np.array([ends]), ())
    key = KEYS[0] if meaning in ("spread", "squared spread") else KEYS[1]
    if key not in known:
        return None
    low, high = known[key]
    if meaning == "squared spread":
        return low**2, high**2
    return (low * rows, high * rows) if meaning == "total" and rows is not None else (low, high)


def _is_table(stated: Any) -> bool:
    return stated is not None and not isinstance(stated, Mapping)


def _read(seen: Situation, meaning: Meaning) -> list[dict[str, tuple[float, float]]]:
    """What is stated of each column."""
    given, ends = seen.plausible, seen.columns
    if given is None or (meaning == "matrix" and _is_table(given)):
        return [{} for _ in ends]
    if isinstance(given, Mapping):
        names = seen.labels[-1] if seen.labels and len(seen.labels[-1]) == len(ends) else ()
        return _by_column(given, ends, names)
    if meaning == "centre":
        return [{"mean": plausible.span(given, *map(float, ends[0]))}]
    # Two records at the two bounds have the largest sample variance, W²/2.
    most = float(ends[0, 1] - ends[0, 0]) / math.sqrt(2)
    if meaning == "spread":
        return [{"sd": plausible.span(given, 0.0, most)}]
    low, high = plausible.span(given, 0.0, most**2)
    return [{"sd": (math.sqrt(low), math.sqrt(high))}]


def _by_column(stated: Mapping[str, Any], ends: Array, names: Sequence[str]) -> list[dict[str, tuple[float, float]]]:
    """Ranges by name for each column: one dictionary for all of them, or one for each."""
    if not stated:
        raise ValueError("plausible is empty: leave it out, or state sd, mean or size")
    if all(isinstance(one, Mapping) for one in stated.values()):
        unknown = [name for name in stated if name not in names]
        if unknown:
            raise ValueError(f"plausible names a column that the statistic does not have: {_check.shown(unknown[0])}")
        each: list[Mapping[str, Any]] = [stated.get(name, {}) for name in names]
    else:
        each = [stated] * len(ends)
    return [_ranges(one, *map(float, pair)) for one, pair in zip(each, ends, strict=True)]


def _ranges(stated: Mapping[str, Any], lower: float, upper: float) -> dict[str, tuple[float, float]]:
    most = {"mean": (lower, upper), "sd": (0.0, (upper - lower) / math.sqrt(2)), "size": (1.0, 2.0**31)}
    if not set(stated) <= set(KEYS):
        raise ValueError(
            "plausible must say where sd and mean of a column or the size of a group may lie, as in "
            "plausible={'sd': (5, 20), 'mean': (40, 60), 'size': (50, 5000)}"
        )
    found = {}
    for name, value in stated.items():
        try:
            found[name] = plausible.span(value, *most[name])
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name} of {error}") from None
    return found


def _spreads(stated: list[dict[str, tuple[float, float]]], widths: Array) -> Array:
    """Rows of least, typical and largest standard deviations; of a range from 0 the typical one is its middle."""
    rows = []
    for one, width in zip(stated, widths.tolist(), strict=True):
        low, high = one.get("sd", (width * _NARROWEST, width * _WIDEST))
        typical = width * _USUAL if "sd" not in one else math.sqrt(low * high) if low > 0 else high / 2
        rows.append((low, typical, high))
    return np.array(rows).T


def _sizes(seen: Situation, stated: tuple[float, float] | None, *, pooled: bool) -> tuple[list[Array], list[str]]:
    """Sizes of groups, least, typical and largest, and what to say of them; one entry where all are of one table."""
    groups = seen.groups
    if groups == 1 and seen.selected:
        return _selected_sizes(float(seen.known_size()), stated)
    if groups == 1:
        if stated is not None:
            raise ValueError(f"plausible says the size of a group, but this {seen.name} has no groups: leave size out")
        return [np.array([float(seen.known_size())])], []
    even = seen.known_size() / groups
    if stated is not None:
        low, high = stated
        text = f"groups of {low:,.0f} to {high:,.0f} records" if low < high else f"groups of {low:,.0f} records"
        middle = np.full(groups, math.sqrt(low * high)) if pooled else np.geomspace(low, high, groups)
        return [np.full(groups, low), middle, np.full(groups, high)], [text]
    if pooled:
        uneven = np.geomspace(_SMALLEST, 1.0, groups)
        return [uneven / uneven.sum() * seen.known_size(), *[np.full(groups, even)] * 2], ["groups even or very uneven"]
    low, high = min(even, max(_FEWEST, even * _SMALLEST)), min(even * _LARGEST, float(seen.known_size()))
    typical = max(low, even * _QUARTER)
    text = f"groups of {low:,.0f} to {high:,.0f} records (typically {typical:,.0f})"
    return [np.full(groups, x) for x in (low, typical, high)], [text]


def _selected_sizes(rows: float, stated: tuple[float, float] | None) -> tuple[list[Array], list[str]]:
    """Sizes of a selection: as stated, or from a hundredth of the table to all of it."""
    low, high = stated or (min(rows, max(_FEWEST, rows / 100)), rows)
    typical = math.sqrt(low * high) if stated else max(low, rows * _QUARTER)
    text = f"{low:,.0f} to {high:,.0f} records selected" if low < high else f"{low:,.0f} records selected"
    return [np.array([x]) for x in (low, typical, high)], [text]


def _correlated(spreads: Array, correlation: float) -> Array:
    size = len(spreads)
    return np.outer(spreads, spreads) * (correlation + (1 - correlation) * np.eye(size))


def _place(seen: Situation, stated: list[dict[str, tuple[float, float]]], spreads: Array, place: float) -> Array:
    """Means: at 0 in the middle of what is plausible, at -1 and 1 at its ends, as far as spreads allow it."""
    middles, halves = seen.columns.mean(axis=1), (seen.columns[:, 1] - seen.columns[:, 0]) / 2
    # Values in [-1, 1] with mean m have a variance of at most 1 - m².
    room = halves * np.sqrt(np.maximum(1 - (spreads / halves) ** 2, 0.0))
    known = np.array([one.get("mean", ends) for one, ends in zip(stated, seen.columns.tolist(), strict=True)])
    wanted = known.mean(axis=1) + place * (known[:, 1] - known[:, 0]) / 2
    return np.asarray(np.clip(wanted, middles - room, middles + room))


def _say_spreads(stated: list[dict[str, tuple[float, float]]]) -> str:
    if all("sd" in one for one in stated):
        return "standard deviations as stated"
    return "standard deviations of W/50 to W/2 (typically W/10), with W the width of the bounds"


def _say_means(stated: list[dict[str, tuple[float, float]]]) -> str:
    return "means as stated" if all("mean" in one for one in stated) else "means anywhere within the bounds"
