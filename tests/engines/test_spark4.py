"""The same integers on Spark 4, which has an environment of its own, by a classic session and by Spark Connect."""

import os
import pickle
import subprocess
from pathlib import Path

import pytest

from tests.engines import places
from tests.engines.test_passes import COLUMNS as PLAN_COLUMNS
from tests.engines.test_passes import PLAN
from tests.tables.samples import messy
from tests.tables.test_engine import COLUMNS, by_hand, requests

HERE = Path(__file__).parents[2]
PYTHON = HERE / ".venv-spark4" / "bin" / "python"


def on_spark4(mode, asked, table, where, **environment):
    """What Spark 4 found for each that is asked, with its jobs; its version, and the kind of table."""
    if not PYTHON.exists():
        pytest.skip("SKIPPED LOUDLY: no Spark 4 here; `make test` sets up an environment for it, .venv-spark4")
    (where / "table").mkdir()
    for i, piece in enumerate(places.pieces(table, 5)):
        piece.write_parquet(where / "table" / f"part-{i}.parquet")
    (where / "asked.pickle").write_bytes(pickle.dumps(asked))
    done = subprocess.run(
        [PYTHON, "-W", "ignore", HERE / "tests" / "engines" / "spark4.py", mode, where],
        capture_output=True,
        text=True,
        cwd=where,
        timeout=300,
        check=False,
        env=os.environ | {"PYTHONPATH": str(HERE / "src"), "JAVA_TOOL_OPTIONS": places.QUICK_JAVA} | environment,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return pickle.loads((where / "found.pickle").read_bytes())


def by_python(asked):
    return [[by_hand(messy(), request) for request in requests] for _, requests in asked]


@pytest.mark.claim("tally")
def test_the_same_integers_by_spark_connect(tmp_path):
    asked = [(COLUMNS, requests())]
    found, version, made = on_spark4("connect", asked, messy(), tmp_path)
    assert [cells for cells, _ in found] == by_python(asked)
    assert int(version.split(".")[0]) >= 4
    assert made.startswith("pyspark.sql.connect")


@pytest.mark.claim("tally")
def test_the_same_integers_and_one_job_on_spark_4_and_a_java_from_pypi(tmp_path):
    """As on a machine without Java: the folders of the system's one are left out of the path."""
    folders = [one for one in os.environ["PATH"].split(os.pathsep) if not (Path(one) / "java").exists()]
    path = tmp_path / "programs"
    path.mkdir()
    for program in ("sh", "bash", "dirname", "ps", "env", "uname", "cat", "rm", "grep", "sed", "basename", "readlink"):
        found = next((Path(one) / program for one in ("/bin", "/usr/bin") if (Path(one) / program).exists()), None)
        if found:
            (path / program).symlink_to(found)
    hidden = os.pathsep.join([str(path), *folders])
    asked = [(COLUMNS, requests()), (PLAN_COLUMNS, PLAN)]
    found, version, made = on_spark4("classic", asked, messy(), tmp_path, PATH=hidden)
    assert [cells for cells, _ in found] == by_python(asked)
    assert found[1][1] == 1
    assert int(version.split(".")[0]) >= 4
    assert made.startswith("pyspark.sql.classic")
    if "JAVA_HOME" not in os.environ:
        assert (tmp_path / "java" / "bin" / "java").exists()
