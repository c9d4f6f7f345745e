"""Tables of counts and shares: histogram, proportions, crosstab."""

from collections.abc import Mapping, Sequence
from typing import Any

from inbounds import _check
from inbounds.after.tree import balanced
from inbounds.record import Release
from inbounds.releases.draw import Promise
from inbounds.releases.keywords import explained
from inbounds.releases.kinds import REPAIRS, table_counts, tree_shares
from inbounds.releases.opening import column_name, fixed_denominator, key_of, not_together
from inbounds.tables.schema import Key, Level, Levels


@explained
def histogram(
    data: Any,
    column: str | None = None,
    *,
    levels: Sequence[Level] | None = None,
    edges: Sequence[Any] | None = None,
    epsilon: Any,
    repair: str | None = None,
    missing: Any = None,
    other: Level | None = None,
    bounding: str = "bit",
    neighbours: str = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    ledger: Any = None,
) -> Release:
    """How many records have each level, or fall between each two edges.

    Intervals are [edge, next edge), the last one closed; numbers beyond the ends count in the first or last interval.
    ``missing`` names a level, or a number between the edges; ``other`` the level of all values that are none of them.

    Each count has noise of its own, so that they need not add up to a public number of rows. ``repair="project"``:
    whole numbers that do, from noise that keeps the sum.

    >>> r = histogram(["a", "b", "a"], levels=["a", "b", "c"], epsilon=1)
    >>> r.value.shape
    (3,)
    """
    promise = Promise.of(epsilon, neighbours, contributions, bounding, ledger)
    key = key_of(column_name(column, data), levels, edges, missing, other)
    return table_counts("histogram", data, [key], promise, rows, repair=_to_the_sum(repair, promise))


@explained
def proportions(
    data: Any,
    column: str | None = None,
    *,
    levels: Sequence[Level] | None = None,
    edges: Sequence[Any] | None = None,
    epsilon: Any,
    repair: str | None = None,
    derived: Level | None = None,
    tree: Sequence[Any] | None = None,
    missing: Any = None,
    other: Level | None = None,
    bounding: str = "bit",
    neighbours: str = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    ledger: Any = None,
    denominator: int | None = None,
) -> Release:
    """The share of the records that have each level, or fall between each two edges; see `histogram`.

    They sum to one, by ``repair``:

    - ``"project"`` (the default): the nearest vector that does. With a public number of rows the noise keeps the sum,
      which makes it smaller; otherwise each share has noise of its own.
    - ``"rescale"``: over their sum. With add-remove and no ``denominator`` this is what is done.
    - ``"all-but-one"``: the share of the level ``derived`` is what the others leave of one.
    - ``"tree"``: counts of groups, too, made to agree (a universal histogram). ``tree`` has the levels in nested
      groups, ``(("a", "b"), ("c", "d"))``; without it neighbours are paired. Sums over many levels are better for it,
      single shares worse.

    >>> round(float(proportions(["a", "b", "b"], levels=["a", "b", "c"], epsilon=1).value.sum()), 12)
    1.0
    """
    promise = Promise.of(epsilon, neighbours, contributions, bounding, ledger)
    key = key_of(column_name(column, data), levels, edges, missing, other)
    fixed = fixed_denominator(denominator, promise)
    protected = promise.unit.neighbours == "add-remove" and fixed is None
    repair = repair or ("rescale" if protected else "project")
    _check.choice(repair, "repair", REPAIRS)
    if protected and repair != "rescale":
        raise ValueError(
            "where the number of rows is protected shares are noisy counts over their sum: use repair='rescale', or "
            "denominator= for a fixed public number to divide by"
        )
    if repair == "tree":
        not_together("repair='tree'", derived=derived)
        groups = _as_text(tree) if tree is not None else balanced(key.labels)
        return tree_shares(data, key, promise, rows, groups, denominator=fixed)
    not_together(f"repair={repair!r}", tree=tree, derived=None if repair == "all-but-one" else derived)
    place = _place(derived, key) if repair == "all-but-one" else None
    return table_counts("proportions", data, [key], promise, rows, repair=repair, denominator=fixed, derived=place)


def _as_text(groups: Any) -> Any:
    """Nested groups with levels as the record writes them."""
    if isinstance(groups, tuple | list):
        return tuple(_as_text(member) for member in groups)
    return str(groups).lower() if isinstance(groups, bool) else str(groups)


def _place(derived: Any, key: Key) -> int:
    """The cell that is derived from the others."""
    names = key.levels if isinstance(key, Levels) else key.labels
    if derived is None or derived not in names:
        raise ValueError(f"repair='all-but-one' needs derived=<one of the levels>, got {_check.shown(derived)}")
    if len(names) < 2:
        raise ValueError("repair='all-but-one' needs two levels or more")
    return list(names).index(derived)


def _to_the_sum(repair: Any, promise: Promise) -> str | None:
    if repair is None:
        return None
    _check.choice(repair, "repair", ("project",))
    if promise.unit.neighbours == "add-remove":
        raise ValueError("repair='project' needs a public number of rows: neighbours='substitute'")
    return "project"


@explained
def crosstab(
    data: Any,
    *,
    levels: Mapping[str, Sequence[Level]] | None = None,
    edges: Mapping[str, Sequence[Any]] | None = None,
    epsilon: Any,
    repair: str | None = None,
    missing: Mapping[str, Any] | None = None,
    other: Mapping[str, Level] | None = None,
    bounding: str = "bit",
    neighbours: str = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    ledger: Any = None,
) -> Release:
    """How many records have each combination of levels of several columns.

    ``levels={"region": [...], "smoker": [...]}`` and, for intervals of numbers, ``edges={"age": [...]}``; ``missing``
    and ``other`` by column, too. Axes are in the order given, levels first. ``repair="project"``: whole numbers that
    add up to the public number of rows, and so do all margins.

    >>> table = {"region": ["n", "s", "n"], "smoker": [True, False, False]}
    >>> crosstab(table, levels={"region": ["n", "s"], "smoker": [True, False]}, epsilon=1).value.shape
    (2, 2)
    """
    promise = Promise.of(epsilon, neighbours, contributions, bounding, ledger)
    by_level, by_edge = _by_column(levels, "levels"), _by_column(edges, "edges")
    fills, others = _by_column(missing, "missing"), _by_column(other, "other")
    names = [*by_level, *by_edge]
    if not names or len(set(names)) < len(names):
        raise TypeError("crosstab needs levels={column: [...]} or edges={column: [...]}, one of them for each column")
    for rules, word in ((fills, "missing"), (others, "other")):
        for name in rules:
            if name not in names:
                raise ValueError(f"{word} names {name!r}, which is none of the columns of the table asked for")
    keys = [key_of(n, by_level.get(n), by_edge.get(n), fills.get(n), others.get(n)) for n in names]
    return table_counts("crosstab", data, keys, promise, rows, repair=_to_the_sum(repair, promise))


def _by_column(rules: Mapping[str, Any] | None, word: str) -> Mapping[str, Any]:
    if rules is not None and not isinstance(rules, Mapping):
        raise TypeError(f"{word} must be a dictionary from columns, as in {word}={{'region': ...}}")
    return rules or {}
