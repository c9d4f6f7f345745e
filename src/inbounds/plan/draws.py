"""Decide which releases of a plan are drawn together.

If k numbers are drawn one by one with ε/k each, their noise has the variance 2k²/ε². If they are drawn together, it has
the variance (k+1)(k+2)/(3ε²). So releases are drawn together, with the sum of their ε, as long as none of them has more
noise than with its own share. A release that would have more is drawn alone, or with others that it gains from. The
decision depends on public numbers only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from inbounds.laws import least_variance
from inbounds.privacy.forms import MOST_COLUMNS
from inbounds.privacy.guarantee import Pure
from inbounds.privacy.terms import Terms
from inbounds.record.group import Group
from inbounds.record.statistic import Statistic
from inbounds.statistics.joint import offer
from inbounds.statistics.share import Number, OfMoments, Share
from inbounds.tables.schema import Numeric

# Second moments, rounded, of the unit ball for the moments of d columns: in the direction of a mean, of a square and of
# a product of two columns. Those of a cube are 1/3. Noise with that norm in D dimensions has (D+1)(D+2) times as much
# variance.
_OF_MEANS = {1: "0.25", 2: "0.223", 3: "0.208", 4: "0.198", 5: "0.19", 6: "0.184"}
_OF_SQUARES = {1: "0.295", 2: "0.266", 3: "0.237", 4: "0.212", 5: "0.19", 6: "0.17"}
_OF_PRODUCTS = {2: "0.173", 3: "0.167", 4: "0.162", 5: "0.159", 6: "0.157"}
_OF_CUBE = Fraction(1, 3)
# The most coordinates of one draw. More take time and save nothing.
_MOST_COORDINATES = 2000


@dataclass(frozen=True, slots=True)
class Candidate:
    """A release that may be drawn with others: its share of the draw, and the ε that it has alone."""

    name: str
    statistic: Statistic
    share: Share
    epsilon: Fraction


# claim:joint-arrangement
def arrange(requests: Mapping[str, tuple[Statistic, Terms]]) -> list[list[str]]:
    """The groups of two or more releases that are drawn together, by their names.

    Releases with the same terms, apart from ε, are first tried as one group. While some release of the group would have
    more noise than alone, the one that loses most is taken out. Those that were taken out are then tried as a group.
    """
    kinds: dict[Terms, list[Candidate]] = {}
    for name, (statistic, terms) in requests.items():
        try:
            share = offer(statistic, terms)
        except (ValueError, TypeError):
            # The error is reported when the release is drafted alone.
            continue
        if share is not None:
            alike = replace(terms, guarantee=Pure(Fraction(1)))
            kinds.setdefault(alike, []).append(Candidate(name, statistic, share, terms.epsilon))
    groups: list[list[str]] = []
    for candidates in kinds.values():
        left = candidates
        while len(left) > 1:
            together, out = _keep_those_who_gain(left)
            if len(together) < 2:
                break
            groups.append([candidate.name for candidate in together])
            left = out
    return groups


def make_group(names: Sequence[str], requests: Mapping[str, tuple[Statistic, Terms]]) -> Group:
    """The joint draw of some releases, with the sum of their ε."""
    first = requests[names[0]][1]
    epsilon = sum((requests[name][1].epsilon for name in names), start=Fraction(0))
    return Group(replace(first, guarantee=Pure(epsilon)), tuple(requests[name][0] for name in names))


def _keep_those_who_gain(candidates: list[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
    together, out = list(candidates), []
    while len(together) > 1 and _count_coordinates(together) > _MOST_COORDINATES:
        out.append(together.pop(max(range(len(together)), key=lambda i: _count_columns(together[i].share))))
    while len(together) > 1:
        ratios = _compare(together)
        worst = max(range(len(together)), key=lambda i: ratios[i])
        if ratios[worst] <= 1:
            break
        out.append(together.pop(worst))
    return together, sorted(out, key=candidates.index)


def _compare(together: Sequence[Candidate]) -> list[Fraction]:
    """The variance of each release's noise in the joint draw, divided by the variance if it is drawn alone."""
    sets = _join_columns([candidate.share for candidate in together])
    home = {column: len(columns) for columns in sets for column in columns}
    dimension = _count_coordinates(together)
    epsilon = sum((candidate.epsilon for candidate in together), start=Fraction(0))
    factor = (dimension + 1) * (dimension + 2) / epsilon**2
    return [
        _ball(candidate.share, home) * factor / _by_itself(candidate.share, candidate.epsilon) for candidate in together
    ]


def _count_coordinates(together: Sequence[Candidate]) -> int:
    """Count the coordinates of the joint draw: the moments of each set of columns, and each number besides them."""
    sets = _join_columns([candidate.share for candidate in together])
    home = {column: len(columns) for columns in sets for column in columns}
    alone = [candidate for candidate in together if not _is_of(candidate.share, home)]
    return sum(_count(len(columns)) for columns in sets) + len(alone)


def _count_columns(share: Share) -> int:
    """Count the columns whose moments a release needs."""
    return 0 if isinstance(share, Number) or share.number is not None else len(share.columns)


def _by_itself(share: Share, epsilon: Fraction) -> Fraction:
    """The variance of the noise of a release that is drawn alone."""
    columns = _count_columns(share)
    if not columns:
        return Fraction(f"{least_variance(float(epsilon)):.9g}")
    assert isinstance(share, OfMoments)
    dimension, home = _count(columns), dict.fromkeys(share.columns, columns)
    return share.alone * _ball(share, home) * (dimension + 1) * (dimension + 2) / epsilon**2


def _ball(share: Share, home: Mapping[Numeric, int]) -> Fraction:
    """The second moment of the unit ball in the directions of a release's own numbers."""
    if not _is_of(share, home):
        return _OF_CUBE
    assert isinstance(share, OfMoments)
    size = home[share.columns[0]]
    if size > MOST_COLUMNS:
        return _OF_CUBE
    if share.number is not None:
        return Fraction(_OF_MEANS[size])
    return Fraction(_OF_SQUARES[size] if len(share.columns) == 1 else _OF_PRODUCTS[size])


def _is_of(share: Share, home: Mapping[Numeric, int]) -> bool:
    """Whether a release can be computed from the moments in the draw."""
    return isinstance(share, OfMoments) and share.columns[0] in home


def _count(columns: int) -> int:
    return columns + columns * (columns + 1) // 2


def _join_columns(shares: Sequence[Share]) -> list[set[Numeric]]:
    """The sets of columns whose moments are needed together."""
    sets: list[set[Numeric]] = []
    for share in shares:
        if isinstance(share, OfMoments) and share.number is None:
            columns = set(share.columns)
            for other in [earlier for earlier in sets if earlier & columns]:
                columns |= other
                sets.remove(other)
            sets.append(columns)
    return sets
