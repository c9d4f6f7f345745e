"""The search for numbers in memory finds what is planted: the negative control of tests/engines/test_leftovers.py."""

from fractions import Fraction
from functools import lru_cache

import numpy as np
import polars as pl
import pytest

from inbounds.errors import DataError
from tests import leftovers


@lru_cache
def remember(number):
    """A cache that has what it was called with."""
    return number


def remembered(number):
    remember(number)
    return remember


def raised_with(number):
    """An exception in whose frame a number is a variable."""
    try:
        cells = {(0,): number + 0}
        raise DataError(f"of {len(cells)} cells")
    except DataError as error:
        return [error]


PLANTS = {
    "cache": remembered,
    "fraction": lambda number: Fraction(number, 7),
    "array": lambda number: [np.array([3, number])],
    "table": lambda number: {"answer": pl.DataFrame({"one": [number]})},
    "cells": lambda number: [({"cell": (number, ())},)],
    "closure": lambda number: lambda: number,
    "frame of an exception": raised_with,
}


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
def test_a_planted_number_is_found(plant):
    """In all places that the search looks into."""
    number = 48_611_239
    before, held = leftovers.holders([number]), []
    assert leftovers.find([number], known=before) == []
    held.append(plant(int(str(number))))
    assert leftovers.find([number], known=before)
    held.clear()
    remember.cache_clear()
    assert leftovers.find([number], known=before) == []
