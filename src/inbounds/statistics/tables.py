"""Tables of counts and shares: histogram, proportions, crosstab."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import Any, ClassVar

import numpy as np

from inbounds import _check
from inbounds._frozen import FrozenMap
from inbounds._keywords import explain_fields
from inbounds._types import CountRepair, Edges, HistogramRepair, Level, Number, ShareRepair, Tree
from inbounds._types import Levels as LevelList
from inbounds.derivations import AllButOne, Direct, NearestCounts, Projected, Rescaled
from inbounds.inference import intervals
from inbounds.inference.result import Interval
from inbounds.privacy.terms import Terms
from inbounds.record.draft import Draft
from inbounds.record.release import Release
from inbounds.record.statistic import Statistic, Traits, register
from inbounds.repairs.tree import Groups, count_nodes
from inbounds.statistics.base import (
    fields_of_key,
    fixed_denominator,
    keep,
    key_of,
    list_names,
    refuse_denominator,
    refuse_with,
)
from inbounds.statistics.drafts import draft_counts
from inbounds.statistics.tree import Shares, draft_tree, settle_tree
from inbounds.tables.schema import Column, Key, Levels

REPAIRS = ("project", "rescale", "all-but-one", "tree")
COUNT_REPAIRS = ("project", "none")


@register
@explain_fields
@dataclass(frozen=True, slots=True)
class Histogram(Statistic):
    """The number of records with each level, or in each interval; see `inbounds.histogram`.

    >>> Histogram("region", levels=["north", "south"]).title
    'histogram of region'
    """

    column: str
    levels: LevelList | None = None
    edges: Edges | None = None
    repair: HistogramRepair | None = None
    tree: Tree | None = None
    level_shares: Sequence[Number] | None = None
    missing: Level | Number | None = None
    other: Level | None = None
    _key: Key = field(init=False, repr=False, compare=False)

    name: ClassVar[str] = "histogram"
    traits: ClassVar[Traits] = Traits(columns="cells", whole=True)
    least_rows: ClassVar[int] = 1

    def __post_init__(self) -> None:
        key = key_of(self.column, self.levels, self.edges, self.missing, self.other)
        _check_repair(self.repair, (*COUNT_REPAIRS, "tree"))
        tree, shares = _tree_of(self, key)
        keep(self, **fields_of_key(key), tree=tree, level_shares=shares, _key=key)

    @property
    def inputs(self) -> tuple[Column, ...]:
        return (self._key,)

    @property
    def title(self) -> str:
        return f"histogram of {self.column}"

    def numbers(self, terms: Terms) -> int:
        return len(self._key.labels) if self.tree is None else count_nodes(tuple(self.tree))

    def draft(self, terms: Terms) -> Draft:
        if self.repair == "tree":
            top = Fraction(_public_rows(self.repair, terms))
            return draft_tree(self, terms, self._key, tuple(self.tree or ()), _shares_of(self), top=top)
        return _draft_table(self, terms, [self._key])

    def interval(self, release: Release, level: float, kind: str, variance: Release | None) -> Interval:
        return intervals.interval_by(intervals.limit_counts, release, level, kind, variance)


@register
@explain_fields
@dataclass(frozen=True, slots=True)
class Crosstab(Statistic):
    """The number of records with each combination of levels; see `inbounds.crosstab`.

    >>> Crosstab(levels={"region": ["north", "south"], "smoker": [True, False]}).title
    'crosstab of region, smoker'
    """

    levels: Mapping[str, LevelList] | None = None
    edges: Mapping[str, Edges] | None = None
    repair: CountRepair | None = None
    missing: Mapping[str, Level | Number] | None = None
    other: Mapping[str, Level] | None = None
    _keys: tuple[Key, ...] = field(init=False, repr=False, compare=False)

    name: ClassVar[str] = "crosstab"
    traits: ClassVar[Traits] = Traits(columns="table", whole=True)
    least_rows: ClassVar[int] = 1

    def __post_init__(self) -> None:
        by_level, by_edge = _by_column(self.levels, "levels"), _by_column(self.edges, "edges")
        fills, others = _by_column(self.missing, "missing"), _by_column(self.other, "other")
        names = [*by_level, *by_edge]
        if not names or len(set(names)) < len(names):
            raise TypeError(
                "crosstab needs levels={column: [...]} or edges={column: [...]}, exactly one of them for each column"
            )
        for rules, word in ((fills, "missing"), (others, "other")):
            for name in rules:
                if name not in names:
                    raise ValueError(f"{word} has the column {name!r}, which has no levels or edges")
        keys = tuple(key_of(n, by_level.get(n), by_edge.get(n), fills.get(n), others.get(n)) for n in names)
        _check_repair(self.repair, COUNT_REPAIRS)
        rules = {key.name: fields_of_key(key) for key in keys}
        for word in ("levels", "edges", "missing", "other"):
            values = {name: rule[word] for name, rule in rules.items() if rule[word] is not None}
            keep(self, **{word: FrozenMap(values) if values else None})
        keep(self, _keys=keys)

    @property
    def inputs(self) -> tuple[Column, ...]:
        return self._keys

    @property
    def title(self) -> str:
        return f"crosstab of {list_names(self._keys)}"

    def numbers(self, terms: Terms) -> int:
        return prod(len(key.labels) for key in self._keys)

    def draft(self, terms: Terms) -> Draft:
        return _draft_table(self, terms, self._keys)

    def interval(self, release: Release, level: float, kind: str, variance: Release | None) -> Interval:
        return intervals.interval_by(intervals.limit_counts, release, level, kind, variance)


@register
@explain_fields
@dataclass(frozen=True, slots=True)
class Proportions(Statistic):
    """The share of records with each level, or in each interval; see `inbounds.proportions`.

    >>> Proportions("region", levels=["north", "south"]).title
    'proportions of region'
    """

    column: str
    levels: LevelList | None = None
    edges: Edges | None = None
    repair: ShareRepair | None = None
    derived: Level | None = None
    tree: Tree | None = None
    level_shares: Sequence[Number] | None = None
    missing: Level | Number | None = None
    other: Level | None = None
    denominator: int | None = None
    _key: Key = field(init=False, repr=False, compare=False)

    name: ClassVar[str] = "proportions"
    traits: ClassVar[Traits] = Traits(columns="cells", shares=True)
    least_rows: ClassVar[int] = 1

    def __post_init__(self) -> None:
        key = key_of(self.column, self.levels, self.edges, self.missing, self.other)
        denominator = fixed_denominator(self.denominator)
        derived = self.derived
        if self.repair is not None:
            _check.choice(self.repair, "repair", REPAIRS)
        others = None if self.repair == "all-but-one" else derived
        refuse_with(f"repair={self.repair or 'project'!r}", derived=others)
        tree, shares = _tree_of(self, key)
        if self.repair == "all-but-one":
            derived = _find_derived_level(derived, key)
        keep(self, **fields_of_key(key), denominator=denominator, derived=derived, _key=key)
        keep(self, tree=tree, level_shares=shares)

    @property
    def inputs(self) -> tuple[Column, ...]:
        return (self._key,)

    @property
    def title(self) -> str:
        return f"proportions of {self.column}"

    def numbers(self, terms: Terms) -> int:
        if self.repair == "tree":
            return count_nodes(tuple(self.tree or ()))
        return len(self._key.labels) - (self.repair == "all-but-one")

    def draft(self, terms: Terms) -> Draft:
        refuse_denominator(self.denominator, terms)
        over = terms.rows or self.denominator
        if over is None:
            if self.repair not in (None, "rescale"):
                raise ValueError(
                    "if the number of rows is protected, shares are noisy counts divided by their sum: use "
                    "repair='rescale', or denominator= for a fixed public number to divide by"
                )
            return draft_counts(self, terms, Rescaled(counts=True), [self._key], top=Fraction(1))
        if self.repair == "tree":
            return draft_tree(
                self, terms, self._key, tuple(self.tree or ()), _shares_of(self), over=over, top=Fraction(1)
            )
        top, keys = Fraction(1), [self._key]
        if self.repair == "rescale":
            return draft_counts(self, terms, Rescaled(), keys, over=over, top=top)
        if self.repair == "all-but-one":
            place = _place(self.derived, self._key)
            return draft_counts(self, terms, AllButOne(place), keys, over=over, top=top, left_out=place)
        return draft_counts(self, terms, Projected(), keys, over=over, top=top, keeps_sum=True)

    def interval(self, release: Release, level: float, kind: str, variance: Release | None) -> Interval:
        maker = intervals.limit_counts if release.size is not None else intervals.limit_shares
        return intervals.interval_by(maker, release, level, kind, variance)


def _check_repair(repair: Any, repairs: tuple[str, ...]) -> None:
    if repair is not None:
        _check.choice(repair, "repair", repairs)


def _tree_of(statistic: "Histogram | Proportions", key: Key) -> tuple[Groups | None, Shares | None]:
    """The tree and the shares of its depths. None if there is no tree."""
    tree, shares = statistic.tree, statistic.level_shares
    if statistic.repair == "tree":
        return settle_tree(tree, shares, key.labels)
    refuse_with(f"repair={statistic.repair or 'project'!r}", tree=tree, level_shares=shares)
    return None, None


def _draft_table(statistic: Histogram | Crosstab, terms: Terms, keys: Sequence[Key]) -> Draft:
    """Draft the counts of a table. By default they add up to the public number of rows, if the noise can keep a sum."""
    repair = statistic.repair or ("none" if terms.rows is None or terms.bounding == "truncated" else "project")
    if repair == "none":
        top = None if terms.rows is None else Fraction(terms.rows)
        return draft_counts(statistic, terms, Direct(), keys, top=top)
    top = Fraction(_public_rows(repair, terms))
    return draft_counts(statistic, terms, NearestCounts(), keys, top=top, keeps_sum=True)


def _shares_of(statistic: "Histogram | Proportions") -> Shares | None:
    shares = statistic.level_shares
    return None if shares is None else tuple(Fraction(share) for share in shares)


def _public_rows(repair: str, terms: Terms) -> int:
    if terms.rows is None:
        raise ValueError(f"repair={repair!r} needs a public number of rows: neighbours='substitute'")
    return terms.rows


def _find_derived_level(derived: Any, key: Key) -> Any:
    """The level that is derived from the others."""
    names = key.levels if isinstance(key, Levels) else key.labels
    if derived is None or derived not in names:
        raise ValueError(f"repair='all-but-one' needs derived=, one of the levels, got {_check.shown(derived)}")
    if len(names) < 2:
        raise ValueError("repair='all-but-one' needs two or more levels")
    return derived.item() if isinstance(derived, np.generic) else derived


def _place(derived: Any, key: Key) -> int:
    return list(key.levels if isinstance(key, Levels) else key.labels).index(derived)


def _by_column(rules: Mapping[str, Any] | None, word: str) -> Mapping[str, Any]:
    if rules is not None and not isinstance(rules, Mapping):
        raise TypeError(f"{word} must be a dictionary by column, as in {word}={{'region': ...}}")
    return rules or {}
