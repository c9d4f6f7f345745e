"""What is left in this process after a call: numbers anywhere in memory, and the keys and values of caches.

Every object that the garbage collector knows is looked into, with what it refers to: frames of exceptions, caches,
closures, arrays and tables. Numbers that the caller of `find` holds itself are no finding if they are the same objects.
"""

import gc
from types import CodeType, FrameType, ModuleType

import numpy as np
import polars as pl

# What holds no number of a table, and is large.
_SKIPPED = (CodeType, ModuleType, type, str, bytes, bytearray)


def find(numbers, *, known=()):
    """Where some of these numbers are, as texts; those in the objects ``known`` were there before."""
    gc.collect()
    wanted, before = frozenset(numbers), {id(one) for one in known}
    array = np.array(sorted(wanted), dtype=object)
    objects = gc.get_objects()
    before |= {id(objects), id(wanted), id(numbers)}
    return [
        f"{type(one).__name__} of {_name(one)}: {part!r}"
        for one in objects
        if id(one) not in before and not isinstance(one, _SKIPPED) and one is not array
        for part in _parts(one)
        if _is_wanted(part, wanted, numbers)
    ]


def holders(numbers):
    """The objects that hold some of these numbers now."""
    gc.collect()
    wanted = frozenset(numbers)
    return [
        one
        for one in gc.get_objects()
        if not isinstance(one, _SKIPPED) and any(_is_wanted(part, wanted, numbers) for part in _parts(one))
    ]


def _parts(one):
    """What an object refers to, through containers that the collector does not know."""
    waiting = [one]
    while waiting:
        for part in gc.get_referents(waiting.pop()):
            if isinstance(part, tuple | dict | list | frozenset) and not gc.is_tracked(part):
                waiting.append(part)
            yield part


def _is_wanted(part, wanted, held):
    kind = type(part)
    if kind is int or kind is float or isinstance(part, np.number):
        return part in wanted and not any(part is one for one in held)
    if kind is np.ndarray and part.dtype.kind in "iuf":
        return bool(wanted & set(part.ravel().tolist()))
    if kind is pl.DataFrame:
        return any(_is_wanted(column, wanted, held) for column in part)
    if kind is pl.Series:
        return part.dtype.is_numeric() and bool(wanted & set(part.to_list()))
    if str(kind.__module__).startswith("pyarrow") and kind.__name__ in ("Table", "RecordBatch"):
        return any(_is_wanted(column, wanted, held) for column in part.columns)
    if str(kind.__module__).startswith("pyarrow") and hasattr(part, "to_pylist"):
        return any(value in wanted for value in part.to_pylist() if isinstance(value, int | float))
    return False


def _name(one):
    if isinstance(one, FrameType):
        return f"{one.f_code.co_filename}:{one.f_code.co_name}"
    return getattr(one, "__qualname__", type(one).__module__)


def caches():
    """The caches of the library: what decorators of functools keep."""
    return [
        one
        for one in gc.get_objects()
        if type(one).__name__ == "_lru_cache_wrapper" and str(one.__module__).partition(".")[0] == "inbounds"
    ]


def contents(cache):
    """The keys of a cache, and its values where they are short, in order."""
    kept = [part for part in gc.get_referents(cache) if type(part) is dict and part is not cache.__dict__]
    return sorted(_write(key) for part in kept for key in part)


def contents_after(make):
    """The contents of all caches after some work that began with empty ones."""
    for cache in caches():
        cache.cache_clear()
    make()
    return {f"{cache.__module__}.{cache.__qualname__}": found for cache in caches() if (found := contents(cache))}


def _write(key):
    """A key as text. One that is made of several arguments is a list that functools has made."""
    return repr(list(key)) if isinstance(key, list | tuple) else repr(key)
