"""Random bytes. The type says what they are good for.

`SystemEntropy` is for releases: the operating system's randomness, stretched by AES-256 in counter mode where the
package ``cryptography`` is installed. `SeededEntropy` is for studies: the same bytes for the same seed, by SHAKE-128. A
release takes the first and refuses the second (`require_system`).

Both count the bytes they hand out, which is how tests show that no draw depends on what is being protected.
"""

import hashlib
import os
import threading
from collections.abc import Callable
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Words: TypeAlias = npt.NDArray[np.uint64]

# Bytes fetched at a time for small requests: one AES call costs as much as this many bytes.
_BUFFER = 4096


class Entropy(Protocol):
    """A source of uniform random bytes."""

    @property
    def handed_out(self) -> int:
        """Bytes given so far."""

    def take(self, count: int) -> bytes:
        """That many random bytes, never given before and never to be given again."""


def words(entropy: Entropy, count: int) -> Words:
    """Uniform 64-bit words."""
    return np.frombuffer(entropy.take(8 * count), dtype="<u8").astype(np.uint64, copy=False)


def bits(entropy: Entropy, count: int) -> int:
    """A uniform integer of ``count`` bits."""
    size = -(-count // 8)
    return int.from_bytes(entropy.take(size), "little") >> (8 * size - count)


class _ForkState:
    """Which process this is, and the lock of its sources; both renewed in a forked child.

    After enough forks a process number may come back, and a count of forks misses those that Python does not see;
    together the two do not repeat.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.forks = 0
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._in_child)

    def _in_child(self) -> None:
        self.lock = threading.Lock()
        self.forks += 1

    def process(self) -> tuple[int, int]:
        return os.getpid(), self.forks


_fork_state = _ForkState()


class SystemEntropy:
    """The operating system's randomness; safe to share between threads and across forks.

    Formal guarantees
    -----------------
    The first key comes from `os.urandom`, each further one from the stream of the last, which is then forgotten: what
    was handed out cannot be computed again. Bytes are handed out once and wiped. A forked child draws a new key before
    its first byte, so parent and child never share any. Without ``cryptography`` every byte comes from `os.urandom`.
    """

    __slots__ = ("_buffer", "_encrypt", "_handed_out", "_owner", "_plain", "_position")

    def __init__(self, *, plain: bool = False) -> None:
        """``plain=True`` takes every byte from `os.urandom` even where ``cryptography`` is installed."""
        self._plain = plain
        self._handed_out = 0
        self._forget()

    def __repr__(self) -> str:
        return "SystemEntropy()"

    def __reduce__(self) -> Any:
        """A copy in another process starts with nothing: keys do not travel."""
        return (SystemEntropy, ())

    def _forget(self) -> None:
        self._owner = _fork_state.process()
        self._buffer, self._position = bytearray(), 0
        self._encrypt: Callable[[bytes], bytes] | None = None

    @property
    def handed_out(self) -> int:
        return self._handed_out

    def take(self, count: int) -> bytes:
        with _fork_state.lock:
            if self._owner != _fork_state.process():
                self._forget()
            self._handed_out += count
            if count > _BUFFER:
                return self._generate(count)
            end = self._position + count
            if end > len(self._buffer):
                self._buffer, self._position, end = bytearray(self._generate(_BUFFER)), 0, count
            piece = bytes(self._buffer[self._position : end])
            # What was handed out is wiped: noise could be taken off a released value with it.
            self._buffer[self._position : end] = bytes(count)
            self._position = end
            return piece

    def _generate(self, count: int) -> bytes:
        if self._encrypt is None and not self._plain:
            self._encrypt = _cipher(os.urandom(48))
        if self._encrypt is None:
            return os.urandom(count)
        stream = self._encrypt(bytes(count))
        # Fast key erasure (Bernstein 2017): the next key comes from the stream, the present one is forgotten.
        self._encrypt = _cipher(self._encrypt(bytes(48)))
        return stream


def _cipher(seed: bytes) -> Callable[[bytes], bytes] | None:
    """AES-256-CTR as a function from zeros to key stream; None without ``cryptography``."""
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    except ImportError:
        return None
    update: Callable[[bytes], bytes] = Cipher(algorithms.AES(seed[:32]), modes.CTR(seed[32:])).encryptor().update
    return update


class SeededEntropy:
    """The same bytes for the same seed: for studies and tests, never for a release."""

    __slots__ = ("_block", "_buffer", "_handed_out", "_seed")

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise ValueError(f"seed must be an integer >= 0, got {seed!r}")
        self._seed = seed.to_bytes(-(-seed.bit_length() // 8) or 1, "little")
        self._handed_out = 0
        self._block = 0
        self._buffer = b""

    def __repr__(self) -> str:
        return f"SeededEntropy({int.from_bytes(self._seed, 'little')})"

    @property
    def handed_out(self) -> int:
        return self._handed_out

    def take(self, count: int) -> bytes:
        self._handed_out += count
        while len(self._buffer) < count:
            size = max(_BUFFER, count - len(self._buffer))
            counter = self._block.to_bytes(8, "little")
            self._buffer += hashlib.shake_128(b"inbounds" + counter + self._seed).digest(size)
            self._block += 1
        piece, self._buffer = self._buffer[:count], self._buffer[count:]
        return piece


SYSTEM: Final = SystemEntropy()


def require_system(entropy: Entropy) -> SystemEntropy:
    """The source, if it is fit for a release."""
    if not isinstance(entropy, SystemEntropy):
        raise TypeError("a release draws from SystemEntropy, got another source: seeds are for studies")
    return entropy
