"""What a release must have to be sound, computed without the library's drafts: sensitivities, draws, bounds and ends.

A certificate proves that its noise is enough for its sensitivity. That the sensitivity is that of the statistic follows
from the statistic, the bounds of its columns, the number of rows and the unit. The formulas are those of
`inbounds.lab.theory.sensitivity`, written once more in fractions; what is certified may be larger (rounded products
make it so by a hair), never smaller. Nothing here goes through `Statistic.draft`, `inbounds.tables.coordinates` or
`inbounds.privacy.certified`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, pairwise, product
from math import isqrt, prod
from typing import Any

from inbounds.privacy import certificate as certificates
from inbounds.privacy.certificate import Certificate
from inbounds.record import Release
from tests import moments

DIRECT, ROOT, MATRIX, PAIRS = "direct", "root of a released variance", "matrix", "matrix of pairs"
CORRELATION = "correlation from released covariances"
MEAN_OF_SUMS, MEAN_WITH_SQUARES = "noisy sum over noisy count", "noisy sum over noisy count, drawn with squares"
MEAN_OF_MOMENTS = "mean from noisy moments"
VARIANCE_OF_SUMS, ROOT_OF_SUMS = "variance from noisy sums and count", "standard deviation from noisy sums and count"
MATRIX_OF_SUMS = "covariances from noisy sums and count"
CORRELATION_OF_SUMS = "correlations from noisy sums and count"
POOLED_OF_SUMS = "pooled covariances from noisy sums and counts"
VARIANCE_OF_MOMENTS, ROOT_OF_MOMENTS = "variance from noisy moments", "standard deviation from noisy moments"
MATRIX_OF_MOMENTS, CORRELATION_OF_MOMENTS = "covariances from noisy moments", "correlations from noisy moments"
CENTRED, ROOT_OF_CENTRED = "variance around a noisy centre", "standard deviation around a noisy centre"
ROBUST, ROOT_OF_ROBUST = f"{CENTRED}, with fourth powers", f"{ROOT_OF_CENTRED}, with fourth powers"
TABLE_OF_MOMENTS = "means and covariances from noisy moments"
COEFFICIENTS = "least squares from noisy moments"
SHARES, PROJECTED, RESCALED = "noisy counts over their sum", "projected onto the simplex", "rescaled to sum to one"
ALL_BUT_ONE, WHOLE = "one share is what the others leave of one", "nearest counts with the public sum"
TREE, TREE_OF_COUNTS = (f"{what} of groups and members made to agree" for what in ("shares", "counts"))
SIMPLEX = (SHARES, PROJECTED, RESCALED, ALL_BUT_ONE, WHOLE, TREE, TREE_OF_COUNTS)
NOISY_SUMS = "noisy sums"
CHOSEN, APART, HALVED, TOGETHER = (
    "a point chosen by its rank",
    "points chosen by their ranks",
    "points chosen by recursive halving",
    "points chosen together by their ranks",
)
CHOICES = (CHOSEN, APART, HALVED, TOGETHER)
OF_COUNTS = "points read from noisy counts"
OF_SUMS = (
    *(MEAN_OF_SUMS, MEAN_WITH_SQUARES, VARIANCE_OF_SUMS, ROOT_OF_SUMS),
    *(MATRIX_OF_SUMS, CORRELATION_OF_SUMS, POOLED_OF_SUMS),
)
OF_MOMENTS = (VARIANCE_OF_MOMENTS, ROOT_OF_MOMENTS, MATRIX_OF_MOMENTS, CORRELATION_OF_MOMENTS, TABLE_OF_MOMENTS)
OF_MOMENTS += (COEFFICIENTS,)
NUMBERS = (
    DIRECT,
    NOISY_SUMS,
    ROOT,
    MATRIX,
    PAIRS,
    CORRELATION,
    MEAN_OF_MOMENTS,
    CENTRED,
    ROOT_OF_CENTRED,
    ROBUST,
    ROOT_OF_ROBUST,
)
METHODS = (*CHOICES, OF_COUNTS, *NUMBERS, *OF_SUMS, *OF_MOMENTS, *SIMPLEX)
# The ways in which each statistic is made.
_METHODS = {
    "count": (DIRECT,),
    "counts": (DIRECT,),
    "histogram": (DIRECT, WHOLE, TREE_OF_COUNTS),
    "crosstab": (DIRECT, WHOLE),
    "proportion": (DIRECT, MEAN_OF_SUMS),
    "proportions": (SHARES, PROJECTED, RESCALED, ALL_BUT_ONE, TREE),
    "sum": (DIRECT, NOISY_SUMS),
    "mean": (DIRECT, MEAN_OF_SUMS, MEAN_WITH_SQUARES, MEAN_OF_MOMENTS),
    "variance": (DIRECT, VARIANCE_OF_SUMS, VARIANCE_OF_MOMENTS, CENTRED, ROBUST),
    "standard_deviation": (DIRECT, ROOT, ROOT_OF_SUMS, ROOT_OF_MOMENTS, ROOT_OF_CENTRED, ROOT_OF_ROBUST),
    "covariance": (MATRIX, MATRIX_OF_SUMS, MATRIX_OF_MOMENTS),
    "correlation": (CORRELATION, CORRELATION_OF_SUMS, CORRELATION_OF_MOMENTS),
    "moments": (TABLE_OF_MOMENTS,),
    "regression": (COEFFICIENTS,),
    "kendall": (PAIRS,),
    "bounds": (CHOSEN, APART),
    "median": CHOICES,
    "quantile": (*CHOICES, OF_COUNTS),
    "pooled_variance": (DIRECT, POOLED_OF_SUMS),
    "pooled_covariance": (MATRIX, POOLED_OF_SUMS),
}
# Counts of disjoint cells, whose changes are counted one by one.
_TABLES = ("histogram", "crosstab", "proportions", "counts")
MOST_ROWS, LARGEST_EPSILON = 2**31, 10**6


@dataclass(frozen=True, slots=True)
class Facts:
    """What a release says about itself, from its statistic's own fields and its terms.

    ``ends`` of its numeric columns; ``cells`` of its table or groups; ``sizes`` of groups where they are public;
    ``levels`` of a tree, in each of which a record is counted; ``ordered`` columns that are compared by their order.
    ``selected``: it is of some records of the table, whose number is secret; ``rows`` is then None, too. ``grouped``: a
    number of each group.
    """

    statistic: str
    method: str
    neighbours: str
    contributions: int
    rows: int | None
    denominator: int | None
    ends: tuple[tuple[Fraction, Fraction], ...]
    cells: int
    sizes: tuple[int, ...] | None
    levels: int
    ordered: int
    selected: bool = False
    grouped: bool = False
    shares: tuple[Fraction, ...] = ()

    def shares_at(self, depth: int) -> list[Fraction]:
        """The larger of q and 1 - q in each range of a halving that has a depth, q as a share of the range.

        A range has all depths from where it is found on, if it is that of one share.
        """
        found, ranges = [], [(Fraction(0), list(self.shares), Fraction(1), 0)]
        while ranges:
            low, inside, high, at = ranges.pop()
            if inside:
                middle = len(inside) // 2
                share = (inside[middle] - low) / (high - low)
                found += [max(share, 1 - share)] if at == depth or (at < depth and len(inside) == 1) else []
                ranges.append((low, inside[:middle], inside[middle], at + 1))
                ranges.append((inside[middle], inside[middle + 1 :], high, at + 1))
        return found

    @property
    def widths(self) -> tuple[Fraction, ...]:
        return tuple(upper - lower for lower, upper in self.ends)

    @property
    def reach(self) -> Fraction:
        return max(abs(end) for pair in self.ends for end in pair)

    @property
    def moves_within(self) -> bool:
        """Whether one vector moves, by a record that takes another value, comes into a selection or leaves it."""
        return self.selected and self.neighbours == "substitute" and not self.grouped

    @property
    def changes(self) -> int:
        return self.contributions * (2 if self.neighbours == "substitute" else 1)


def facts_of(release: Release) -> Facts:
    """Read from the statistic as a user would write it; not from what its draft made of it."""
    statistic: Any = getattr(release.statistic, "inner", release.statistic)
    name, terms = statistic.name, release.terms
    selected = getattr(release.statistic, "where", None) is not None or _skips(statistic)
    # Several rows of each person are kept: how many is secret, as in a selection.
    selected = selected or (release.terms.unit.persons is not None and release.terms.contributions > 1)
    by = getattr(statistic, "by", None) is not None
    rows = None if selected else terms.rows
    bounds = getattr(statistic, "bounds", None)
    pairs = [] if bounds is None else list(bounds.values()) if hasattr(bounds, "values") else [bounds]
    if name == "proportion" and (rows is None or by) and statistic.denominator is None:
        pairs = [(0, 1)]
    if name == "regression":
        # The column that is explained comes first. A level is a column of 0 and 1, but for the first of each column.
        others = [pair for column, pair in bounds.items() if column != statistic.column]
        given = (statistic.levels or {}).values()
        pairs = [bounds[statistic.column], *others, *[(0, 1)] * sum(len(levels) - 1 for levels in given)]
    tree = getattr(statistic, "tree", None)
    return Facts(
        statistic="counts" if name == "count" and by else name,
        method=release.method,
        neighbours=terms.unit.neighbours,
        contributions=terms.unit.contributions,
        rows=rows,
        denominator=getattr(statistic, "denominator", None),
        ends=tuple((Fraction(lower), Fraction(upper)) for lower, upper in pairs),
        cells=_cells(getattr(statistic, "levels", None), getattr(statistic, "edges", None)),
        sizes=getattr(statistic, "sizes", None),
        levels=1 if tree is None else _depth(tree),
        ordered=sum(len(getattr(statistic, word) or ()) for word in ("bounds", "edges", "levels"))
        if name == "kendall"
        else 0,
        selected=selected,
        grouped=by,
        shares=_shares(statistic),
    )


def _shares(statistic: Any) -> tuple[Fraction, ...]:
    """The shares of quantiles that were asked for."""
    if statistic.name == "bounds":
        outside = 1 - Fraction(statistic.coverage)
        return {"both": (outside / 2, 1 - outside / 2), "upper": (1 - outside,), "lower": (outside,)}[statistic.side]
    given = getattr(statistic, "q", "1/2")
    return tuple(map(Fraction, given if isinstance(given, tuple) else (given,)))


def _skips(statistic: Any) -> bool:
    """Whether a rule leaves records out; a level of that name is a level."""
    given = [getattr(statistic, word, None) for word in ("missing", "by_missing", "other")]
    words = [one for rule in given for one in (rule.values() if hasattr(rule, "values") else [rule])]
    levels = getattr(statistic, "levels", None) or ()
    known = [one for part in levels.values() for one in part] if hasattr(levels, "values") else levels
    return any(isinstance(one, str) and one == "skip" for one in words) and "skip" not in known


def _cells(levels: Any, edges: Any) -> int:
    by_name = hasattr(levels, "values") or hasattr(edges, "values")
    several = list((levels or {}).values()) if by_name else [] if levels is None else [levels]
    ranges = list((edges or {}).values()) if by_name else [] if edges is None else [edges]
    return prod([*map(len, several), *(len(one) - 1 for one in ranges)]) if several or ranges else 0


def _depth(groups: Any) -> int:
    return max(1 + (_depth(one) if isinstance(one, tuple) else 0) for one in groups)


def is_sound(release: Release) -> bool:
    """Whether a released record's law is enough for its statistic, and ends where the statistic does."""
    return not why_unsound(release)


