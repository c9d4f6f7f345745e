"""Several statistics in one draw: numbers in units of their sensitivities, moments in their own norm.

In units of their sensitivities, k numbers that are drawn one by one with ε/k each have noise of variance 2k²/ε². If
they are drawn together in a cube, it is (k+1)(k+2)/(3ε²). Statistics of the same columns share the sums that they are
computed from: if covariances are released, the means of their columns cost nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from inbounds.derivations import Clamped, Derivation
from inbounds.privacy.certified import Bound, norm_law
from inbounds.privacy.terms import Terms
from inbounds.record.draft import Draft
from inbounds.record.group import Group, register_drafter
from inbounds.record.selection import check_persons, terms_of
from inbounds.record.statistic import Statistic
from inbounds.statistics.base import quantise
from inbounds.statistics.drafts import make_draft
from inbounds.statistics.share import Number, OfMoments, Share
from inbounds.tables.answers import Cells
from inbounds.tables.coordinates import MomentSums
from inbounds.tables.schema import Column, Numeric, Quantised

# The share of proposals that a draw keeps, rounded, by number of columns; and the smallest share for a whole draw.
_KEPT = {1: 0.84, 2: 0.46, 3: 0.16, 4: 0.034, 5: 0.0046, 6: 0.0004}
_LEAST_KEPT = 0.0003
# The most numbers of one member. Large matrices gain nothing from a joint draw, and every record of the draw names all
# members.
_MOST_NUMBERS = 1000


def offer(statistic: Statistic, terms: Terms) -> Share | None:
    """The share of a statistic in a joint draw. None if it has to be drawn alone."""
    if terms.bounding == "truncated" or terms_of(statistic, terms).rows is None:
        return None
    share = statistic.share(terms) if statistic.numbers(terms) <= _MOST_NUMBERS else None
    if share is not None:
        check_persons(statistic, terms)
    return share


@dataclass(frozen=True, slots=True)
class _View:
    """The part of a joint draw that a member uses: the places of its numbers, their unit, and how its value follows."""

    places: tuple[int, ...]
    derivation: Derivation
    unit: Fraction
    columns: tuple[Column | Quantised, ...]
    bounds: tuple[Bound, ...]
    axes: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class _Block:
    """The moments of some columns in a draw, and the place of the first of them."""

    sums: MomentSums
    start: int

    def view(self, share: OfMoments) -> "_View":
        """The part that a member uses."""
        quantised_columns = {quantised.column: quantised for quantised in self.sums.columns}
        columns = tuple(quantised_columns[column] for column in share.columns)
        return _View(self._find(share), share.derivation, Fraction(2), columns, share.bounds, share.axes)

    def _find(self, share: OfMoments) -> tuple[int, ...]:
        """The places of the sums of some columns and of their products."""
        columns = [quantised.column for quantised in self.sums.columns]
        indices, size = [columns.index(column) for column in share.columns], len(columns)
        singles = [self.start + i for i in indices]
        pairs = [(min(i, j), max(i, j)) for k, i in enumerate(indices) for j in indices[k:]]
        # Row by row from the diagonal, after the sums of all columns.
        return (*singles, *(self.start + size + i * size - i * (i - 1) // 2 + j - i for i, j in pairs))


# claim:joint-plan
@register_drafter
def draft_group(group: Group) -> list[Draft]:
    """The drafts of a group's members, which share one draw and its certificate.

    One record moves each number by at most 1 in units of its sensitivity, and the moments of each set of columns by at
    most 1 in their norm, so that the whole vector moves by at most 1 in the largest of these.
    """
    terms, shares = group.terms, []
    for member in group.members:
        share = offer(member, terms)
        if share is None:
            raise ValueError(f"a {member.name} cannot be drawn together with others under these terms")
        shares.append(share)
    blocks = _make_blocks(shares, terms)
    home = {quantised.column: block for block in blocks for quantised in block.sums.columns}
    numbers = {i: number for i, share in enumerate(shares) if (number := _number_of(share, home)) is not None}
    after = sum(block.sums.dimension for block in blocks)
    places = {i: after + k for k, i in enumerate(numbers)}
    # How much one record moves each number. The unit of privacy may have several records.
    units = {i: number.number.sensitivity / terms.unit.contributions for i, number in numbers.items()}
    requests = (*(block.sums.request for block in blocks), *(number.request for number in numbers.values()))

    def exact(*tables: Cells) -> list[list[Fraction]]:
        vector = [x for block, cells in zip(blocks, tables, strict=False) for x in block.sums(cells[()])]
        rest = zip(numbers.items(), tables[len(blocks) :], strict=True)
        return [[*vector, *(number.number(cells) / units[i] for (i, number), cells in rest)]]

    move = max([Fraction(1), *(block.sums.sensitivity for block in blocks)]) * terms.unit.contributions
    certificate = norm_law("joint draw", terms, move, _name_blocks(blocks, len(numbers)))
    drafts = []
    for i, (member, share) in enumerate(zip(group.members, shares, strict=True)):
        if i in numbers:
            view = _View((places[i],), Clamped(), units[i], numbers[i].columns, (_bounds_of(numbers[i]),))
        else:
            assert isinstance(share, OfMoments)
            view = home[share.columns[0]].view(share)
        draft = make_draft(
            member,
            terms,
            view.derivation,
            certificate,
            requests,
            exact,
            bounds=view.bounds,
            columns=view.columns,
            units=[view.unit] * len(view.places),
            axes=view.axes,
        )
        drafts.append(replace(draft, record=replace(draft.record, group=group, member=i, places=view.places)))
    return drafts


def _bounds_of(number: Number) -> Bound:
    return number.number.lower, number.number.upper


def _number_of(share: Share, home: Mapping[Numeric, _Block]) -> Number | None:
    """The share as a number with its own coordinate. None if it is computed from moments."""
    if isinstance(share, Number):
        return share
    return share.number if share.columns[0] not in home else None


def _make_blocks(shares: Sequence[Share], terms: Terms) -> list[_Block]:
    """The moments that a draw needs. Columns of matrices that have a column in common are one block."""
    members = [share for share in shares if isinstance(share, OfMoments) and share.number is None]
    sets: list[dict[Numeric, None]] = []
    for share in members:
        columns = dict.fromkeys(share.columns)
        for other in [earlier for earlier in sets if not earlier.keys().isdisjoint(columns)]:
            columns = other | columns
            sets.remove(other)
        sets.append(columns)
    blocks: list[_Block] = []
    for columns in sets:
        root = any(share.root and set(share.columns) <= columns.keys() for share in members)
        quantised = tuple(quantise(column, terms, root=root) for column in columns)
        sums = MomentSums(quantised, products=True, counted=False)
        blocks.append(_Block(sums, sum(block.sums.dimension for block in blocks)))
    return blocks


def _name_blocks(blocks: Sequence[_Block], numbers: int) -> tuple[str, ...]:
    """The norm of a draw: moments have their own norm as long as enough proposals are kept; the rest is in a cube."""
    kept_share, narrow = 1.0, set()
    for size, i in sorted((len(block.sums.columns), i) for i, block in enumerate(blocks)):
        kept_share *= _KEPT.get(size, 0.0)
        if kept_share >= _LEAST_KEPT:
            narrow.add(i)
    names = [block.sums.block if i in narrow else f"box {block.sums.dimension}" for i, block in enumerate(blocks)]
    return (*names, f"box {numbers}") if numbers else tuple(names)
