"""One at a time for one request: equal requests at the same moment wait for the one result.

The lock only saves work. The chain is what prevents a second draw (`inbounds.ledger.draws`), so where the file system
has no locks, equal requests do not wait, and nothing else changes. The system releases the lock of a process that ends,
however it ends.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, RLock
from typing import Any

from inbounds.ledger.account import Account
from inbounds.ledger.request import Request

try:
    import fcntl
except ImportError:  # Windows has other locks.
    fcntl = None  # type: ignore[assignment]

_WAITING = "waiting for the same request, which is running elsewhere"


@dataclass(slots=True)
class _LockFile:
    """The lock file of a ledger, open. A process opens it once: to close it releases all its locks of the file."""

    handle: int
    users: int = 0
    # What `lockf` cannot do: keep the threads of one process apart.
    turns: dict[int, Any] = field(default_factory=dict)


_open_files: dict[tuple[str, int], _LockFile] = {}
_guard = Lock()


def lock_path(ledger: Path) -> Path:
    """The lock file beside a ledger. It is empty, and only there while a request is running."""
    return Path(f"{ledger.resolve()}.lock")


@contextmanager
def hold_turn(account: Account, request: Request, say: Callable[[str], None]) -> Iterator[None]:
    """Wait until no other process or thread works on an equal request, and let none begin meanwhile.

    Parameters
    ----------
    account, request
        The account to charge, and the request.
    say
        A function that is called with a short text before a wait.
    """
    # One byte of the file for each request. Requests that share a byte by chance wait for each other without need.
    place = int(hashlib.sha256(f"{account.dataset}\0{request.digest}".encode()).hexdigest()[:15], 16)
    # A forked child has none of the locks of its parent.
    key = str(lock_path(account.ledger)), os.getpid()
    file = _open(key)
    if file is None:
        yield
        return
    try:
        with _lock_thread(file, place, say), _lock_process(file.handle, place, say):
            yield
    finally:
        _close(key)


def _open(key: tuple[str, int]) -> _LockFile | None:
    """The lock file, opened. None where it cannot be."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    with _guard:
        if key not in _open_files:
            try:
                _open_files[key] = _LockFile(os.open(key[0], flags, 0o666))
            except OSError:
                return None
        _open_files[key].users += 1
        return _open_files[key]


def _close(key: tuple[str, int]) -> None:
    with _guard:
        file = _open_files[key]
        file.users -= 1
        if not file.users:
            del _open_files[key]
            with suppress(OSError):
                os.unlink(key[0])  # noqa: PTH108
            os.close(file.handle)


@contextmanager
def _lock_thread(file: _LockFile, place: int, say: Callable[[str], None]) -> Iterator[None]:
    with _guard:
        turn = file.turns.setdefault(place, RLock())
    if not turn.acquire(blocking=False):
        say(_WAITING)
        turn.acquire()
    try:
        yield
    finally:
        turn.release()


@contextmanager
def _lock_process(handle: int, place: int, say: Callable[[str], None]) -> Iterator[None]:
    if fcntl is None:
        yield
        return
    # An error other than a lock of somebody else is that of a file system without locks.
    try:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
    except (BlockingIOError, PermissionError):
        say(_WAITING)
        with suppress(OSError):
            fcntl.lockf(handle, fcntl.LOCK_EX, 1, place)
    except OSError:
        pass
    try:
        yield
    finally:
        with suppress(OSError):
            fcntl.lockf(handle, fcntl.LOCK_UN, 1, place)
