"""Nothing but a statistic's own file asks what it is called: read from the source itself."""

import ast
from pathlib import Path

import pytest

from inbounds.statistics import registered

SOURCE = Path(__file__).parents[1] / "src" / "inbounds"
# The paper's studies have the names of two statistics, and a word that is one names weights of a tree.
APART = ("statistics", "studies", "repairs/tree.py", "demo.py", "plan/template.py")


def comparisons(source: str) -> list[str]:
    """Comparisons, memberships and lookups with the name of a statistic."""
    names, found = set(registered()), []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            inner = [one for side in sides for one in (side.elts if isinstance(side, ast.Tuple | ast.List) else [side])]
            found += [ast.unparse(node) for one in inner if isinstance(one, ast.Constant) and one.value in names]
        elif isinstance(node, ast.Dict):
            keys = {one.value for one in node.keys if isinstance(one, ast.Constant)}
            found += [ast.unparse(node)[:80]] if len(keys & names) > 1 else []
        elif isinstance(node, ast.MatchValue) and isinstance(node.value, ast.Constant) and node.value.value in names:
            found.append(ast.unparse(node))
    return found


def test_no_name_of_a_statistic_steers_anything():
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        if not place.startswith(APART):
            found[place] = comparisons(path.read_text("utf-8"))
    assert {place: lines for place, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "planted",
    [
        'x = statistic == "mean"',
        'if one.name in ("covariance", "correlation"): pass',
        'TABLE = {"mean": 1, "variance": 2}',
        'match name:\n    case "sum":\n        pass',
    ],
)
def test_a_planted_comparison_is_seen(planted):
    assert comparisons(planted)
