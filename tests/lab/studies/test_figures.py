"""Figures: all of the paper's at both scales, drawn from the table, and apart in grey."""

import json
from dataclasses import dataclass
from itertools import product

import pytest

from inbounds.lab.studies import claims, figures, keep, page, paper
from inbounds.lab.studies.covariance import Covariance, Matrix
from inbounds.lab.studies.engine import Draws, Setting
from inbounds.lab.studies.proportions import Proportions, Shares


@pytest.fixture(scope="module")
def tables():
    shares = [s for s in paper.proportions() if dict(s.labels)["n"] in (50, 100)]
    matrices = [s for s in paper.covariance() if dict(s.labels)["n"] in (50, 800)]
    return {
        "covariance": keep.conduct("covariance", matrices, 20),
        "proportions": keep.conduct("proportions", shares, 20),
    }


@pytest.fixture(scope="module")
def drawn(tables):
    """All figures of the paper, by name: they take seconds to draw."""
    return {figure.name: figure for name, table in tables.items() for figure in figures.of_paper(name, table)}


PAPER = ["components", "rescaling", "synthesis", "all-but-one", "histogram", "rescaling-sums", "histogram-sums"]


def test_every_figure_of_the_paper_at_both_scales_and_ours(drawn):
    names = list(drawn)
    numbers = ["fig1", "fig2", "fig3", "fig4", "fig5", "figS1", "figS2"]
    for number, name in zip(numbers, PAPER, strict=True):
        for scale in ("paper", "honest"):
            assert f"{number}-{name}-{scale}" in names
    assert {"ours-covariance", "ours-proportions"} <= set(names)
    assert len(names) == 16


def values_of(chart):
    """All data of a chart."""
    found = []

    def visit(node):
        if isinstance(node, dict):
            for rows in node.get("datasets", {}).values():
                found.extend(rows)
            for child in node.values():
                visit(child)
        elif isinstance(node, list):
            for child in node:
                visit(child)

    visit(json.loads(chart.to_json()))
    return found


def test_panels_show_the_table(tables, drawn):
    """Fig. 2: three measures, six columns, four shares and the samples themselves next to them."""
    table = tables["proportions"]
    rows = values_of(drawn["fig2-rescaling-paper"].chart)
    assert {row["column"] for row in rows} == {
        f"{m}, ε = {e}" for m in ("truncated", "BIT") for e in ("0.1", "0.5", "1")
    }
    assert {row["quantity"] for row in rows} == {"p1", "p2", "p3", "p4"}
    assert {row["series"] for row in rows} == {"original", "released"}
    shown = {
        (row["column"], row["n"], row["quantity"], row["measure"]): row["value"]
        for row in rows
        if row["series"] == "released"
    }
    base = {"scenario": "p", "neighbours": "add-remove", "calibration": "paper", "repair": "rescale"}
    from inbounds.lab.studies.evidence import Evidence

    e = Evidence.of(table, **base, estimator="wald")
    assert shown["BIT, ε = 0.1", 50, "p1", "bias"] == e("p1", "bias", n=50, epsilon=0.1, mechanism="bit").value
    wanted = {"fig3-synthesis-paper": ("rescale", "synthesis"), "fig4-all-but-one-paper": ("all-but-one raw", "wald")}
    wanted["fig5-histogram-paper"] = ("tree", "wald")
    for name, (repair, estimator) in wanted.items():
        found = {row["value"] for row in values_of(drawn[name].chart) if row["series"] == "released"}
        labels = {"n": 50, "epsilon": 0.1, "mechanism": "bit", "repair": repair, "estimator": estimator}
        assert e("p1", "rmse", **labels).value in found
    plain = next(row for row in rows if (row["series"], row["n"], row["quantity"]) == ("original", 50, "p1"))
    none = {"epsilon": None, "neighbours": "none", "calibration": "none", "repair": "none", "mechanism": "original"}
    assert plain["value"] == e("p1", plain["measure"], n=50, **none).value
    sums = values_of(drawn["figS2-histogram-sums-honest"].chart)
    assert {row["quantity"] for row in sums} == {"p1+p2", "p2+p3", "p2+p4"}
    components = values_of(drawn["fig1-components-paper"].chart)
    assert {row["quantity"] for row in components} == {"S11", "S22", "S12", "r"}
    assert len({row["column"] for row in components}) == 6


