"""A charge and a stored answer in ledgers of 100 to 100,000 entries, in one run.

    python bench/ledger.py [--entries 100 1000 10000 100000] [--charges 33]

Each ledger has charges with results and checkpoints as a long life leaves them. ``charge`` is a new charge, which is on
the disk when it ends; ``stored`` finds the result of an early request. Milliseconds of the processor and on the clock
are medians. ``ratio`` compares processor time with the smallest ledger. ``disk`` is an equal SQLite transaction that
does nothing else, in turns with the charges: it shows what the clock owes to the disk. Targets: 15 ms of the processor
and a ratio of 1.5 at most.
"""

import sys
from pathlib import Path

# As a script its own folder would hide the standard library's `statistics`.
sys.path[0] = str(Path(__file__).parents[1])

import argparse
import hashlib
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from inbounds import ledger
from inbounds.ledger import access
from inbounds.ledger.results import pack

EPSILON = ledger.Pure("1/1000")
RESULT = '{"value": 1}'


@dataclass(frozen=True)
class Times:
    """Medians in milliseconds, of the processor and on the clock."""

    processor: float
    clock: float


def ask(name: str) -> ledger.Request:
    """A request by its name."""
    return ledger.Request(name, EPSILON, "substitute", 1, ("age: mean",))


def fill(path: Path, entries: int) -> ledger.Account:
    """A ledger with so many entries: charges, their results, and checkpoints."""
    account = ledger.Account(path, "survey", 10**6)
    ledger.keep(account, ledger.charge(account, ask("first")), RESULT)
    with access.change_chain(path) as (transaction, chain):
        while chain.length < entries:
            body = {"dataset": "survey"} | ask(str(chain.length)).to_dict()
            number = access.append(transaction, chain, "charge", body, "me").sequence
            transaction.add_result(number, pack(RESULT))
            digest = hashlib.sha256(RESULT.encode()).hexdigest()
            access.append(transaction, chain, "result", {"charge": number, "digest": digest}, "me")
            access.append_checkpoint(transaction, chain)
    return account


def write_bare(path: Path) -> None:
    """One transaction of SQLite that inserts a row of the size of a charge, and is on the disk when it ends."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("CREATE TABLE IF NOT EXISTS bare (content BLOB)")
        connection.execute("INSERT INTO bare VALUES (zeroblob(500))")


def measure(acts: list[Callable[[int], object]], times: int) -> list[Times]:
    """The medians of acts that take turns. The first turn is not counted."""
    taken: list[list[tuple[float, float]]] = [[] for _ in acts]
    for turn in range(times + 1):
        for act, own in zip(acts, taken, strict=True):
            processor, clock = time.process_time(), time.perf_counter()
            act(turn)
            own.append((time.process_time() - processor, time.perf_counter() - clock))
    return [Times(*(1000 * sorted(part)[times // 2] for part in zip(*own[1:], strict=True))) for own in taken]


def measure_ledger(folder: Path, entries: int, times: int) -> list[Times]:
    """A charge, a stored answer, and the bare transaction."""
    account = fill(folder / f"{entries}.ledger", entries)
    return measure(
        [
            lambda turn: ledger.charge(account, ask(f"new {turn}")),
            lambda _: ledger.find_stored(account, ask("first")),
            lambda _: write_bare(folder / f"{entries}.bare"),
        ],
        times,
    )


def main() -> int:
    """Print a line for each ledger. 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, nargs="+", default=[100, 1000, 10_000, 100_000])
    parser.add_argument("--charges", type=int, default=33)
    options = parser.parse_args()
    print("entries    charge ms (clock)  ratio    stored ms (clock)  ratio    disk (clock)")
    first: list[Times] = []
    is_missed = False
    with tempfile.TemporaryDirectory() as folder:
        for entries in options.entries:
            made = measure_ledger(Path(folder), entries, options.charges)
            first = first or made
            is_missed |= any(
                own.processor > min(15, 1.5 * before.processor) for own, before in zip(made[:2], first, strict=False)
            )
            cells = [
                f"{own.processor:11.2f} ({own.clock:5.1f}) {own.processor / before.processor:6.2f}"
                for own, before in zip(made[:2], first, strict=False)
            ]
            print(f"{entries:>7}", *cells, f"{made[2].clock:15.1f}", sep="  ", flush=True)
    return int(is_missed)


if __name__ == "__main__":
    raise SystemExit(main())
