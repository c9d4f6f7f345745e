"""Figures of studies: the same panels as in the paper, and two that show what we would do instead.

Colours are Okabe and Ito's; every line also has a dash or a mark of its own, so that figures can be read in grey. The
figures of the paper are not part of its source: panels follow its captions and its text.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from inbounds._charts import NEEDED, as_picture
from inbounds._files import write_atomically

try:
    import altair as alt
except ImportError:
    raise ImportError(NEEDED) from None

_BLUE, _VERMILION, _GREEN, _PURPLE, _ORANGE = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00"
_SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left"]
_MEASURES = {"bias": "bias", "rmse": "RMSE", "coverage": "coverage of 95% intervals"}
# Axes of all rows have the same width, so that panels stand below their headings.
_ALIGNED = alt.Axis(minExtent=38, maxExtent=38)
_MOST_COLUMNS = 9
_NAMES = {"bit": "BIT", "truncated": "truncated", "unbounded": "unbounded", "joint": "joint"}
_SCALES = {"paper": "at the paper's scale", "honest": "at the scale that keeps ε"}


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart and the name of its files."""

    name: str
    title: str
    chart: Any


def save(figure: Figure, folder: Path) -> tuple[Path, Path]:
    """Write NAME.svg and NAME.png from one rendering."""
    import vl_convert

    folder.mkdir(parents=True, exist_ok=True)
    svg = vl_convert.vegalite_to_svg(figure.chart.to_json())
    paths = folder / f"{figure.name}.svg", folder / f"{figure.name}.png"
    for path, content in zip(paths, (svg.encode(), vl_convert.svg_to_png(svg, scale=2)), strict=True):
        write_atomically(path, content)
    return paths


def of_paper(name: str, table: pl.DataFrame) -> Iterator[Figure]:
    """The figures of one of the paper's studies, at both scales, and ours."""
    for calibration, words in _SCALES.items():
        if name == "covariance":
            title = f"Fig. 1. Sanitised components of S, {words}"
            split = _where(table, calibration=calibration).filter(pl.col("mechanism") != "joint")
            yield Figure(f"fig1-components-{calibration}", title, components(split, title, ("S11", "S22", "S12", "r")))
            continue
        for number, file, what, repair, estimator, sums in (
            ("Fig. 2", "fig2-rescaling", "Re-scaled shares", "rescale", "wald", False),
            ("Fig. 3", "fig3-synthesis", "Re-scaled shares, multiple synthesis (m = 5)", "rescale", "synthesis", False),
            ("Fig. 4", "fig4-all-but-one", "All-but-one approach", "all-but-one raw", "wald", False),
            ("Fig. 5", "fig5-histogram", "Universal histogram", "tree", "wald", False),
            ("Fig. S1", "figS1-rescaling-sums", "Sums of re-scaled shares", "rescale", "wald", True),
            ("Fig. S2", "figS2-histogram-sums", "Sums of shares, universal histogram", "tree", "wald", True),
        ):
            title = f"{number}. {what}, {words}"
            labels = {"scenario": "p", "neighbours": "add-remove", "calibration": calibration}
            labels |= {"repair": repair, "estimator": estimator}
            # Unbounded noise is one of our additions.
            released = _where(table, **labels).filter(pl.col("mechanism") != "unbounded")
            quantities = [q for q in released["quantity"].unique(maintain_order=True) if ("+" in q) == sums]
            original = _where(table, scenario="p", mechanism="original")
            yield Figure(f"{file}-{calibration}", title, shares(released, original, title, quantities))
    if name == "covariance":
        title = "The whole matrix in one draw, against element by element: RMSE at ε = 1"
        yield Figure("ours-covariance", title, joint_matrix(table, title))
    else:
        title = "Four ways at the same ε (a record substituted): RMSE, coverage and width, means of four shares"
        yield Figure("ours-proportions", title, ways(table, title))


