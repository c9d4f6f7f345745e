"""Tables with a tree: counts of nested groups and of their members, which are adjusted until they agree."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from inbounds import _check
from inbounds.derivations import FromTree
from inbounds.expected import discrete_variance
from inbounds.privacy.certificate import Certificate, Composition, compose
from inbounds.privacy.certified import Bound, counts_law
from inbounds.privacy.terms import Terms
from inbounds.record.draft import Draft, Exact
from inbounds.record.statistic import Statistic
from inbounds.repairs.tree import Groups, grow, share_levels, two_levels
from inbounds.statistics.drafts import make_draft
from inbounds.tables.answers import Cells, counts_of
from inbounds.tables.request import Request
from inbounds.tables.schema import Key

Shares = tuple[Fraction, ...]
# The most digits of the numerator and denominator of a share.
_MOST_DIGITS = 100


def settle_tree(tree: Any, level_shares: Any, labels: Sequence[str]) -> tuple[Groups, Shares | None]:
    """The nested groups, and the shares of ε of the depths of the tree. None for equal shares, which have one law.

    Without a tree there are two depths of about √K groups, with the shares that are best for sums over ranges.
    """
    groups = two_levels(labels) if tree is None else _as_text(tree)
    nested = grow(groups, tuple(labels))
    if level_shares is not None:
        return groups, _check_shares(level_shares, nested.depth)
    if tree is not None or nested.depth == 1:
        return groups, None
    return groups, share_levels(len(groups), -(-len(labels) // len(groups)))


def _as_text(groups: Any) -> Any:
    """Nested groups, with levels as they are written in the record."""
    if isinstance(groups, tuple | list):
        return tuple(_as_text(member) for member in groups)
    return str(groups).lower() if isinstance(groups, bool) else str(groups)


def _check_shares(level_shares: Any, depth: int) -> Shares:
    """Shares of ε that add up to one, in the proportions given."""
    if isinstance(level_shares, str) or not isinstance(level_shares, Sequence | np.ndarray):
        raise TypeError(f"level_shares must be a list of numbers, got {_check.shown(level_shares)}")
    if len(level_shares) != depth:
        raise ValueError(f"level_shares must have one number for each of the {depth} depths of the tree, from the top")
    weights = [_check.fraction(share, "level_shares") for share in level_shares]
    if not all(share > 0 for share in weights):
        raise ValueError("level_shares must be > 0: without a share of epsilon a depth of the tree cannot be drawn")
    shares = tuple(share / sum(weights) for share in weights)
    if any(share.denominator >= 10**_MOST_DIGITS for share in shares):
        raise ValueError(f"level_shares must have at most {_MOST_DIGITS} digits, as in (43, 57)")
    return shares


# claim:tree-levels
def draft_tree(
    statistic: Statistic,
    terms: Terms,
    key: Key,
    tree: Groups,
    shares: Shares | None,
    *,
    over: int = 1,
    top: Fraction,
) -> Draft:
    """Draft counts, or shares ``over`` a public number, from noisy counts of groups that are adjusted until they agree.

    A record is counted once at each depth of the tree, so the loss of a depth is that of a table of
    counts, and the losses of all depths add up.
    """
    nested = grow(tree, key.labels)
    nodes, name = len(nested.leaves), statistic.name
    law: Certificate | Composition = counts_law(name, terms, nested.depth)
    variances: tuple[float, ...] = ()
    if shares is not None:
        law = compose([counts_law(name, terms, share=share) for share in shares], terms.epsilon)
        variances = tuple(discrete_variance(float(part.spread)) for part in law.parts)
    bound: Bound = (Fraction(0), top)

    def exact(cells: Cells) -> Exact:
        sizes = counts_of(cells, (len(key.labels),))
        return np.array([sizes[list(members)].sum() for members in nested.leaves])

    return make_draft(
        statistic,
        terms,
        FromTree(nested, variances, whole=statistic.traits.whole),
        law,
        Request((key,)),
        exact,
        bounds=[bound] * nodes,
        columns=[key],
        units=[Fraction(1, over)] * nodes,
        axes=[key.labels],
    )