def why_unsound(release: Release) -> str:
    """What is wrong with a release, in a word or two; nothing where it is sound."""
    facts, parts = facts_of(release), parts_of(release)
    whole = release.certificate
    if impossible := _impossible(release, facts):
        return impossible
    if not demanded(facts, release.units, parts):
        return "sensitivity, draws, dimension or units"
    if {part.neighbours for part in parts} != {facts.neighbours}:
        return "neighbours"
    different = list(dict.fromkeys(parts))
    if [certificates._certify_again(part) for part in different] != different or whole.loss > whole.epsilon:
        return "loss"
    # What the parts may cost together; parts that are worth more would hide behind a small sum of losses.
    if sum(part.epsilon for part in parts) != whole.epsilon:
        return "epsilons of parts"
    if list(release.bounds) != own_bounds(release, facts):
        return "bounds"
    return "" if _ends_are_own(release, facts, parts) else "ends"


def _impossible(release: Release, facts: Facts) -> str:
    """Why no release with these terms can have been made."""
    epsilon, rows = release.terms.guarantee.epsilon, release.terms.rows
    if not 0 < epsilon <= LARGEST_EPSILON:
        return "an epsilon that cannot be asked for"
    if epsilon != release.certificate.epsilon:
        return "an epsilon that is not the certificate's"
    if (rows is None) != (facts.neighbours == "add-remove"):
        return "rows and neighbours"
    if rows is not None and not 1 <= rows <= MOST_ROWS:
        return "rows that no table has"
    return "" if facts.sizes is None or sum(facts.sizes) == rows else "sizes"


