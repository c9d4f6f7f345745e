"""A release as it shows itself: columns of a table, HTML for notebooks, a chart of values with their intervals.

Nothing here simulates: what takes time is left to those who ask for it.
"""

from html import escape
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds import _check
from inbounds._text import visible

if TYPE_CHECKING:
    import altair

    from inbounds.record.release import Kind, Release

# Rows of a table, and columns of a two-way table, that a notebook shows.
_MOST_ROWS, _MOST_COLUMNS = 50, 20


def labels_of(release: "Release") -> list[tuple[str, ...]]:
    """The labels of each number; the name of the statistic for a single one."""
    return list(product(*release.axes)) if release.axes else [(release.statistic.name,)]


def axis_names(release: "Release") -> list[str]:
    """What the axes are of: the columns that make cells, or rows and columns of a matrix."""
    keys = [rule.name for rule in release.columns if rule.cells]
    if len(keys) == len(release.axes):
        return keys
    return ["row", "column"] if len(release.axes) == 2 else [f"axis {i}" for i in range(len(release.axes))]


def columns_of(release: "Release") -> dict[str, list[Any]]:
    """A column for each axis, then the values."""
    values = release.flat_values()
    if not release.axes:
        return {"statistic": [release.statistic.name], "value": [*values]}
    columns = zip(*labels_of(release), strict=True)
    return {name: list(labels) for name, labels in zip(axis_names(release), columns, strict=True)} | {
        "value": [*values]
    }


def to_html(release: "Release") -> str:
    """Title and cost, and a row for each number, or a two-way table for several axes."""
    if not release.released:
        return f"<p>{escape(str(release))}</p>"
    caption = f"{release.title}; ε = {release.epsilon:g} per {release.unit}, {release.neighbours}"
    if release.derivation.single:
        caption += f"; {release.error}"
    body = _two_way(release) if len(release.axes) > 1 else _list(release)
    return f"<table><caption>{escape(visible(caption))}</caption>{body}</table>"


def _list(release: "Release") -> str:
    texts, labels = _texts(release.flat_values()[:_MOST_ROWS]), labels_of(release)
    rows = "".join(
        f"<tr><th scope='row'>{escape(visible(', '.join(label)))}</th><td>{text}</td></tr>"
        for label, text in zip(labels, texts, strict=False)
    )
    return f"<tbody>{rows}{_rest(len(labels) - _MOST_ROWS, 2)}</tbody>"


def _two_way(release: "Release") -> str:
    *outer, last = release.axes
    shown, values = last[:_MOST_COLUMNS], release.flat_values()
    head = "".join(f"<th scope='col'>{escape(visible(label))}</th>" for label in shown)
    head += "<th scope='col'>…</th>" if len(last) > len(shown) else ""
    heads, rows = list(product(*outer)), []
    for i, label in enumerate(heads[:_MOST_ROWS]):
        texts = _texts(values[i * len(last) : i * len(last) + len(shown)])
        cells = "".join(f"<td>{text}</td>" for text in texts) + ("<td>…</td>" if len(last) > len(shown) else "")
        rows.append(f"<tr><th scope='row'>{escape(visible(', '.join(label)))}</th>{cells}</tr>")
    rest = _rest(len(heads) - _MOST_ROWS, len(shown) + 1)
    return f"<thead><tr><td></td>{head}</tr></thead><tbody>{''.join(rows)}{rest}</tbody>"


def _texts(values: Any) -> list[str]:
    return [str(value) if isinstance(value, int) else f"{value:.6g}" for value in values]


def _rest(more: int, width: int) -> str:
    return f"<tr><td colspan='{width}'>and {more:,} more</td></tr>" if more > 0 else ""


def plot(release: "Release", level: float, kind: "Kind") -> "altair.Chart | altair.LayerChart":
    """Values with their intervals; for tables of two columns and matrices a map of values."""
    import altair as alt
    import polars as pl

    labels = labels_of(release)
    values = release.flat_values()
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
    ends = [np.broadcast_to(np.ravel(end), len(values)).tolist() for end in release.interval(level, kind=kind)]
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
