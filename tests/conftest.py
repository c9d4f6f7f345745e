"""For all tests."""

import os

import pytest
from hypothesis import Phase, settings

# Before NumPy is loaded: processes of tests share the cores already, and threads of small matrices wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# How long an example takes says nothing on a machine that does other work as well. Who has chosen a profile keeps it.
if settings.get_current_profile_name() == "default":
    settings.register_profile("untimed", deadline=None)
    settings.load_profile("untimed")
# For mutants: the same few examples each time, and no search for a simpler one that fails.
settings.register_profile(
    "few", deadline=None, max_examples=20, derandomize=True, database=None, phases=[Phase.explicit, Phase.generate]
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Whoever names another way of distributing tests than the usual one gets it."""
    if config.getvalue("dist") not in ("load", "loadgroup"):
        return None
    from tests.scheduling import ByFile

    return ByFile(config, log)
