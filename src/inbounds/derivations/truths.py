"""Plausible ranges of means, spreads and group sizes, and the truths at their corners.

The error of a correlation rises as values are narrower, that of a variance from moments as the mean lies nearer to a
bound, that of a group's mean as the group is smaller. None of this is known before a release. So errors are computed at
a typical truth and at the corners of what is plausible: of what the user states as ``{"sd": (5, 20), "mean": (40, 60),
"size": (50, 5000)}``, or else of these, with W the width of a column's bounds, n records and J groups:

- standard deviations from W/50 to W/2, which is the largest possible; W/10 typically;
- means anywhere within the bounds that such a standard deviation allows; their middle typically;
- correlations of 0 and, between all columns, 0.9; 0 typically, and 0.5 for a correlation itself: noise draws it towards
  0, so that an error about 0 would vanish as noise grows;
- for a selection, a hundredth of the table's records to all of them; a quarter typically;
- groups from a thousandth of an even share n/J (but no fewer than ten records) to four times it; a quarter typically.
  For pooled statistics sizes add up to n: even sizes, and sizes in a geometric sequence from 1 to 1000.

What a column holds can be stated, too: ``{"values": "amount"}`` has standard deviations from W/60 to W/6, typically
with a mean 1.5 of them above the lower bound, and ``{"values": "measure"}`` from W/20 to W/4 around the middle.

For a stated range the typical standard deviation is the geometric middle, and the typical mean is the middle. Sizes of
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

# What a plausible number or range without a name refers to.
Meaning: TypeAlias = Literal["centre", "total", "spread", "squared spread", "matrix"]
KEYS = ("sd", "mean", "size")
# What a column plausibly holds: amounts, most of them small beside the bounds, or measures, in the middle of them.
KINDS = ("amount", "measure")
_VALUES = "values"
_NARROWEST, _USUAL, _WIDEST = 1 / 50, 1 / 10, 1 / 2
# Spreads of each kind, relative to the width of the bounds; where the mean of amounts lies, in standard deviations from
# the lower bound; and how far from the middle of the bounds the mean of measures lies, in half-widths.
SPREADS = {"amount": (1 / 60, 1 / 6), "measure": (1 / 20, 1 / 4)}
FROM_BOUND, FROM_MIDDLE = 1.5, 0.7
CORRELATED, _HALF = 0.9, 0.5
_NEAR = 0.95
_SMALLEST, _FEWEST, _QUARTER, _LARGEST = 1 / 1000, 10.0, 1 / 4, 4.0


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """One plausible truth: means and covariances of the columns, and the number of records in each group."""

    means: Array
    matrix: Array
    sizes: Array


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What is stated about columns and groups: ranges and kinds by column, their covariances, and their sizes."""

    situation: Situation
    ranges: list[dict[str, tuple[float, float]]]
    kinds: tuple[str | None, ...]
    matrix: Array | None
    sizes: list[Array]


@dataclass(frozen=True, slots=True, eq=False)
class Truths:
    """The typical truth, the corners of what is plausible, and what was assumed for them, in words.

    ``known`` is what was stated; None if the one truth was given.
    """

    typical: Truth
    corners: tuple[Truth, ...]
    assumed: str
    known: Known | None = None

    def assume(self) -> tuple[tuple[Truth, ...], str]:
        """What `Derivation.assume` returns."""
        return self.corners, self.assumed


