"""What a study leaves in a folder: the same bytes for any number of workers, and after any interruption."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from inbounds.lab.studies import keep
from inbounds.lab.studies.covariance import Covariance, Matrix
from inbounds.lab.studies.proportions import Proportions, Shares


def settings():
    design = Proportions(
        (Shares("p", (0.1, 0.2, 0.3, 0.4)),),
        (50, 100, 200),
        (0.1, 1.0),
        ("truncated", "bit"),
        ("rescale", "all-but-one", "tree"),
        ("wald", "synthesis"),
        ("paper", "honest"),
    )
    matrix = Matrix("m", ((1.0, 0.3), (0.3, 1.0)), ((-3, 3), (-3, 3)))
    return [*design.settings("s"), *Covariance((matrix,), (50,), (1.0,), ("bit", "joint")).settings("s")]


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def conducted(folder, workers=1, seed=3, **more):
    keep.conduct("s", settings(), 200, seed=seed, workers=workers, folder=folder, **more)
    return contents(folder)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What a run that nobody disturbed leaves."""
    return conducted(tmp_path_factory.mktemp("whole"))


@pytest.mark.claim("study-reproducible")
def test_the_same_bytes_with_one_and_two_workers(tmp_path, whole):
    assert set(whole) == {"s.csv", "s.parquet", "s.json"}
    assert conducted(tmp_path / "two", 2) == whole
    assert conducted(tmp_path / "other", 2, seed=4) != whole


def listen():
    """A command in the background of a shell would not hear Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Cut(Exception):
    pass


def cut_after(count):
    """A progress that pulls the plug."""

    def progress(done, of):
        if done >= count and done < of:
            raise Cut

    return progress


@pytest.mark.claim("study-resumed")
@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupted_run_is_taken_up(tmp_path, whole, workers):
    folder = tmp_path / "cut"
    for count in (1, 20, 21, 50):
        with pytest.raises(Cut):
            conducted(folder, workers, progress=cut_after(count))
        assert set(contents(folder)) == {"s.unfinished"}
    heard = []
    assert conducted(folder, workers, resumed=heard.append) == whole
    assert heard == ["s: 50 settings taken over from an interrupted run"]


@pytest.mark.claim("study-resumed")
def test_a_line_that_was_cut_off_is_done_again(tmp_path, whole):
    folder = tmp_path / "cut"
    with pytest.raises(Cut):
        conducted(folder, progress=cut_after(10))
    journal = folder / "s.unfinished"
    text = journal.read_bytes()
    heard = []
    for rest in (
        text[:-40],
        text[:-1],
        text + b'{"setting": "ab',
        text + b"{}\n[1]\n",
        text + b"\xff\xfe\n",
        text + b'{"setting": "a", "summary": [[1]]}\n',
    ):
        journal.write_bytes(rest)
        (folder / "s.json").unlink(missing_ok=True)
        assert conducted(folder, resumed=heard.append) == whole
        journal.write_bytes(text)
    assert [text.split()[1] for text in heard] == ["9", "9", "10", "10", "10", "10"]


@pytest.mark.claim("study-resumed")
def test_a_table_that_is_there_is_not_made_again(tmp_path, whole, monkeypatch):
    """Interrupted while figures are drawn, the same command goes on with them."""
    assert conducted(tmp_path) == whole
    heard = []
    with monkeypatch.context() as patch:
        patch.setattr(keep, "run", None)
        assert conducted(tmp_path, resumed=heard.append) == whole
    assert heard == ["s: the table is there already"]
    # Another seed, another design or a table that is gone: simulated.
    assert conducted(tmp_path, seed=4) != whole
    assert conducted(tmp_path) == whole
    (tmp_path / "s.csv").unlink()
    assert conducted(tmp_path) == whole
    keep.conduct("s", settings()[:5], 200, seed=3, folder=tmp_path)
    assert contents(tmp_path) != whole


def test_a_damaged_table_is_named(tmp_path):
    (tmp_path / "s.parquet").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"s\.parquet cannot be read; remove it"):
        keep.read(tmp_path, "s")


@pytest.mark.parametrize("change", [{"seed": 4}, {"repetitions": 100}, {"measures": []}, {"revision": 0}])
def test_another_run_is_not_mixed_in(tmp_path, whole, change):
    """Finished settings of another seed, size or version are not this run's."""
    folder = tmp_path / "cut"
    with pytest.raises(Cut):
        conducted(folder, progress=cut_after(10))
    journal = folder / "s.unfinished"
    first, rest = journal.read_text("utf-8").split("\n", 1)
    journal.write_text(json.dumps(json.loads(first) | change) + "\n" + rest, "utf-8")
    heard = []
    assert conducted(folder, resumed=heard.append) == whole
    assert heard == ["s: an interrupted run with another seed or number of repetitions is replaced"]


