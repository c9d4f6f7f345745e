"""What people outside rely on: the names, what importing costs, and that objects show how to make them."""

import dataclasses
import inspect
import re
import subprocess
import sys

import pytest

import inbounds as ib
from inbounds import Gaussian, GeneralizedGaussian, Laplace, Mechanism

inf = float("inf")

NAMES = {
    "Gaussian",
    "GeneralizedGaussian",
    "Laplace",
    "Mechanism",
    "Person",
    "Plan",
    "Release",
    "Releases",
    "Table",
    "__version__",
    "bounds",
    "calibrate",
    "category",
    "check",
    "correlation",
    "count",
    "covariance",
    "crosstab",
    "histogram",
    "kendall",
    "mean",
    "median",
    "moments",
    "number",
    "pooled_covariance",
    "pooled_variance",
    "preview",
    "privacy_loss",
    "proportion",
    "proportions",
    "quantile",
    "regression",
    "release",
    "sensitivity",
    "standard_deviation",
    "sum",
    "variance",
}


def test_the_public_names_are_these():
    assert set(ib.__all__) == NAMES
    assert len(NAMES) <= 37
    assert all(hasattr(ib, name) for name in NAMES)


MODULES = ("errors", "inference", "ledger", "statistics", "targets")


def test_the_public_modules_are_there_by_their_names():
    """In a process of its own: nothing else was imported."""
    code = f"import inbounds as ib; print([getattr(ib, name).__name__ for name in {MODULES}], 'ledger' in dir(ib))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{[f'inbounds.{name}' for name in MODULES]} True\n"
    for name in MODULES:
        module = getattr(ib, name)
        assert module.__all__ == sorted(module.__all__)
        assert all(hasattr(module, one) for one in module.__all__)


def test_every_function_has_a_value_behind_it():
    values = [made for name, made in vars(ib.statistics).items() if name in dir(ib) and isinstance(made, type)]
    assert {made.name for made in values} == set(ib.statistics.registered())
    for made in values:
        assert getattr(ib, made.__name__) is made
        fields = {field.name for field in dataclasses.fields(made) if field.init}
        assert fields <= set(inspect.signature(getattr(ib, made.name)).parameters)


def test_every_exception_is_in_the_tree():
    """The drawing in the docstring has each of them, below the one that it inherits from."""
    drawn = {}
    above = {}
    for line in ib.errors.__doc__.splitlines():
        if found := re.match(r"    ([│ ]*)(?:[├└]── )?([A-Z]\w+)(?:  |$)", line):
            depth = len(found[1]) // 4 + ("──" in line)
            above[depth] = found[2]
            drawn[found[2]] = above.get(depth - 1)
    for name in ib.errors.__all__:
        assert getattr(ib.errors, name).__base__.__name__ == drawn[name]


def test_the_public_names_of_the_ledger_are_these():
    assert len(ib.ledger.__all__) <= 31
    assert all(hasattr(ib.ledger, name) for name in ib.ledger.__all__)


def test_importing_leaves_the_heavy_modules_alone():
    heavy = [
        "scipy.stats",
        "scipy.optimize",
        "scipy.special",
        "altair",
        "jinja2",
        "narwhals",
        "pandas",
        "polars",
        "pydantic",
        "sqlite3",
    ]
    code = f"import sys, inbounds; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize(
    "value",
    [
        Laplace(0.1),
        Gaussian(2.0),
        GeneralizedGaussian(0.5, 3),
        Mechanism(Laplace(0.1), "bit", bounds=(0, 1)),
        Mechanism(Gaussian(0.1), "truncated", bounds=(-inf, 3)),
    ],
)
def test_a_representation_makes_the_value_again(value):
    assert eval(repr(value)) == value
    assert hash(eval(repr(value))) == hash(value)


@pytest.mark.parametrize("value", [Laplace(0.1), Mechanism(Laplace(0.1), "bit", bounds=(0, 1))])
def test_values_are_frozen(value):
    with pytest.raises(AttributeError):
        setattr(value, dataclasses.fields(value)[0].name, 2.0)