def find_truths(
    situation: Situation,
    meaning: Meaning,
    *,
    pooled: bool = False,
    depends_on_means: bool = True,
    of_correlations: bool = False,
) -> Truths:
    """What is plausible: what is stated, what is assumed, or the one `Truth` that is given.

    ``depends_on_means`` says that errors depend on where means lie, ``of_correlations`` that they are those of
    correlations, and ``meaning`` what a number without a name means. For a ``"centre"`` the spread does not matter.
    """
    if isinstance(situation.plausible, Truth):
        return Truths(situation.plausible, (), "")
    ranges, kinds = _read(situation, meaning), _kinds(situation)
    widths = situation.columns[:, 1] - situation.columns[:, 0]
    fixed = plausible.covariances(situation) if meaning == "matrix" and _is_table(situation.plausible) else None
    spreads = _spreads(ranges, kinds, widths) if fixed is None else np.tile(np.sqrt(fixed.diagonal()), (3, 1))
    sizes, words = _sizes(
        situation, next((column["size"] for column in ranges if "size" in column), None), pooled=pooled
    )
    matrices = list(spreads[:1] if meaning == "centre" or (spreads[0] == spreads[2]).all() else spreads)
    correlations = [0.0] if len(widths) == 1 or fixed is not None else [0.0, CORRELATED]

    def truth(spread: Array, place: float, correlation: float, size: Array) -> Truth:
        matrix = correlate(spread, correlation) if fixed is None else fixed
        means = _place(situation, ranges, np.zeros_like(spread) if meaning == "centre" else spread, place)
        return Truth(means, matrix, size)

    # Errors rise towards a bound, and fall at it, where noise is clamped; at the upper one they are the same.
    places = [0.0, -1.0] + (
        [1.0] if any("mean" in column for column in ranges) else [-_NEAR] if meaning == "centre" else []
    )
    places = places if depends_on_means else [0.0]
    corners = tuple(truth(*corner) for corner in product(matrices, places, correlations, sizes[::2]))
    assumed = [] if meaning == "centre" or fixed is not None else [_say_spreads(ranges, kinds)]
    assumed += [_say_means(ranges)] if depends_on_means else []
    assumed += ["correlations of 0 to 0.9"] if len(correlations) > 1 else []
    text = ", ".join([*filter(None, assumed), *words])
    usual = _HALF if of_correlations else 0.0
    typical = truth(spreads[1], 0.0, usual, sizes[1 % len(sizes)])
    typical = replace(typical, means=_place_by_kind(ranges, kinds, typical.means, spreads[1], situation.columns))
    return Truths(typical, corners, text, Known(situation, ranges, kinds, fixed, sizes))


def is_plain(statement: Any) -> bool:
    """Whether a statement is a number, a range or a table without names, and no `Truth`."""
    return statement is not None and not isinstance(statement, Mapping | Truth)


def typical_truth(situation: Situation, meaning: Meaning) -> Truth:
    """The typical truth for the columns of one table. A number without a name is ignored for a mean or a total, since
    it says nothing about spreads."""
    plain = is_plain(situation.plausible)
    situation = replace(situation, plausible=None) if plain and meaning in ("centre", "total") else situation
    return find_truths(situation, meaning, depends_on_means=False).typical


def plausible_sizes(situation: Situation, groups: int) -> list[Array]:
    """The least, typical and largest numbers of records of the groups, or of a selection."""
    ranges = _read(situation, "centre") if isinstance(situation.plausible, Mapping) and len(situation.columns) else []
    size_range = next((column["size"] for column in ranges if "size" in column), None)
    sizes, _ = _sizes(replace(situation, groups=groups), size_range, pooled=False)
    return [sizes[0], sizes[1 % len(sizes)], sizes[-1]]


def of_one_number(situation: Situation) -> Any:
    """What is plausible for one number, if a mean or a standard deviation of its column is stated.

    The meaning says what the number tells about its column. None if the part that it needs is not stated.
    """
    statement, meaning, rows = situation.plausible, situation.meaning, situation.size
    if not isinstance(statement, Mapping):
        return statement
    if meaning is None:
        raise TypeError("plausible must be a number or a pair (low, high) here, not sd, mean and size")
    ends = situation.columns if len(situation.columns) else np.array([[0.0, 1.0]])
    ranges = _by_column(statement, ends[:1], situation.names)[0]
    key = KEYS[0] if meaning in ("spread", "squared spread") else KEYS[1]
    if key not in ranges:
        return None
    low, high = ranges[key]
    if meaning == "squared spread":
        return low**2, high**2
    return (low * rows, high * rows) if meaning == "total" and rows is not None else (low, high)


def _is_table(statement: Any) -> bool:
    return statement is not None and not isinstance(statement, Mapping)


def _read(situation: Situation, meaning: Meaning) -> list[dict[str, tuple[float, float]]]:
    """What is stated about each column."""
    statement, ends = situation.plausible, situation.columns
    if statement is None or (meaning == "matrix" and _is_table(statement)):
        return [{} for _ in ends]
    if isinstance(statement, Mapping):
        return _by_column(statement, ends, situation.names)
    if meaning == "centre":
        return [{"mean": plausible.span(statement, *map(float, ends[0]))}]
    # Two records at the two bounds have the largest sample variance, W²/2.
    most = float(ends[0, 1] - ends[0, 0]) / math.sqrt(2)
    if meaning == "spread":
        return [{"sd": plausible.span(statement, 0.0, most)}]
    low, high = plausible.span(statement, 0.0, most**2)
    return [{"sd": (math.sqrt(low), math.sqrt(high))}]


