"""Mutation testing: one small change at a time to the modules that keep the promise, and whether a test notices.

Each mutant gets a process of its own, forked from one that has imported everything but inbounds. It is judged by the
tests that reach its statement, quickest first, until one fails or their time is spent. A mutant that no test notices
needs a reason in tests/mutants.toml; one without makes this exit with status 1.
"""

import argparse
import contextlib
import functools
import gc
import hashlib
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import tomllib
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import coverage
import libcst as cst
import pytest
from mutations import Mutant, mutants

ROOT = Path(__file__).parents[1]
PACKAGE = Path("src/inbounds")
PRIVACY = ("loss", "calibrate", "sensitivity", "certificate", "exact", "guarantee")
LEDGER = ("spending", "account", "history", "access", "amounts", "chain", "results", "sqlite")
GRID = ("law", "sampler", "geometric", "sides", "joint", "scale", "interval", "entropy")
MODULES = [
    f"{room}/{name}.py" for room, names in (("privacy", PRIVACY), ("ledger", LEDGER), ("grid", GRID)) for name in names
]
TESTS = (
    "tests/grid",
    "tests/privacy",
    "tests/ledger",
    "tests/laws",
    "tests/audit",
    "tests/test_record.py",
    "tests/releases/test_values.py",
)
# The file of tests that is asked first.
OWN = {name: f"tests/{name.replace('/', '/test_')}" for name in MODULES} | {
    **{f"ledger/{name}.py": "tests/ledger/test_store.py" for name in LEDGER},
    "ledger/amounts.py": "tests/ledger/test_guarantees.py",
    "ledger/chain.py": "tests/ledger/test_ledger.py",
    "ledger/sqlite.py": "tests/ledger/test_ledger.py",
    "grid/scale.py": "tests/grid/test_law.py",
    "grid/geometric.py": "tests/grid/test_sampler.py",
    "grid/sides.py": "tests/grid/test_sampler.py",
}
REASONS = ROOT / "tests" / "mutants.toml"
COPIED = ("src", "tests", "docs", "examples", "README.md", "pyproject.toml")
BUILD = ROOT / "build" / "mutants"
OUTCOMES = BUILD / "outcomes.jsonl"
KILLED, SURVIVED, TIMEOUT, NO_PROGRAM, UNREACHED = "killed", "survived", "timed out", "no program", "unreached"
ALIVE = (SURVIVED, UNREACHED)
# The exit status of a process whose mutant is no Python.
_SYNTAX = 77
# That of one whose test does not come to an end.
_LATE = 78
_MEMORY = 8 << 30
# The slowest test and all tests, in seconds, for what is expected to survive.
_BRIEF = 0.5, 2.0


@dataclass
class Test:
    """A test: how long it takes, and the lines it reaches in each module."""

    name: str
    seconds: float
    lines: dict[str, set[int]]


class Chosen:
    """Runs some tests only, in a given order; the process ends with a test that takes far longer than it should."""

    def __init__(self, tests: list[Test]) -> None:
        self.rank = {test.name: i for i, test in enumerate(tests)}
        self.seconds = {test.name: test.seconds for test in tests}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        # A mutant may have changed the names of parametrised tests: then all of them.
        some = [item for item in items if item.nodeid in self.rank] or items
        items[:] = sorted(some, key=lambda item: self.rank.get(item.nodeid, 0))

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        signal.signal(signal.SIGPROF, lambda *_: os._exit(_LATE))
        signal.setitimer(signal.ITIMER_PROF, 4 + 8 * self.seconds.get(item.nodeid, 1))


class TooSlow(BaseException):
    """A test that takes longer than those that judge."""


class Recorder:
    """Notes what each test reaches and how long it takes, with nothing kept from the test before it."""

    def __init__(self, folder: Path, slowest: float) -> None:
        watched = [str(folder / PACKAGE / name) for name in MODULES]
        self.coverage = coverage.Coverage(data_file=None, include=watched, config_file=False)
        self.watched, self.slowest = watched, slowest
        self.seconds: dict[str, float] = {}
        self.slow: set[str] = set()
        self.kept: list[Any] = []

    def pytest_collection_finish(self) -> None:
        wrappers = [one for one in gc.get_objects() if isinstance(one, functools._lru_cache_wrapper)]
        self.kept = [one for one in wrappers if one.__module__.startswith("inbounds")]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        for one in self.kept:
            one.cache_clear()
        self.coverage.switch_context(item.nodeid)
        start = time.process_time()
        result = yield
        if item.nodeid not in self.slow:
            self.seconds[item.nodeid] = time.process_time() - start
        self.coverage.switch_context("")
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """A slow test is not waited for."""

        def too_slow(*_: object) -> None:
            self.slow.add(item.nodeid)
            raise TooSlow

        signal.signal(signal.SIGPROF, too_slow)
        signal.setitimer(signal.ITIMER_PROF, 2 * self.slowest)
        try:
            return (yield)
        except BaseException:
            if item.nodeid not in self.slow:
                raise
            return None
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def reached(self) -> dict[str, dict[int, list[str]]]:
        data = self.coverage.get_data()
        return {name: data.contexts_by_lineno(path) for name, path in zip(MODULES, self.watched, strict=True)}


