"""No exact number is left in memory after a release or a refusal of any kind: not in a cache, a frame or an object."""

import sys

import numpy as np
import polars as pl
import pytest

import inbounds as ib
from inbounds.errors import DataError
from inbounds.ledger import Account, Pure
from inbounds.privacy.terms import Terms
from inbounds.record.selection import draft_statistic
from inbounds.tables.engine import tally
from inbounds.tables.sources import read
from tests import leftovers
from tests.engines import places

HOW = {"epsilon": 1, "neighbours": "add-remove"}
X = {"column": "x", "bounds": (0, 100)}


def table_of(a, b, seed=0):
    """So many rows of each level, and some numbers."""
    rng, rows = np.random.default_rng(seed), a + b
    return pl.DataFrame(
        {
            "id": 1_000_000 + np.arange(rows) // 3,
            "g": ["a"] * a + ["b"] * b,
            "x": np.where(rng.random(rows) < 0.001, None, rng.integers(0, 97, rows)).astype(float),
            "y": rng.integers(0, 23, rows).astype(float),
            "z": rng.permutation(np.arange(rows) % 300),
        },
        strict=False,
    )


RELEASES = {
    "quantiles": lambda t, **how: ib.quantile(t, **X, q=[0.25, 0.5, 0.75], missing=50, **how),
    "median": lambda t, **how: ib.quantile(t, **X, q=[0.5], missing=50, **how),
    "quantiles by group": lambda t, **how: ib.quantile(
        t, **X, q=[0.1, 0.5], missing=50, by="g", levels=["a", "b"], **how
    ),
    "mean": lambda t, **how: ib.mean(t, **X, missing=50, **how),
    "mean by group": lambda t, **how: ib.mean(t, **X, missing=50, by="g", levels=["a", "b"], **how),
    "variance": lambda t, **how: ib.variance(t, **X, missing=50, **how),
    "covariance": lambda t, **how: ib.covariance(t, bounds={"x": (0, 100), "y": (0, 22)}, missing={"x": 50}, **how),
    "many shares": lambda t, **how: ib.proportions(t, "z", levels=list(range(300)), **how),
    "histogram": lambda t, **how: ib.histogram(t, "x", edges=[0, 10, 50, 100], missing="skip", **how),
    "selection": lambda t, **how: ib.histogram(t, "g", levels=["a", "b"], where="y < 11", **how),
    "persons": lambda t, **how: ib.histogram(t, "g", levels=["a", "b"], person="id", contributions=2, **how),
}
REFUSALS = {
    "a missing value": lambda t, **how: ib.mean(t, **X, **how),
    "another level": lambda t, **how: ib.proportions(t, "g", levels=["a", "c"], **how),
    "another group": lambda t, **how: ib.mean(t, "y", bounds=(0, 100), by="g", levels=["a", "c"], **how),
    "another level that is selected": lambda t, **how: ib.histogram(t, "g", levels=["a", "c"], where="y < 11", **how),
    "a missing value that is selected": lambda t, **how: ib.mean(t, **X, where="y < 11", **how),
    "a missing value of a person": lambda t, **how: ib.mean(t, **X, person="id", contributions=2, **how),
}


def exact_numbers(table):
    """What the releases and refusals count: whole numbers that are large enough to be found again."""
    numbers = {len(table), len(table) + 1}
    for by, sums in ((("g",), ("y",)), ((), ("x", "y"))):
        statistic = ib.Mean(sums[0], bounds=(0, 100), missing=50) if by == () else ib.Histogram("g", levels=["a", "b"])
        draft = draft_statistic(statistic, Terms.of(1, "add-remove"))
        for cells in tally(read(table, draft.columns), list(draft.requests)):
            for count, totals, products in cells.values():
                numbers |= {count, *totals, *products}
    return sorted(number for number in numbers if number > 10_000)


@pytest.mark.parametrize("name", list(RELEASES))
@pytest.mark.parametrize("neighbours", ["add-remove", "substitute"])
def test_caches_hold_the_same_after_releases_of_other_tables(name, neighbours):
    """Of other sizes, unless these are public; and with other noise."""
    sizes = ((3011, 41), (1009, 1500)) if neighbours == "add-remove" else ((3011, 41), (1510, 1542))
    first, second = (table_of(*size, seed) for seed, size in enumerate(sizes))
    made = leftovers.contents_after(lambda: RELEASES[name](first, epsilon=1, neighbours=neighbours))
    assert made == leftovers.contents_after(lambda: RELEASES[name](second, epsilon=1, neighbours=neighbours))


@pytest.mark.claim("confined")
@pytest.mark.parametrize("engine", places.ENGINES)
def test_nothing_is_left_of_exact_numbers(engine, tmp_path, monkeypatch):
    """After releases, refusals and interrupted draws of one engine, whose exceptions are kept."""
    if engine == "Ibis on PostgreSQL" and places.postgres() is None:
        pytest.skip("SKIPPED LOUDLY: no PostgreSQL binaries (initdb) on this machine; install postgresql to test it")
    table = table_of(70_001, 66_047)
    numbers, data = exact_numbers(table), places.ENGINES[engine](table, 2)
    if engine == "pandas":
        # The caller's own table keeps its length.
        numbers.remove(len(table))
    before, caught = leftovers.holders(numbers), []
    kept = [RELEASES[name](data, **HOW) for name in ("quantiles", "mean by group", "covariance", "persons")]
    for name, refuse in REFUSALS.items():
        for more in ({}, {"ledger": Account(tmp_path / "ledger", name, Pure(100))}):
            with pytest.raises(DataError) as refusal:
                refuse(data, **HOW, **more)
            caught.append(refusal.value)
    for error in (KeyboardInterrupt(), MemoryError(), ZeroDivisionError(f"Fraction({numbers[-1]}, 0)")):

        def stop(error=error):
            raise error

        with monkeypatch.context() as patch:
            patch.setattr("inbounds.road.draw.entropy_source", stop)
            for name in ("quantiles", "mean by group", "covariance"):
                with pytest.raises(BaseException) as stopped:
                    RELEASES[name](data, **HOW)
                caught.append(stopped.value)
                assert type(stopped.value) is type(error)
                assert not any(str(number) in str(stopped.value) for number in numbers)
    monkeypatch.setattr(sys, "last_value", caught[-1], raising=False)
    # The error that the frames of this test hold.
    del error, stop
    found = leftovers.find(numbers, known=before)
    assert (found, len(kept)) == ([], 4)
