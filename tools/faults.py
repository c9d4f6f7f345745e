"""Break releases at every step, run the same command again, and count what was paid for and lost.

    python tools/faults.py                    all faults at all steps, and random kills: more than 1,000
    python tools/faults.py --every 7 --kills 0    a sample

A fault comes at a step of a release: before or after a statement of the ledger's database, and before or after the
table is counted, the noise is drawn, a result is written. The kinds of faults:

- ``kill``: the process is killed (SIGKILL).
- ``interrupt``, ``terminate``: Ctrl-C, and a request to terminate.
- ``memory``: from this step on the process gets no more memory.
- ``disk``: from this step on no file can be written.
- ``engine``: the engine fails the next time it is asked.
- ``random``: the process is killed at a random moment, not at a step.

After each fault the same command runs again. A charge that then has no result is lost, unless the run was in the middle
of its draw. No charge may have two draws, and none may be made twice. The exit status is 1 if one is.
"""

import argparse
import contextlib
import json
import os
import random
import resource
import signal
import sqlite3
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

# The whole of what a release loads is loaded before the first fork.
import cryptography.hazmat.primitives.ciphers  # noqa: F401
import jinja2  # noqa: F401
import narwhals  # noqa: F401
import polars  # noqa: F401

from inbounds import ledger, service
from inbounds.ledger import sqlite
from inbounds.plan.plan import Plan
from inbounds.report import files
from inbounds.road import run
from inbounds.tables import engine as engines

KINDS = ("kill", "interrupt", "terminate", "memory", "disk", "engine")
PLAN = """
[data]
source = "t.csv"
rows = 4
[budget]
epsilon = 0.5
ledger = "l"
dataset = "d"
limit = 100
[columns]
x = { bounds = [0, 10] }
[[release]]
name = "x"
statistic = "mean"
columns = ["x"]
"""


@dataclass
class Steps:
    """The steps of a process, and the fault at one of them."""

    at: int = 0
    kind: str = "kill"
    count: int = 0
    failing: bool = False

    def __call__(self, *_: object) -> None:
        self.count += 1
        if self.count == self.at:
            self.break_down()

    def break_down(self) -> None:
        match self.kind:
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "interrupt":
                os.kill(os.getpid(), signal.SIGINT)
            case "terminate":
                os.kill(os.getpid(), signal.SIGTERM)
            case "memory":
                resource.setrlimit(resource.RLIMIT_AS, (1, resource.RLIM_INFINITY))
            case "disk":
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
            case "engine":
                self.failing = True


def _instrument(steps: Steps) -> None:
    """Call the steps around every statement of a ledger and every stage of a release."""
    connect = sqlite3.connect

    def traced(*args: object, **kwargs: object) -> sqlite3.Connection:
        connection = connect(*args, **kwargs)  # type: ignore[call-overload]
        connection.set_trace_callback(steps)
        return connection

    sqlite.sqlite3.connect = traced  # type: ignore[assignment]
    stages = [
        (run, "count_cells"),
        (run, "draw"),
        (run, "write_draws"),
        (sqlite, "_note_head"),
        (files, "write_atomically"),
    ]
    for module, name in stages:
        setattr(module, name, _wrap(getattr(module, name), steps))
    collect = engines.collect

    def failing(queries: Callable[[], object]) -> object:
        if steps.failing:
            steps.failing = False
            raise run.EngineError("the table's engine failed with ConnectionError", "ConnectionError")
        return collect(queries)

    engines.collect = failing  # type: ignore[assignment]


def _wrap(real: Callable[..., object], steps: Steps) -> Callable[..., object]:
    def wrapped(*args: object, **kwargs: object) -> object:
        steps()
        result = real(*args, **kwargs)
        steps()
        return result

    return wrapped


def write_plan(folder: Path) -> Path:
    """A plan with a table of four rows."""
    folder.mkdir(parents=True)
    (folder / "t.csv").write_text("x\n1\n2\n3\n4\n")
    (folder / "plan.toml").write_text(PLAN)
    return folder / "plan.toml"


def release(plan: Path, kind: str, at: int, *, after: float | None = None) -> tuple[int, int, str]:
    """Release a plan in a process of its own: its exit status, its number of steps and its message."""
    source, sink = os.pipe()
    child = os.fork()
    if not child:
        os.close(source)
        with contextlib.suppress(BaseException):
            _run(plan, Steps(at, kind), sink)
        os._exit(70)
    os.close(sink)
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    with os.fdopen(source) as said:
        text = said.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    count, message = json.loads(text) if text else (0, "")
    return status, count, message


