"""Hold back requests to stop while a draw is stored."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_HELD = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def hold_signals() -> Iterator[None]:
    """Let Ctrl-C, and a request to terminate, take effect only when the block has ended.

    Python runs the handlers of signals in the main thread alone, so that nothing is to be done in another one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[tuple[int, FrameType | None]] = []
    before: dict[int, Any] = {}
    try:
        for number in _HELD:
            before[number] = signal.signal(number, lambda number, frame: arrived.append((number, frame)))
        yield
    finally:
        for number, handler in before.items():
            # A handler that was not set from Python cannot be set again.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
    for number, _ in arrived[:1]:
        signal.raise_signal(number)
