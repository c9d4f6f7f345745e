"""The preview of a whole plan: its cost and its expected errors. No data are read and nothing is spent."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from inbounds._charts import as_picture
from inbounds._html import render
from inbounds._text import WIDTH, visible, wrap
from inbounds.forecasts.choices import warn_of_heaps
from inbounds.forecasts.contributions import Kept, find_least, forecast_contributions, say_assumed
from inbounds.forecasts.forecast import Forecast, forecast_errors, typical_error
from inbounds.forecasts.preview import KEPT, Preview, assume_rows, describe_lost, preview_wanted, warn_of_epsilon
from inbounds.forecasts.wanted import Wanted
from inbounds.privacy.guarantee import Pure
from inbounds.record.draft import Draft
from inbounds.record.group import Group
from inbounds.record.notes import keeps_rows
from inbounds.record.release import Release

if TYPE_CHECKING:
    import altair

    from inbounds.plan.plan import Plan

# Errors are shown for the budget times each of these.
MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True, slots=True)
class Prospect:
    """One release of a plan: its preview, and its typical error at each of `MULTIPLES` of the budget.

    Attributes
    ----------
    name
        The name of the release.
    epsilon
        Its share of the budget.
    preview
        The preview of the release if it is drawn alone.
    errors
        The typical RMSE at each of `MULTIPLES` of the budget; NaN where that budget allows no noise.
    joint
        The forecast if it is drawn together with others; None if it is drawn alone.
    """

    name: str
    epsilon: Fraction
    preview: Preview
    errors: tuple[float, ...]
    joint: Forecast | None = None

    @property
    def forecast(self) -> Forecast:
        """The errors of the release as it is drawn in the plan."""
        return self.preview.forecast if self.joint is None else self.joint

    @property
    def advice(self) -> str:
        """What would make the error smaller at the same cost. Empty if nothing would."""
        if self.joint is not None:
            return ""
        best, asked = self.preview.recommended, self.preview.asked
        if best is asked or best.forecast.typical > 0.98 * asked.forecast.typical:
            return ""
        words = [f"bounding = '{best.bounding}'"] if best.bounding != asked.bounding else []
        words += [f"method = '{best.method}'"] if best.method != asked.method and best.method in _METHODS else []
        return f"{', '.join(words)} would give {_figure(best.forecast.typical)}" if words else ""

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, for JSON."""
        forecast = self.forecast
        return {
            "name": self.name,
            "title": self.preview.asked.record.title,
            "epsilon": str(self.epsilon),
            "rmse": forecast.typical,
            "rmse_range": list(forecast.typical_range),
            "half_width": forecast.reach,
            "half_width_range": list(forecast.reach_range),
            "assumed": forecast.assumed,
            "confidence": forecast.confidence,
            "worst_rmse": forecast.worst,
            "simulated": forecast.simulated,
            "rmse_at_multiples": {
                str(times): None if math.isnan(error) else error
                for times, error in zip(MULTIPLES, self.errors, strict=True)
            },
            "advice": self.advice,
            "rmse_by_itself": None if self.joint is None else self.preview.forecast.typical,
        }


_METHODS = ("joint", "split", "centred", "moments", "direct")
_REMEDY = (
    "plausible_rows = { 1 = 0.5, 2 = 0.3, ... } in [data] shows what that does; a larger contributions leaves out less."
)
_HEADS = ("", "epsilon", "RMSE", "95% ±", "at ½ ε", "at 2 ε")
_RANGE = "RMSE range"


