"""The laws of releases, certified: from public numbers alone, before any data are read."""

from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from inbounds.grid.law import GridMechanism
from inbounds.grid.scale import Scale
from inbounds.privacy.certificate import Certificate, certify
from inbounds.privacy.exact import choose_grid
from inbounds.privacy.families import family_of
from inbounds.privacy.guarantee import ZCDP, Neighbours, Pure, require_pure
from inbounds.privacy.norms import count_coordinates, make_norm, norm_rounding
from inbounds.privacy.stairs import take_stairs
from inbounds.privacy.terms import Terms

Bound: TypeAlias = tuple[Fraction | None, Fraction | None]
# Where a true value may lie relative to the bounds of its release.
Location: TypeAlias = Literal["inside", "anywhere"]


def single_law(
    name: str,
    terms: Terms,
    bounds: Bound,
    sensitivity: Fraction,
    *,
    step: Fraction | None = None,
    epsilon: Fraction | None = None,
) -> Certificate:
    """The law of one number within bounds at ε (or a share of it), certified; ``step`` is its natural grid.

    A number without a natural grid has staircase noise where that is clearly better, unless it is truncated.
    """
    if terms.bounding == "truncated" and bounds == (None, None):
        raise ValueError(f"a {name} has no bounds here, so there is nothing to truncate; use bounding='bit'")
    promise = terms.guarantee.calibrated if epsilon is None else Pure(epsilon)
    return _single_law(name, terms.bounding, bounds, (sensitivity, step), terms.unit.neighbours, promise)


def open_law(name: str, terms: Terms, sensitivity: Fraction, epsilon: Fraction) -> Certificate:
    """The law of one number without bounds at a share of ε, certified; what follows from it is clamped afterwards."""
    _refuse_truncated(name, terms)
    steps = sensitivity, None
    return _single_law(name, "unbounded", (None, None), steps, terms.unit.neighbours, Pure(epsilon), "anywhere")


def cut_law(law: Certificate, bounds: Bound) -> Certificate:
    """A truncated law at the same ε within other bounds; the true value may lie outside of them."""
    steps = law.sensitivity, None
    return _single_law(law.statistic, "truncated", bounds, steps, law.neighbours, law.guarantee, "anywhere")


def _certify_single(
    name: str,
    bounding: str,
    bounds: Bound,
    steps: tuple[Fraction, Fraction | None],
    neighbours: Neighbours,
    promise: Pure | ZCDP,
    location: Location = "inside",
) -> Certificate:
    sensitivity, step = steps
    return certify(
        _law(bounding, bounds, sensitivity, promise, stairs=step is None, step=step, location=location),
        statistic=name,
        neighbours=neighbours,
        sensitivity=sensitivity,
        guarantee=promise,
        location=location,
    )


def _law(
    bounding: str,
    bounds: Bound,
    sensitivity: Fraction,
    promise: Pure | ZCDP,
    *,
    stairs: bool = False,
    step: Fraction | None = None,
    location: Location = "inside",
) -> Any:
    """The mechanism with the least noise, or a clear error if its scale would not fit 60 bits."""
    # A number without a natural grid gets one that is fine for its ε.
    epsilon = require_pure(promise) if step is None else Fraction(1)
    _refuse_bounding(promise, bounding)
    try:
        grid = choose_grid(*bounds, sensitivity, epsilon, step=step, location=location)
        mechanism = promise.calibrate(family_of(promise, bounding, grid), grid.move)
        return take_stairs(mechanism, grid.move, epsilon) if stairs and bounding != "truncated" else mechanism
    except ValueError:
        pass
    article = "an" if promise.parameter[0] in "aeiou" else "a"
    raise ValueError(
        f"no noise can be drawn for this {promise.parameter}, with these bounds, rows (or denominator) and "
        f"contributions: the scale would be too large or too small for 60 bits; take {article} {promise.parameter} "
        "nearer to 1, or fewer contributions"
    )


def _refuse_bounding(promise: Pure | ZCDP, bounding: str) -> None:
    if bounding == "truncated" and not isinstance(promise, Pure):
        raise ValueError(f"bounding='truncated' is not offered with {promise.parameter}= yet; use bounding='bit'")


def _certify_counts(name: str, terms: Terms, levels: int = 1, share: Fraction = Fraction(1)) -> Certificate:
    """The law of each count of a table at a ``share`` of the guarantee, certified for all of them together.

    In a tree every record is counted once in each of its ``levels``.
    """
    promise = terms.guarantee.calibrated.share(share)
    records, places = terms.unit.contributions, terms.unit.cell_changes // terms.unit.contributions
    move, changes = promise.worst_moves(records, places * levels)
    upper = None if terms.rows is None else Fraction(terms.rows)
    each = promise.share(Fraction(1, changes))
    return certify(
        _law(terms.bounding, (Fraction(0), upper), Fraction(move), each, step=Fraction(1)),
        statistic=name,
        neighbours=terms.unit.neighbours,
        sensitivity=Fraction(move),
        guarantee=promise,
        draws=changes,
    )