def parts_of(release: Release) -> list[Certificate]:
    law = release.certificate
    return [law] if isinstance(law, Certificate) else list(law.parts)


def demanded(facts: Facts, units: Sequence[Fraction], parts: Sequence[Certificate]) -> bool:
    """Whether the certified parts have the sensitivity, the dimension and the number of draws that the facts demand.

    Noisy numbers times their units make the statistic, so that a unit that is too small would hide what a record does.
    """
    if facts.method not in _METHODS.get(facts.statistic, ()):
        return False
    if facts.method in CHOICES:
        return _chosen(facts, units, parts)
    if facts.method == OF_COUNTS:
        # Of two cells or more, one loses a record and another gains it; their total must be public.
        zero_sum = facts.rows is not None and not facts.grouped and parts[0].noise == "zero-sum" and len(units) > 1
        return set(units) == {1} and zero_sum and _agrees(parts, [Fraction(1)], len(units), facts.changes)
    if facts.method == MEAN_OF_MOMENTS:
        # |Δ(2u ± u²)| ≤ 4: the changes of Σu/2 and Σ(2u² - 1)/8 are at most 1 in |s| + |q|.
        moved, narrow = [Fraction(facts.contributions)], parts[0].blocks == ("mean moments 1",)
        known = parts[0].noise == "polyhedral" and bool(parts[0].ranges) and all(map(_holds, parts[0].ranges))
        return list(units) == [2, 8] and _agrees(parts, moved, 2, 1) and narrow and known and facts.rows is not None
    if facts.method in (CENTRED, ROOT_OF_CENTRED):
        # Σu/2, then Σ((u - c)/(1 + |c|))² with terms between 0 and 1: a substituted record moves each by at most 1.
        moved = [Fraction(facts.contributions)] * 2
        alone = all(part.noise in ("laplace", "staircase") and part.bounding == "unbounded" for part in parts)
        return list(units) == [2, 1] and _agrees(parts, moved, 1, 1) and alone and facts.rows is not None
    if facts.method in (ROBUST, ROOT_OF_ROBUST):
        # The same, but Σw/2 and Σ(2w² - 1)/8 of w = 2((u - c)/(1 + |c|))² - 1 together, as of a mean and its square.
        if len(parts) != 2 or facts.rows is None or list(units) != [2, 2, 8]:
            return False
        moved, narrow = [Fraction(facts.contributions)], parts[1].blocks == ("mean moments 1",)
        known = parts[1].noise == "polyhedral" and bool(parts[1].ranges) and all(map(_holds, parts[1].ranges))
        alone = parts[0].noise in ("laplace", "staircase") and parts[0].bounding == "unbounded"
        return _agrees(parts[:1], moved, 1, 1) and _agrees(parts[1:], moved, 2, 1) and narrow and known and alone
    if facts.method in OF_SUMS or (facts.method in OF_MOMENTS and facts.rows is None):
        products = 0 if facts.method == MEAN_OF_SUMS else len(facts.ends) * (len(facts.ends) + 1) // 2
        dimension = 1 + len(facts.ends) + products
        if facts.moves_within:
            # All but the count in halves of what a substituted record moves them by.
            halves = [Fraction(1), *[Fraction(2)] * (dimension - 1)]
            moved = [Fraction(facts.contributions)]
            return list(units) == halves and _agrees(parts, moved, dimension, 1) and _has_norm(facts, parts)
        return set(units) == {1} and _agrees(parts, [Fraction(1)], dimension, facts.changes) and _has_norm(facts, parts)
    if facts.method in OF_MOMENTS:
        # In halves of what a substituted record moves them by, so that a number is worth two.
        columns = len(facts.ends)
        moved, dimension = [Fraction(facts.contributions)], columns + columns * (columns + 1) // 2
        return set(units) == {2} and _agrees(parts, moved, dimension, 1) and _has_norm(facts, parts)
    if facts.statistic in _TABLES:
        over = facts.rows or facts.denominator or 0
        shares = facts.statistic == "proportions" and facts.method != SHARES
        if set(units) != ({Fraction(1, over) if over else None} if shares else {1}):
            return False
        if len(parts) > 1:
            # Each level of a tree by itself, with a share of its own.
            return len(parts) == facts.levels and _agrees(parts, [Fraction(1)] * len(parts), 1, facts.changes)
        dimension = len(units) if parts[0].noise == "zero-sum" else 1
        return _agrees(parts, [Fraction(1)], dimension, facts.changes * facts.levels)
    if facts.method == NOISY_SUMS:
        return set(units) == {1} and _agrees(parts, [facts.reach], 1, facts.changes)
    moved = _moves(facts)
    if moved is None:
        return False
    if len(moved) > 1 and len(parts) == 1:
        # Drawn together, in units of their own sensitivities.
        scaled = all(unit * parts[0].sensitivity >= move for unit, move in zip(units, moved, strict=True))
        return scaled and parts[0].dimension == len(moved) and parts[0].draws == 1
    return set(units) == {1} and _agrees(parts, moved, 1, 1)


