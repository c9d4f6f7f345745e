"""Kendall's tau: an association of columns that depends on the order of their values only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar

from inbounds import _check
from inbounds._frozen import FrozenMap
from inbounds._keywords import explain_fields
from inbounds._types import Bounds, Edges, Level, MatrixRepair, Number
from inbounds._types import Levels as LevelList
from inbounds.derivations import PairMatrix
from inbounds.inference import intervals, ranks
from inbounds.inference.result import Interval
from inbounds.privacy.certificate import Certificate
from inbounds.privacy.certified import joint_law
from inbounds.privacy.terms import Terms
from inbounds.record.draft import Draft, Exact
from inbounds.record.release import Release
from inbounds.record.statistic import Statistic, Traits, register
from inbounds.statistics.base import MOST_CELLS, MOST_COLUMNS, fields_of_key, keep, key_of, list_names, settle_bounds
from inbounds.statistics.drafts import law_of_number, make_draft
from inbounds.statistics.matrices import choose_repair
from inbounds.tables import coordinates
from inbounds.tables.answers import Cells
from inbounds.tables.request import Request
from inbounds.tables.schema import Column, Key
from inbounds.tables.schema import Edges as Intervals

# Numbers of intervals between the bounds of a column. The first is used for which the two-way tables are small enough.
_BINS = (256, 128, 64, 32, 16)


@register
@explain_fields
@dataclass(frozen=True, slots=True)
class Kendall(Statistic):
    """The matrix of Kendall's tau-a of columns whose values have an order; see `inbounds.kendall`.

    >>> Kendall(bounds={"age": (0, 100)}, levels={"grade": ["low", "high"]}).title
    "Kendall's tau of age, grade"
    """

    bounds: Mapping[str, Bounds] | None = None
    edges: Mapping[str, Edges] | None = None
    levels: Mapping[str, LevelList] | None = None
    bins: int | None = None
    repair: MatrixRepair | None = None
    missing: Mapping[str, Level | Number] | None = None
    other: Mapping[str, Level] | None = None
    _keys: tuple[Key, ...] = field(init=False, repr=False, compare=False)

    name: ClassVar[str] = "kendall"
    traits: ClassVar[Traits] = Traits(columns="ordered", matrix=True)
    least_rows: ClassVar[int] = 2

    def __post_init__(self) -> None:
        rules = {word: _by_column(getattr(self, word), word) for word in ("bounds", "edges", "levels")}
        names = [name for columns in rules.values() for name in columns]
        _check_names(names)
        fills, others = _by_column(self.missing, "missing"), _by_column(self.other, "other")
        for word, columns in (("missing", fills), ("other", others)):
            for name in columns:
                if name not in names:
                    raise ValueError(f"{word} has the column {name!r}, which has no bounds, edges or levels")
        cut = {
            name: key_of(name, rules["levels"].get(name), rules["edges"].get(name), fills.get(name), others.get(name))
            for name in (*rules["edges"], *rules["levels"])
        }
        for name in rules["bounds"]:
            if name in others:
                raise ValueError(
                    f"other has the column {name!r}, which has no levels: numbers beyond its bounds are clipped"
                )
        bins = _count_bins(self.bins, len(rules["bounds"]), [key.cells for key in cut.values()])
        even = {
            n: Intervals.even(n, settle_bounds(pair, n), bins or 1, fills.get(n)) for n, pair in rules["bounds"].items()
        }
        keys = (*even.values(), *cut.values())
        for key in keys:
            if key.cells < 2:
                what = "intervals" if isinstance(key, Intervals) else "levels"
                raise ValueError(f"column {key.name!r} needs two or more {what}, since with one all records are tied")
        keep(self, **_fields(even, cut), bins=bins, repair=choose_repair(self.repair, len(keys)), _keys=keys)

    @property
    def inputs(self) -> tuple[Column, ...]:
        return self._keys

    @property
    def title(self) -> str:
        return f"Kendall's tau of {list_names(self._keys)}"

    def numbers(self, terms: Terms) -> int:
        return _count_pairs(len(self._keys))

    def draft(self, terms: Terms) -> Draft:
        if terms.rows is None and terms.counts_persons and not terms.protects_rows:
            raise ValueError(
                "kendall needs one record of each person, because a record is part of as many pairs as there are other "
                "records, and with contributions > 1 that number is secret. Use contributions=1 or fold=, or "
                "correlation, which can be released of several rows of each person"
            )
        if terms.rows is None and not terms.protects_rows:
            raise ValueError(
                "kendall cannot leave records out, because a record is part of as many pairs as there are others that "
                "count, and of a selection that number is secret. Give a number or level as missing= and other= in "
                "place of 'skip' and no where=, or use correlation, which can be released of a selection"
            )
        if terms.rows is None:
            raise ValueError(
                "kendall needs a public number of rows, because a record is part of as many pairs as there are other "
                "records. Use neighbours='substitute', or correlation, which can be released with 'add-remove'"
            )
        assert self.repair is not None
        pairs = list(combinations(self._keys, 2))
        numbers = [coordinates.kendall((a.cells, b.cells), terms.unit, terms.rows) for a, b in pairs]
        certificate: Certificate
        if len(pairs) > 1:
            # In units of their sensitivities, one unit of privacy moves each by at most 1.
            certificate = joint_law(self.name, terms, Fraction(1), len(pairs))
            units = [number.sensitivity for number in numbers]
        else:
            certificate, units = law_of_number(numbers[0], terms, self.name), [Fraction(1)]

        def exact(*tables: Cells) -> Exact:
            return [[number(cells) / unit for number, cells, unit in zip(numbers, tables, units, strict=True)]]

        return make_draft(
            self,
            terms,
            PairMatrix(self.repair),
            certificate,
            [Request(pair) for pair in pairs],
            exact,
            bounds=[(number.lower, number.upper) for number in numbers],
            columns=self._keys,
            units=units,
            axes=[[key.name for key in self._keys]] * 2,
        )

    def interval(self, release: Release, level: float, kind: str, variance: Release | None) -> Interval:
        return intervals.interval_by(ranks.limit_taus, release, level, kind, variance)


def _by_column(rules: Any, word: str) -> Mapping[str, Any]:
    if rules is not None and not isinstance(rules, Mapping):
        raise TypeError(f"{word} must be a dictionary by column, as in {word}={{'age': ...}}")
    return rules or {}


def _check_names(names: list[str]) -> None:
    if len(set(names)) < len(names):
        raise TypeError("a column of kendall must have only one of bounds, edges and levels")
    if len(names) < 2:
        raise ValueError(
            "kendall needs two or more columns, each with bounds={column: (lower, upper)}, edges={column: [...]} or "
            "levels={column: [...]}"
        )
    if len(names) > MOST_COLUMNS:
        raise ValueError(f"kendall takes at most {MOST_COLUMNS} columns, got {len(names)}")


def _count_bins(bins: Any, columns: int, cells: list[int]) -> int | None:
    """The number of intervals of columns that have bounds: the given one, or the largest that the limit allows."""
    if not columns:
        if bins is not None:
            raise TypeError("bins= is only for columns with bounds, not for edges or levels")
        _require_room(_count_cells(cells))
        return None
    if bins is not None:
        count = _check.integer(bins, "bins", least=2)
        _require_room(_count_cells([count] * columns + cells))
        return count
    sizes = {count: _count_cells([count] * columns + cells) for count in _BINS}
    _require_room(sizes[_BINS[-1]])
    return next(count for count in _BINS if sizes[count] <= MOST_CELLS)


def _count_cells(cells: list[int]) -> int:
    """Count the cells of the two-way tables of all pairs."""
    return (sum(cells) ** 2 - sum(size * size for size in cells)) // 2


def _require_room(cells: int) -> None:
    if cells > MOST_CELLS:
        raise ValueError(
            f"the two-way tables of all pairs of columns would have more than {MOST_CELLS:,} cells; use fewer columns "
            "or intervals (bins=, edges=)"
        )


def _count_pairs(columns: int) -> int:
    return columns * (columns - 1) // 2


def _fields(even: Mapping[str, Intervals], cut: Mapping[str, Key]) -> dict[str, Any]:
    """The rules of all columns as frozen fields, in the order of the matrix."""
    rules: dict[str, dict[str, Any]] = {
        name: {"bounds": (key.edges[0], key.edges[-1]), "missing": key.missing} for name, key in even.items()
    }
    rules |= {name: fields_of_key(key) for name, key in cut.items()}
    return {
        word: FrozenMap({name: rule[word] for name, rule in rules.items() if rule.get(word) is not None}) or None
        for word in ("bounds", "edges", "levels", "missing", "other")
    }
