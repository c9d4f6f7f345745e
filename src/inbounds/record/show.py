"""Show a release: as columns of a table, as HTML for notebooks, as a chart of values with their intervals.

Nothing is simulated here, since that takes time.
"""

import math
from html import escape
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds import _check
from inbounds._charts import as_picture
from inbounds._estimates import Estimate, write_rounded
from inbounds._html import render
from inbounds._text import lay_out, visible, wrap
from inbounds.record.notes import describe_kept
from inbounds.record.selection import plain_statistic
from inbounds.tables.times import Clock, make_time, write_time

if TYPE_CHECKING:
    import altair

    from inbounds.record.release import Kind, Release

# The most rows of a table, and columns of a two-way table, that a notebook shows.
_MOST_ROWS, _MOST_COLUMNS = 50, 20
# The text in place of a number that is not available.
NOT_AVAILABLE = "not available"
# Units of time, in seconds. A margin is written in the largest one of which it has two or more.
_UNITS = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}


def labels_of(release: "Release") -> list[tuple[str, ...]]:
    """The labels of each number. For a single number, the name of the statistic."""
    return list(product(*release.axes)) if release.axes else [(release.statistic.name,)]


def key_names(release: "Release") -> list[str]:
    """The columns whose levels or intervals are the cells of the value. Empty for a matrix."""
    return [] if release.statistic.traits.matrix else [rule.name for rule in release.columns if rule.cells]


def axis_names(release: "Release") -> list[str]:
    """The names of the axes: the columns that have the cells, or row and column for a matrix."""
    names = plain_statistic(release.statistic).axis_names
    if names is not None:
        return list(names)
    keys = key_names(release)
    if len(keys) == len(release.axes):
        return keys
    return ["row", "column"] if len(release.axes) == 2 else [f"axis {i}" for i in range(len(release.axes))]


def sizes_of(release: "Release") -> "_check.Array | int | None":
    """The noisy numbers of records that sums were drawn with."""
    part, way = release.parts[0], release.derivation
    if not way.of_sums or way.rows is not None or way.pooled or not release.released:
        return None
    counts = [max(0, round(float(x))) for x in release.noisy[:: part.dimension]]
    if len(counts) == 1:
        return counts[0]
    return np.array(counts).reshape(release.shape)


def _counts_of(release: "Release") -> "_check.Array":
    if not (release.statistic.traits.counted and release.statistic.traits.whole and release.axes):
        raise ValueError("only tables of counts have margins and percentages: histograms, crosstabs, counts by groups")
    return np.asarray(release.table, dtype=np.float64)


def margins_of(release: "Release") -> "dict[str, _check.Array]":
    """Sums of a table of counts along each axis, and of all."""
    counts = _counts_of(release)
    axes = range(counts.ndim)
    margins = {
        name: counts.sum(axis=tuple(other for other in axes if other != axis))
        for axis, name in enumerate(axis_names(release))
    }
    return margins | {"total": counts.sum()}


def percentages_of(release: "Release", of: str) -> "_check.Array":
    """A table of counts in percent of all, of rows or of columns."""
    counts = _counts_of(release)
    _check.choice(of, "of", ("all", "row", "column"))
    if of != "all" and counts.ndim < 2:
        raise ValueError(f"of={of!r} needs a table of two columns or more; this one has of='all'")
    whole = counts.sum(axis=None if of == "all" else -1 if of == "row" else 0, keepdims=True)
    return np.ma.masked_invalid(np.divide(100 * counts, whole, out=np.full_like(counts, np.nan), where=whole > 0))


def columns_of(release: "Release") -> dict[str, list[Any]]:
    """A column for each axis, then the values."""
    values = release.flat_values()
    if not release.axes:
        return {"statistic": [release.statistic.name], "value": [*values]}
    columns = zip(*labels_of(release), strict=True)
    table = {name: list(labels) for name, labels in zip(axis_names(release), columns, strict=True)}
    sizes = sizes_of(release)
    return table | {"value": [*values]} | ({"size": sizes.ravel().tolist()} if isinstance(sizes, np.ndarray) else {})