def luminance(colour):
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_lines_are_apart_without_colour():
    """Series differ in dash, shares in mark; the two colours that share a panel also in grey."""
    assert len({tuple(dash) for dash in figures._STYLES[1]}) == len(figures._STYLES[1])
    assert len(set(figures._SHAPES)) == len(figures._SHAPES)
    assert abs(luminance(figures._BLUE) - luminance(figures._VERMILION)) > 0.05


def test_files_are_written(drawn, tmp_path):
    svg, png = figures.save(drawn["fig1-components-paper"], tmp_path / "new")
    assert svg.read_text("utf-8").startswith("<svg")
    assert "Sanitised components" in svg.read_text("utf-8")
    assert png.read_bytes().startswith(b"\x89PNG")


def test_figures_of_a_study_of_ones_own(tmp_path):
    shares = Shares("town", (0.1, 0.2, 0.3, 0.15, 0.25), sums=(("p1", "p2"),))
    design = Proportions((shares,), (50, 100), (0.5, 1.0), ("bit", "joint"), ("rescale", "project"), ("wald", "exact"))
    table = keep.conduct("own", list(design.settings("own")), 20)
    made = list(figures.of_own("proportions", table, "own"))
    assert [figure.name for figure in made] == ["own-1", "own-2", "own-3", "own-4"]
    figures.save(made[0], tmp_path)
    matrix = Matrix("m", ((1.0, 0.2, 0.1), (0.2, 1.0, 0.3), (0.1, 0.3, 1.0)), ((-3, 3),) * 3)
    other = Covariance((matrix,), (50, 100), (0.5, 1.0), ("bit", "joint"))
    table = keep.conduct("own", list(other.settings("own")), 20)
    made = list(figures.of_own("covariance", table, "own"))
    # Nine quantities are shared among two figures, for each ε.
    assert len(made) == 4
    figures.save(made[0], tmp_path)
    assert {row["column"] for row in values_of(made[0].chart)} == {"BIT", "joint"}
    shown = [{row["quantity"] for row in values_of(figure.chart)} for figure in made[:2]]
    assert shown[0].isdisjoint(shown[1])
    assert len(shown[0] | shown[1]) == 9


def test_figures_of_wide_and_narrow_studies(tmp_path):
    """One size has bars, sizes far apart a logarithmic axis, and many columns are shared among figures."""
    matrix = Matrix("m", ((1.0, 0.2), (0.2, 1.0)), ((-3, 3), (-3, 3)))
    table = keep.conduct("one", list(Covariance((matrix,), (50,), (1.0,), ("bit",)).settings("one")), 50)
    (alone,) = figures.of_own("covariance", table, "one")
    assert '"type": "bar"' in alone.chart.to_json()
    figures.save(alone, tmp_path)
    shares = Shares("many", (1 / 12,) * 12)
    design = Proportions((shares,), (100, 100_000), (0.1, 0.2, 0.3, 0.4, 0.12345671), ("bit", "unbounded"))
    table = keep.conduct("many", list(design.settings("many")), 20)
    made = figures.of_own("proportions", table, "many")
    # Twelve shares in two figures, for each of two mechanisms.
    assert len(made) == 4
    assert '"type": "log"' in made[0].chart.to_json()
    assert "BIT, ε = 0.12345671" in {row["column"] for row in values_of(made[0].chart)}


@dataclass(frozen=True)
class Ages:
    n: int

    def __call__(self, size, rng):
        return rng.gamma(8, 5, (size, self.n)).clip(0, 100)


