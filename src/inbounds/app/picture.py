"""Errors as curves over ε and over the number of records: a picture of a preview."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds.app.preview import Preview, Wanted, foreseen

if TYPE_CHECKING:
    import altair

# Okabe and Ito's blue, vermilion and green, with dashes: apart for the colour-blind and in grey.
_COLOURS = ["#0072B2", "#D55E00", "#009E73"]
_DASHES = [[1, 0], [6, 3], [2, 2]]


def curves(
    preview: Preview, *, epsilons: Sequence[float] | None = None, rows: Sequence[int] | None = None
) -> list[dict[str, Any]]:
    """Typical and worst RMSE and half-width of every option, over ε and over the number of records, as tidy rows.

    By default from a twentieth to twenty times what was asked for.
    """
    around = np.geomspace(1 / 20, 20, 17)
    epsilons = [float(x) for x in preview.asked.epsilon * around] if epsilons is None else list(epsilons)
    size = preview.wanted.size
    if rows is None:
        rows = [] if size is None else sorted({max(2, round(size * float(x))) for x in around})
    found = []
    for option in preview.options:
        name = option.bounding if option.method not in ("joint", "split") else f"{option.bounding}, {option.method}"
        for over, values in (("epsilon", epsilons), ("rows", rows)):
            for value in values:
                figures = _figures(_moved(option.wanted, over, value))
                if figures:
                    found.append({"option": name, "over": over, "value": value, **figures})
    return found


def _moved(wanted: Wanted, over: str, value: Any) -> Wanted:
    if over == "rows" and wanted.keywords.get("neighbours") == "add-remove":
        return Wanted(wanted.statistic, wanted.keywords, wanted.plausible, value, wanted.confidence)
    return wanted.but(**{over: value})


def _figures(wanted: Wanted) -> dict[str, float]:
    """The errors of one point; none where no such release can be made (fewer records than groups, say)."""
    try:
        seen = foreseen(wanted)
    except ValueError:
        return {}
    return {"rmse": seen.typical, "worst_rmse": seen.worst, "half_width": seen.reach}


def plot(
    preview: Preview, *, epsilons: Sequence[float] | None = None, rows: Sequence[int] | None = None
) -> "altair.HConcatChart":
    """Typical RMSE over ε and over the number of records, one line for each option; both axes logarithmic."""
    import altair as alt

    data = curves(preview, epsilons=epsilons, rows=rows)
    options = list(dict.fromkeys(row["option"] for row in data))
    legend = alt.Legend(orient="bottom", title="bounding", symbolType="stroke", symbolSize=400)
    colour = alt.Color("option:N", legend=legend, scale=alt.Scale(domain=options, range=_COLOURS))
    dash = alt.StrokeDash("option:N", legend=legend, scale=alt.Scale(domain=options, range=_DASHES))
    asked = {"epsilon": preview.asked.epsilon, "rows": preview.wanted.size}
    titles = {"epsilon": "ε", "rows": "number of records"}
    panels = []
    for over, title in titles.items():
        points = [row for row in data if row["over"] == over]
        if not points:
            continue
        lines = (
            alt.Chart(alt.InlineData(values=points))
            .mark_line(strokeWidth=2)
            .encode(
                x=alt.X("value:Q", title=title, scale=alt.Scale(type="log", nice=False)),
                y=alt.Y("rmse:Q", title=f"typical RMSE of the {preview.wanted.statistic}", scale=alt.Scale(type="log")),
                color=colour,
                strokeDash=dash,
            )
        )
        here = alt.Chart(alt.InlineData(values=[{"value": asked[over]}])).mark_rule(color="#666").encode(x="value:Q")
        panels.append((lines + here).properties(width=300, height=220))
    return alt.hconcat(*panels)
