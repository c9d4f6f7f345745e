"""Settings × repetitions → a tidy table, the same for any number of workers.

A `Setting` is one point of a design: labels, the true values, how samples are drawn, and a function that simulates many
repetitions at once. Its random numbers depend on the seed and on its own keys alone, so that settings can be run in any
order, on any number of threads, left out, or taken over from an interrupted run, without changing a digit anywhere.
Settings with the same ``sample`` see the same samples: what differs between them is what was done to these, as in the
paper.

This is floating point with seeded generators, for theory: nothing here is ever released.
"""

import hashlib
import math
import os
import sys
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from inbounds import _check
from inbounds._check import Array
from inbounds.lab.studies.measures import MEASURES, Summary, summarise

# Repetitions drawn at a time: small enough for the memory next to the processor.
BLOCK = 10_000
MOST_REPETITIONS = 1_000_000
_WORTH_THREADS = 2_000


@dataclass(frozen=True, slots=True)
class Draws:
    """What repetitions gave: estimates, one row each and one column for each quantity, and ends of intervals.

    An estimate that is not defined is NaN; so are both ends where an estimator has no interval for a quantity.
    """

    estimates: Array
    lower: Array | None = None
    upper: Array | None = None


class Sample(Protocol):
    """Draw a number of samples, one row each."""

    def __call__(self, size: int, rng: np.random.Generator, /) -> Array: ...


class Simulate(Protocol):
    """Simulate releases from samples, one row each; ``samples`` has no columns in a study that draws none."""

    def __call__(self, samples: Array, noise: np.random.Generator, /) -> Draws: ...


@dataclass(frozen=True, slots=True)
class Setting:
    """One point of a design.

    ``labels`` are its columns in the table, ``limits`` the least and largest possible value of each quantity (NaN where
    there is none), ``noise`` the key of its random numbers except those of samples. ``sample`` and ``simulate`` should
    be frozen dataclasses: their ``repr`` then says what was simulated, which is how an interrupted run is recognised.
    """

    labels: tuple[tuple[str, Any], ...]
    quantities: tuple[str, ...]
    truths: tuple[float, ...]
    limits: tuple[tuple[float, float], ...]
    sample: Sample
    noise: str
    simulate: Simulate

    @property
    def identity(self) -> str:
        """A short text that changes if anything that is simulated does; labels do not count."""
        work = self.quantities, self.truths, self.limits, self.sample, self.noise, self.simulate
        return hashlib.blake2b(describe_work(work).encode(), digest_size=12).hexdigest()


def describe_work(work: object) -> str:
    """The whole ``repr``, without shortening arrays. One that holds an address identifies nothing, and is refused."""
    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
        text = repr(work)
    if " at 0x" in text:
        raise TypeError("sample and simulate must be frozen dataclasses, or have a repr that says all about them")
    return text


Progress = Callable[[int, int], None]
Finished = Callable[[Setting, Summary], None]


@dataclass(frozen=True, slots=True)
class NoSample:
    """For studies in which nothing is sampled."""

    def __call__(self, size: int, rng: np.random.Generator, /) -> Array:  # noqa: ARG002
        return np.empty((size, 0))


def draw_block(setting: Setting, size: int, seed: int, block: int) -> Draws:
    """One block of repetitions."""
    samples = _samples(_Described(describe_work(setting.sample), setting.sample), size, seed, block)
    return setting.simulate(samples, _generator(f"noise/{setting.noise}/{block}", seed))


@dataclass(frozen=True, slots=True)
class _Described:
    """A sample that equals another if their descriptions are the same."""

    text: str
    sample: Sample = field(compare=False)


# Many settings see the same samples. A cache of a few blocks is enough, as designs go through sizes one by one.
@lru_cache(maxsize=64)
def _samples(described_: _Described, size: int, seed: int, block: int) -> Array:
    samples = described_.sample(size, _generator(f"sample/{described_.text}/{block}", seed))
    samples.flags.writeable = False
    return samples


def _generator(key: str, seed: int) -> np.random.Generator:
    digest = hashlib.blake2b(key.encode(), digest_size=16).digest()
    return np.random.Generator(np.random.SFC64([seed, *np.frombuffer(digest, "<u4").tolist()]))


# claim:study-stream
def simulate(setting: Setting, repetitions: int, seed: int) -> Summary:
    """Summarise all repetitions of one setting, drawn in blocks with generators of their own."""
    starts = range(0, repetitions, BLOCK)
    blocks = [draw_block(setting, min(BLOCK, repetitions - start), seed, block) for block, start in enumerate(starts)]
    columns = [_stack([getattr(draws, name) for draws in blocks]) for name in ("estimates", "lower", "upper")]
    return summarise(columns[0], columns[1], columns[2], np.array(setting.truths), np.array(setting.limits))  # type: ignore[arg-type]


def _stack(parts: Sequence[Array | None]) -> Array | None:
    arrays = [part for part in parts if part is not None]
    if not arrays:
        return None
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


