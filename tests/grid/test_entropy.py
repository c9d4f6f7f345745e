"""Random bytes: never twice, not shared with a fork, and the type says whether a release may use them."""

import builtins
import hashlib
import os
import pickle
import threading

import numpy as np
import pytest

from inbounds.grid import entropy
from inbounds.grid.entropy import SYSTEM, SeededEntropy, SystemEntropy, bits, require_system, words
from inbounds.grid.sampler import laplace
from inbounds.grid.scale import Scale


@pytest.mark.parametrize("plain", [False, True])
def test_system_bytes_are_uniform_and_new(plain):
    source = SystemEntropy(plain=plain)
    pieces = [source.take(n) for n in (1, 16, 5000, 3, 4096)]
    assert [len(p) for p in pieces] == [1, 16, 5000, 3, 4096]
    assert source.handed_out == 9116
    data = np.frombuffer(b"".join(source.take(50_000) for _ in range(20)), dtype=np.uint8)
    # Chi-square with 255 degrees of freedom: above 400 has a probability below 1e-7; 1e6 bytes.
    assert ((np.bincount(data, minlength=256) - data.size / 256) ** 2).sum() / (data.size / 256) < 420
    assert source.take(32) != source.take(32)


def test_without_cryptography_the_system_alone_serves(monkeypatch):
    original = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.startswith("cryptography"):
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    asked = []
    real = os.urandom
    monkeypatch.setattr(os, "urandom", lambda n: asked.append(n) or real(n))
    assert len(SystemEntropy().take(10_000)) == 10_000
    assert 10_000 in asked


def test_the_key_is_replaced_and_bytes_are_wiped(monkeypatch):
    keys = []
    original = entropy._cipher
    monkeypatch.setattr(entropy, "_cipher", lambda seed: keys.append(seed) or original(seed))
    source = SystemEntropy()
    assert len({source.take(5000) for _ in range(8)}) == 8
    assert len(set(keys)) == 9
    taken = source.take(64)
    assert taken not in bytes(source._buffer)
    assert bytes(source._buffer[: source._position]) == bytes(64)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_forked_children_draw_different_noise():
    SYSTEM.take(1)  # a key and a buffer that a child could inherit
    draws = []
    for _ in range(4):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            noise = laplace(Scale(40, 1), SYSTEM, 20)
            os.write(writing, noise.tobytes())
            os._exit(0)
        os.waitpid(child, 0)
        draws.append(os.read(reading, 4096))
        os.close(reading)
        os.close(writing)
    draws.append(laplace(Scale(40, 1), SYSTEM, 20).tobytes())
    assert all(len(d) == 160 for d in draws)
    assert len({d[i : i + 8] for d in draws for i in range(0, 160, 8)}) == 100


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_forks_are_counted_and_have_locks_of_their_own():
    """A process number may come back; and a lock that another thread held at the fork would stay held."""
    before, lock = entropy._fork_state.process(), entropy._fork_state.lock
    assert before[0] == os.getpid()

    def forked(work):
        child = os.fork()
        if child == 0:
            os._exit(work())
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def counted():
        own_lock = entropy._fork_state.lock is not lock
        return entropy._fork_state.forks - before[1] if own_lock else 99

    assert forked(counted) == 1
    assert forked(lambda: forked(counted)) == 2
    assert entropy._fork_state.process() == before


def test_what_a_child_renews(monkeypatch):
    """What is told to the system, and what it does in a child: by itself, since no test here runs in one."""
    hooks = []
    monkeypatch.setattr(os, "register_at_fork", lambda **hook: hooks.append(hook), raising=False)
    state = entropy._ForkState()
    ((name, renew),) = hooks[0].items()
    assert (name, len(hooks)) == ("after_in_child", 1)
    assert state.process() == (os.getpid(), 0)
    for forks in (1, 2, 3):
        held = state.lock
        with held:
            renew()
            assert state.lock is not held
            assert state.lock.acquire(blocking=False)
        state.lock.release()
        assert state.process() == (os.getpid(), forks)
    monkeypatch.delattr(os, "register_at_fork")
    assert entropy._ForkState().process() == (os.getpid(), 0)


def test_a_plain_source_hands_out_what_the_system_gives(monkeypatch):
    given = []
    real = os.urandom
    monkeypatch.setattr(os, "urandom", lambda n: given.append(real(n)) or given[-1])
    source = SystemEntropy(plain=True)
    assert source.take(16) + source.take(4080) == given[0]
    assert source.take(5000) == given[1]
    assert [len(one) for one in given] == [4096, 5000]
    SystemEntropy().take(16)
    assert len(given[2]) == 48


def test_a_source_shows_nothing_of_itself():
    assert repr(SystemEntropy()) == repr(SYSTEM) == "SystemEntropy()"
    assert [repr(SeededEntropy(seed)) for seed in (7, 258)] == ["SeededEntropy(7)", "SeededEntropy(258)"]


def test_threads_never_get_the_same_bytes():
    source, taken = SystemEntropy(), []

    def take():
        taken.extend(source.take(16) for _ in range(2000))

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(taken)) == 8000


def test_keys_do_not_travel():
    source = SystemEntropy()
    source.take(10)
    copy = pickle.loads(pickle.dumps(source))
    assert copy.handed_out == 0
    assert copy.take(16) != source.take(16)


def test_a_seed_repeats_itself_and_no_release_takes_it():
    one, other = SeededEntropy(5), SeededEntropy(5)
    assert one.take(10) + one.take(9000) == other.take(10) + other.take(9000)
    assert SeededEntropy(6).take(20) != SeededEntropy(5).take(20)
    assert words(SeededEntropy(1), 3).dtype == np.uint64
    assert all(0 <= bits(one, 5) < 32 for _ in range(50))
    assert require_system(SYSTEM) is SYSTEM
    with pytest.raises(TypeError) as refused:
        require_system(one)
    assert str(refused.value) == "a release draws from SystemEntropy, got another source: seeds are for studies"
    for seed in (-1, 1.5, True, "a"):
        with pytest.raises(ValueError, match="seed must be an integer >= 0"):
            SeededEntropy(seed)


def test_bits_are_the_first_of_as_few_bytes_as_hold_them():
    raw = int.from_bytes(SeededEntropy(3).take(40), "little")
    for count in range(1, 200):
        source, size = SeededEntropy(3), (count + 7) // 8
        assert bits(source, count) == raw % 256**size >> 8 * size - count
        assert source.handed_out == size


@pytest.mark.parametrize(("seed", "written"), [(0, b"\0"), (5, b"\5"), (256, b"\0\1")])
def test_a_seed_gives_the_bytes_that_anybody_can_compute(seed, written):
    """SHAKE-128 of the name, the number of the block and the seed, 4096 bytes at a time or all that is asked for."""
    blocks = [hashlib.shake_128(b"inbounds" + bytes([i] + [0] * 7) + written) for i in range(3)]
    source = SeededEntropy(seed)
    assert source.handed_out == 0
    assert source.take(96) == blocks[0].digest(96)
    assert source.take(4000) == blocks[0].digest(4096)[96:]
    assert source.take(10_000) == blocks[1].digest(10_000)
    assert source.take(8) == blocks[2].digest(8)
    assert source.handed_out == 14_104
    # What is left of a block comes first, and the next has as many bytes as are missing.
    again = SeededEntropy(seed)
    assert again.take(96) + again.take(10_000) == blocks[0].digest(4096) + blocks[1].digest(6000)
    assert again.take(8) == blocks[2].digest(8)
