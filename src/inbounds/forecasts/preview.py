"""What a release would cost and how far off it would be, before anything is spent and without any data.

A preview is the first step of the road: the draft, which has the very law, certificate and repair that the release will
have. Errors are exact for one noisy number, and simulated where several are combined.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds import _check
from inbounds._html import render
from inbounds._text import visible
from inbounds.forecasts import picture
from inbounds.forecasts.forecast import Forecast, at_plausible_truth
from inbounds.forecasts.forecast import forecast_errors as forecast_errors
from inbounds.forecasts.wanted import Wanted as Wanted
from inbounds.forecasts.wanted import require_wanted
from inbounds.record import Release
from inbounds.record.selection import plain_statistic

if TYPE_CHECKING:
    import altair


@dataclass(frozen=True, slots=True)
class Option:
    """One way to make a release: its bounding and method, the record it would have, and its errors."""

    wanted: Wanted
    record: Release
    forecast: Forecast

    @property
    def bounding(self) -> str:
        return self.record.bounding

    @property
    def method(self) -> str:
        """``joint`` or ``split`` for matrices; otherwise how the value is made."""
        method = getattr(plain_statistic(self.record.statistic), "method", None)
        return self.record.method if method is None else str(method)

    @property
    def epsilon(self) -> float:
        return self.record.epsilon

    def figures(self) -> list[str]:
        """Its errors as text: typical RMSE, bias, half-width, and the worst of the first and the last."""
        seen = self.forecast
        rmse, half = (
            " to ".join(_short(x, 2 if x < 100 else 3) for x in ends) if seen.depends else _short(typical)
            for typical, ends in ((seen.typical, seen.typical_range), (seen.reach, seen.reach_range))
        )
        return [rmse, _short(np.max(seen.bias)), half, _short(seen.worst), _short(np.max(seen.worst_half_width))]

    def half_width(self) -> Any:
        """Half of the interval for the population, if the release came out at the plausible truth."""
        made = at_plausible_truth(self.record, self.wanted).interval(self.wanted.confidence)
        return made.width / 2


@dataclass(frozen=True, slots=True)
class Preview:
    """The ways to make a release, the one asked for first, and the one with the smallest typical error.

    Printed it is a table. It has no numbers of any data: ``asked.record`` is a record before its release.
    """

    wanted: Wanted
    options: tuple[Option, ...]

    @property
    def asked(self) -> Option:
        """The one asked for."""
        return self.options[0]

    @property
    def recommended(self) -> Option:
        """The one with the smallest typical RMSE, and of several alike the first."""
        return min(self.options, key=lambda option: round(option.forecast.typical, 12))

    @property
    def forecast(self) -> Forecast:
        """Errors of the one asked for."""
        return self.asked.forecast

    def plot(self, **spans: Any) -> "altair.HConcatChart":
        """Typical errors over ε and over the number of records, as an Altair chart."""
        return picture.plot(self, **spans)

    def __repr__(self) -> str:
        best, title = self.recommended, visible(self.asked.record.title)
        return (
            f"<Preview: {title}, epsilon {self.asked.epsilon:g}: RMSE {self.forecast.typical:.3g}; "
            f"{best.bounding} {best.forecast.typical:.3g} of {len(self.options)} ways; print it for all>"
        )

    @property
    def summary(self) -> str:
        """What it is a preview of, and what that would cost."""
        record = self.asked.record
        unit = record.unit if record.contributions == 1 else f"{record.unit} with up to {record.contributions} records"
        size = "" if self.wanted.size is None else f", {self.wanted.size} rows"
        return f"{visible(record.title)}: epsilon {self.asked.epsilon:g} per {unit}, {record.neighbours}{size}"

    @property
    def _heads(self) -> list[str]:
        return ["RMSE", "bias", f"{_check.percent(self.wanted.confidence)} ±", "worst RMSE", "worst ±"]

    def __str__(self) -> str:
        methods = _has_methods(self.asked.record)
        ways = f"    {'bounding':10s}{' method' if methods else ''}"
        rows = [option.figures() for option in self.options]
        wide = [max(10, *map(len, column)) for column in zip(*rows, strict=True)]
        lines = [self.summary, ways + _line(self._heads, wide)]
        for option, figures in zip(self.options, rows, strict=True):
            mark = "*" if option is self.recommended else ""
            method = f" {option.method:6s}" if methods else ""
            lines.append(f"  {mark:2s}{option.bounding:10s}{method}{_line(figures, wide)}")
        return "\n".join([*lines, f"  * {self._legend}"])

    @property
    def _legend(self) -> str:
        found = f"smallest typical error{' (simulated)' if self.forecast.simulated else ''}"
        seen = self.forecast
        return f"{found}; ranges are over {seen.assumed}" if seen.depends and seen.assumed else found

    def _repr_html_(self) -> str:
        methods = _has_methods(self.asked.record)
        rows = []
        for option in self.options:
            way = f"{option.bounding}, {option.method}" if methods else option.bounding
            rows.append((f"{way} *" if option is self.recommended else way, option.figures()))
        heads = ["bounding", *self._heads]
        return render("list", caption=self.summary, heads=heads, rows=rows, rest=f"* {self._legend}")


def _has_methods(record: Release) -> bool:
    """Whether its numbers can be drawn together or one by one."""
    return hasattr(record.statistic, "method")


def _line(cells: list[str], wide: list[int]) -> str:
    return "".join(f" {cell:>{width}s}" for cell, width in zip(cells, wide, strict=True))


def _short(x: Any, digits: int = 3) -> str:
    """Three digits; what is next to nothing is shown so."""
    return f"{float(x):.{digits}g}" if x == 0 or abs(x) >= 1e-4 else "<0.0001" if abs(x) > 1e-12 else "0"


def preview(
    statistic: str,
    *,
    plausible: Any = None,
    expected_rows: int | None = None,
    confidence: float = 0.95,
    **keywords: Any,
) -> Preview:
    """What releasing a statistic would cost and how far off it would be; no data are read and nothing is spent.

    ``keywords`` are those of the release function without its data: ``bounds``, ``epsilon``, ``rows`` (public under
    ``neighbours="substitute"``), ``levels``, ``bounding`` and so on.

    Parameters
    ----------
    plausible
        Where the truth may lie. ``{"sd": (5, 20), "mean": (40, 60), "size": (50, 5000)}`` says it of a column's values
        and of the size of a group, each a number or a range, any of them left out; for several columns one such
        dictionary for all or one by name of each. Or what the statistic itself may be: a number or a pair (low, high)
        for one number (its bounds by default), shares for several cells (all alike), a covariance matrix, a matrix of
        Kendall's taus (no association). Where errors depend on what is not stated they are a range over what
        `inbounds.derivations.truths` assumes.
    expected_rows
        About how many records there are, where that is protected (``neighbours="add-remove"``).
    confidence
        Of half-widths: 0.95 for what 95% of releases keep.
    statistic, keywords
        The name of a release function, and what it takes.

    Returns
    -------
    Preview
        A table when printed: the way asked for, and the others that there are.

    Raises
    ------
    TypeError, ValueError
        What the release would raise.

    Examples
    --------
    >>> print(preview("proportion", epsilon=0.5, rows=200, plausible=(0.05, 0.3)))
    proportion of x = 1: epsilon 0.5 per record, substitute, 200 rows
        bounding         RMSE       bias      95% ± worst RMSE    worst ±
      * bit             0.014    <0.0001       0.03      0.014       0.03
        truncated      0.0219    <0.0001     0.0449     0.0221      0.045
      * smallest typical error
    """
    return preview_wanted(Wanted(statistic, keywords, plausible, expected_rows, confidence))


def preview_wanted(wanted: Wanted) -> Preview:
    """The preview of a statistic that is wanted."""
    require_wanted(wanted)
    return Preview(wanted, tuple(Option(one, record, forecast_errors(one, record)) for one, record in _ways(wanted)))


def _ways(wanted: Wanted) -> list[tuple[Wanted, Release]]:
    """What was asked for, then the same with the other boundings and methods that there are."""
    ways = [(wanted, wanted.draft().record)]
    methods = _has_methods(ways[0][1])
    asked = (wanted.keywords.get("bounding", "bit"), wanted.keywords.get("method", "joint"))
    others = [("bit", "joint"), ("bit", "split"), ("truncated", "split")]
    if not methods:
        others = [(bounding, "joint") for bounding in ("bit", "truncated")]
    for bounding, method in others:
        if (bounding, method) == asked:
            continue
        other = wanted.but(bounding=bounding, **({"method": method} if methods else {}))
        try:
            ways.append((other, other.draft().record))
        except ValueError:
            # Not every release has this way.
            continue
    return ways
