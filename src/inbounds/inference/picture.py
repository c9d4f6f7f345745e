"""A release as it shows itself: an HTML table for notebooks, and a chart of values with their intervals."""

from html import escape
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds import _check
from inbounds._text import visible
from inbounds.inference.intervals import interval

if TYPE_CHECKING:
    import altair

    from inbounds.record import Release

# Rows of a table that a notebook shows.
_MOST_ROWS = 50


def to_html(release: "Release") -> str:
    """Title, cost and error, and a row for each number."""
    cost = f"{release.title}; ε = {release.epsilon:g} per {release.unit}, {release.neighbours}; {release.error}"
    values = np.ravel(release.value).tolist()
    labels = [visible(", ".join(one)) for one in product(*release.axes)] if release.axes else [release.statistic]
    rows = "".join(
        f"<tr><th scope='row'>{escape(label)}</th><td>{value if isinstance(value, int) else f'{value:.6g}'}</td></tr>"
        for label, value in list(zip(labels, values, strict=True))[:_MOST_ROWS]
    )
    more = len(values) - _MOST_ROWS
    rest = f"<tr><td colspan='2'>and {more:,} more</td></tr>" if more > 0 else ""
    return f"<table><caption>{escape(visible(cost))}</caption><tbody>{rows}{rest}</tbody></table>"


def plot(release: "Release", level: float, kind: str) -> "altair.Chart | altair.LayerChart":
    """Values with their intervals; for tables of two columns and matrices a map of values."""
    import altair as alt
    import polars as pl

    labels = list(product(*release.axes)) if release.axes else [(release.statistic,)]
    values = np.ravel(release.value).tolist()
    if len(release.axes) > 1:
        names = [{"row": ", ".join(one[:-1]), "column": one[-1]} for one in labels]
        table = pl.DataFrame([name | {"value": float(x)} for name, x in zip(names, values, strict=True)])
        order = {"row": list(dict.fromkeys(table["row"])), "column": list(dict.fromkeys(table["column"]))}
        chart: alt.Chart = (
            alt.Chart(table, title=release.title)
            .mark_rect()
            .encode(
                x=alt.X("column:N", title=None, sort=order["column"]),
                y=alt.Y("row:N", title=None, sort=order["row"]),
                color="value:Q",
                tooltip=["row", "column", "value"],
            )
        )
        return chart
    ends = [np.broadcast_to(np.ravel(end), len(values)).tolist() for end in interval(release, level, kind=kind)]
    rows: list[dict[str, Any]] = [
        {"cell": label[0], "value": float(x), "from": float(low), "to": float(high)}
        for label, x, low, high in zip(labels, values, *ends, strict=True)
    ]
    base = alt.Chart(pl.DataFrame(rows), title=f"{release.title}, {_check.percent(level)} intervals").encode(
        y=alt.Y("cell:N", title=None, sort=[row["cell"] for row in rows])
    )
    lines = base.mark_rule(strokeWidth=3).encode(x=alt.X("from:Q", title="value"), x2="to:Q")
    points = base.mark_point(filled=True, size=70).encode(x="value:Q", tooltip=["cell", "value", "from", "to"])
    layered: alt.LayerChart = lines + points
    return layered
