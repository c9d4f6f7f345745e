"""Several quantiles that are read from noisy counts of cells, where draws would be too far off, for a public reason."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from inbounds.derivations import PointsOfCounts
from inbounds.expected.quantiles import expected_square_of_counts, expected_square_of_draws
from inbounds.grid.nodes import Node
from inbounds.privacy.certificate import Certificate, Composition
from inbounds.privacy.certified import refuse_truncated_points, zero_sum_law
from inbounds.privacy.terms import Terms
from inbounds.record.draft import Draft, Exact
from inbounds.record.statistic import Statistic
from inbounds.statistics.drafts import make_draft
from inbounds.tables.answers import Cells, counts_of
from inbounds.tables.request import Request
from inbounds.tables.schema import Quantised, Steps

# The most cells whose counts are drawn: with more cells, the noise of a tree would be clearly smaller.
_MOST_CELLS = 1024
# The part of the bounds that records are assumed to take, for choosing the method.
TAKEN = 0.5


def find_cells(terms: Terms, points: int) -> int:
    """The number of cells for counts that quantiles are read from: about √(nε), as a power of two.

    With more cells, the noise between them is larger; with fewer, the part of a cell that is not known.

    >>> find_cells(Terms.of("0.1", rows=500), 65_536), find_cells(Terms.of(1, rows=5000), 101)
    (8, 64)
    """
    assert terms.rows is not None
    informed = int(terms.rows * terms.epsilon / terms.contributions)
    return min(max(2, 1 << (informed.bit_length() // 2)), points, _MOST_CELLS)


# claim:counts-or-draws
def is_counted(
    shares: tuple[Fraction, ...], terms: Terms, points: int, law: Certificate | Composition, nodes: Sequence[Node]
) -> bool:
    """Whether several quantiles are read from noisy counts, and not drawn by that law. The reason is public.

    It is that draws are expected to be further off than the noise of the counts, together with
    what is not known within a cell, if the records lie evenly in the middle half of the bounds.
    """
    assert terms.rows is not None
    parts = (law,) if isinstance(law, Certificate) else law.parts
    spreads = [part.grid.scale.steps for part in parts]
    scale = float(2 * terms.contributions / terms.epsilon)
    square = expected_square_of_counts(shares, terms.rows, scale, find_cells(terms, points), points, TAKEN)
    return square < expected_square_of_draws(nodes, spreads, terms.rows, TAKEN)


# claim:counted-sensitivity
def draft_counted(
    statistic: Statistic, terms: Terms, shares: tuple[Fraction, ...], column: Quantised, axes: Sequence[Sequence[str]]
) -> Draft:
    """Draft quantiles that are read from noisy counts of cells, of about as many points each, with zero-sum noise.

    A substituted record leaves one cell and enters another, at whatever points.
    """
    assert terms.rows is not None
    refuse_truncated_points(statistic.name, terms)
    points = column.count + 1
    cells = find_cells(terms, points)
    firsts = tuple(points * cell // cells for cell in range(cells + 1))

    def exact(table: Cells) -> Exact:
        return np.add.reduceat(counts_of(table, (points,)), firsts[:-1])

    return make_draft(
        statistic,
        terms,
        PointsOfCounts(shares, terms.rows, firsts, column.column.lower, column.step),
        zero_sum_law(statistic.name, terms, cells),
        Request((Steps(column),)),
        exact,
        bounds=[(Fraction(0), Fraction(terms.rows))] * cells,
        columns=[column],
        units=[Fraction(1)] * cells,
        axes=axes,
    )
