"""Released bounds are those of one column."""

import pytest

import inbounds as ib

TABLE = {"delay": [float(i % 60) for i in range(4000)], "distance": [float(i % 2500) for i in range(4000)]}


@pytest.fixture(scope="module")
def found():
    return ib.bounds(TABLE, "delay", within=(0, 10_000), epsilon=1)


def test_bounds_of_another_column_are_refused(found):
    said = r"bounds are those of column 'delay', not of 'distance'.*bounds=tuple\(release\.value\)"
    with pytest.raises(ValueError, match=said):
        ib.mean(TABLE, "distance", bounds=found, epsilon=1)
    with pytest.raises(ValueError, match=said):
        ib.covariance(TABLE, bounds={"delay": found, "distance": found}, epsilon=1)


def test_bounds_of_the_column_and_of_a_list_are_taken(found):
    ends = tuple(float(end) for end in found.value)
    for made in (
        ib.mean(TABLE, "delay", bounds=found, epsilon=1),
        ib.mean(TABLE["delay"], bounds=found, epsilon=1),
        ib.mean(TABLE, "distance", bounds=tuple(found.value), epsilon=1),
    ):
        assert tuple(map(float, made.statistic.bounds)) == ends