def run_pytest(folder: Path, files: list[str], plugin: Any) -> int:
    """Tests of the copy in a folder, quietly, stopping at the first failure."""
    from hypothesis import settings

    settings.register_profile("mutants", derandomize=True, database=None, deadline=None)
    settings.load_profile("mutants")
    # What was imported before the fork cannot be rewritten, and a test that is broken off leaves things open.
    quiet = ("PytestAssertRewriteWarning", "PytestUnraisableExceptionWarning")
    options = [word for name in quiet for word in ("-W", f"ignore::pytest.{name}")]
    options += ["-x", "-q", "--no-header", "--tb=line", "-p", "no:cacheprovider", f"--basetemp={folder / 'tmp'}"]
    return int(pytest.main([*options, *files], plugins=[plugin]))


def in_a_copy(folder: Path, work: Callable[[], int]) -> int:
    """Fork; in the child, work within the copy. The child's process number."""
    sys.stdout.flush()
    if pid := os.fork():
        return pid
    code = 70
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        os.chdir(folder)
        os.environ["PYTHONPATH"] = f"{folder / 'src'}:{folder}"
        sys.path[:0] = [str(folder / "src"), str(folder)]
        out = os.open(folder / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        code = work()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


@dataclass
class Pool:
    """As many copies of the checkout as there are processes."""

    folders: list[Path]
    busy: dict[int, tuple[Path, float, Callable[[int | None], None]]] = field(default_factory=dict)

    def start(self, work: Callable[[Path], int], limit: float, done: Callable[[int | None], None]) -> None:
        """Wait for a free copy, then run; ``done`` gets the exit status, None after the limit."""
        while not self.folders:
            self._wait()
        folder = self.folders.pop()
        pid = in_a_copy(folder, lambda: work(folder))
        self.busy[pid] = folder, time.monotonic() + limit, done

    def finish(self) -> None:
        while self.busy:
            self._wait()

    def _wait(self) -> None:
        time.sleep(0.01)
        for pid, (folder, end, done) in list(self.busy.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            late = not ended and time.monotonic() > end
            if not ended and not late:
                continue
            # Its own group: also what it has started and left behind.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            if late:
                os.waitpid(pid, 0)
            del self.busy[pid]
            self.folders.append(folder)
            done(None if late else os.waitstatus_to_exitcode(status))


def test_files() -> list[str]:
    found = [
        path for test in TESTS for path in ([ROOT / test] if test.endswith(".py") else (ROOT / test).glob("test_*.py"))
    ]
    documented = [ROOT / PACKAGE / name for name in MODULES]
    found += [path for path in documented if ">>>" in path.read_text("utf-8")]
    return sorted((str(path.relative_to(ROOT)) for path in found), key=lambda name: -(ROOT / name).stat().st_size)


def digest(name: str) -> str:
    """Of all that the outcome of a file of tests depends on."""
    helpers = [path for path in (ROOT / "tests").rglob("*.py") if not path.name.startswith("test_")]
    read = [*(ROOT / "src").rglob("*.py"), *helpers, ROOT / name]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(read))).hexdigest()


