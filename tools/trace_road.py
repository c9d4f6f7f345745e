"""Trace the road of a release: which modules it enters, how often it changes rooms, and what it does more than once.

python tools/trace_road.py
python tools/trace_road.py --modules    # also name the modules, in the order in which they are entered
"""

import contextlib
import importlib
import io
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

PACKAGE = "inbounds"
# The command line: a module and its Typer application.
COMMAND = "inbounds.cli.commands", "app"
# What is counted -> the functions whose calls are counted, as module:qualified name.
COUNTED = {
    "drafts": {"inbounds.statistics.drafts:make_draft"},
    "derivations of a record's value": {"inbounds.record.numbers:derive_values"},
    "certificates computed": {"inbounds.privacy.certificate:certify"},
}
ROWS = 500
PLAN = f"""
[data]
source = "table.csv"
rows = {ROWS}
neighbours = "substitute"

[budget]
epsilon = 1.0
ledger = "table.ledger"
dataset = "traced"
limit = 2.0

[columns]
age = {{ bounds = [18, 100] }}
pressure = {{ bounds = [70, 220] }}
smoker = {{ levels = ["yes", "no"] }}
region = {{ levels = ["north", "south"] }}
"""
ITEMS = {
    "smokers": 'statistic = "proportion"\ncolumns = ["smoker"]\nlevel = "yes"',
    "age": 'statistic = "mean"\ncolumns = ["age"]',
    "pressure": 'statistic = "mean"\ncolumns = ["pressure"]',
    "variance": 'statistic = "variance"\ncolumns = ["pressure"]',
    "correlation": 'statistic = "correlation"\ncolumns = ["age", "pressure"]',
    "shares": 'statistic = "proportions"\ncolumns = ["region"]',
    "crosstab": 'statistic = "crosstab"\ncolumns = ["region", "smoker"]',
    "by region": 'statistic = "mean"\ncolumns = ["pressure"]\nby = "region"',
}


def room_of(frame: FrameType) -> str:
    """The folder of the package, or the file beside the folders, whose function this is; "" for all else."""
    package, _, path = frame.f_globals.get("__name__", "").partition(".")
    room = path.partition(".")[0]
    generated = frame.f_code.co_qualname.startswith("__create_fn__")
    return "" if package != PACKAGE or room.startswith("_") or generated else room


@dataclass
class Trace:
    """The calls of the package's functions, as they come.

    ``changes`` counts calls in another room than the call before, ``doors`` the pairs of rooms of which one calls the
    other. Helpers that everything may call (``_check``, ``_text``) are no rooms, and neither are the constructors that
    dataclasses write.
    """

    modules: list[str] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    doors: set[tuple[str, str]] = field(default_factory=set)
    entered: int = 0
    changes: int = 0
    room: str = ""

    def note(self, frame: FrameType, event: str, _: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        if event != "call" or module.split(".")[0] != PACKAGE or frame.f_code.co_name == "<module>":
            return
        self.entered += 1
        self.calls[f"{module}:{frame.f_code.co_qualname}"] += 1
        if module not in self.modules:
            self.modules.append(module)
        if not (room := room_of(frame)):
            return
        self.changes += bool(self.room) and room != self.room
        self.room = room
        caller = frame.f_back
        while caller is not None and not room_of(caller):
            caller = caller.f_back
        if caller is not None and room_of(caller) != room:
            self.doors.add((room_of(caller), room))

    def count(self, functions: set[str]) -> int:
        return sum(self.calls[name] for name in functions)


@contextlib.contextmanager
def tracing() -> Iterator[Trace]:
    trace = Trace()
    sys.setprofile(trace.note)
    try:
        yield trace
    finally:
        sys.setprofile(None)


def write_files(folder: Path) -> None:
    """A table and a plan of eight releases."""
    rng = random.Random(1)
    rows = [
        (rng.randint(18, 90), rng.randint(90, 180), rng.choice(["yes", "no"]), rng.choice(["north", "south"]))
        for _ in range(ROWS)
    ]
    lines = ["age,pressure,smoker,region", *(",".join(map(str, row)) for row in rows)]
    (folder / "table.csv").write_text("\n".join(lines) + "\n", "utf-8")
    items = [f'\n[[release]]\nname = "{name}"\n{text}\n' for name, text in ITEMS.items()]
    (folder / "plan.toml").write_text(PLAN + "".join(items), "utf-8")


def run_command(*words: str) -> None:
    """The command line, in this process; what it prints is thrown away."""
    module, name = COMMAND
    command = getattr(importlib.import_module(module), name)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        command(list(words), standalone_mode=False)


def release_mean() -> None:
    import inbounds as ib

    release = ib.mean({"age": list(range(20, 90))}, "age", bounds=(18, 100), epsilon=1)
    str(release)


def roads(folder: Path) -> dict[str, Callable[[], None]]:
    plan, results = str(folder / "plan.toml"), folder / "results"
    return {
        "ib.mean, shown": release_mean,
        "inbounds release, a plan of 8": lambda: run_command("release", plan, "--out", str(results)),
        "inbounds verify, of its record": lambda: run_command("verify", str(results / "release.json")),
    }


def forget_results() -> None:
    """Empty what functions keep of their results, as in a process of its own."""
    modules = [module for name, module in sys.modules.items() if name.split(".")[0] == PACKAGE]
    for function in [value for module in modules for value in vars(module).values()]:
        if hasattr(function, "cache_clear"):
            function.cache_clear()


def check_names() -> None:
    """A function that was renamed would be counted as never called."""
    for name in {name for functions in COUNTED.values() for name in functions}:
        module, _, path = name.partition(":")
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)


def main(modules: Annotated[bool, typer.Option("--modules", help="name the modules that are entered")] = False) -> None:
    """Print what a mean, a plan of eight releases and a verification go through."""
    check_names()
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        for folder in (Path(first), Path(second)):
            write_files(folder)
        # Once untraced: what happens when a module is loaded is no part of the road.
        for run in roads(Path(first)).values():
            run()
        for title, run in roads(Path(second)).items():
            forget_results()
            with tracing() as trace:
                run()
            rooms = {".".join(module.split(".")[:2]) for module in trace.modules}
            print(title)
            print(f"  {len(trace.modules)} modules in {len(rooms)} rooms, {trace.entered} calls")
            print(f"  {trace.changes} changes of room, through {len(trace.doors)} doors")
            for what, functions in COUNTED.items():
                print(f"  {trace.count(functions)} {what}")
            if modules:
                print("".join(f"    {module}\n" for module in trace.modules), end="")


if __name__ == "__main__":
    typer.run(main)
