"""Black-box audit: find an event that tells two neighbouring inputs apart, and certify a lower bound on ε from it.

Half of the draws choose the event, the other half bound its two probabilities by Clopper and Pearson's exact intervals.
If the certified bound is larger than the ε that a mechanism claims, the claim is wrong. Three kinds of events:

- *granularity*: the largest power of two that divides the output, which gives floating-point noise away (Mironov 2012;
  Haney et al. 2022);
- *threshold*: the output is at most, or at least, some value;
- *point*: the output is exactly some value, as an atom is.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy

from inbounds._check import Array

Mask: TypeAlias = npt.NDArray[np.bool_]
Event: TypeAlias = Callable[[Array], Mask]
KINDS = ("granularity", "threshold", "point")


@dataclass(frozen=True, slots=True)
class Finding:
    """What an audit certifies: with this confidence the loss is at least ``epsilon`` (0 if nothing was found)."""

    epsilon: float
    event: str
    first: int
    second: int
    draws: int
    confidence: float

    def __str__(self) -> str:
        return (
            f"certified ε ≥ {self.epsilon:.3f} at {self.confidence:.1%}: {self.event} in {self.first} against "
            f"{self.second} of {self.draws} draws"
        )


def audit(
    first: Callable[[int], Any],
    second: Callable[[int], Any],
    *,
    draws: int = 40_000,
    confidence: float = 0.999,
    kinds: tuple[str, ...] = KINDS,
) -> Finding:
    """Try to tell apart the outputs on two neighbouring inputs.

    ``first(k)`` and ``second(k)`` return k independent outputs, one number each (of a vector, take a coordinate or any
    function of it). Both directions are tried; the confidence holds for the finding as a whole.
    """
    if not draws >= 100:
        raise ValueError(f"draws must be >= 100, got {draws}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie in (0, 1), got {confidence}")
    if not kinds or not set(kinds) <= set(KINDS):
        raise ValueError(f"kinds must hold some of {KINDS}, got {kinds!r}")
    outputs = []
    for source in (first, second):
        values = np.asarray(source(draws))
        if values.shape != (draws,):
            raise ValueError(f"a source must return {draws} numbers, got shape {values.shape}")
        if values.dtype.kind in "iu" and values.size and (values.max() > 1 << 53 or values.min() < -(1 << 53)):
            raise ValueError("integers beyond 2^53 cannot be told apart as doubles: subtract something public first")
        outputs.append(values.astype(np.float64))
    half = draws // 2
    pilot, test = [values[:half] for values in outputs], [values[half:] for values in outputs]
    best: tuple[float, str, Event, bool] | None = None
    for name, event in _events(pilot, kinds):
        counts = [int(event(values).sum()) for values in pilot]
        for swapped in (False, True):
            high, low = counts[::-1] if swapped else counts
            guess = _certify_ratio(high, low, half, confidence)
            if best is None or guess > best[0]:
                best = guess, name, event, swapped
    if best is None:
        return Finding(0.0, "no event", 0, 0, draws - half, confidence)
    _, name, event, swapped = best
    counts = [int(event(values).sum()) for values in test]
    high, low = counts[::-1] if swapped else counts
    epsilon = max(_certify_ratio(high, low, draws - half, confidence), 0.0)
    return Finding(epsilon, name, high, low, draws - half, confidence)


def _certify_ratio(high: int, low: int, trials: int, confidence: float) -> float:
    """log of (lower end for the larger probability / upper end for the smaller one), each at half of the risk."""
    risk = (1 - confidence) / 2
    lower = float(scipy.special.betaincinv(high, trials - high + 1, risk)) if high else 0.0
    upper = float(scipy.special.betaincinv(low + 1, trials - low, 1 - risk)) if low < trials else 1.0
    return math.log(lower / upper) if lower > 0 else -math.inf


def _events(pilot: list[Array], kinds: tuple[str, ...]) -> Iterator[tuple[str, Event]]:
    both = np.concatenate(pilot)
    if not np.isfinite(both).all():
        yield "finite", np.isfinite
        both = both[np.isfinite(both)]
    if not both.size:
        return
    if "granularity" in kinds:
        levels = np.unique(granularity(both))
        if _ZERO in levels:
            yield "exactly 0", partial(np.equal, 0.0)
        for level in levels[levels != _ZERO]:
            yield f"divisible by 2^{level} and no more", partial(_divides_exactly, level)
            yield f"divisible by 2^{level}", partial(_divides, level)
    if "threshold" in kinds:
        for cut in np.unique(np.quantile(both, np.linspace(0.001, 0.999, 199))):
            yield f"at most {cut:.6g}", partial(np.greater_equal, cut)
            yield f"at least {cut:.6g}", partial(np.less_equal, cut)
    if "point" in kinds:
        values, counts = np.unique(both, return_counts=True)
        for value in values[np.argsort(-counts)[:50]]:
            yield f"exactly {value:.6g}", partial(np.equal, value)


def _divides_exactly(level: int, x: Array) -> Mask:
    return np.equal(granularity(x), level)


def _divides(level: int, x: Array) -> Mask:
    return np.greater_equal(granularity(x), level)


# Every power of two divides zero, so its level is above that of every double.
_ZERO = 2000


def granularity(x: Array) -> npt.NDArray[np.int64]:
    """Exponent of the largest power of two that divides each double; 2000 for zero and what is not finite.

    >>> granularity(np.array([0.75, 1.0, 6.0, 0.0])).tolist()
    [-2, 0, 1, 2000]
    """
    mantissa, exponent = np.frexp(np.abs(np.where(np.isfinite(x), x, 0.0)))
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    return np.where((x == 0) | ~np.isfinite(x), _ZERO, exponent.astype(np.int64) - 53 + lowest)