def of_own(kind: str, table: pl.DataFrame, name: str) -> list[Figure]:
    """Draw the figures of any study: one for each combination of its labels, such as scenario, repair and estimator.

    A figure holds at most eight quantities and nine columns of panels; more are spread over several figures.

    Parameters
    ----------
    kind
        ``"covariance"`` draws the mean and the percentiles of each quantity. Any other kind draws bias, RMSE and, where
        there are intervals, their coverage.
    table
        The table of a study, as `inbounds.lab.studies.keep.conduct` returns it. Its settings need the label ``n``.
    name
        The beginning of the names of the files.
    """
    table = _complete(table)
    released, original = table.filter(pl.col("epsilon").is_not_null()), table.filter(pl.col("epsilon").is_null())
    if released.is_empty():
        # No setting has an ε, so that all of them are drawn alike.
        released, original = original, released
    keys = [key for key in table.columns[: table.columns.index("quantity")] if key not in _WITHIN]
    keys += ["epsilon"] * (kind == "covariance")
    several = [key for key in keys if released[key].n_unique() > 1]
    charts: list[tuple[str, Any]] = []
    for labels in released.select(keys).unique(maintain_order=True).to_dicts():
        part = _where(released, **labels)
        title = _title(labels, several) or name
        for quantities in _groups(part["quantity"].unique(maintain_order=True).to_list(), len(_SHAPES)):
            if kind == "covariance":
                charts.append((title, components(part, title, quantities)))
                continue
            mechanisms = part["mechanism"].unique(maintain_order=True).to_list()
            wide = len(mechanisms) * part["epsilon"].n_unique() > _MOST_COLUMNS
            for some in [[mechanism] for mechanism in mechanisms] if wide else [mechanisms]:
                rows = part.filter(pl.col("mechanism").is_in(some))
                charts.append((title, shares(rows, _find_samples(original, labels), title, quantities)))
    return [Figure(f"{name}-{place}", title, chart) for place, (title, chart) in enumerate(charts, start=1)]


# Labels that vary within a figure.
_WITHIN = ("study", "n", "epsilon", "mechanism")


def _complete(table: pl.DataFrame) -> pl.DataFrame:
    """Add the labels that the panels need and the settings of the study may not have."""
    if "n" not in table.columns or table["n"].null_count():
        raise ValueError("figures show how measures depend on n: every setting of the study needs a label 'n'")
    missing: dict[str, Any] = {"scenario": "", "mechanism": "", "epsilon": None}
    added = [pl.lit(value).alias(label) for label, value in missing.items() if label not in table.columns]
    return table.select(*added, pl.all()).with_columns(pl.col("scenario", "mechanism").cast(pl.String).fill_null(""))


def _title(labels: dict[str, Any], several: Sequence[str]) -> str:
    """The labels of a figure in words. Neighbours are among them only if the study has several."""
    words = [_spell(key, labels[key]) for key in ("epsilon", "repair", "estimator", "calibration") if labels.get(key)]
    usual = ("scenario", "epsilon", "repair", "estimator", "calibration")
    words += [_spell(key, value) for key, value in labels.items() if key not in usual and key in several]
    return ": ".join(filter(None, (labels["scenario"], ", ".join(words))))


def _spell(key: str, value: Any) -> str:
    """A label in words, with its name if it is a label of one's own."""
    if key == "epsilon":
        return f"ε = {_short(value)}"
    if key == "calibration":
        return _SCALES.get(value, f"calibration {value}")
    return str(value) if key in ("repair", "estimator", "neighbours") else f"{key} = {value}"


def _find_samples(original: pl.DataFrame, labels: dict[str, Any]) -> pl.DataFrame:
    """The measures of the samples themselves: of the same scenario and, where samples have them, the same labels."""
    found = _where(original, scenario=labels["scenario"])
    for key, value in labels.items():
        same = _where(found, **{key: value})
        found = found if same.is_empty() else same
    return found