def _by_column(statement: Mapping[str, Any], ends: Array, names: Sequence[str]) -> list[dict[str, tuple[float, float]]]:
    """Ranges by name for each column."""
    parts = _parts(statement, ends, names)
    return [_ranges(part, *map(float, pair)) for part, pair in zip(parts, ends, strict=True)]


def _parts(statement: Mapping[str, Any], ends: Array, names: Sequence[str]) -> list[Mapping[str, Any]]:
    """What is stated about each column: for all of them, and in dictionaries by column."""
    if not statement:
        raise ValueError("plausible is empty: leave it out, or state sd, mean or size")
    of_columns = {name: part for name, part in statement.items() if isinstance(part, Mapping)}
    of_all = {name: part for name, part in statement.items() if name not in of_columns}
    unknown = [name for name in of_columns if name not in names]
    if unknown and not of_all:
        raise ValueError(f"plausible names a column that the statistic does not have: {_check.shown(unknown[0])}")
    if unknown:
        return [statement] * len(ends)
    if not of_columns:
        return [of_all] * len(ends)
    return [{**of_all, **of_columns.get(name, {})} for name in names[: len(ends)]]


def _kinds(situation: Situation) -> tuple[str | None, ...]:
    """What each column holds, as far as it is stated."""
    if not isinstance(situation.plausible, Mapping):
        return (None,) * len(situation.columns)
    return tuple(part.get(_VALUES) for part in _parts(situation.plausible, situation.columns, situation.names))


def _ranges(statement: Mapping[str, Any], lower: float, upper: float) -> dict[str, tuple[float, float]]:
    most = {"mean": (lower, upper), "sd": (0.0, (upper - lower) / math.sqrt(2)), "size": (1.0, 2.0**31)}
    if not set(statement) <= {*KEYS, _VALUES}:
        raise ValueError(
            "plausible must say where sd and mean of a column or the size of a group may lie, as in "
            "plausible={'sd': (5, 20), 'mean': (40, 60), 'size': (50, 5000)}, or what the column holds: "
            "{'values': 'amount'} or {'values': 'measure'}"
        )
    if _VALUES in statement:
        _check.choice(statement[_VALUES], "values of plausible", KINDS)
    ranges = {}
    for name, value in statement.items():
        if name == _VALUES:
            continue
        try:
            ranges[name] = plausible.span(value, *most[name])
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name} of {error}") from None
    return ranges


def _spreads(ranges: list[dict[str, tuple[float, float]]], kinds: Sequence[str | None], widths: Array) -> Array:
    """Rows of least, typical and largest standard deviations; for a range from 0 the typical one is its middle."""
    rows = []
    for column, kind, width in zip(ranges, kinds, widths.tolist(), strict=True):
        low, high = (width * x for x in SPREADS.get(kind or "", (_NARROWEST, _WIDEST)))
        typical = width * _USUAL if kind is None else math.sqrt(low * high)
        if "sd" in column:
            low, high = column["sd"]
            typical = math.sqrt(low * high) if low > 0 else high / 2
        rows.append((low, typical, high))
    return np.array(rows).T


def _place_by_kind(
    ranges: list[dict[str, tuple[float, float]]], kinds: Sequence[str | None], means: Array, spreads: Array, ends: Array
) -> Array:
    """Typical means: those of amounts lie near the lower bound, unless a mean is stated."""
    near = np.minimum(ends[:, 0] + FROM_BOUND * spreads, ends.mean(axis=1))
    amounts = [kind == "amount" and "mean" not in column for kind, column in zip(kinds, ranges, strict=True)]
    return np.where(amounts, near, means)