@dataclass(frozen=True, slots=True)
class Outlook:
    """The preview of a plan. Print it for a table; `plot` draws the errors over the budget.

    Attributes
    ----------
    plan
        The plan.
    prospects
        The releases of the plan, each with its expected errors.
    kept
        The errors with other numbers of rows of each person by release, where ``plausible_rows`` is stated.
    """

    plan: "Plan"
    prospects: tuple[Prospect, ...]
    kept: Mapping[str, tuple[Kept, ...]] = field(default_factory=dict)

    @property
    def epsilon(self) -> Fraction:
        """The ε of the whole plan."""
        return Fraction(self.plan.budget.epsilon)

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, for JSON."""
        return {
            "epsilon": str(self.epsilon),
            "neighbours": self.plan.data.neighbours,
            "contributions": self.plan.data.contributions,
            "releases": [entry.to_dict() for entry in self.prospects],
            "by_contributions": {name: [entry.to_dict() for entry in kept] for name, kept in self.kept.items()},
        }

    @property
    def heads(self) -> tuple[str, ...]:
        """The head of the table. There is a column of ranges if an error depends on the true value."""
        return (*_HEADS, _RANGE) if any(prospect.forecast.depends for prospect in self.prospects) else _HEADS

    def rows(self) -> list[tuple[str, ...]]:
        """The lines of the table as text, below its `heads`: name, ε, RMSE, half-width, RMSE at half and twice the ε.

        All of them are for a typical true value. Where the error depends on it, the range of the RMSE comes last.
        """
        half, double = MULTIPLES.index(0.5), MULTIPLES.index(2.0)
        return [
            (
                visible(f"{item.name}: {item.preview.asked.record.title}"),
                *map(_figure, (float(item.epsilon), errors.typical, errors.reach)),
                *map(_figure, (item.errors[half], item.errors[double])),
                *([_span(errors)] if self.heads != _HEADS else []),
            )
            for item in self.prospects
            for errors in [item.forecast]
        ]

    @property
    def summary(self) -> str:
        """What the plan promises, in one line."""
        data = self.plan.data
        size = "" if data.rows is None else f", {data.rows:,} {'rows' if data.person is None else 'persons'}"
        unit = "one record" if data.contributions == 1 else f"one person with up to {data.contributions} records"
        if data.person is not None:
            (unit, *others) = dict.fromkeys(draft.terms.unit.words for draft in self.plan.drafts().values())
            unit += "".join(f" (or {other})" for other in others)
        return f"epsilon {_figure(float(self.epsilon))} for {unit}, neighbours '{data.neighbours}'{size}"

    def __str__(self) -> str:
        rows, heads = self.rows(), self.heads
        wide = [max(map(len, column)) + 1 for column in zip(heads, *rows, strict=True)]
        # The names get what the figures leave of a terminal's width.
        wide[0] = min(
            max(len(visible(item.name)) for item in self.prospects), max(WIDTH - sum(wide[1:]) - len(wide) + 1, 12)
        )
        table = [heads, *((visible(item.name), *row[1:]) for item, row in zip(self.prospects, rows, strict=True))]
        lines = [line.rstrip() for row in table for line in _lines(row, wide)]
        return "\n".join(
            [
                wrap(visible(self.summary), "", "  "),
                *lines,
                *self._kept_lines(),
                *(wrap(visible(note), "", "  ") for note in self.notes),
            ]
        )

    def kept_rows(self) -> list[tuple[str, ...]]:
        """The table of errors by rows of each person: its head, what is left out, and two lines for each release.

        The smallest error of each release has a star.
        """
        limits = {entry.contributions: entry.left_out for kept in self.kept.values() for entry in kept}
        if not limits:
            return []
        table = [("contributions", *map(str, limits)), ("rows left out", *(f"{left:.1%}" for left in limits.values()))]
        for name, kept in self.kept.items():
            best, by_limit = find_least(kept), {entry.contributions: entry for entry in kept}
            cells = (
                "" if k not in by_limit else f"{'*' if by_limit[k] is best else ''}{_figure(by_limit[k].rmse)}"
                for k in limits
            )
            spans = ("" if k not in by_limit else " to ".join(map(_figure, by_limit[k].rmse_range)) for k in limits)
            table += [(visible(name), *cells), (f"  {_RANGE}", *spans)]
        return table

    def _assumed_of_rows(self) -> str:
        """What errors by rows of each person assume, in words."""
        return say_assumed(self.prospects[0].preview.wanted)

    def _kept_lines(self) -> list[str]:
        """The same as text. A line that is too long is continued below."""
        table = self.kept_rows()
        if not table:
            return []
        lines = ["RMSE by the rows that are kept of each person, of noise and of what is left out:"]
        first = max(len(row[0]) for row in table)
        columns = list(zip(*(row[1:] for row in table), strict=True))
        wide = max(len(cell) for column in columns for cell in column) + 1
        room = max((WIDTH - first) // wide, 1)
        for start in range(0, len(columns), room):
            cells_of_rows = [*zip(*columns[start : start + room], strict=True)]
            lines += [
                f"{row[0]:{first}s}{''.join(f'{cell:>{wide}s}' for cell in cells)}"
                for row, cells in zip(table, cells_of_rows, strict=True)
            ]
        return lines

    @property
    def notes(self) -> list[str]:
        """Notes on what would be better, what is assumed, and what may go wrong."""
        notes = list(self.plan.notes_on_rows)
        notes += [f"{item.name}: {item.advice}" for item in self.prospects if item.advice]
        joint = [item for item in self.prospects if item.joint is not None]
        if joint:
            gains = [
                item.preview.forecast.typical / item.forecast.typical for item in joint if item.forecast.typical > 0
            ]
            least, most = (_figure(end(gains, default=1.0)) for end in (min, max))
            span = least if least == most else f"{least} to {most}"
            notes.append(
                f"{', '.join(item.name for item in joint)}: drawn together, which makes errors {span} times smaller."
            )
        notes += self._assumptions()
        notes += [f"{item.name}: {hidden}." for item in self.prospects if (hidden := item.preview.hidden)]
        heaped: dict[str, list[str]] = {}
        for item in self.prospects:
            for warning in warn_of_heaps(item.preview.asked.record):
                heaped.setdefault(warning, []).append(item.name)
        notes += [f"{', '.join(names)}: {warning}" for warning, names in heaped.items()]
        if self.kept:
            notes.append(f"By contributions, * is the smallest; a range is below each line: {self._assumed_of_rows()}.")
        else:
            units = {draft.terms.unit: None for draft in self.plan.drafts().values() if keeps_rows(draft.record)}
            notes += [f"{assume_rows(unit)}. {describe_lost(unit)}. {_REMEDY}" for unit in units]
        notes += warn_of_epsilon(float(self.epsilon))
        what = {"missing": "a missing value", "other": "a value that is not a level"}
        late = "is only found after the charge, which stands; inbounds check looks for it before"
        notes += [
            f"No {word} = ... is given for {', '.join(names)}: {what[word]} {late}."
            for word, names in self.plan.unprovided.items()
            if names
        ]
        return [*notes, "Errors are those of the noise. No data were read and nothing was spent."]

    def _assumptions(self) -> list[str]:
        """Notes on the true values that the ranges are over."""
        depend: dict[str, list[str]] = {}
        for prospect in self.prospects:
            if prospect.forecast.depends and prospect.forecast.assumed:
                depend.setdefault(prospect.forecast.assumed, []).append(prospect.name)
        if not depend:
            return []
        notes = [f"{', '.join(names)}: the error depends on the true value: {text}." for text, names in depend.items()]
        hint = "All other errors are for a typical value."
        if any(prospect.preview.wanted.plausible is None for prospect in self.prospects if prospect.forecast.assumed):
            hint += " If you know more about sd, mean or sizes of groups, write plausible = { sd = [...], ... }"
        return [*notes, hint]

    def __repr__(self) -> str:
        return f"<Outlook: {len(self.prospects)} releases, epsilon {_figure(float(self.epsilon))}; print it>"

    def _repr_html_(self) -> str:
        rows = [(name, figures) for name, *figures in self.rows()]
        html = render("list", caption=self.summary, heads=self.heads, rows=rows, rest="")
        if not self.kept:
            return html
        heads, *lines = self.kept_rows()
        others = [(name, figures) for name, *figures in lines]
        return html + render(
            "list", caption=f"{KEPT}: RMSE", heads=heads, rows=others, rest=f"* {self._assumed_of_rows()}"
        )

    @as_picture
    def plot(self) -> "altair.Chart":
        """Plot typical errors over the budget, relative to those at the budget of the plan.

        Needs the extra ``plot``.
        """
        import altair as alt
        import polars as pl

        points = [
            {"release": prospect.name, "epsilon": float(self.epsilon) * times, "error": error / at if at > 0 else 1.0}
            for prospect in self.prospects
            for times, error in zip(MULTIPLES, prospect.errors, strict=True)
            for at in [prospect.errors[MULTIPLES.index(1.0)]]
            if not math.isnan(error)
        ]
        chart: alt.Chart = (
            alt.Chart(pl.DataFrame(points), title="Errors at other budgets", width=420, height=260)
            .mark_line(point=True)
            .encode(
                x=alt.X("epsilon:Q", title="ε of the whole plan").scale(type="log"),
                y=alt.Y("error:Q", title="typical error, 1 = at the plan's budget").scale(type="log"),
                color=alt.Color("release:N", title=None),
            )
        )
        return chart


def outlook(plan: "Plan", progress: Callable[[int, int], None] | None = None) -> Outlook:
    """Preview a plan. ``progress`` is called with the number of releases that are done, and of all."""
    wanted, drafts = plan.wanted(), plan.drafts()
    together = _Together({name: draft.record for name, draft in drafts.items()})
    prospects = []
    for count, (name, request) in enumerate(wanted.items()):
        if progress is not None:
            progress(count, len(wanted))
        preview, epsilon = preview_wanted(request, alone=False), Fraction(request.keywords["epsilon"])
        grouped = drafts[name].record.group is not None
        forecast = forecast_errors(request, together.at(name, 1.0)) if grouped else None
        typical = (preview.forecast if forecast is None else forecast).typical
        at = partial(together.at, name) if grouped else partial(_draft_alone, request)
        errors = tuple(typical if times == 1 else _find_typical(request, at, times) for times in MULTIPLES)
        prospects.append(Prospect(name, epsilon, preview, errors, forecast))
    return Outlook(plan, tuple(prospects), _forecast_kept(plan, wanted))


def _draft_alone(wanted: Wanted, times: float) -> Release:
    """The record of a release that is drawn alone, at a multiple of its ε."""
    return wanted.but(epsilon=Fraction(wanted.keywords["epsilon"]) * Fraction(times)).draft().record


def _find_typical(wanted: Wanted, at: Callable[[float], Release], times: float) -> float:
    """The typical error at a multiple of the budget; NaN if no noise can be drawn for that one."""
    try:
        record = at(times)
    except ValueError:
        return math.nan
    return typical_error(wanted, record)


def _forecast_kept(plan: "Plan", wanted: Mapping[str, Wanted]) -> dict[str, tuple[Kept, ...]]:
    """The errors of each release that keeps rows, at other numbers of them, drawn as in the plan."""
    rows = next((request.plausible_rows for request in wanted.values()), None)
    if rows is None:
        return {}
    limits = rows.list_limits(plan.data.contributions)
    others = {}
    for k in limits:
        # If some release of the plan would be refused, each is drafted by itself.
        with suppress(ValueError):
            others[k] = plan.with_contributions(k).drafts()

    def draft(name: str, request: Wanted) -> Release:
        drafts = others.get(request.keywords["contributions"])
        return request.draft().record if drafts is None else drafts[name].record

    by_release = {
        name: forecast_contributions(request, partial(draft, name), limits) for name, request in wanted.items()
    }
    return {name: kept for name, kept in by_release.items() if kept}


class _Together:
    """Records of releases that are drawn together, at multiples of the budget. Each draw is drafted once."""

    def __init__(self, records: Mapping[str, Release]) -> None:
        self._records = records
        self._drafted: dict[tuple[Group, float], list[Draft]] = {}

    def at(self, name: str, times: float) -> Release:
        """The record of a release, drafted at that multiple of the budget."""
        record = self._records[name]
        group = record.group
        if times == 1 or group is None:
            return record
        if (group, times) not in self._drafted:
            more = Pure(group.terms.epsilon * Fraction(times))
            self._drafted[group, times] = replace(group, terms=replace(group.terms, guarantee=more)).draft()
        return self._drafted[group, times][record.member].record


def _figure(x: float) -> str:
    return "-" if math.isnan(x) else f"{x:.3g}"


def _span(forecast: Forecast) -> str:
    """Write the range of an RMSE that depends on the true value."""
    return " to ".join(f"{x:.{2 if x < 100 else 3}g}" for x in forecast.typical_range) if forecast.depends else ""


def _lines(cells: Sequence[str], wide: Sequence[int]) -> list[str]:
    """A line of the table. A name that is too long has a separate line."""
    name, *rest = cells
    figures = "".join(f" {cell:>{width}s}" for cell, width in zip(rest, wide[1:], strict=True))
    return [f"{name:{wide[0]}s}{figures}"] if len(name) <= wide[0] else [name, f"{'':{wide[0]}s}{figures}"]
