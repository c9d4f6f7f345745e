"""Warnings of engines are their own; what was started is stopped at the end."""

import pytest

from tests.engines import places


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/engines/" in item.nodeid:
            item.add_marker(pytest.mark.filterwarnings("ignore"))


def pytest_sessionfinish():
    places.stop()
