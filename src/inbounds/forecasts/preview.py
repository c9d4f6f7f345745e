"""The preview of a release: its cost and its expected error. No data are read and nothing is spent.

A preview is made from the draft, which has the same law, certificate and repair as the release. Errors are exact for
one noisy number, and simulated if several are combined.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inbounds import _check
from inbounds._check import Figures
from inbounds._html import render
from inbounds._text import visible, wrap
from inbounds.forecasts import picture
from inbounds.forecasts.choices import warn_of_heaps
from inbounds.forecasts.contributions import Kept, find_least, forecast_contributions, say_assumed
from inbounds.forecasts.forecast import Forecast, at_plausible_truth
from inbounds.forecasts.forecast import forecast_errors as forecast_errors
from inbounds.forecasts.trade import TIMES, Trade, trade_of
from inbounds.forecasts.wanted import Wanted as Wanted
from inbounds.forecasts.wanted import require_wanted
from inbounds.forecasts.ways import has_methods, list_ways
from inbounds.privacy.guarantee import ZCDP, Pure
from inbounds.privacy.terms import Unit
from inbounds.record import Release
from inbounds.record.notes import describe_kept, keeps_rows
from inbounds.record.selection import plain_statistic

if TYPE_CHECKING:
    import altair


@dataclass(frozen=True, slots=True)
class Option:
    """One way to make a release.

    Attributes
    ----------
    wanted
        The statistic and its keywords.
    record
        The record of the release, without its numbers.
    forecast
        Its expected errors.
    """

    wanted: Wanted
    record: Release
    forecast: Forecast

    @property
    def bounding(self) -> str:
        """How noisy values are kept in their bounds: ``"bit"`` or ``"truncated"``."""
        return self.record.bounding

    @property
    def method(self) -> str:
        """``joint`` or ``split`` for matrices; ``centred``, ``moments``, ``direct`` or ``robust`` for a variance of a
        public number of records; otherwise how the value is computed."""
        statistic = plain_statistic(self.record.statistic)
        return statistic.method or statistic.find_way(self.record.terms) or self.record.method

    @property
    def guarantee(self) -> Pure | ZCDP:
        """What the release would cost."""
        return self.record.certificate.guarantee

    @property
    def epsilon(self) -> float:
        """The pure ε that the release would cost; infinite for another guarantee."""
        return self.record.epsilon

    def figures(self) -> list[str]:
        """The errors as text: typical RMSE, bias and half-width, worst RMSE and worst half-width."""
        forecast = self.forecast
        rmse, half = (
            " to ".join(_short(x, 2 if x < 100 else 3) for x in ends) if forecast.depends else _short(typical)
            for typical, ends in ((forecast.typical, forecast.typical_range), (forecast.reach, forecast.reach_range))
        )
        return [
            rmse,
            _short(np.max(forecast.bias)),
            half,
            _short(forecast.worst),
            _short(np.max(forecast.worst_half_width)),
        ]

    def half_width(self) -> Figures:
        """Half of the width of the population interval, if the noisy numbers equal the plausible true value."""
        interval = at_plausible_truth(self.record, self.wanted).interval(self.wanted.confidence)
        return interval.width / 2


@dataclass(frozen=True, slots=True)
class Preview:
    """The ways to make a release, with their expected errors. Print it for a table.

    Attributes
    ----------
    wanted
        The statistic and its keywords.
    options
        The ways to make the release. The first is the one that was asked for.
    kept
        The errors with other numbers of rows of each person, where ``plausible_rows`` was stated.
    """

    wanted: Wanted
    options: tuple[Option, ...]
    kept: tuple[Kept, ...] = ()

    @property
    def asked(self) -> Option:
        """The option that was asked for."""
        return self.options[0]

    @property
    def recommended(self) -> Option:
        """The option with the smallest typical RMSE. If several have it, the first."""
        return min(self.options, key=lambda option: round(option.forecast.typical, 12))

    @property
    def forecast(self) -> Forecast:
        """The errors of the option that was asked for."""
        return self.asked.forecast

    @property
    def hidden(self) -> str:
        """What the noise would hide if the truth is typical, and what to do about it. Empty if it hides nothing."""
        record = self.asked.record
        return plain_statistic(record.statistic).describe_hidden(lambda: at_plausible_truth(record, self.wanted))

    def trade(
        self,
        *,
        beyond: float | None = None,
        excess: float | None = None,
        heavy: bool = False,
        times: Sequence[float] = TIMES,
    ) -> Trade:
        """What narrower and wider bounds would do to a mean: less noise, and more bias by clipping.

        Parameters
        ----------
        beyond
            A plausible share of the records above the upper bound. Of released bounds it is known about.
        excess
            How far those plausibly lie above it on average, in the unit of the column. Without it clipping is not
            computed.
        heavy
            Whether the tail is heavy, as of incomes or sizes of towns, and not exponential.
        times
            How many times as wide, around the same middle, bounds are compared with.

        Returns
        -------
        Trade
            Noise and clipping of each. Print it for a table.

        Raises
        ------
        ValueError
            If the statistic is not a mean, or a number is not possible.

        Examples
        --------
        >>> seen = preview_wanted(Wanted("mean", {"bounds": (0, 100_000), "epsilon": 0.5, "rows": 20_000}))
        >>> print(seen.trade(beyond=0.004, excess=20_000, times=(1, 2, 10)))
        times    lower   upper  noise  clipping  RMSE
            1        0  100000   14.1        80  81.2
            2   -50000  150000   28.3      6.57    29
           10  -450000  550000    141  1.35e-08   141
        Clipping is of an exponential tail: 0.004 of the records lie above the bound, by 2e+04 on average.
        """
        return trade_of(self.wanted, self.asked.record, beyond, excess, heavy=heavy, times=times)

    def plot(
        self, *, epsilons: Sequence[float] | None = None, rows: Sequence[int] | None = None
    ) -> "altair.HConcatChart":
        """Plot typical errors over ε and over the number of records. Needs the extra ``plot``.

        Parameters
        ----------
        epsilons, rows
            The values of ε and the numbers of records. By default they go from a twentieth to twenty times the value
            that was asked for.

        Returns
        -------
        altair.HConcatChart
            The chart.
        """
        return picture.plot(self, epsilons=epsilons, rows=rows)

    def __repr__(self) -> str:
        best, title = self.recommended, visible(self.asked.record.title)
        return (
            f"<Preview: {title}, {self.asked.guarantee.shorten()}: RMSE {self.forecast.typical:.3g}; "
            f"{best.bounding} {best.forecast.typical:.3g} of {len(self.options)} ways; print it for all>"
        )

    @property
    def summary(self) -> str:
        """The title of the release and what it would cost, in one line."""
        record = self.asked.record
        unit = record.terms.unit.per_unit
        noun = "rows" if record.terms.unit.persons is None else "persons"
        number = self.wanted.size if record.terms.unit.persons is None else self.wanted.persons
        size = "" if number is None else f", {number:.0f} {noun}"
        return f"{visible(record.title)}: {self.asked.guarantee.shorten()} per {unit}, {record.neighbours}{size}"

    @property
    def _heads(self) -> list[str]:
        return ["RMSE", "bias", f"{_check.percent(self.wanted.confidence)} ±", "worst RMSE", "worst ±"]

    def __str__(self) -> str:
        methods = has_methods(self.asked.record)
        wide_method = max(6, *(len(option.method) for option in self.options))
        ways = f"    {'bounding':10s}{' ' + 'method'.ljust(wide_method) if methods else ''}"
        rows = [option.figures() for option in self.options]
        wide = [max(map(len, column)) for column in zip(self._heads, *rows, strict=True)]
        lines = [self.summary, ways + _line(self._heads, wide)]
        for option, figures in zip(self.options, rows, strict=True):
            mark = "*" if option is self.recommended else ""
            method = f" {option.method:{wide_method}s}" if methods else ""
            lines.append(f"  {mark:2s}{option.bounding:10s}{method}{_line(figures, wide)}")
        legend = wrap(f"* {visible(self._legend)}", "  ", "    ")
        warnings = [wrap(text, "  ", "  ") for text in self._warnings]
        return "\n".join([*lines, legend, *write_kept(self.kept, self.wanted), *warnings])

    @property
    def _warnings(self) -> list[str]:
        hidden = [f"{self.hidden[:1].upper()}{self.hidden[1:]}."] if self.hidden else []
        return [*hidden, *warn_of_heaps(self.asked.record), *warn_of_budget(self.asked.guarantee)]

    @property
    def _legend(self) -> str:
        legend = f"smallest typical error{' (simulated)' if self.forecast.simulated else ''}"
        forecast = self.forecast
        legend = f"{legend}; ranges are over {forecast.assumed}" if forecast.depends and forecast.assumed else legend
        unit = self.asked.record.terms.unit
        if keeps_rows(self.asked.record) and self.wanted.plausible_rows is None:
            legend += f". {assume_rows(unit)}. {describe_lost(unit)}: {_REMEDY}"
        return legend

    def _repr_html_(self) -> str:
        methods = has_methods(self.asked.record)
        rows = []
        for option in self.options:
            way = f"{option.bounding}, {option.method}" if methods else option.bounding
            rows.append((f"{way} *" if option is self.recommended else way, option.figures()))
        heads = ["bounding", *self._heads]
        html = render(
            "list",
            caption=self.summary,
            heads=heads,
            rows=rows,
            rest=" ".join([f"* {self._legend}", *self._warnings]),
        )
        if not self.kept:
            return html
        others = [(mark, figures) for mark, *figures in list_kept(self.kept)]
        return html + render("list", caption=KEPT, heads=KEPT_HEADS, rows=others, rest=f"* {say_assumed(self.wanted)}")


_REMEDY = "plausible_rows={1: 0.5, 2: 0.3, ...} shows what that does, and a larger contributions leaves out less"


def assume_rows(unit: Unit) -> str:
    """Say which rows of persons a forecast assumes if nothing is stated about them."""
    groups = None if unit.persons is None else unit.persons.groups
    where = (
        ""
        if groups is None
        else f" in each of {groups[1]:,} groups of {groups[0]}"
        if groups[1] > 1
        else " in one group"
    )
    return f"Errors are as if each person had one row{where}"


def describe_lost(unit: Unit) -> str:
    """Say that rows of persons are left out, and that forecasts do not include that."""
    return f"Counted: {describe_kept(unit)}; further rows are left out, and errors do not include that"


# Above this ε a preview has a warning; above the second one a percentage may have been meant.
_LARGE, _PERCENT = 5, 10


def warn_of_budget(guarantee: Pure | ZCDP) -> list[str]:
    """A warning if a budget promises little; otherwise an empty list."""
    epsilon = float(guarantee.amount)
    if not epsilon > _LARGE:
        return []
    if not isinstance(guarantee, Pure):
        return [f"A {guarantee.parameter} above {_LARGE} promises little; usual are 0.01 to 1."]
    percent = " It is no percentage; usual are 0.1 to 5." if epsilon > _PERCENT else ""
    return [
        f"An epsilon above {_LARGE} promises little: probabilities may change by e^{_LARGE} times or more.{percent}"
    ]


def _line(cells: list[str], wide: list[int]) -> str:
    return "".join(f" {cell:>{width}s}" for cell, width in zip(cells, wide, strict=True))


def _short(x: float, digits: int = 3) -> str:
    """Write a number with a few digits. Tiny numbers are written as ``<0.0001``."""
    return f"{float(x):.{digits}g}" if x == 0 or abs(x) >= 1e-4 else "<0.0001" if abs(x) > 1e-12 else "0"


KEPT = "Error by the rows that are kept of each person, for the statistic of all rows"
KEPT_HEADS = ("contributions", "left out", "noise", "choice", "shift", "RMSE", "RMSE range")


def list_kept(kept: Sequence[Kept]) -> list[tuple[str, ...]]:
    """Lines of the table by rows of each person; the smallest error has a star."""
    best = find_least(tuple(kept))
    return [
        (
            f"{'* ' if entry is best else ''}{entry.contributions}",
            f"{entry.left_out:.1%}",
            *(_short(x) for x in (entry.noise, entry.choice, entry.shift, entry.rmse)),
            " to ".join(map(_short, entry.rmse_range)),
        )
        for entry in kept
    ]


def write_kept(kept: Sequence[Kept], wanted: Wanted) -> list[str]:
    """The same as text, with its title and what it assumes; empty if nothing is stated about rows."""
    if not kept:
        return []
    rows = list_kept(kept)
    wide = [max(map(len, column)) for column in zip(KEPT_HEADS, *rows, strict=True)]
    capped = " (in each group)" if wanted.keywords.get("groups") else ""
    lines = ["  " + _line(list(row), wide) for row in (KEPT_HEADS, *rows)]
    return [f"{KEPT}{capped}", *lines, wrap(f"* {say_assumed(wanted)}", "  ", "    ")]


def preview_wanted(wanted: Wanted, *, alone: bool = True) -> Preview:
    """Preview the release of a statistic. If it is not ``alone``, the plan shows other contributions."""
    require_wanted(wanted)
    ways = tuple(Option(way, record, forecast_errors(way, record)) for way, record in list_ways(wanted))
    return Preview(wanted, ways, forecast_contributions(wanted) if alone else ())
