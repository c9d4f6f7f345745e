"""On the release path no float decides anything and all randomness is the system's: read from the source itself."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "inbounds"
# `tables.rules` and `tables.engine` speak of doubles to engines, which add up whole numbers in them (see there).
PATH = [
    *sorted((SOURCE / "grid").glob("*.py")),
    SOURCE / "privacy" / "exact.py",
    SOURCE / "privacy" / "families.py",
    SOURCE / "privacy" / "certificate.py",
    SOURCE / "privacy" / "forms.py",
    SOURCE / "privacy" / "stairs.py",
    SOURCE / "tables" / "answers.py",
    SOURCE / "privacy" / "certified.py",
    SOURCE / "tables" / "coordinates.py",
    SOURCE / "tables" / "request.py",
    SOURCE / "record" / "sequential.py",
    SOURCE / "road" / "draw.py",
]
# Functions of integers.
ALLOWED_FUNCTIONS = {"comb", "gcd", "isqrt", "lcm", "prod"}
FORBIDDEN_MODULES = {"random", "math", "cmath", "secrets", "scipy", "statistics"}
FORBIDDEN_NAMES = {"float", "complex", "round"}
FORBIDDEN_ATTRIBUTES = {"random", "float64", "float32", "float16", "exp", "log", "sqrt", "true_divide", "rint", "mean"}


def offences(source: str) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.split(".")[0] in FORBIDDEN_MODULES or "random" in a.name]
        elif isinstance(node, ast.ImportFrom) and node.module:
            integers = node.module == "math" and {alias.name for alias in node.names} <= ALLOWED_FUNCTIONS
            if not integers and (node.module.split(".")[0] in FORBIDDEN_MODULES or "random" in node.module):
                found.append(node.module)
        elif isinstance(node, ast.Constant) and isinstance(node.value, float | complex):
            found.append(f"the constant {node.value}")
        elif isinstance(node, ast.Name) and node.id in FORBIDDEN_NAMES:
            found.append(node.id)
        elif isinstance(node, ast.Attribute) and node.attr in FORBIDDEN_ATTRIBUTES:
            found.append(node.attr)
    return found


@pytest.mark.parametrize("path", PATH, ids=lambda path: path.name)
def test_no_float_and_no_other_randomness(path):
    assert offences(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "planted",
    [
        "x = 0.5",
        "import random",
        "import numpy.random",
        "from numpy.random import default_rng",
        "import numpy as np\ng = np.random.default_rng()",
        "y = float(3)",
        "import math\nz = math.exp(1)",
        "import numpy as np\nz = np.log(2)",
        "k = round(x)",
        "from scipy import special",
        "from math import isqrt, sqrt",
    ],
)
def test_a_planted_float_is_seen(planted):
    assert offences(planted)


def test_the_path_is_complete():
    """Nothing that the path imports from us lies off it, but for validators and the names of boundings."""
    outside = set()
    for path in PATH:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("inbounds"):
                outside.add(node.module)
    on_path = {".".join(["inbounds", *p.relative_to(SOURCE).with_suffix("").parts]) for p in PATH} | {"inbounds.grid"}
    assert outside - on_path <= {
        "inbounds",
        "inbounds.laws.bounding",
        "inbounds.privacy.guarantee",
        # A guess in doubles, which exact arithmetic then proves; see the test of it.
        "inbounds.privacy.guess",
        # Values that hold public facts.
        "inbounds.privacy.norms",
        "inbounds.errors",
        "inbounds.privacy.terms",
        "inbounds.record.draft",
        "inbounds.record.release",
        "inbounds.tables.schema",
    }