@pytest.mark.claim("study-resumed")
def test_two_runs_do_not_write_into_one_folder(tmp_path, whole):
    pytest.importorskip("fcntl")

    def intrude(done, _):
        if done == 5:
            with pytest.raises(ValueError, match="in use by another run of this study"):
                conducted(tmp_path / "shared", seed=4)

    assert conducted(tmp_path / "shared", progress=intrude) == whole


def test_only_what_fits_is_called_taken_over(tmp_path):
    before = [*Proportions((Shares("p", (0.5, 0.5)),), (50, 60), (1.0,)).settings("s")]
    after = [*Proportions((Shares("p", (0.5, 0.5)),), (60, 70), (1.0,)).settings("s")]
    with pytest.raises(Cut):
        keep.conduct("s", before, 50, folder=tmp_path, workers=1, progress=cut_after(3))
    heard = []
    keep.conduct("s", after, 50, folder=tmp_path, workers=1, resumed=heard.append)
    assert heard == ["s: 1 setting taken over from an interrupted run"]


def test_a_setting_that_was_changed_is_simulated_again(tmp_path):
    """The same labels with other shares are another setting."""
    before = [*Proportions((Shares("p", (0.5, 0.5)),), (50,), (1.0,)).settings("s")]
    after = [*Proportions((Shares("p", (0.4, 0.6)),), (50,), (1.0,)).settings("s")]
    assert [s.labels for s in before] == [s.labels for s in after]
    with pytest.raises(Cut):
        keep.conduct("s", before, 50, folder=tmp_path, workers=1, progress=cut_after(1))
    fresh = keep.conduct("s", after, 50, workers=1)
    assert keep.conduct("s", after, 50, folder=tmp_path, workers=1).equals(fresh)


@pytest.mark.claim("study-resumed")
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_the_command_killed_and_interrupted_and_run_again(tmp_path):
    """SIGKILL, SIGTERM, then Ctrl-C, then to the end: the same tables as a run that nobody disturbed."""
    study = tmp_path / "own.toml"
    study.write_text(
        f'name = "own"\nkind = "proportions"\nn = {list(range(50, 110, 10))}\nepsilon = [0.1, 0.2, 0.5, 1.0]\n'
        'mechanisms = ["truncated", "bit"]\nrepairs = ["rescale", "tree"]\nestimators = ["synthesis"]\n'
        "repetitions = 5000\n[[scenario]]\nshares = [0.2, 0.3, 0.5]\n"
    )
    # Every setting is written at once, so that how fast the machine is decides nothing.
    start = "from inbounds.lab.studies import keep; keep._MOMENT = 0.0; from inbounds.cli.commands import run; run()"
    command = [sys.executable, "-c", start, "study", str(study), "--no-figures", "--out"]
    subprocess.run([*command, str(tmp_path / "whole")], check=True, capture_output=True)
    folder = tmp_path / "cut"
    journal = folder / "own.unfinished"
    lines = 0
    for blow, status in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 143), (signal.SIGINT, 130)):
        running = subprocess.Popen([*command, str(folder)], stderr=subprocess.PIPE, text=True, preexec_fn=listen)
        while running.poll() is None:
            if journal.exists() and journal.read_text("utf-8").count("\n") > lines + 1:
                break
            time.sleep(0.01)
        running.send_signal(blow)
        said = running.communicate(timeout=60)[1]
        assert running.returncode == status
        lines = journal.read_text("utf-8").count("\n")
    assert "run the same command again to continue" in said
    assert "Traceback" not in said
    done = subprocess.run([*command, str(folder)], check=True, capture_output=True, text=True)
    assert "taken over from an interrupted run" in done.stderr
    assert contents(folder) == contents(tmp_path / "whole")
