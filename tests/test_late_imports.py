"""An import inside a function is for what is optional or slow to load; the rest is on a list, which can only shrink."""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "inbounds"

# Libraries that any module may import late, and why.
LIBRARIES = {
    "altair": "only a picture needs it, and it takes long to load",
    "clarabel": "an optional extra",
    "cryptography": "an optional extra",
    "dask": "an optional extra",
    "fcntl": "not on every system",
    "ibis": "an optional extra",
    "jinja2": "only a page needs it",
    "markupsafe": "only a page needs it",
    "narwhals": "only a table needs it, and it takes long to load",
    "pandas": "only for those who ask for its tables",
    "polars": "only a table or a picture needs it, and it takes long to load",
    "pyarrow": "an optional extra",
    "pyspark": "an optional extra",
    "python_calamine": "an optional extra",
    "rich": "only a terminal needs it",
    "scipy": "takes long to load",
    "sqlframe": "its tables are taken where somebody has them",
    "xlsxwriter": "an optional extra",
    "tomlkit": "an optional extra",
    "vl_convert": "only a picture needs it, and it takes long to load",
}
# Module -> what else it imports late.
OTHERS = {
    # A command loads what it needs, so that `inbounds --help` is quick.
    "audit.command": {"inbounds", "inbounds.audit.events", "inbounds.audit.sources"},
    "cli.check": {"inbounds"},
    "cli.export": {"inbounds"},
    "cli.commands": {
        "inbounds",
        "inbounds.ledger",
        "inbounds.plan.plan",
        "inbounds.plan.template",
        "inbounds.report.files",
    },
    "cli.study": {"inbounds.lab.studies", "inbounds.lab.studies.covariance"},
    "lab.studies.laboratory": {"inbounds.lab.studies"},
    # Simulations are loaded by who asks for a figure of the paper, not by every command.
    "lab.paper_figures": {
        "inbounds.lab.studies",
        "inbounds.lab.studies.covariance",
        "inbounds.lab.studies.measures",
        "inbounds.lab.studies.proportions",
    },
    # The page needs an optional extra.
    "cli.studio": {"inbounds.studio"},
    # Pydantic is loaded for plans, and not for a table that is declared in Python.
    "plan.preview": {"inbounds.plan.plan"},
    "plan.table": {"inbounds.plan"},
    # Releasing a plan needs no forecasts, and what the page does no releases.
    "plan.plan": {"inbounds.forecasts.outlook"},
    "service": {"(f'inbounds.{_PLACES[name]}')"},
    # SQLite is loaded where there is a ledger, the report where one is written.
    "ledger.store": {"inbounds.ledger.sqlite"},
    # Inference stands above records, and is loaded by who asks for an estimate.
    "record.release": {"inbounds.inference.estimates"},
    "record.record": {"inbounds.report.files"},
    # The laboratory stands above inference, of which three public names are in it.
    "inference": {"inbounds.lab.synthesis"},
    # Addresses of 0.2, for one version.
    "privacy.sensitivity": {"inbounds.lab.theory.sensitivity"},
    "studies": {"inbounds.lab.studies.figures"},
    # Statistics register themselves when they are loaded, which whoever reads a record need not have done.
    "record.statistic": {"inbounds.statistics"},
    # An engine of whatever name, with the line that installs it where it is missing.
    "tables.places": {"(module)"},
    # Public names are loaded when they are asked for, and what finds the nearest one when there is none.
    "__init__": {
        "inbounds._mistakes",
        "inbounds.lab.theory.sensitivity",
        "(f'inbounds.{name}')",
        "(f'inbounds.{_PLACES[name]}')",
    },
}


def late(source: str) -> set[str]:
    """The modules that are imported inside functions."""
    functions = [
        node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    found = set()
    for node in (inner for function in functions for inner in ast.walk(function)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add("." * node.level + (node.module or ""))
        elif isinstance(node, ast.Call) and _name_of(node.func) in ("import_module", "__import__"):
            name = node.args[0]
            found.add(name.value if isinstance(name, ast.Constant) else f"({ast.unparse(name)})")
    return found


def _name_of(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


@cache
def late_by_module() -> dict[str, set[str]]:
    found = defaultdict(set)
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)
        found[name] |= late(path.read_text("utf-8"))
    return found


def test_imports_inside_functions_are_those_listed():
    """A new one needs a reason to be here; one that has gone is taken off the list."""
    found = {
        name: {module for module in modules if module.split(".")[0] not in LIBRARIES}
        for name, modules in late_by_module().items()
    }
    assert {name: modules for name, modules in found.items() if modules} == OTHERS


def test_every_library_of_the_list_is_imported_late_somewhere():
    found = {module.split(".")[0] for modules in late_by_module().values() for module in modules}
    assert set(LIBRARIES) <= found


@pytest.mark.parametrize(
    ("source", "modules"),
    [
        ("import os\n", set()),
        ("def f():\n    import os.path, re\n", {"os.path", "re"}),
        (
            "class A:\n    async def f(self):\n        if self:\n            from inbounds.laws import noise\n",
            {"inbounds.laws"},
        ),
        ("def f():\n    def g():\n        from .. import _check\n", {".."}),
        ("def f():\n    return importlib.import_module('inbounds.road')\n", {"inbounds.road"}),
        ("def f(name):\n    return import_module(name)\n", {"(name)"}),
    ],
)
def test_a_planted_import_is_seen(source, modules):
    assert late(source) == modules
