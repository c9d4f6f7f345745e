"""The plot of a preview: errors over ε and over the number of records."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds import _check
from inbounds._charts import as_picture
from inbounds.forecasts.forecast import forecast_errors
from inbounds.forecasts.wanted import Wanted, resize
from inbounds.tables.schema import DataError

if TYPE_CHECKING:
    import altair

    from inbounds.forecasts.preview import Preview

# Blue, vermilion and green of Okabe and Ito, with dashes: they differ for colour-blind readers and in grey.
_COLOURS = ["#0072B2", "#D55E00", "#009E73"]
_DASHES = [[1, 0], [6, 3], [2, 2]]


def curves(
    preview: "Preview", *, epsilons: Sequence[float] | None = None, rows: Sequence[int] | None = None
) -> list[dict[str, Any]]:
    """Compute the typical and worst RMSE and the half-width of every option, over ε and over the number of records.

    Parameters
    ----------
    preview
        The result of `inbounds.preview`.
    epsilons, rows
        The values of ε and the numbers of records. By default they go from a twentieth to twenty times the value that
        was asked for.

    Returns
    -------
    list of dict
        One row for each option and value.
    """
    if not hasattr(preview, "options"):
        raise TypeError("preview must be the result of preview(...)")
    around = np.geomspace(1 / 20, 20, 17)
    size = preview.wanted.size
    values = [float(x) for x in preview.asked.epsilon * around]
    if epsilons is not None:
        values = [_check.positive(x, "epsilons") for x in _several(epsilons, "epsilons")]
    counts = [] if size is None else sorted({max(2, round(size * float(x))) for x in around})
    if rows is not None:
        counts = [_check.integer(x, "rows", least=1) for x in _several(rows, "rows")]
    lines = []
    for option in preview.options:
        name = option.bounding if option.method not in ("joint", "split") else f"{option.bounding}, {option.method}"
        points = [("epsilon", x, option.wanted.but(epsilon=x)) for x in values]
        points += [("rows", x, resize(option.wanted, x)) for x in counts]
        for over, value, wanted in points:
            if figures := _figures(wanted):
                lines.append({"option": name, "over": over, "value": value, **figures})
    return lines


def _several(values: Any, name: str) -> Sequence[Any]:
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
        raise TypeError(f"{name} must be a list of numbers, got {_check.shown(values)}")
    return list(values)


def _figures(wanted: Wanted) -> dict[str, float]:
    """The errors at one point. Empty if the table has fewer records than the statistic needs."""
    try:
        forecast = forecast_errors(wanted)
    except DataError:
        return {}
    return {"rmse": forecast.typical, "worst_rmse": forecast.worst, "half_width": forecast.reach}


@as_picture
def plot(
    preview: "Preview", *, epsilons: Sequence[float] | None = None, rows: Sequence[int] | None = None
) -> "altair.HConcatChart":
    """Plot the typical RMSE over ε and over the number of records, one line for each option, on logarithmic axes."""
    import altair as alt

    data = curves(preview, epsilons=epsilons, rows=rows)
    options = list(dict.fromkeys(row["option"] for row in data))
    legend = alt.Legend(orient="bottom", title="bounding", symbolType="stroke", symbolSize=400)
    colour = alt.Color("option:N", legend=legend, scale=alt.Scale(domain=options, range=_COLOURS))
    dash = alt.StrokeDash("option:N", legend=legend, scale=alt.Scale(domain=options, range=_DASHES))
    values = {"epsilon": preview.asked.epsilon, "rows": preview.wanted.size}
    titles = {"epsilon": "ε", "rows": "number of records"}
    # More ticks would overlap.
    ticks = alt.Axis(tickCount=6, labelOverlap="greedy", labelSeparation=8)
    panels = []
    for over, title in titles.items():
        points = [row for row in data if row["over"] == over]
        if not points:
            continue
        lines = (
            alt.Chart(alt.InlineData(values=points))
            .mark_line(strokeWidth=2)
            .encode(
                x=alt.X("value:Q", title=title, scale=alt.Scale(type="log", nice=False), axis=ticks),
                y=alt.Y(
                    "rmse:Q",
                    title=f"typical RMSE of the {preview.wanted.statistic}",
                    scale=alt.Scale(type="log"),
                    axis=ticks,
                ),
                color=colour,
                strokeDash=dash,
            )
        )
        base = alt.Chart(alt.InlineData(values=[{"value": values[over]}]))
        rule = base.mark_rule(color="#666").encode(x="value:Q")
        text = base.mark_text(align="left", dx=4, y=8, color="#444").encode(x="value:Q", text=alt.value("asked for"))
        panels.append((lines + rule + text).properties(width=300, height=220))
    if preview.kept:
        panels.append(_plot_kept(preview))
    title = f"{preview.asked.record.title}: error by ε and by number of records"
    chart = alt.hconcat(*panels).properties(title=title)
    return chart.resolve_scale(color="independent", strokeDash="independent") if preview.kept else chart


def _plot_kept(preview: "Preview") -> "altair.LayerChart":
    """Errors over the rows that are kept of each person: noise, what is left out, and both."""
    import altair as alt

    points = [
        {"contributions": entry.contributions, "of": of, "error": error}
        for entry in preview.kept
        for of, error in (
            ("both", entry.rmse),
            ("noise", entry.noise),
            ("what is left out", float(np.hypot(entry.choice, entry.shift))),
        )
        if error > 0
    ]
    names = ["both", "noise", "what is left out"]
    legend = alt.Legend(orient="bottom", title=None, symbolType="stroke", symbolSize=400)
    axis = alt.Axis(tickCount=6, labelOverlap="greedy", labelSeparation=8)
    lines = (
        alt.Chart(alt.InlineData(values=points))
        .mark_line(strokeWidth=2, point=True)
        .encode(
            x=alt.X(
                "contributions:Q",
                title="rows kept of each person",
                scale=alt.Scale(type="log", nice=False),
                axis=axis,
            ),
            y=alt.Y("error:Q", title="typical RMSE", scale=alt.Scale(type="log"), axis=axis),
            color=alt.Color("of:N", legend=legend, scale=alt.Scale(domain=names, range=_COLOURS)),
            strokeDash=alt.StrokeDash("of:N", legend=legend, scale=alt.Scale(domain=names, range=_DASHES)),
        )
    )
    contributions = preview.wanted.keywords.get("contributions", 1)
    rule = alt.Chart(alt.InlineData(values=[{"value": contributions}])).mark_rule(color="#666").encode(x="value:Q")
    chart: alt.LayerChart = (lines + rule).properties(width=300, height=220)
    return chart