def baseline(pool: Pool, slowest: float) -> tuple[list[Test], list[str]]:
    """Every test with nothing changed: all must pass. Also what they import. What is noted of an earlier run holds."""
    failed: list[str] = []
    notes = {name: BUILD / f"{name.replace('/', '.')}.{digest(name)[:16]}.json" for name in test_files()}
    for name, path in notes.items():
        if path.exists():
            continue

        def work(folder: Path, name: str = name, path: Path = path) -> int:
            recorder = Recorder(folder, slowest)
            recorder.coverage.start()
            code = run_pytest(folder, [name], recorder)
            recorder.coverage.stop()
            found = {"seconds": recorder.seconds, "reached": recorder.reached(), "loaded": list(sys.modules)}
            if not code:
                path.write_text(json.dumps(found), "utf-8")
            else:
                sys.stdout.flush()
                shutil.copyfile(folder / "output.txt", BUILD / "failed.txt")
            return code

        def done(code: int | None, name: str = name) -> None:
            if code != 0:
                failed.append(name)

        pool.start(work, 900, done)
    pool.finish()
    if failed:
        sys.exit(f"with nothing changed these fail: {', '.join(failed)}; see {BUILD / 'failed.txt'}")
    tests, loaded = {}, set()
    for path in notes.values():
        found = json.loads(path.read_text("utf-8"))
        loaded |= set(found["loaded"])
        tests |= {name: Test(name, seconds, {}) for name, seconds in found["seconds"].items()}
        for module, lines in found["reached"].items():
            for line, names in lines.items():
                for name in set(names) & set(tests):
                    tests[name].lines.setdefault(module, set()).add(int(line))
    return list(tests.values()), sorted(loaded)


def preload(names: list[str]) -> None:
    """What the tests import, but for what is mutated and the tests themselves."""
    for name in names:
        if name.split(".")[0] not in ("inbounds", "tests", "__main__", "conftest"):
            try:
                importlib.import_module(name)
            except Exception:
                continue
    gc.collect()
    gc.freeze()


def judges(mutant: Mutant, tests: list[Test], slowest: float, budget: float) -> list[Test]:
    """Tests that reach the statement; that reach the module at all where it runs on import. Its own tests first."""
    span = set() if mutant.on_import else set(mutant.span)
    chosen = [test for test in tests if span & test.lines.get(mutant.module, set())]
    if not chosen:
        # Hardly any of them is about it: more are needed to find the one that is.
        chosen, budget = [test for test in tests if mutant.module in test.lines], 4 * budget
    own = [test for test in chosen if test.name.startswith(OWN[mutant.module])]
    others = [test for test in chosen if test not in own]
    return [*_quickest(own, slowest, budget), *_quickest(others, min(slowest, 1.0), budget / 2)]


def _quickest(tests: list[Test], slowest: float, budget: float) -> list[Test]:
    spent, taken = 0.0, []
    for test in sorted(tests, key=lambda test: test.seconds):
        spent += test.seconds + 0.002
        if taken and (test.seconds > slowest or spent > budget):
            break
        taken.append(test)
    return taken


def judge(pool: Pool, mutant: Mutant, by: list[Test], done: Callable[[str], None]) -> None:
    def work(folder: Path) -> int:
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        target = folder / PACKAGE / mutant.module
        try:
            target.write_text(mutant.source, "utf-8")
        except SyntaxError:
            return _SYNTAX
        own = [test for test in by if test.name.startswith(OWN[mutant.module])]
        for some in (own, [test for test in by if test not in own]):
            files = list(dict.fromkeys(test.name.split("::")[0] for test in some))
            if files and (code := run_pytest(folder, files, Chosen(some))):
                return code
        return 0

    def restored(code: int | None) -> None:
        for folder in pool.folders:
            shutil.copyfile(ROOT / PACKAGE / mutant.module, folder / PACKAGE / mutant.module)
        done({None: TIMEOUT, _LATE: TIMEOUT, 0: SURVIVED, _SYNTAX: NO_PROGRAM}.get(code, KILLED))

    # The processor's time is limited test by test; this is for what waits, on a machine that others use as well.
    limit = 120 + 30 * sum(test.seconds for test in by)
    pool.start(work, limit, restored)


def copies(count: int, where: Path) -> Pool:
    folders = [where / str(i) for i in range(count)]
    for folder in folders:
        folder.mkdir()
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copyfile(source, folder / name)
    return Pool(folders)


def forget_compiled(pool: Pool) -> None:
    """A compiled module is recognised by second and size, which a mutant may share."""
    for folder in pool.folders:
        for name in MODULES:
            path = folder / PACKAGE / name
            for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
                compiled.unlink()


def reasons() -> dict[tuple[str, str, str], str]:
    """Why a survivor may survive, by module, line and change."""
    found = tomllib.loads(REASONS.read_text("utf-8")) if REASONS.exists() else {}
    return {
        (module, line, change): one["reason"]
        for module, entries in found.items()
        for one in entries
        for line, changes in one["lines"].items()
        for change in changes
    }