def title_of(release: "Release") -> str:
    """What was released, and of which rows of each person where a rule keeps some of them."""
    return ", of ".join(filter(None, (release.title, describe_kept(release.terms.unit))))


def describe_draw(release: "Release") -> str:
    """Say for how many releases the ε of a joint draw is paid once. Empty for a release that was drawn alone."""
    return "" if release.group is None else f"paid once for the {len(release.group.members)} releases of one draw"


def _write_cost(release: "Release", cost: str) -> str:
    """The cost of a release, or of the draw that it shares with others, with what it is for."""
    return ", ".join(filter(None, (f"{cost} per {release.terms.unit.per_unit}", describe_draw(release))))


def to_line(release: "Release") -> str:
    """A release in one line, for its repr."""
    if not release.released:
        return f"<Release: {visible(release.title)}: not released, {release.certificate.guarantee.shorten()}>"
    value = "x".join(map(str, release.shape)) + " values" if release.axes else _lay_out_value(release).strip()
    cost = " ".join(filter(None, (release.certificate.guarantee.shorten(), describe_draw(release))))
    return f"<Release: {visible(title_of(release))}: {value}, {cost}>"


def to_text(release: "Release") -> str:
    """A release as text: its values, its cost, its notes."""
    if not release.released:
        return f"{visible(release.title)}: not released"
    how = release.bounding if release.derivation.plain else f"{release.bounding}, {release.derivation.text}"
    # Errors that need a simulation are not computed for printing.
    error = str(release.error) if release.has_error else "its error is simulated by .error"
    paid = release.certificate.guarantee
    cost = f"{_write_cost(release, paid.shorten())}, {release.neighbours}; {how}; {error}"
    lines = [wrap(visible(text), "  ", "  ") for text in (cost, *release.notes)]
    return "\n".join([f"{visible(release.title)}:{_lay_out_value(release)}", *lines])


def _lay_out_value(release: "Release") -> str:
    """The value as text: a number, one line for each cell, or a table."""
    return lay_out(list_texts(release), release.axes)


def list_texts(release: "Release", most: int | None = None) -> list[str]:
    """The numbers of a value, rounded to their expected error if that is known without a simulation."""
    values = release.flat_values()[:most]
    if not release.has_error or release.statistic.traits.whole:
        return [format_value(x, release.clock) for x in values]
    errors: list[float | None] = np.ma.ravel(release.error.rmse).tolist()
    errors = errors * len(values) if len(errors) < len(values) else errors
    return [write_value(release, Estimate(x, rmse=error)) for x, error in zip(values, errors, strict=False)]


def write_value(release: "Release", estimate: Estimate) -> str:
    """A number as a program prints it, without its margin: rounded to its error, a date if it is one."""
    if estimate.value is None or release.clock is not None:
        return format_value(estimate.value, release.clock)
    return estimate.write_value().replace(",", "")


def write_estimate(release: "Release", estimate: Estimate) -> str:
    """A number for people: rounded to its error, shares in percent, dates as such, with its margin or limits."""
    clock = release.clock
    if clock is None or estimate.value is None:
        return estimate.write(percent=release.statistic.traits.shares)
    value = write_time(estimate.value, clock)
    if estimate.lower is None or estimate.upper is None or estimate.margin is None:
        return value
    if not estimate.is_even:
        return f"{value} ({write_time(estimate.lower, clock)} to {write_time(estimate.upper, clock)})"
    name, unit = choose_unit(estimate.margin, clock)
    return f"{value} ± {write_rounded(math.ceil(estimate.margin / unit), 0)} {name}"


def choose_unit(error: float, clock: Clock) -> tuple[str, int]:
    """The unit that an error of dates or times is written in, and how much it is in the unit that errors are in."""
    if clock == "date":
        return "days", 1
    return next((unit for unit in _UNITS.items() if error >= 2 * unit[1]), ("seconds", 1))