def _groups(items: list[str], size: int) -> list[list[str]]:
    """Split into groups of sizes as equal as possible, none larger than ``size``."""
    count = -(-len(items) // size)
    return [items[len(items) * i // count : len(items) * (i + 1) // count] for i in range(count)]


def _short(number: Any) -> str:
    return f"{number:.12g}" if isinstance(number, float) else str(number)


def shares(released: pl.DataFrame, original: pl.DataFrame, title: str, quantities: Sequence[str]) -> Any:
    """Bias, RMSE and coverage over n, next to those of the samples; one column for each mechanism and ε."""
    columns = _columns(released)
    rows = []
    for column, (mechanism, epsilon) in columns.items():
        part = _where(released, mechanism=mechanism, epsilon=epsilon)
        for series, frame in (("released", part), ("original", original)):
            figures = frame.filter(pl.col("measure").is_in(list(_MEASURES)), pl.col("quantity").is_in(quantities))
            rows += [row | {"series": series, "column": column} for row in figures.select(*_DRAWN).to_dicts()]
    sizes = _over_sizes(released)
    marks_of = alt.Scale(domain=list(quantities), range=_SHAPES[: len(quantities)])
    shape = alt.Shape("quantity:N", title=None, scale=marks_of, legend=_legend("circle"))
    colour, dash = _style(["original", "released"], [_VERMILION, _BLUE], [[4, 3], [1, 0]])
    lines: list[Any] = []
    found = {row["measure"] for row in rows if row["series"] == "released"}
    measures = [measure for measure in _MEASURES if measure in found]
    for measure in measures:
        # One data object for all layers of a row of panels.
        data = alt.InlineData(values=[row for row in rows if row["measure"] == measure])
        base = alt.Chart(data).encode(
            x=sizes(last=measure == measures[-1]),
            y=alt.Y("value:Q", title=_MEASURES[measure], scale=alt.Scale(zero=measure == "rmse"), axis=_ALIGNED),
            color=colour,
            detail="quantity:N",
        )
        marks: list[Any] = [
            base.mark_line(strokeWidth=1.3).encode(strokeDash=dash),
            base.mark_point(size=22, filled=True, opacity=0.9).encode(shape=shape),
        ]
        if measure != "rmse":
            level = 0.0 if measure == "bias" else 0.95
            marks.insert(0, alt.Chart(data).mark_rule(color="#999").encode(y=alt.datum(level)))
        lines.append(_panels(alt.layer(*marks), list(columns), header=measure == measures[0]))
    return _finish(alt.vconcat(*lines, spacing=4), title)


def components(table: pl.DataFrame, title: str, quantities: Sequence[str]) -> Any:
    """Mean and percentiles of elements and correlations over n, with the true value; columns: matrix and mechanism."""
    wide = table.pivot("measure", index=["scenario", "mechanism", "n", "quantity", "truth"], values="value")
    several = table["scenario"].n_unique() > 1
    rows = []
    for row in wide.to_dicts():
        mechanism = _NAMES.get(row["mechanism"], row["mechanism"])
        column = ", ".join(filter(None, (row["scenario"] if several else "", mechanism))) or "released"
        rows.append({key.replace(".", "_"): value for key, value in row.items()} | {"column": column})
    columns = list(dict.fromkeys(row["column"] for row in rows))
    sizes, alone = _over_sizes(table), table["n"].n_unique() == 1
    lines: list[Any] = []
    for quantity in quantities:
        data = alt.InlineData(values=[row for row in rows if row["quantity"] == quantity])
        base = alt.Chart(data).encode(x=sizes(last=quantity == quantities[-1]))
        bands = []
        # A single size has no area and no line: bars and marks are drawn instead.
        for low, high, opacity, width in (("q2_5", "q97_5", 0.25, 12), ("q25", "q75", 0.45, 12)):
            mark = (
                base.mark_bar(opacity=opacity, color=_BLUE, size=width)
                if alone
                else base.mark_area(opacity=opacity, color=_BLUE)
            )
            bands.append(mark.encode(y=alt.Y(f"{low}:Q", title=quantity, axis=_ALIGNED), y2=f"{high}:Q"))
        black = alt.OverlayMarkDef(size=14, color="black")
        mean = base.mark_line(color="black", strokeWidth=1.4, point=black).encode(y="mean:Q")
        stroke: dict[str, Any] = {"color": _VERMILION, "strokeWidth": 1.6}
        truth = (
            base.mark_tick(**stroke, orient="horizontal", size=30, thickness=2)
            if alone
            else base.mark_line(strokeDash=[5, 3], **stroke)
        )
        lines.append(_panels(alt.layer(*bands, truth.encode(y="truth:Q"), mean), columns, header=not lines))
    subtitle = "black: mean; dark band: 25 to 75%; light band: 2.5 to 97.5%; dashed: the true value"
    return _finish(alt.vconcat(*lines, spacing=4), [title, subtitle])


def joint_matrix(table: pl.DataFrame, title: str) -> Any:
    """RMSE of S11, S12 and r over n: truncated and BIT element by element, and one joint draw, all at true ε = 1."""
    errors = _where(table, calibration="honest", measure="rmse").filter(pl.col("quantity").is_in(["S11", "S12", "r"]))
    rows = [
        row
        | {
            "series": {"joint": "joint (ours)"}.get(row["mechanism"], f"{_NAMES[row['mechanism']]}, split"),
            "column": row["scenario"],
        }
        for row in errors.select("n", "quantity", "mechanism", "scenario", "value").to_dicts()
    ]
    series = ["truncated, split", "BIT, split", "joint (ours)"]
    lines: list[Any] = []
    for quantity in ("S11", "S12", "r"):
        data = [row for row in rows if row["quantity"] == quantity]
        lines.append(_series(data, series, f"RMSE of {quantity}", last=quantity == "r", header=not lines, log=True))
    return _finish(alt.vconcat(*lines, spacing=4), title)


def ways(table: pl.DataFrame, title: str) -> Any:
    """RMSE, coverage and width, means of the four shares, for four ways at the same ε."""
    names = {
        ("bit", "rescale", "wald"): "BIT, re-scaled, naive",
        ("bit", "rescale", "synthesis"): "BIT, re-scaled, 5 copies",
        ("bit", "rescale", "exact"): "BIT, re-scaled, exact (ours)",
        ("joint", "project", "exact"): "joint, projected, exact (ours)",
    }
    figures = _where(table, neighbours="substitute").filter(~pl.col("quantity").str.contains("+", literal=True))
    means = figures.group_by("n", "epsilon", "mechanism", "repair", "estimator", "measure", maintain_order=True).agg(
        pl.col("value").mean()
    )
    rows = []
    for row in means.to_dicts():
        key = row["mechanism"], row["repair"], row["estimator"]
        if key in names:
            rows.append(
                {
                    "n": row["n"],
                    "value": row["value"],
                    "measure": row["measure"],
                    "series": names[key],
                    "column": f"ε = {row['epsilon']:g}",
                }
            )
    lines: list[Any] = []
    for measure, name in {"rmse": "RMSE", "coverage": "coverage", "width": "width of intervals"}.items():
        data = [row for row in rows if row["measure"] == measure]
        lines.append(
            _series(
                data, list(names.values()), name, last=measure == "width", header=not lines, log=measure != "coverage"
            )
        )
    return _finish(alt.vconcat(*lines, spacing=4), title)


_DRAWN = ("n", "quantity", "measure", "value")
_STYLES = [_VERMILION, _ORANGE, _BLUE, _GREEN, _PURPLE], [[2, 2], [6, 3], [1, 0], [8, 2, 2, 2], [4, 1]]


def _where(table: pl.DataFrame, **labels: Any) -> pl.DataFrame:
    return table.filter(*(pl.col(name).eq_missing(value) for name, value in labels.items()))


def _columns(released: pl.DataFrame) -> dict[str, tuple[str, float]]:
    """Titles of panels: mechanisms side by side for each ε."""
    pairs = released.select("mechanism", "epsilon").unique(maintain_order=True).rows()
    mechanisms = list(dict.fromkeys(mechanism for mechanism, _ in pairs))
    panels = sorted(pairs, key=lambda pair: (mechanisms.index(pair[0]), pair[1] is not None, pair[1]))
    return {_head(mechanism, epsilon): (mechanism, epsilon) for mechanism, epsilon in panels}


def _head(mechanism: str, epsilon: float | None) -> str:
    """The title of a panel. A study of one's own may name no mechanism and no ε."""
    words = _NAMES.get(mechanism, mechanism), "" if epsilon is None else f"ε = {_short(epsilon)}"
    return ", ".join(filter(None, words)) or "released"


def _over_sizes(table: pl.DataFrame) -> Any:
    """The axis of n: logarithmic where sizes are far apart."""
    sizes = table["n"].unique().to_list()
    apart = max(sizes) > 20 * min(sizes) > 0
    scale = alt.Scale(type="log", nice=False) if apart else alt.Scale(zero=False)

    def axis(*, last: bool) -> alt.X:
        ticks = alt.Axis(tickCount=4, labelOverlap="greedy", labelSeparation=4)
        return alt.X("n:Q", title="n" if last else None, scale=scale, axis=ticks)

    return axis


def _legend(symbol: str = "stroke") -> alt.Legend:
    size = 400 if symbol == "stroke" else 60
    return alt.Legend(orient="bottom", symbolType=symbol, symbolSize=size, columns=4, labelLimit=220)


def _style(names: Sequence[str], colours: Sequence[str], dashes: Sequence[Sequence[int]]) -> tuple[Any, Any]:
    """A colour and a dash for every series, in one legend."""
    colour = alt.Color("series:N", title=None, scale=alt.Scale(domain=names, range=colours), legend=_legend())
    return colour, alt.StrokeDash("series:N", title=None, scale=alt.Scale(domain=names, range=dashes), legend=_legend())


def _series(
    data: list[dict[str, Any]], names: Sequence[str], title: str, *, last: bool, header: bool, log: bool
) -> Any:
    """Lines over n, one for each name, in panels."""
    colour, dash = _style(names, _STYLES[0][: len(names)], _STYLES[1][: len(names)])
    lines = (
        alt.Chart(alt.InlineData(values=data))
        .mark_line(strokeWidth=1.8)
        .encode(
            x=alt.X("n:Q", title="n" if last else None, axis=alt.Axis(tickCount=5)),
            y=alt.Y(
                "value:Q",
                title=title,
                scale=alt.Scale(type="log", nice=False) if log else alt.Scale(zero=False),
                axis=_ALIGNED,
            ),
            color=colour,
            strokeDash=dash,
        )
    )
    return _panels(lines, list(dict.fromkeys(row["column"] for row in data)), header=header, width=210)


def _panels(chart: Any, columns: Sequence[str], *, header: bool, width: int = 115) -> Any:
    """One row of panels with a shared y axis."""
    titles = alt.Header(title=None, labelFontSize=11) if header else alt.Header(title=None, labels=False)
    return chart.properties(width=width, height=125).facet(
        column=alt.Column("column:N", sort=list(columns), header=titles), spacing=6
    )


@as_picture
def _finish(chart: Any, title: str | list[str]) -> Any:
    heading: Any = {"text": title} if isinstance(title, str) else {"text": title[0], "subtitle": title[1:]}
    return (
        chart.properties(title=alt.TitleParams(**heading, anchor="start"))
        .configure_axis(grid=False, labelFontSize=9)
        .configure_view(stroke="#ccc")
    )
