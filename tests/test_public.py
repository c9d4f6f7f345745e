"""What people outside rely on: the names, what importing costs, and that objects show how to make them."""

import dataclasses
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
    "Plan",
    "Release",
    "__version__",
    "calibrate",
    "correlation",
    "count",
    "covariance",
    "crosstab",
    "histogram",
    "mean",
    "pooled_covariance",
    "pooled_variance",
    "preview",
    "privacy_loss",
    "proportion",
    "proportions",
    "release",
    "sensitivity",
    "standard_deviation",
    "sum",
    "variance",
}


def test_the_public_names_are_these():
    assert set(ib.__all__) == NAMES
    assert len(NAMES) <= 25
    assert all(hasattr(ib, name) for name in NAMES)


def test_the_ledger_is_there_when_it_is_asked_for():
    """In a process of its own: by its name alone, and with it SQLite, which no single release needs."""
    code = (
        "import sys, inbounds\n"
        "assert 'sqlite3' not in sys.modules\n"
        "assert 'ledger' in dir(inbounds)\n"
        "print(inbounds.ledger.Account.__name__, 'sqlite3' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "Account True\n"


def test_the_public_names_of_the_ledger_are_these():
    assert len(ib.ledger.__all__) <= 30
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
