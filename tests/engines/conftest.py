"""One process runs these tests, so that each engine is started once; warnings of engines are their own."""

import pytest

from tests.engines import places


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/engines/" in item.nodeid:
            item.add_marker(pytest.mark.xdist_group("engines"))
            item.add_marker(pytest.mark.filterwarnings("ignore"))


def pytest_sessionfinish():
    places.stop()
