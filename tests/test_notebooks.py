"""The example notebooks: every cell runs, and what a cell ends with has the view that a notebook would show."""

import ast
import json
from pathlib import Path

import pytest

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
    """A value as a notebook shows it: HTML, a chart's marks, or text."""
    if hasattr(value, "_repr_html_"):
        return value._repr_html_()
    if hasattr(value, "to_dict") and "$schema" in (chart := value.to_dict()):
        return json.dumps(chart)
    return repr(value)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs_and_shows_something(path):
    shown = [render(value) for value in run_cells(read_cells(path))]
    assert sum("<table" in one for one in shown) >= 5
    assert sum('"$schema"' in one for one in shown) >= 3
    assert all(shown)


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