def _chosen(facts: Facts, units: Sequence[Fraction], parts: Sequence[Certificate]) -> bool:
    """Whether points are chosen by scores that move as far as a record can move them.

    A record that comes or goes moves the number of records below a point less q times their number by q or 1 - q. At
    each depth of a halving it does so in one range, whose ends are neighbouring shares that were drawn before. One that
    is substituted does it twice; in a single range it moves scores by at most 1.
    """
    if set(units) != {1} or any(part.noise != "exponential" or part.dimension != 1 for part in parts):
        return False
    twice, unit = facts.neighbours == "substitute", facts.contributions
    if facts.method == TOGETHER:
        # Half of what all gaps change by: of one record more, its own by 1 - p and the others by their p.
        gaps = [b - a for a, b in pairwise((Fraction(0), *facts.shares, Fraction(1)))]
        moved = max((1 - own + sum(gaps) - own) / 2 for own in gaps)
        least, draws = (Fraction(1), 1) if twice and not facts.grouped else (moved, 2 if twice else 1)
        return len(parts) == 1 and parts[0].sensitivity >= least * unit and parts[0].draws >= draws
    for depth, part in enumerate(parts):
        if twice and not facts.grouped and (depth == 0 or facts.method == APART):
            least, draws = Fraction(1), 1
        else:
            apart = [max(share, 1 - share) for share in facts.shares]
            least, draws = max(apart if facts.method == APART else facts.shares_at(depth)), 2 if twice else 1
        if part.sensitivity < least * unit or part.draws < draws:
            return False
    return facts.method == APART or len(parts) == len(facts.shares).bit_length()


