"""The example notebooks: every cell runs, and what a cell ends with has the view that a notebook would show."""

import ast
import copy
import json
import pickle
import re
from pathlib import Path

import altair
import pytest

import inbounds as ib

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples").glob("*.ipynb"))


def read_cells(path):
    """The code of a notebook, cell by cell."""
    return [
        "".join(cell["source"]) for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"
    ]


def run_cells(cells):
    """Run cells one after another; the values of those that end with an expression."""
    names = {}
    for source in cells:
        body = ast.parse(source).body
        last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        if last is not None:
            yield eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def render(value):
    """A value as a notebook shows it: HTML, a picture, or text."""
    if hasattr(value, "_repr_html_"):
        return value._repr_html_()
    if hasattr(value, "_repr_mimebundle_"):
        bundle = value._repr_mimebundle_()
        return "".join((bundle[0] if isinstance(bundle, tuple) else bundle).values())
    return repr(value)


def find_loaded(text):
    """The addresses in an output that a browser would load something from. Names of XML are no addresses."""
    named = re.sub(r"""xmlns(:\w+)?=["'][^"']*["']""", "", text)
    return re.findall(r"""https?://[^\s"'<>)]+""", named)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs_and_shows_something(path):
    shown = [render(value) for value in run_cells(read_cells(path))]
    assert sum("<table" in one for one in shown) >= 5
    assert sum(one.startswith("<svg") for one in shown) >= 3
    assert all(shown)
    # An exported notebook shows all of it without a network.
    assert [address for one in shown for address in find_loaded(one)] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_output_is_kept(path):
    """Numbers are drawn anew each time; what lies in the repository has none."""
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


def test_a_cell_that_fails_is_seen():
    assert NOTEBOOKS
    assert list(run_cells(["x = 1", "x + 1"])) == [2]
    with pytest.raises(NameError):
        list(run_cells(["y"]))


def plotted():
    """Everything of the library that has a chart."""
    shares = ib.histogram(["a", "b"] * 100, levels=["a", "b"], epsilon=1)
    table = ib.crosstab({"g": ["a", "b"], "h": ["c", "d"]}, levels={"g": ["a", "b"], "h": ["c", "d"]}, epsilon=1)
    law = ib.Mechanism(ib.Laplace(0.1), "bit", bounds=(0, 1))
    plan = ib.Plan.of(
        {
            "data": {"rows": 1000},
            "budget": {"epsilon": 1},
            "columns": {"age": {"bounds": [0, 100]}},
            "release": [{"name": "age", "statistic": "mean", "columns": ["age"]}],
        }
    )
    expected = ib.preview("mean", column="age", bounds=(0, 100), epsilon=1, rows=1000)
    return shares, table, law, plan.preview(), expected


def plots():
    """Every chart of the library."""
    return [each.plot() for each in plotted()]


def test_charts_are_pictures_that_load_nothing():
    """So are copies of them. Another renderer is used if a user asks for it."""
    for chart in plots():
        for one in (
            chart,
            chart.properties(background="white"),
            copy.deepcopy(chart),
            pickle.loads(pickle.dumps(chart)),
        ):
            assert render(one).startswith("<svg")
            assert find_loaded(render(one)) == []
            assert isinstance(one, altair.TopLevelMixin)
        # A plain chart of the same content would load its drawing code.
        plain = copy.deepcopy(chart)
        object.__setattr__(plain, "__class__", type(chart).__mro__[1])
        assert find_loaded(render(plain)) != []
        with altair.renderers.enable("png"):
            assert "image/png" in str(chart._repr_mimebundle_())