def report(outcomes: list[tuple[Mutant, str]], words: str) -> str:
    """A page: totals for each module, then the survivors by reason."""
    rows = ["| module | mutants | killed | timed out | survived | rate |", "|---|---:|---:|---:|---:|---:|"]
    names = list(dict.fromkeys(mutant.module for mutant, _ in outcomes))
    for name in [*names, "all"]:
        here = [outcome for mutant, outcome in outcomes if name in (mutant.module, "all")]
        lost = sum(outcome in ALIVE for outcome in here)
        shown = "**all**" if name == "all" else f"`{name}`"
        counts = f"{len(here)} | {here.count(KILLED)} | {here.count(TIMEOUT)} | {lost}"
        rows.append(f"| {shown} | {counts} | {100 * (1 - lost / len(here)):.1f} % |")
    text = [words, *rows, "", "## What survives, and why", ""]
    why = reasons()
    for name in names:
        alive = [mutant for mutant, outcome in outcomes if outcome in ALIVE and mutant.module == name]
        text += [f"### `{name}`", ""] if alive else []
        groups: dict[str, list[Mutant]] = {}
        for mutant in alive:
            groups.setdefault(why.get(mutant.key, "**No reason is given.**"), []).append(mutant)
        for reason, alike in groups.items():
            text += [reason, "", *(f"- `{mutant.line}`: `{mutant.change}`" for mutant in alike), ""]
    return "\n".join(text)


def introduction(arguments: argparse.Namespace, tried: int, of: int) -> str:
    """What was done, for the page."""
    part = ""
    if arguments.sample > 1:
        part += f"\nOne mutant in {arguments.sample} was looked at, from the first on.\n"
    if tried < of:
        part += f"\nOf {of:,} mutants {tried:,} were tried; the figures are of those.\n"
    if arguments.again or arguments.report:
        late = "" if arguments.again else "; and what survived may not have been tried by tests that were added since"
        part += f"""
The figures are those of several runs: what one of them killed was not tried again, even where tests were changed
since{late}.
"""
    return f"""# Mutants

`make mutants` changes one thing at a time in the modules that keep the promise, and sees whether a test notices.
It wrote this page on {date.today().isoformat()}{arguments.took}, with the operators of mutmut {version("mutmut")} on
Python {sys.version.split()[0]}.

An operator or a comparison becomes its neighbour, a number one more, a string another; `and` becomes `or`, `not`
goes, a keyword argument goes; conditions of `if`, of comprehensions and of conditional expressions are forced both
ways, that of `while` to stop. Left alone are types, docstrings, the wording of errors, assertions, imports and
decorators; and arguments and values are not made `None`, which fails at the first line that uses them and would only
raise the rate.

Each mutant is judged by the tests that reach its statement (those of laws, grids, privacy, audits, records and
released values, and the examples in docstrings), quickest first: up to {arguments.budget:g} seconds of the file of
tests that mirrors the module, none slower than {arguments.slowest:g}, then half as much of the others; and once
more by more of them if it has survived. What has a reason below gets {_BRIEF[1]:g} seconds. The slowest tests,
which draw millions of times or start dozens of processes, are not run, so that some of the survivors would not
survive `make test`. A mutant that runs for ever is timed out, and counts as killed.
{part}"""


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "modules", nargs="*", metavar="MODULE", help=f"one of {', '.join(MODULES)}; all of them if none"
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--sample", type=int, default=1, help="only every so many-th mutant")
    parser.add_argument("--slowest", type=float, default=4.0, help="seconds of the slowest test that judges")
    parser.add_argument(
        "--budget", type=float, default=10.0, help="seconds of tests of its own for one mutant; half as much of others"
    )
    parser.add_argument("--again", action="store_true", help="do not try again what the last run killed")
    parser.add_argument("--report", action="store_true", help="try nothing: write the page from what is noted")
    parser.add_argument("--out", type=Path, default=BUILD / "report.md")
    arguments = parser.parse_args()
    arguments.took = ""
    if wrong := set(arguments.modules) - set(MODULES):
        parser.error(f"no such module: {', '.join(sorted(wrong))}")
    return arguments


def main() -> int:
    arguments = parse()
    BUILD.mkdir(parents=True, exist_ok=True)
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    sources = {name: (ROOT / PACKAGE / name).read_text("utf-8") for name in MODULES}
    sample = [mutant for name, source in sources.items() for mutant in mutants(name, source)][:: arguments.sample]
    found = [mutant for name in arguments.modules or MODULES for mutant in sample if mutant.module == name]
    if arguments.report:
        noted = outcomes_noted()
        return finish(arguments, [(mutant, noted[mutant.key]) for mutant in found if mutant.key in noted], len(found))
    before = {key: outcome for key, outcome in outcomes_noted().items() if outcome not in ALIVE and arguments.again}
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        pool = copies(arguments.processes, Path(scratch))
        tests, loaded = baseline(pool, arguments.slowest)
        print(f"{len(tests)} tests pass with nothing changed; {time.monotonic() - start:.0f} s", flush=True)
        preload(loaded)
        forget_compiled(pool)
        if harmed := controls(pool, tests, arguments):
            sys.exit(f"found a mutant where nothing was changed: {', '.join(harmed)}")
        outcomes = run(pool, found, tests, before, arguments)
    arguments.took = "" if before else f", in {(time.monotonic() - start) / 60:.0f} minutes"
    return finish(arguments, outcomes, len(found))