def _sizes(
    situation: Situation, size_range: tuple[float, float] | None, *, pooled: bool
) -> tuple[list[Array], list[str]]:
    """The least, typical and largest sizes of groups, and what to say about them; one entry for a whole table."""
    groups = situation.groups
    if groups == 1 and situation.selected:
        return _selected_sizes(float(situation.known_size()), size_range)
    if groups == 1:
        if size_range is not None:
            raise ValueError(
                f"plausible says the size of a group, but this {situation.name} has no groups: leave size out"
            )
        return [np.array([float(situation.known_size())])], []
    even = situation.known_size() / groups
    if size_range is not None:
        low, high = size_range
        text = f"groups of {low:,.0f} to {high:,.0f} records" if low < high else f"groups of {low:,.0f} records"
        middle = np.full(groups, math.sqrt(low * high)) if pooled else np.geomspace(low, high, groups)
        return [np.full(groups, low), middle, np.full(groups, high)], [text]
    if pooled:
        uneven = np.geomspace(_SMALLEST, 1.0, groups)
        return [uneven / uneven.sum() * situation.known_size(), *[np.full(groups, even)] * 2], [
            "groups even or very uneven"
        ]
    low, typical, high = _group_sizes(situation, groups)
    text = f"groups of {low:,.0f} to {high:,.0f} records (typically {typical:,.0f})"
    return [np.full(groups, x) for x in (low, typical, high)], [text]


def _group_sizes(situation: Situation, groups: int) -> tuple[float, float, float]:
    """The least, typical and largest number of records of a group, if nothing is stated."""
    rows = float(situation.known_size())
    if situation.waves is None:
        return _divide(rows, groups)
    waves, most = situation.waves
    least, typical, largest = _wave_sizes(rows, waves, most)
    cells = groups // waves
    if cells <= 1:
        return least, typical, largest
    return _divide(least, cells)[0], _divide(typical, cells)[1], _divide(largest, cells)[2]


def _divide(rows: float, groups: int) -> tuple[float, float, float]:
    """The sizes of groups that divide records: from few to four times an even share, and typically a quarter of it."""
    even = rows / groups
    low = min(even, max(_FEWEST, even * _SMALLEST))
    return low, max(low, even * _QUARTER), min(even * _LARGEST, rows)


# claim:waves
def _wave_sizes(rows: float, waves: int, most: int) -> tuple[float, float, float]:
    """The sizes of waves of a panel, which do not divide its persons: most persons are in several waves.

    A wave typically has its even share of all records. No wave has more than there are persons.
    """
    even, persons = rows / waves, rows / most
    typical = min(even, persons)
    return typical * _QUARTER, typical, min(even * _LARGEST, persons)


def _selected_sizes(rows: float, size_range: tuple[float, float] | None) -> tuple[list[Array], list[str]]:
    """Sizes of a selection: as stated, or from a hundredth of the table to all of it."""
    low, high = size_range or (min(rows, max(_FEWEST, rows / 100)), rows)
    typical = math.sqrt(low * high) if size_range else max(low, rows * _QUARTER)
    text = f"{low:,.0f} to {high:,.0f} records selected" if low < high else f"{low:,.0f} records selected"
    return [np.array([x]) for x in (low, typical, high)], [text]


def correlate(spreads: Array, correlation: float) -> Array:
    size = len(spreads)
    return np.outer(spreads, spreads) * (correlation + (1 - correlation) * np.eye(size))


def _place(situation: Situation, ranges: list[dict[str, tuple[float, float]]], spreads: Array, place: float) -> Array:
    """Means: at 0 in the middle of what is plausible, at -1 and 1 at its ends, as far as spreads allow it."""
    middles, halves = situation.columns.mean(axis=1), (situation.columns[:, 1] - situation.columns[:, 0]) / 2
    # Values in [-1, 1] with mean m have a variance of at most 1 - m².
    room = halves * np.sqrt(np.maximum(1 - (spreads / halves) ** 2, 0.0))
    spans = np.array(
        [column.get("mean", ends) for column, ends in zip(ranges, situation.columns.tolist(), strict=True)]
    )
    means = spans.mean(axis=1) + place * (spans[:, 1] - spans[:, 0]) / 2
    return np.asarray(np.clip(means, middles - room, middles + room))


def _say_spreads(ranges: list[dict[str, tuple[float, float]]], kinds: Sequence[str | None]) -> str:
    if all("sd" in column for column in ranges):
        return "standard deviations as stated"
    if None not in kinds:
        said = {"amount": "W/60 to W/6 (amounts)", "measure": "W/20 to W/4 (measures)"}
        spans = " and ".join(said[kind] for kind in KINDS if kind in kinds)
        return f"standard deviations of {spans}, with W the width of the bounds"
    return "standard deviations of W/50 to W/2 (typically W/10), with W the width of the bounds"


def _say_means(ranges: list[dict[str, tuple[float, float]]]) -> str:
    return "means as stated" if all("mean" in column for column in ranges) else "means anywhere within the bounds"
