"""What the benchmarks share: medians of repeated runs."""

import time
from collections.abc import Callable


def median_time(action: Callable[[], object], repeats: int) -> float:
    """Median seconds of a run, the first one not counted."""
    action()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    # Not by the module `statistics`: a benchmark of that name lies next to this file.
    return sorted(times)[repeats // 2]


def per_call(action: Callable[[], object], calls: int) -> float:
    """Median seconds of one call among many."""
    return median_time(lambda: [action() for _ in range(calls)], 5) / calls
