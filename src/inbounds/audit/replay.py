"""Grey-box audit: run twice on neighbouring inputs with the same random bytes, and compare everything but the value.

If the requested bytes, the type or shape of the result, or an error message differ between neighbours, they can be told
apart without looking at the value.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from inbounds.grid.entropy import Entropy, SeededEntropy


@dataclass(slots=True)
class TracingEntropy:
    """Seeded bytes that remember how many were asked for each time."""

    source: SeededEntropy
    requests: list[int] = field(default_factory=list)

    @property
    def handed_out(self) -> int:
        return self.source.handed_out

    def take(self, count: int) -> bytes:
        self.requests.append(count)
        return self.source.take(count)


@dataclass(frozen=True, slots=True)
class Trace:
    """What one run shows besides its value."""

    requests: tuple[int, ...]
    kind: str
    shape: tuple[int, ...]
    message: str


def replay(release: Callable[[Any, Entropy], Any], inputs: Sequence[Any], *, seeds: Sequence[int] = range(20)) -> bool:
    """Whether ``release(input, entropy)`` shows the same trace on all inputs, for every seed."""
    if len(inputs) < 2 or not seeds:
        raise ValueError("replay needs two inputs or more, and a seed")
    return all(len({trace(release, value, seed) for value in inputs}) == 1 for seed in seeds)


def trace(release: Callable[[Any, Entropy], Any], value: Any, seed: int) -> Trace:
    """The trace of one run. An error is part of it, not a failure of the audit."""
    entropy = TracingEntropy(SeededEntropy(seed))
    try:
        result = release(value, entropy)
    except Exception as error:
        return Trace(tuple(entropy.requests), type(error).__name__, (), str(error))
    return Trace(tuple(entropy.requests), type(result).__name__, np.shape(result), "")
