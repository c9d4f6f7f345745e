"""Statistics and derivations answer for themselves: no other code asks which class one is, or whether it has a member.

Both counts may only fall; they are 0. A count is of the source as it is written, so that each way to ask is seen.
"""

import ast
from dataclasses import dataclass
from pathlib import Path

import pytest

import inbounds

SOURCE = Path(inbounds.__file__).parent
FOLDERS = ("derivations", "statistics")
# Objects that other code may look up a member of: tables, columns and their rules have names in common with statistics.
OF_TABLES = {"column", "data", "key", "kind", "rule"}


@dataclass(frozen=True)
class Question:
    """One place that asks."""

    place: str
    text: str


def read_modules(source=SOURCE):
    """The syntax of each module, by its path within the package."""
    paths = sorted(source.rglob("*.py"))
    return {path.relative_to(source).as_posix(): ast.parse(path.read_text("utf-8")) for path in paths}


def is_in(place, *folders):
    return place.startswith(tuple(f"{folder}/" for folder in folders))


def list_classes(modules):
    """The names of derivations: their classes, and unions of these."""
    classes = set()
    for place, module in modules.items():
        if is_in(place, "derivations"):
            classes |= {node.name for node in module.body if isinstance(node, ast.ClassDef)}
            classes |= {node.target.id for node in module.body if isinstance(node, ast.AnnAssign)}
    return classes


def list_members(modules):
    """The names of the members of all statistics and derivations: their fields, class attributes and methods."""
    members = set()
    for place, module in modules.items():
        if not is_in(place, *FOLDERS) and place != "record/statistic.py":
            continue
        for made in (node for node in ast.walk(module) if isinstance(node, ast.ClassDef)):
            for node in made.body:
                if isinstance(node, ast.FunctionDef):
                    members.add(node.name)
                targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
                members |= {target.id for target in targets if isinstance(target, ast.Name)}
    return members


def find_imported(module):
    """The names that a module has imported from derivations, as it calls them."""
    found = {}
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("inbounds.derivations"):
            found |= {alias.asname or alias.name: alias.name for alias in node.names}
    return found


def list_calls(module, *functions):
    calls = [node for node in ast.walk(module) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    return [call for call in calls if call.func.id in functions]


def find_class_questions(modules):
    """Where code outside their folder asks for the class of a derivation: by isinstance, type or a pattern."""
    classes, found = list_classes(modules), []
    for place, module in modules.items():
        if is_in(place, "derivations"):
            continue
        asked = {name for name, original in find_imported(module).items() if original in classes}
        questions = [*list_calls(module, "isinstance", "issubclass"), *find_patterns(module)]
        found += [Question(place, ast.unparse(node)) for node in questions if list_names(node) & asked]
    return found


def list_names(node):
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def find_patterns(module):
    return [node for node in ast.walk(module) if isinstance(node, ast.MatchClass)]


def find_member_questions(modules):
    """Where code looks up by name a member that a statistic or a derivation has."""
    members, found = list_members(modules), []
    for place, module in modules.items():
        for call in list_calls(module, "getattr", "hasattr"):
            thing, name = call.args[:2]
            if not isinstance(name, ast.Constant) or name.value not in members:
                continue
            if not (isinstance(thing, ast.Name) and thing.id in OF_TABLES):
                found.append(Question(place, ast.unparse(call)))
    return found


MODULES = read_modules()


def test_nobody_asks_for_the_class_of_a_derivation():
    assert find_class_questions(MODULES) == []


def test_nobody_looks_up_a_member_by_its_name():
    assert find_member_questions(MODULES) == []


CLASS_QUESTIONS = [
    "from inbounds.derivations import Direct\ndef f(way): return isinstance(way, Direct)",
    "from inbounds.derivations import Direct as D\ndef f(way): return isinstance(way, int | D)",
    "from inbounds.derivations.matrices import Matrix\ndef f(way): return isinstance(way, (int, Matrix))",
    "from inbounds.derivations import Matrix\ndef f(way):\n    match way:\n        case Matrix(): return 1",
]
MEMBER_QUESTIONS = [
    "def f(release): return getattr(release.statistic, 'denominator', None)",
    "def f(way): return getattr(way, 'rows', None)",
    "def f(statistic): return hasattr(statistic, 'share')",
]


@pytest.mark.parametrize("line", CLASS_QUESTIONS)
def test_a_question_for_a_class_is_seen(line):
    planted = MODULES | {"report/planted.py": ast.parse(line)}
    assert [one.text for one in find_class_questions(planted) if one.place == "report/planted.py"]


@pytest.mark.parametrize("line", MEMBER_QUESTIONS)
def test_a_look_up_of_a_member_is_seen(line):
    planted = MODULES | {"report/planted.py": ast.parse(line)}
    assert [one.text for one in find_member_questions(planted) if one.place == "report/planted.py"]