@dataclass(frozen=True)
class NoisyMean:
    scale: float

    def __call__(self, samples, noise):
        return Draws(samples.mean(axis=1, keepdims=True) + noise.laplace(0, self.scale, (len(samples), 1)))


def conduct(**lists):
    """A study of one's own: a setting for each combination of labels. A label that is None is left out."""
    settings = []
    for values in product(*lists.values()):
        labels = {name: value for name, value in zip(lists, values, strict=True) if value is not None}
        sample = Ages(labels.get("n", 50))
        settings.append(
            Setting(tuple(labels.items()), ("mean",), (40.0,), ((0, 100),), sample, str(values), NoisyMean(2))
        )
    return keep.conduct("ages", settings, 20)


LABELS = {
    "those of the documentation": {"study": ["ages"], "n": [50], "epsilon": [1.0]},
    "a calibration and a mechanism of one's own": {"n": [50], "calibration": ["exact"], "mechanism": ["discrete"]},
    "samples beside releases": {"n": [50, 100, 5_000], "scenario": ["a"], "epsilon": [None, 1.0, 2.0]},
    "nothing but n": {"n": [50, 60]},
    "labels that are no text": {"n": [50], "scenario": [1, 2], "epsilon": ["1/3"]},
    "labels that some settings have": {"n": [50], "calibration": [None, "exact"], "neighbours": ["x", "y"]},
}


@pytest.mark.parametrize("kind", ["own", "covariance"])
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_every_label_of_a_study_of_ones_own_is_drawn(kind, labels, tmp_path):
    """Each combination of labels has its measures in one figure, and the figure can be written."""
    table = conduct(**labels)
    measure = {"own": "rmse", "covariance": "q97.5"}[kind]
    field = {"own": "value", "covariance": "q97_5"}[kind]
    shown = []
    for figure in figures.of_own(kind, table, "own"):
        figures.save(figure, tmp_path)
        shown += [row[field] for row in values_of(figure.chart) if row.get("measure", measure) == measure]
    released = table.filter(table["epsilon"].is_not_null()) if "epsilon" in table.columns else table
    assert set(released.filter(measure=measure)["value"]) <= set(shown)


def test_labels_of_ones_own_are_in_titles_and_columns():
    table = conduct(n=[50, 60], calibration=["exact"], mechanism=["discrete"], way=["a", "b"], epsilon=[1.0])
    made = figures.of_own("own", table, "own")
    assert [figure.title for figure in made] == ["calibration exact, way = a", "calibration exact, way = b"]
    assert {row["column"] for row in values_of(made[0].chart)} == {"discrete, ε = 1"}
    assert {row["measure"] for row in values_of(made[0].chart)} == {"bias", "rmse"}


def test_figures_need_the_number_of_records():
    with pytest.raises(ValueError, match="needs a label 'n'"):
        figures.of_own("own", conduct(epsilon=[1.0]), "own")


def test_the_page_has_every_finding_and_nothing_from_elsewhere(tmp_path):
    from html.parser import HTMLParser

    rows = claims.rows(claims.judge_all({}))
    rows[0]["finding"] = "<script>alert(1)</script>"
    page.write(rows, [("a figure", "figures/a.svg")], "Made so.", tmp_path / "claims.html")
    text = (tmp_path / "claims.html").read_text("utf-8")

    class Tags(HTMLParser):
        def __init__(self):
            super().__init__()
            self.open, self.rows, self.links = [], 0, []

        def handle_starttag(self, tag, attributes):
            if tag not in ("meta", "img", "br"):
                self.open.append(tag)
            self.rows += tag == "tr"
            self.links += [value for name, value in attributes if name in ("src", "href")]

        def handle_endtag(self, tag):
            assert self.open.pop() == tag

    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    assert tags.rows == 33
    assert set(tags.links) == {"figures/a.svg"}
    assert "<script>" not in text
    assert all(claim.id in text for claim in claims.ALL)
