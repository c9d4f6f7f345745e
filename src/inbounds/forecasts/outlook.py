"""What a whole plan would cost and how far off its releases would be: no data are read and nothing is spent."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from inbounds._html import render
from inbounds._text import visible
from inbounds.forecasts.forecast import Forecast, forecast_errors, typical_error
from inbounds.forecasts.preview import Preview, preview_wanted
from inbounds.privacy.guarantee import Pure
from inbounds.record.draft import Draft
from inbounds.record.group import Group
from inbounds.record.release import Release

if TYPE_CHECKING:
    import altair

    from inbounds.plan.plan import Plan

# How errors change with the budget is shown for these multiples of it.
MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True, slots=True)
class Prospect:
    """One release of a plan: its preview, and its typical error if the whole budget were a multiple of what it is."""

    name: str
    epsilon: Fraction
    preview: Preview
    errors: tuple[float, ...]
    # Where it is drawn together with others; the preview is of what it would be by itself.
    joint: Forecast | None = None

    @property
    def forecast(self) -> Forecast:
        """The errors of the release as the plan makes it."""
        return self.preview.forecast if self.joint is None else self.joint

    @property
    def advice(self) -> str:
        """What would make the error smaller at the same cost; empty where nothing would."""
        if self.joint is not None:
            return ""
        best, asked = self.preview.recommended, self.preview.asked
        if best is asked or best.forecast.typical > 0.98 * asked.forecast.typical:
            return ""
        words = [f"bounding = '{best.bounding}'"] if best.bounding != asked.bounding else []
        words += [f"method = '{best.method}'"] if best.method != asked.method and best.method in _METHODS else []
        return f"{', '.join(words)} would give {_figure(best.forecast.typical)}" if words else ""

    def to_dict(self) -> dict[str, Any]:
        """Plain figures."""
        seen = self.forecast
        return {
            "name": self.name,
            "title": self.preview.asked.record.title,
            "epsilon": str(self.epsilon),
            "rmse": seen.typical,
            "half_width": seen.reach,
            "confidence": seen.confidence,
            "worst_rmse": seen.worst,
            "simulated": seen.simulated,
            "rmse_at_multiples": dict(zip(map(str, MULTIPLES), self.errors, strict=True)),
            "advice": self.advice,
            "rmse_by_itself": None if self.joint is None else self.preview.forecast.typical,
        }


_METHODS = ("joint", "split")
# Beyond this ε a preview says so.
_LARGE = 5


def _depends(one: Prospect) -> bool:
    return one.preview.asked.record.statistic.traits.needs_truth


_HEADS = ("", "epsilon", "RMSE", "95% ±", "worst RMSE", "RMSE at ½ ε", "at 2 ε")


@dataclass(frozen=True, slots=True)
class Outlook:
    """The preview of a plan. Printed it is a table; `plot` draws errors over the budget."""

    plan: "Plan"
    prospects: tuple[Prospect, ...]

    @property
    def epsilon(self) -> Fraction:
        """ε of the whole plan."""
        return Fraction(self.plan.budget.epsilon)

    def to_dict(self) -> dict[str, Any]:
        """Plain figures."""
        return {
            "epsilon": str(self.epsilon),
            "neighbours": self.plan.data.neighbours,
            "contributions": self.plan.data.contributions,
            "releases": [one.to_dict() for one in self.prospects],
        }

    def rows(self) -> list[tuple[str, ...]]:
        """The table as text, without its head."""
        half, double = MULTIPLES.index(0.5), MULTIPLES.index(2.0)
        return [
            (
                visible(f"{one.name}: {one.preview.asked.record.title}"),
                _figure(float(one.epsilon)),
                *(_figure(x) for x in (seen.typical, seen.reach, seen.worst, one.errors[half], one.errors[double])),
            )
            for one in self.prospects
            for seen in [one.forecast]
        ]

    @property
    def summary(self) -> str:
        data = self.plan.data
        size = "" if data.rows is None else f", {data.rows:,} rows"
        unit = "one record" if data.contributions == 1 else f"one person with up to {data.contributions} records"
        return f"epsilon {_figure(float(self.epsilon))} for {unit}, neighbours '{data.neighbours}'{size}"

    def __str__(self) -> str:
        rows = self.rows()
        wide = max(len(row[0]) for row in rows)
        lines = [self.summary, f"{'':{wide}s}" + "".join(f" {head:>11s}" for head in _HEADS[1:])]
        lines += [f"{row[0]:{wide}s}" + "".join(f" {x:>11s}" for x in row[1:]) for row in rows]
        return "\n".join([*lines, *map(visible, self.notes)])

    @property
    def notes(self) -> list[str]:
        """What would be better, what is assumed, and what may go wrong."""
        found = [f"{one.name}: {one.advice}" for one in self.prospects if one.advice]
        joint = [one for one in self.prospects if one.joint is not None]
        if joint:
            gains = [one.preview.forecast.typical / one.forecast.typical for one in joint if one.forecast.typical > 0]
            least, most = (_figure(end(gains, default=1.0)) for end in (min, max))
            span = least if least == most else f"{least} to {most}"
            found.append(f"{', '.join(one.name for one in joint)}: drawn together, errors {span} times smaller for it.")
        assumed = [one.name for one in self.prospects if one.preview.wanted.plausible is None and _depends(one)]
        if assumed:
            found.append(
                f"{', '.join(assumed)}: the error depends on the truth, here values spread evenly over their bounds; "
                "narrower ones are released less well. Say where they lie with plausible = ..."
            )
        if self.epsilon > _LARGE:
            found.append(
                f"An epsilon above {_LARGE} promises little: probabilities may change by a factor of e^{_LARGE}."
            )
        what = {"missing": "a missing value", "other": "a value that is no level"}
        late = "there is found after the charge, which stands"
        found += [
            f"No {word} = ... is given for {', '.join(names)}: {what[word]} {late}."
            for word, names in self.plan.unprovided.items()
            if names
        ]
        return [*found, "Expected errors of the noise; nothing was read and nothing was spent."]

    def __repr__(self) -> str:
        return f"<Outlook: {len(self.prospects)} releases, epsilon {_figure(float(self.epsilon))}; print it>"

    def _repr_html_(self) -> str:
        rows = [(name, figures) for name, *figures in self.rows()]
        return render("list", caption=self.summary, heads=_HEADS, rows=rows, rest="")

    def plot(self) -> "altair.Chart":
        """Typical errors over the budget, each as a multiple of what it is at the budget asked for."""
        import altair as alt
        import polars as pl

        points = [
            {"release": one.name, "epsilon": float(self.epsilon) * times, "error": error / at if at > 0 else 1.0}
            for one in self.prospects
            for times, error in zip(MULTIPLES, one.errors, strict=True)
            for at in [one.errors[MULTIPLES.index(1.0)]]
        ]
        chart: alt.Chart = (
            alt.Chart(pl.DataFrame(points), title="What another budget would buy", width=420, height=260)
            .mark_line(point=True)
            .encode(
                x=alt.X("epsilon:Q", title="ε of the whole plan").scale(type="log"),
                y=alt.Y("error:Q", title="typical error, 1 = at the budget asked for").scale(type="log"),
                color=alt.Color("release:N", title=None),
            )
        )
        return chart


def outlook(plan: "Plan", progress: Callable[[int, int], None] | None = None) -> Outlook:
    """The preview of a plan."""
    wanted, drafts = plan.wanted(), plan.drafts()
    together = _Together({name: draft.record for name, draft in drafts.items()})
    made = []
    for done, (name, one) in enumerate(wanted.items()):
        if progress is not None:
            progress(done, len(wanted))
        seen, epsilon = preview_wanted(one), Fraction(one.keywords["epsilon"])
        if drafts[name].record.group is not None:
            forecasts = [forecast_errors(one, together.at(name, times)) for times in MULTIPLES]
            errors = tuple(forecast.typical for forecast in forecasts)
            made.append(Prospect(name, epsilon, seen, errors, forecasts[MULTIPLES.index(1.0)]))
            continue
        errors = tuple(
            seen.forecast.typical
            if times == 1
            else forecast_errors(again).typical
            if seen.forecast.simulated
            else typical_error(again)
            for times in MULTIPLES
            for again in [one.but(epsilon=epsilon * Fraction(times))]
        )
        made.append(Prospect(name, epsilon, seen, errors))
    return Outlook(plan, tuple(made))


class _Together:
    """Records of releases that are drawn together, at multiples of the budget; each draw is drafted once."""

    def __init__(self, records: Mapping[str, Release]) -> None:
        self._records = records
        self._drafted: dict[tuple[Group, float], list[Draft]] = {}

    def at(self, name: str, times: float) -> Release:
        """The record of a release as it would be drafted."""
        record = self._records[name]
        group = record.group
        if times == 1 or group is None:
            return record
        if (group, times) not in self._drafted:
            more = Pure(group.terms.epsilon * Fraction(times))
            self._drafted[group, times] = replace(group, terms=replace(group.terms, guarantee=more)).draft()
        return self._drafted[group, times][record.member].record


def _figure(x: float) -> str:
    return f"{x:.3g}"