# claim:study-reproducible
def run(
    settings: Sequence[Setting],
    repetitions: int,
    *,
    seed: int = 1,
    workers: int | None = None,
    known: dict[str, Summary] | None = None,
    finished: Finished | None = None,
    progress: Progress | None = None,
) -> list[Summary]:
    """Summaries of all settings, in their order.

    ``known`` has summaries of an earlier run, by `Setting.identity`. ``finished`` is called with each new one as soon
    as it is there, in order, from this thread; ``progress`` with how many of how many are done. An interrupt stops what
    has not begun, and is raised again.
    """
    require_order(settings, repetitions, seed, workers)
    threads = _workers(repetitions) if workers is None else min(workers, os.cpu_count() or 1)
    identities = [setting.identity for setting in settings]
    # Settings that differ in their labels alone are simulated once.
    work = dict(zip(reversed(identities), reversed(settings), strict=True))
    summaries = {identity: summary for identity, summary in (known or {}).items() if identity in work}
    waiting = [(identity, work[identity]) for identity in dict.fromkeys(identities) if identity not in summaries]

    def note(identity: str, summary: Summary) -> None:
        summaries[identity] = summary
        if finished:
            finished(work[identity], summary)
        if progress:
            progress(len(summaries), len(work))

    if progress:
        progress(len(summaries), len(work))
    if threads == 1:
        for identity, setting in waiting:
            note(identity, simulate(setting, repetitions, seed))
    else:
        _run_threads(waiting, repetitions, seed, threads, note)
    return [summaries[identity] for identity in identities]


def require_order(settings: Sequence[Setting], repetitions: object, seed: object, workers: object) -> None:
    """Check an order before anything is simulated."""
    require_repetitions(repetitions)
    _check.integer(seed, "seed", least=0)
    if workers is not None:
        _check.integer(workers, "workers", least=1)
    require_distinct(settings)


def shorten(text: str) -> str:
    """Shorten a text to one line for a message."""
    literal = repr(text)
    return literal if len(literal) <= 60 else literal[:57] + "...'"


def require_repetitions(value: object) -> int:
    """Refuse numbers of repetitions that are too small for a spread or too large for the memory."""
    repetitions = _check.integer(value, "repetitions", least=2)
    if repetitions > MOST_REPETITIONS:
        raise ValueError(f"repetitions must be at most {MOST_REPETITIONS:,}, got {repetitions:,}")
    return repetitions


def _workers(repetitions: int) -> int:
    """All cores, or one if arrays are so short that threads would only wait for each other."""
    return os.cpu_count() or 1 if repetitions >= _WORTH_THREADS else 1


def _run_threads(
    waiting: Sequence[tuple[str, Setting]],
    repetitions: int,
    seed: int,
    threads: int,
    note: Callable[[str, Summary], None],
) -> None:
    """Run a few settings ahead of the one that is noted next; NumPy lets other threads run while it computes."""
    pool = ThreadPoolExecutor(threads, thread_name_prefix="study")
    ahead: deque[tuple[str, Future[Summary]]] = deque()

    def settle() -> None:
        identity, future = ahead.popleft()
        note(identity, future.result())

    try:
        for identity, setting in waiting:
            ahead.append((identity, pool.submit(simulate, setting, repetitions, seed)))
            if len(ahead) > 4 * threads:
                settle()
        while ahead:
            settle()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def require_distinct(settings: Sequence[Setting]) -> None:
    """Refuse settings with equal labels, and quantities with equal names: the table could not tell them apart."""
    earlier: set[tuple[tuple[str, Any], ...]] = set()
    for setting in settings:
        if setting.labels in earlier:
            text = ", ".join(f"{name} {value}" for name, value in setting.labels)
            raise ValueError(f"a study must not have one setting twice: {text}")
        earlier.add(setting.labels)
        twice = [name for i, name in enumerate(setting.quantities) if name in setting.quantities[:i]]
        if twice:
            raise ValueError(
                f"quantities must differ in name, but {shorten(twice[0])} is there twice; change labels or sums"
            )


def columns(settings: Sequence[Setting], summaries: Sequence[Summary], repetitions: int) -> dict[str, list[Any]]:
    """The tidy table by columns: a row for each setting, quantity and measure, with its Monte-Carlo standard error."""
    names = dict.fromkeys(name for setting in settings for name, _ in setting.labels)
    table: dict[str, list[Any]] = {name: [] for name in (*names, *_FIGURES)}
    for setting, summary in zip(settings, summaries, strict=True):
        labels = dict(setting.labels)
        figures = [
            (quantity, truth, measure, values[place], errors[place])
            for place, (quantity, truth) in enumerate(zip(setting.quantities, setting.truths, strict=True))
            for measure, (values, errors) in zip(MEASURES, summary, strict=True)
            if not math.isnan(values[place])
        ]
        for name in names:
            table[name] += [labels.get(name)] * len(figures)
        for name, column in zip(_FIGURES, zip(*figures, strict=True), strict=False):
            table[name] += column
        table["repetitions"] += [repetitions] * len(figures)
    return table


_FIGURES = ("quantity", "truth", "measure", "value", "standard_error", "repetitions")