def finish(arguments: argparse.Namespace, outcomes: list[tuple[Mutant, str]], of: int) -> int:
    """Writes the page; the exit status."""
    outcomes = [(mutant, outcome) for mutant, outcome in outcomes if outcome != NO_PROGRAM]
    page = report(outcomes, introduction(arguments, len(outcomes), of))
    arguments.out.write_text(page, "utf-8")
    print("\n".join(line for line in page.splitlines() if line.startswith("|")))
    return unexplained(outcomes)


def unexplained(outcomes: list[tuple[Mutant, str]]) -> int:
    """Says which survivors have no reason, and which reasons no survivor; the exit status."""
    why = reasons()
    open_ = [mutant for mutant, outcome in outcomes if outcome in ALIVE and mutant.key not in why]
    for mutant in open_:
        print(f"{mutant.module}:{mutant.number} survives without a reason: {mutant.line}: {mutant.change}")
    killed = {mutant.key for mutant, outcome in outcomes if outcome not in ALIVE}
    for module, line, change in sorted(killed & set(why)):
        print(f"{module}: a reason is given and not needed: {line}: {change}")
    return 1 if open_ else 0


def outcomes_noted() -> dict[tuple[str, str, str], str]:
    """Of the last run."""
    lines = OUTCOMES.read_text("utf-8").splitlines() if OUTCOMES.exists() else []
    return {(module, line, change): outcome for module, line, change, outcome in map(json.loads, lines)}


def controls(pool: Pool, tests: list[Test], arguments: argparse.Namespace) -> list[str]:
    """Modules that are found changed when nothing is."""
    harmed: list[str] = []

    def done(name: str, outcome: str) -> None:
        if outcome != SURVIVED:
            harmed.append(f"{name} ({outcome})")

    for name in arguments.modules or MODULES:
        tree = cst.parse_module((ROOT / PACKAGE / name).read_text("utf-8"))
        nothing = Mutant(name, 0, "", "", range(0), True, tree, tree, tree)
        judge(pool, nothing, judges(nothing, tests, *_BRIEF), functools.partial(done, name))
    pool.finish()
    return harmed


def run(
    pool: Pool,
    found: list[Mutant],
    tests: list[Test],
    before: dict[tuple[str, str, str], str],
    arguments: argparse.Namespace,
) -> list[tuple[Mutant, str]]:
    outcomes, why = dict(before), reasons()
    start = time.monotonic()
    tried: list[Mutant] = []
    todo = sum(mutant.key not in before for mutant in found)
    with OUTCOMES.open("w", encoding="utf-8") as trace:

        def note(key: tuple[str, str, str], outcome: str) -> None:
            print(json.dumps([*key, outcome], ensure_ascii=False), file=trace, flush=True)

        def done(mutant: Mutant, outcome: str) -> None:
            note(mutant.key, outcome)
            outcomes[mutant.key] = outcome
            tried.append(mutant)
            if len(tried) % 100 == 0:
                alive = sum(outcomes[mutant.key] in ALIVE for mutant in found if mutant.key in outcomes)
                print(f"{len(tried)} of {todo}, {alive} alive, {time.monotonic() - start:.0f} s", flush=True)

        for key, outcome in before.items():
            note(key, outcome)
        left = [mutant for mutant in found if mutant.key not in before]
        long = arguments.slowest, arguments.budget
        for limits in (long, (2 * long[0], 6 * long[1])):
            for mutant in left:
                if by := judges(mutant, tests, *(_BRIEF if mutant.key in why else limits)):
                    judge(pool, mutant, by, functools.partial(done, mutant))
                else:
                    done(mutant, UNREACHED)
            pool.finish()
            # Once more, by more tests, for what is not expected to survive.
            left = [mutant for mutant in left if outcomes[mutant.key] == SURVIVED and mutant.key not in why]
    return [(mutant, outcomes[mutant.key]) for mutant in found]


if __name__ == "__main__":
    sys.exit(main())