def _run(plan: Path, steps: Steps, sink: int) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 2)
    _instrument(steps)
    status, message = 0, ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            service.release_plan(Plan.load(plan), plan.parent / "out")
    except ledger.Unfinished as error:
        status, message = 3, str(error)
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        status, message = 2, f"{type(error).__name__}: {error}"
    os.write(sink, json.dumps([steps.count, message]).encode())
    os._exit(status)


@dataclass(frozen=True)
class Outcome:
    """What came of one fault: the last entry before the second run, and whether the charge has its result after it."""

    kind: str
    at: int
    stage: str
    result: bool
    lost: str
    status: int


def try_fault(folder: Path, kind: str, at: int, after: float | None = None) -> Outcome:
    """One fault, and the same command again. Raises an `AssertionError` if a promise is broken."""
    plan = write_plan(folder)
    status = release(plan, kind, at, after=after)[0]
    stage = _read_kinds(folder)[-1:] or ["nothing"]
    again, _, message = release(plan, kind, 0)
    entries = ledger.verify(folder / "l")
    kinds = Counter(entry.kind for entry in entries)
    shown = folder / "out" / "release.json"
    assert kinds["charge"] == 1, f"{kind} at {at}: charged {kinds['charge']} times"
    assert kinds["drawing"] <= 1, f"{kind} at {at}: drawn {kinds['drawing']} times"
    assert kinds["result"] <= kinds["drawn"] <= kinds["drawing"]
    assert (again == 0) == (kinds["result"] == 1) == shown.exists(), f"{kind} at {at}: {again} {kinds} {message}"
    if shown.exists():
        service.verify_record(shown, folder / "l")
    litter = sorted(path.name for path in folder.iterdir() if path.name not in _FILES)
    assert not litter, f"{kind} at {at}: {litter}"
    return Outcome(kind, at, stage[0], kinds["result"] == 1, message, status)


# A kill may leave the empty lock file, the journal of SQLite and the next head file. The next charge uses them.
_FILES = {"plan.toml", "t.csv", "l", "l.head", "l.head.new", "l.lock", "l-journal", "out"}


def _read_kinds(folder: Path) -> list[str]:
    path = folder / "l"
    if not path.exists() or not path.stat().st_size:
        return []
    try:
        return [entry.kind for entry in ledger.read(path)]
    except ledger.LedgerError:
        # Killed before its first commit.
        return []


def count_steps(folder: Path) -> int:
    """The steps of a release that nothing disturbs."""
    status, steps, message = release(write_plan(folder), "kill", 0)
    assert status == 0, message
    return steps


def try_all(folder: Path, *, every: int = 1, kills: int = 0, seed: int = 1) -> Iterator[Outcome]:
    """Faults of all kinds at each of the steps, or at every so many, and kills at random moments."""
    begun = time.perf_counter()
    steps = count_steps(folder / "whole")
    duration = time.perf_counter() - begun
    for k, kind in enumerate(KINDS):
        for at in range(1 + k % every, steps + 1, every):
            yield try_fault(folder / f"{kind}-{at}", kind, at)
    rng = random.Random(seed)
    for i in range(kills):
        yield try_fault(folder / f"random-{i}", "random", 0, rng.uniform(0, 1.2 * duration))


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="a fault at every so many steps")
    parser.add_argument("--kills", type=int, default=500, help="how many kills at random moments")
    parser.add_argument("--seed", type=int, default=1, help="of the random moments")
    parser.add_argument("--json", action="store_true", help="print each outcome as a line of JSON")
    options = parser.parse_args()
    table: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for i, outcome in enumerate(
            try_all(Path(folder), every=options.every, kills=options.kills, seed=options.seed), start=1
        ):
            counts = table.setdefault(outcome.kind, Counter())
            counts["faults"] += 1
            if options.json:
                print(json.dumps(asdict(outcome)), flush=True)
            counts["result" if outcome.result else f"lost after {outcome.stage!r}"] += 1
            if sys.stderr.isatty():
                print(f"\r{i} faults", end="", file=sys.stderr, flush=True)
    if options.json:
        return
    for kind, counts in table.items():
        print(f"{kind:10s} " + ", ".join(f"{name}: {count}" for name, count in counts.items()))
    total = sum(counts["faults"] for counts in table.values())
    kept = sum(counts["result"] for counts in table.values())
    print(f"{total} faults, {kept} charges with their result, {total - kept} without; none charged or drawn twice")


if __name__ == "__main__":
    main()