def _has_norm(facts: Facts, parts: Sequence[Certificate]) -> bool:
    """Whether sums are drawn in a norm that holds all that a record can do to them: that of moments, or the cube.

    What the certificate says of the forms must be so: each range is held against a grid of records.
    """
    (part,) = parts
    if not part.blocks:
        return part.noise == "sup-norm" and not part.ranges
    kind = "moments" if facts.rows is not None and not facts.grouped else "counted moments"
    if facts.moves_within:
        kind = "selected sums" if facts.method == MEAN_OF_SUMS else "selected moments"
    plain = facts.method == MEAN_OF_SUMS and not facts.moves_within
    if plain or part.blocks != (f"{kind} {len(facts.ends)}",) or part.noise != "polyhedral":
        return False
    return bool(part.ranges) and all(map(_holds, part.ranges))


@cache
def _holds(text: str) -> bool:
    """Whether what is written as ``form from low to high`` is so, and attained, on a grid of records."""
    form, low, high = re.fullmatch(r"(.+) from (\S+) to (\S+)", text).groups()
    found = moments.extremes(re.sub(r"(u\d)\^2", r"\1\1", form))
    return all(abs(x - float(Fraction(end))) < 1e-12 for x, end in zip(found, (low, high), strict=True))


def _agrees(parts: Sequence[Certificate], moved: Sequence[Fraction], dimension: int, draws: int) -> bool:
    return len(parts) == len(moved) and all(
        part.sensitivity >= move and part.dimension == dimension and part.draws >= draws
        for part, move in zip(parts, moved, strict=True)
    )