def _certify_zero_sum(name: str, terms: Terms, cells: int) -> Certificate:
    """The law of noise that keeps the sum of a table's counts, certified; for a public number of rows."""
    changes = terms.unit.cell_changes
    share = terms.epsilon / changes
    return certify(
        _law("unbounded", (None, None), Fraction(1), Pure(share), step=Fraction(1)),
        statistic=name,
        neighbours=terms.unit.neighbours,
        sensitivity=Fraction(1),
        epsilon=terms.epsilon,
        location="anywhere",
        dimension=cells,
        draws=changes,
        noise="zero-sum",
    )


def _certify_joint(name: str, terms: Terms, sensitivity: Fraction, dimension: int, draws: int = 1) -> Certificate:
    """The law of sup-norm noise for vectors whose coordinates all move by at most ``sensitivity``, certified.

    ``draws`` is the number of vectors that the unit moves. Truncation is refused: it would not be post-processing.
    """
    _refuse_truncated(name, terms)
    return certify(
        _law("unbounded", (None, None), sensitivity, Pure(terms.epsilon / draws)),
        statistic=name,
        neighbours=terms.unit.neighbours,
        sensitivity=sensitivity,
        epsilon=terms.epsilon,
        location="anywhere",
        dimension=dimension,
        draws=draws,
    )


def _certify_norm(
    name: str,
    terms: Terms,
    sensitivity: Fraction,
    blocks: tuple[str, ...],
    draws: int = 1,
    epsilon: Fraction | None = None,
) -> Certificate:
    """The law of noise in the norm of some blocks, in which the unit moves a vector by at most ``sensitivity``.

    ``draws`` is the number of vectors that the unit moves, and ``epsilon`` the part of the terms' ε that is spent.
    Where no form bounds several coordinates together, the noise is sup-norm noise.
    """
    dimension = count_coordinates(blocks)
    if not make_norm(blocks).parts:
        return joint_law(name, terms, sensitivity, dimension, draws)
    _refuse_truncated(name, terms)
    budget = terms.epsilon if epsilon is None else epsilon
    share = budget / draws
    grid = choose_grid(None, None, sensitivity, share)
    # Rounding to the grid costs a little more noise, so steps must be small, also for a small ε.
    step = min(grid.step, sensitivity / max(1, min(1 << 12, share * (1 << 34) // 1)))
    move = sensitivity + norm_rounding(blocks) * step
    return certify(
        _law("unbounded", (None, None), move, Pure(share), step=step),
        statistic=name,
        neighbours=terms.unit.neighbours,
        sensitivity=sensitivity,
        epsilon=budget,
        location="anywhere",
        dimension=dimension,
        draws=draws,
        blocks=blocks,
    )


def _certify_choice(
    name: str,
    terms: Terms,
    points: tuple[Fraction, Fraction, int],
    sensitivity: Fraction,
    draws: int,
    share: Fraction = Fraction(1),
) -> Certificate:
    """The law of points that are chosen by the exponential mechanism at a ``share`` of ε, certified.

    ``points`` are the first one, the step between two, and the number of steps.
    """
    refuse_truncated_points(name, terms)
    epsilon = terms.epsilon * share
    first, step, count = points
    try:
        scale = Scale.at_least(2 * sensitivity * draws / epsilon)
    except ValueError:
        raise ValueError("epsilon is too small, or contributions are too many, for a point to be chosen") from None
    return certify(
        GridMechanism("bit", scale, 0, count, step, first),
        statistic=name,
        neighbours=terms.unit.neighbours,
        sensitivity=sensitivity,
        epsilon=epsilon,
        draws=draws,
        noise="exponential",
    )


def refuse_truncated_points(name: str, terms: Terms) -> None:
    """Refuse truncation for points of a grid, which always lie between its ends."""
    if terms.bounding == "truncated":
        raise ValueError(f"a {name} is a point within the bounds, so there is nothing to truncate; use bounding='bit'")


def _refuse_truncated(name: str, terms: Terms) -> None:
    if terms.bounding == "truncated":
        raise ValueError(
            f"bounding='truncated' is not offered for a {name} released jointly: the noise of several numbers at once "
            "is clamped, which costs no privacy; use bounding='bit'"
        )


# All arguments are public, so results may be cached.
_single_law = lru_cache(maxsize=1024)(_certify_single)
counts_law = lru_cache(maxsize=1024)(_certify_counts)
zero_sum_law = lru_cache(maxsize=1024)(_certify_zero_sum)
joint_law = lru_cache(maxsize=1024)(_certify_joint)
norm_law = lru_cache(maxsize=1024)(_certify_norm)
choice_law = lru_cache(maxsize=1024)(_certify_choice)
