"""How narrower and wider bounds change a mean: less noise, more bias by clipping. From public numbers alone."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from inbounds import _check
from inbounds.forecasts.forecast import forecast_errors
from inbounds.forecasts.wanted import Wanted
from inbounds.record.release import Release
from inbounds.record.selection import plain_statistic

TIMES = (0.5, 1, 2, 5, 10)


@dataclass(frozen=True, slots=True)
class Width:
    """Bounds of one width.

    Attributes
    ----------
    times
        How many times as wide as those that were asked for, around the same middle.
    bounds
        The bounds.
    noise
        The expected error of the noise.
    clipping
        How far the mean is moved by clipping; None if nothing was said about the tail.
    """

    times: float
    bounds: tuple[float, float]
    noise: float
    clipping: float | None

    @property
    def rmse(self) -> float:
        """Both together."""
        return math.hypot(self.noise, self.clipping or 0.0)


@dataclass(frozen=True, slots=True)
class Trade:
    """Bounds of several widths with the noise and the clipping of each; see `Preview.trade`. Print it for a table.

    Attributes
    ----------
    widths
        The widths, from the narrowest on.
    said
        What was said about the tail, in words.
    """

    widths: tuple[Width, ...]
    said: str

    @property
    def best(self) -> Width:
        """The width with the smallest error."""
        return min(self.widths, key=lambda width: width.rmse)

    def gain(self, times: float = 10) -> float:
        """By what factor the error is smaller than with bounds so many times as wide."""
        each = {width.times: width.rmse for width in self.widths}
        if times not in each or 1 not in each:
            raise ValueError(f"times must be one of {', '.join(f'{width:g}' for width in each)}, with 1 among them")
        return each[times] / each[1]

    def __str__(self) -> str:
        heads = ["times", "lower", "upper", "noise", "clipping", "RMSE"]
        rows = [
            [f"{width.times:g}", f"{width.bounds[0]:.6g}", f"{width.bounds[1]:.6g}", f"{width.noise:.3g}"]
            + (["?", "?"] if width.clipping is None else [f"{width.clipping:.3g}", f"{width.rmse:.3g}"])
            for width in self.widths
        ]
        wide = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        lines = ["  ".join(f"{cell:>{size}}" for cell, size in zip(row, wide, strict=True)) for row in (heads, *rows)]
        return "\n".join([*lines, self.said])


# claim:trade-clipping
def trade_of(
    wanted: Wanted, record: Release, beyond: Any, excess: Any, *, heavy: bool, times: Sequence[float]
) -> Trade:
    """The trade of a mean.

    With a share p of the records above the upper bound b, which lie e above it on average, clipping moves the mean by
    p e. For an exponential tail, e is the same everywhere and p falls by a factor of e^(-1/e) per unit. For a heavy
    (Pareto) tail with e = b/(a - 1), both follow powers of b.
    """
    if plain_statistic(record.statistic).find_clipping(1.0) is None:
        raise ValueError("only a mean has a trade of noise against clipping; preview it with statistic 'mean'")
    (rule,) = [column for column in record.columns if column.step is not None]
    lower, upper = float(rule.lower or 0), float(rule.upper or 0)
    share = _share_beyond(wanted.keywords.get("bounds")) if beyond is None else float(_check.fraction(beyond, "beyond"))
    if share is not None and not 0 <= share < 1:
        raise ValueError(f"beyond must be a share of the records, at least 0 and below 1, got {_check.shown(beyond)}")
    far = None if excess is None else float(_check.fraction(excess, "excess"))
    if far is not None and far <= 0:
        raise ValueError(f"excess must be > 0, got {_check.shown(excess)}")
    if heavy and upper <= 0:
        raise ValueError("heavy=True is for an upper bound above 0")
    widths = []
    for factor in sorted(times):
        ends = _stretch(lower, upper, factor)
        other = wanted.but(bounds=ends) if factor != 1 else wanted
        noise = float(forecast_errors(other, other.draft().record).typical)
        clipped = None if share is None or far is None else _clipping(share, far, upper, ends[1], heavy=heavy)
        widths.append(Width(factor, ends, noise, clipped))
    return Trade(tuple(widths), _describe(share, far, heavy=heavy))


def _share_beyond(bounds: Any) -> float | None:
    """The share above released bounds, if nothing else is said."""
    if not isinstance(bounds, Release):
        return None
    coverage = plain_statistic(bounds.statistic).find_coverage(bounds.terms)
    return None if coverage is None else float(1 - coverage) / 2


def _stretch(lower: float, upper: float, times: float) -> tuple[float, float]:
    """Bounds around the same middle."""
    middle, half = (lower + upper) / 2, (upper - lower) / 2
    ends = middle - times * half, middle + times * half
    return (lower, upper) if times == 1 else (float(f"{ends[0]:.9g}"), float(f"{ends[1]:.9g}"))


def _clipping(share: float, excess: float, upper: float, at: float, *, heavy: bool) -> float:
    """How far clipping at some bound moves the mean."""
    if not heavy:
        return min(share * math.exp(min((upper - at) / excess, 700.0)), 1.0) * excess
    power = 1 + upper / excess
    at = max(at, 1e-9 * upper)
    return float(min(share * math.pow(at / upper, -power), 1.0) * at / (power - 1))


def _describe(share: float | None, excess: float | None, *, heavy: bool) -> str:
    if share is None or excess is None:
        hint = "" if share is None else f" (about {share:.2g} of them here)"
        return (
            f"Clipping moves a mean by the share of records beyond the bounds{hint} times how far they lie beyond on "
            "average; say both as beyond= and excess= for the figures."
        )
    tail = "a heavy (Pareto)" if heavy else "an exponential"
    return f"Clipping is of {tail} tail: {share:.3g} of the records lie above the bound, by {excess:.4g} on average."
