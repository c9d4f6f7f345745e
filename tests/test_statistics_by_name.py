"""Nothing but a statistic's own file asks what it is: read from the source itself."""

import ast
from pathlib import Path

import pytest

from inbounds.statistics import registered

SOURCE = Path(__file__).parents[1] / "src" / "inbounds"
# Where such words stand for something else.
APART = {
    "statistics/": "the statistics themselves",
    "lab/": "the paper's studies have the names of two statistics",
    "derivations/likely_truths.py": "a word that is a statistic's is a key of what a user states as plausible",
    "derivations/truths.py": "a word that is a statistic's is a key of what a user states as plausible",
    "repairs/tree.py": "a word that is a statistic's names weights of a tree",
    "__init__.py": "the public names, which a test compares with the register",
}
# A key of the record's format, methods, levels of a plausible truth and blocks of a norm: not the statistics of those
# names.
COINCIDENCES = {
    "_types.py": [
        "Literal['moments', 'direct']",
        "Literal['centred', 'robust', 'moments', 'direct']",
        "Literal['mean', 'sd']",
    ],
    # Ways to fold the rows of a person.
    "plan/model.py": [
        "Literal['count', 'sum', 'mean', 'min', 'max', 'any', 'all', 'first', 'last']",
        "Literal['joint', 'elements', 'split', 'centred', 'robust', 'moments', 'direct', ",
    ],
    "privacy/persons.py": [
        "FOLDS = ('count', 'sum', 'mean', 'min', 'max', 'any', 'all', 'first', 'last')",
        "Literal['count', 'sum', 'mean', 'min', 'max', 'any', 'all', 'first', 'last']",
        "how == 'count'",
    ],
    "record/notes.py": ["{'count': 'the number of rows', 'sum': 'the sum', 'mean': 'the mean', 'min': 'th"],
    "tables/folding.py": ["how == 'mean'", "how in ('sum', 'mean')"],
    # Of noise: a field that is called as a statistic is.
    "privacy/certificate.py": [
        "_FRACTIONS = ('step', 'origin', 'sensitivity', 'epsilon', 'loss', 'variance')",
        "text.startswith(('moments', 'mean', 'selected'))",
    ],
    "privacy/forms.py": [
        "Literal['moments', 'mean moments', 'counted moments', 'selected moments', 'selec",
        "{'moments': MOST_COLUMNS, 'mean moments': 1, 'counted moments': 5, 'selected mom",
        "moves == 'moments'",
    ],
    "privacy/norms.py": ["self.kind not in ('box', 'moments', 'mean moments')"],
    # Ways to draw a variance, and a key of plausible=.
    "forecasts/outlook.py": ["_METHODS = ('joint', 'split', 'centred', 'moments', 'direct')"],
    "forecasts/ways.py": ["'mean' in part"],
    # A level of the grammar.
    "tables/expressions/parser.py": ["level == 'sum'", "level == 'sum'"],
    # The public names of the room, of which the fit of released moments is one.
    "inference/__init__.py": ["__all__ = ['Distribution', 'Interval', 'Outcome', 'Posterior', 'Regression', 'Sy"],
    "service/results.py": ["{'count': count_qualities(sections), 'doubtful': doubtful, 'promise': promise, '"],
    "record/codec.py": ["{'all': _plain(values[0]), 'count': len(values)}"],
}


def is_apart(place: str) -> bool:
    return any(place.startswith(name) if name.endswith("/") else place == name for name in APART)


def words(nodes: list[ast.AST]) -> set[str]:
    """The strings among some expressions, and inside collections and alternatives among them."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
        elif isinstance(node, ast.Tuple | ast.List | ast.Set):
            found |= words(list(node.elts))
        elif isinstance(node, ast.MatchValue):
            found |= words([node.value])
    return found


def asked(node: ast.AST) -> set[str]:
    """The words that an expression compares with, looks up or lists."""
    if isinstance(node, ast.Compare):
        return words([node.left, *node.comparators])
    if isinstance(node, ast.Subscript):
        return words([node.slice])
    if isinstance(node, ast.Dict):
        return words([key for key in node.keys if key is not None])
    if isinstance(node, ast.MatchValue):
        return words([node.value])
    if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Tuple | ast.List | ast.Set):
        return words([node.value])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return words(list(node.args)) if node.func.attr in ("get", "startswith", "endswith", "index") else set()
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return words(list(node.args)) if node.func.id in ("set", "frozenset", "tuple", "list") else set()
    return set()


def classes(node: ast.AST) -> set[str]:
    """The names of classes that an expression asks for."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass"):
        inner = list(ast.walk(node.args[1]))
    elif isinstance(node, ast.Compare):
        inner = [node.left, *node.comparators]
    elif isinstance(node, ast.MatchClass):
        inner = [node.cls]
    else:
        inner = []
    names = {one.id for one in inner if isinstance(one, ast.Name)}
    return names | {one.attr for one in inner if isinstance(one, ast.Attribute)}


def questions(source: str) -> list[str]:
    """Comparisons, memberships and lookups with the name or the class of a statistic."""
    # Nearly everything has bounds, which are a statistic's name as well.
    names, types = set(registered()) - {"bounds"}, {kind.__name__ for kind in registered().values()}
    nodes = ast.walk(ast.parse(source))
    return [ast.unparse(node)[:80] for node in nodes if asked(node) & names or classes(node) & types]


def test_no_name_of_a_statistic_steers_anything():
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        if not is_apart(place):
            found[place] = questions(path.read_text("utf-8"))
    assert {place: lines for place, lines in found.items() if lines} == COINCIDENCES


def test_every_exception_is_a_place():
    assert all((SOURCE / name).exists() for name in APART)
    assert not is_apart("statistics_more.py")
    assert not is_apart("plan/__init__.py")


@pytest.mark.parametrize(
    "planted",
    [
        'x = statistic == "mean"',
        'if one.name in ("covariance", "correlation"): pass',
        'if one.name in {"covariance"}: pass',
        'TABLE = {"mean": 1}',
        'NAMES = ("mean", "median")',
        'NAMES = frozenset({"mean", "median"})',
        'x = TABLE["mean"]',
        'x = TABLE.get("mean", 0)',
        'x = name.startswith("proportion")',
        'x = name.startswith(("proportion", "x"))',
        'match name:\n    case "sum":\n        pass',
        "x = isinstance(statistic, Mean)",
        "x = isinstance(statistic, means.Mean | spreads.Variance)",
        "x = type(statistic) is Mean",
        "match statistic:\n    case Mean():\n        pass",
    ],
)
def test_a_planted_question_is_seen(planted):
    assert questions(planted)


@pytest.mark.parametrize("allowed", ["x = Mean('age')", "x = law('mean', terms)", "x = statistic.title == 'age'"])
def test_what_asks_nothing_is_left_alone(allowed):
    assert not questions(allowed)