def _moves(facts: Facts) -> list[Fraction] | None:
    """What the unit can do to each released number; None where the record cannot be what it says."""
    unit, rows = facts.contributions, facts.rows
    pairs = list(combinations_with_replacement(facts.widths, 2))
    if facts.statistic == "count":
        return [Fraction(unit)]
    if facts.statistic == "proportion":
        over = rows or facts.denominator
        return [Fraction(unit, over)] if over else None
    if facts.statistic == "sum" and len(facts.ends) == 1:
        within = facts.widths[0] if facts.neighbours == "substitute" else Fraction(0)
        return [unit * (max(facts.reach, within) if rows is None else facts.widths[0])]
    if facts.statistic == "mean" and len(facts.ends) == 1:
        if rows is None:
            return [unit * facts.widths[0] / 2 / facts.denominator] if facts.denominator else None
        return [unit * facts.widths[0] / rows]
    if facts.statistic == "kendall" and rows is not None and rows > 1:
        # Each of the pairs of records that are touched goes from one order to the other.
        moved = min(unit, rows - 1)
        touched = moved * (rows - moved) + Fraction(moved * (moved - 1), 2)
        return [2 * touched / Fraction(rows * (rows - 1), 2)] * (facts.ordered * (facts.ordered - 1) // 2)
    if rows is None or not pairs:
        return None
    if facts.statistic.startswith("pooled"):
        if rows <= facts.cells or not facts.cells:
            return None
        places = enumerate(combinations_with_replacement(range(len(facts.ends)), 2))
        free = unit / Fraction(rows - facts.cells)
        if facts.sizes is not None:
            return [free * (1 - Fraction(1, max(facts.sizes))) * a * b for a, b in pairs]
        return [free * (1 if i == j else 2) * pairs[place][0] * pairs[place][1] for place, (i, j) in places]
    moves = [unit * a * b / rows for a, b in pairs]
    if facts.statistic == "standard_deviation" and facts.method == DIRECT:
        return [_root_below(moves[0])]
    return moves if facts.statistic in ("variance", "standard_deviation", "covariance", "correlation") else None


def _root_below(square: Fraction) -> Fraction:
    """A little less than √square."""
    bits = 64 + max(0, square.denominator.bit_length() - square.numerator.bit_length())
    return Fraction(isqrt((square.numerator << (2 * bits)) // square.denominator), 1 << bits)


# Bounds


def own_bounds(release: Release, facts: Facts) -> list[Any] | None:
    """Where each number of a release can lie, from the statistic, its columns and the rows."""
    rows, zero, count = facts.rows, Fraction(0), len(release.bounds)
    if facts.statistic in ("count", "counts", "histogram", "crosstab") or facts.method == OF_COUNTS:
        return [(zero, None if rows is None else Fraction(rows))] * count
    if facts.statistic in ("proportion", "proportions"):
        return [(zero, Fraction(1))] * count
    if facts.statistic == "kendall":
        return [(Fraction(-1), Fraction(1))] * count
    if facts.statistic == "bounds":
        # Places of cells.
        return [(zero, Fraction(len(release.columns[0].cells) - 1))] * count
    (lower, upper), width = facts.ends[0], facts.widths[0]
    if facts.method in CHOICES:
        return [(lower, upper)] * count
    if facts.statistic == "mean":
        return [(lower, upper)] * max(facts.cells, 1)
    if facts.statistic == "sum":
        open_ends = (zero if lower >= 0 else None, zero if upper <= 0 else None)
        if rows is None:
            return [open_ends] * count
        if facts.grouped:
            return [(min(rows * lower, zero), max(rows * upper, zero))] * count
        return [(rows * lower, rows * upper)]
    if facts.method in (VARIANCE_OF_SUMS, ROOT_OF_SUMS):
        return [(zero, width**2 / 2 if facts.method == VARIANCE_OF_SUMS else width * Fraction(70, 99))] * count
    if facts.method in (VARIANCE_OF_MOMENTS, ROOT_OF_MOMENTS, CENTRED, ROOT_OF_CENTRED, ROBUST, ROOT_OF_ROBUST):
        top = width**2 * _largest(facts)
        return [(zero, top if facts.method in (VARIANCE_OF_MOMENTS, CENTRED, ROBUST) else _root_below(top))]
    if facts.method in (MATRIX_OF_MOMENTS, TABLE_OF_MOMENTS, COEFFICIENTS):
        share = Fraction(1, 2) if rows is None else _largest(facts)
        places = product(range(len(facts.ends)), repeat=2)
        of_matrix = [_around(facts.widths[i] * facts.widths[j] * share, i == j) for i, j in places]
        return of_matrix if facts.method == MATRIX_OF_MOMENTS else [*facts.ends, *of_matrix]
    if facts.method in (CORRELATION_OF_SUMS, CORRELATION_OF_MOMENTS):
        return [(Fraction(-1), Fraction(1))] * len(facts.ends) ** 2
    if facts.method in OF_SUMS:
        # Two records attain half of the product.
        places = product(range(len(facts.ends)), repeat=2)
        return [_around(facts.widths[i] * facts.widths[j] / 2, i == j) for i, j in places]
    largest = _largest(facts)
    pairs = list(combinations_with_replacement(range(len(facts.ends)), 2))
    made = [_around(facts.widths[i] * facts.widths[j] * largest, i == j) for i, j in pairs]
    if facts.statistic == "standard_deviation" and facts.method == DIRECT:
        return [(zero, _root_below(made[0][1]))]
    if len(parts_of(release)) > 1 and release.terms.bounding == "truncated":
        return _in_turn(made, pairs, release.noisy)
    return made


def _around(reach: Fraction, on_diagonal: bool) -> tuple[Fraction, Fraction]:
    return (Fraction(0) if on_diagonal else -reach), reach


def _largest(facts: Facts) -> Fraction:
    """The largest variance of numbers that are one apart: half of them at either end."""
    rows = facts.rows or 0
    if not facts.statistic.startswith("pooled"):
        return Fraction(rows * rows // 4, rows * (rows - 1))
    scatter = Fraction(rows, 4) if facts.sizes is None else sum(Fraction(m * m // 4, m) for m in facts.sizes)
    return Fraction(scatter) / (rows - facts.cells)


def _in_turn(made: list[Any], pairs: list[tuple[int, int]], noisy: Sequence[Fraction]) -> list[Any]:
    """Covariances that were truncated one by one lie within what the released variances allow, where that is not 0."""
    variances = {i: noisy[place] for place, (i, j) in enumerate(pairs) if i == j}
    reaches = [_root_below(variances[i] * variances[j]) for i, j in pairs]
    cut = [i != j and reach > 0 for (i, j), reach in zip(pairs, reaches, strict=True)]
    return [(-reach, reach) if yes else bound for bound, reach, yes in zip(made, reaches, cut, strict=True)]


def _ends_are_own(release: Release, facts: Facts, parts: Sequence[Certificate]) -> bool:
    """Whether bounded laws end where the numbers do."""
    laws = [part for part in parts if part.bounding != "unbounded"]
    if not laws:
        return True
    ends = [tuple(None if end is None else p.origin + end * p.step for end in (p.first, p.last)) for p in laws]
    if facts.method in CHOICES:
        return set(ends) == set(release.bounds)
    if facts.statistic in _TABLES:
        return set(ends) == {(Fraction(0), None if facts.rows is None else Fraction(facts.rows))}
    return ends == list(release.bounds)