def to_html(release: "Release") -> str:
    """A release as a table for a notebook.

    A single number or a list of numbers has one row per number. Matrices and tables of two or more columns are two-way
    tables with the last axis across. The caption has the title and the cost, and the error if it needs no simulation.
    If there is too much to show, a last line says how much is left out.
    """
    if not release.released:
        return f"<p>{escape(str(release))}</p>"
    paid = release.certificate.guarantee
    cost = _write_cost(release, paid.describe(f"{float(paid.amount):g}"))
    caption = f"{title_of(release)}; {cost}, {release.neighbours}"
    if release.derivation.knows_error(release.certificate):
        caption += f"; {release.error}"
    if len(release.axes) > 1:
        return _write_two_way(release, caption)
    labels = [label for (label,) in labels_of(release)]
    rows = [(label, [text]) for label, text in zip(labels, list_texts(release, _MOST_ROWS), strict=False)]
    rest = _describe_rest({"": len(labels) - _MOST_ROWS})
    return render("list", caption=caption, heads=[], rows=rows, rest=rest)


def _write_two_way(release: "Release", caption: str) -> str:
    *outer, across = release.axes
    flat, wide = list_texts(release), len(across)
    texts = [flat[start : start + wide] for start in range(0, len(flat), wide)]
    cells = [row[:_MOST_COLUMNS] for row in texts[:_MOST_ROWS]]
    keys = key_names(release)
    # The axes of a matrix have no names.
    *row_names, column_name = keys if len(keys) == len(release.axes) else [""]
    return render(
        "two_way",
        caption=caption,
        row_names=row_names,
        column_name=column_name,
        columns=across[:_MOST_COLUMNS],
        rows=list(zip(product(*outer), cells, strict=False)),
        rest=_describe_rest({"row": len(texts) - _MOST_ROWS, "column": len(across) - _MOST_COLUMNS}),
    )


def _describe_rest(left: dict[str, int]) -> str:
    """Say how many rows or columns are not shown. Empty if all of them are."""
    parts = [
        f"{count:,} more {what}{'s' * (what != '' and count > 1)}".strip() for what, count in left.items() if count > 0
    ]
    return f"and {' and '.join(parts)}" if parts else ""


def to_times(table: Any, clock: Clock) -> Any:
    """Numbers as dates or times: one of Python's own, or an array of NumPy's."""
    if not np.ndim(table):
        return make_time(float(table), clock)
    kind = "datetime64[D]" if clock == "date" else "datetime64[s]"
    return np.rint(table).astype(np.int64).astype(kind)


def format_value(value: float | None, clock: Clock | None = None) -> str:
    """Write a released number or date, or that it is not available."""
    if value is None:
        return NOT_AVAILABLE
    if clock is not None:
        return write_time(value, clock)
    return str(value) if isinstance(value, int) else f"{value:.6g}"


@as_picture
def plot(release: "Release", level: float | None, kind: "Kind") -> "altair.Chart | altair.LayerChart":
    """Plot values with their intervals, or a heat map for matrices and tables of two columns."""
    import altair as alt
    import polars as pl

    labels = labels_of(release)
    values = release.flat_values()
    if len(release.axes) > 1:
        names = [{"row": ", ".join(outer), "column": last} for *outer, last in labels]
        table = pl.DataFrame(
            [name | {"value": None if x is None else float(x)} for name, x in zip(names, values, strict=True)]
        )
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
    interval = release.interval(level, kind=kind)
    ends = [np.broadcast_to(np.ravel(end), len(values)).tolist() for end in interval]
    rows: list[dict[str, Any]] = [
        {"cell": label[0], "value": None if x is None else float(x), "from": float(low), "to": float(high)}
        for label, x, low, high in zip(labels, values, *ends, strict=True)
    ]
    base = alt.Chart(pl.DataFrame(rows), title=f"{release.title}, {_check.percent(interval.level)} intervals").encode(
        y=alt.Y("cell:N", title=None, sort=[row["cell"] for row in rows])
    )
    lines = base.mark_rule(strokeWidth=3).encode(x=alt.X("from:Q", title="value"), x2="to:Q")
    points = base.mark_point(filled=True, size=70).encode(x="value:Q", tooltip=["cell", "value", "from", "to"])
    layered: alt.LayerChart = lines + points
    return layered
