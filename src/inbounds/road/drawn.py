"""What was drawn, as bytes: what a ledger stores before anything else is done with the numbers.

Every number lies on the grid of its distribution, so its index there is enough: 64 bits, whatever was drawn. The number
of bytes follows from the drafts alone, so neither the size of a file nor the time of writing depends on the draw.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain

import numpy as np

from inbounds.errors import LedgerError
from inbounds.grid.geometric import Integers
from inbounds.privacy.certificate import Certificate, Composition
from inbounds.record.draft import Draft
from inbounds.record.release import Release
from inbounds.record.sequential import laws_in_turn

# The key that chose between the rows of persons, or zeros where there is none.
KEY_BYTES = 16
_INDEX = np.dtype("<i8")
_BLOCK = 65536


def draw_length(drafts: Mapping[str, Draft]) -> int:
    """The bytes of the draws of these drafts."""
    return KEY_BYTES + _INDEX.itemsize * sum(_count_numbers(draft) for draft in drafts.values())


def write_draws(draws: Mapping[str, Release], key: bytes) -> bytes:
    """The numbers of each draw, in order, after the key."""
    return key.ljust(KEY_BYTES, b"\0") + b"".join(_find_indices(release).tobytes() for release in draws.values())


def read_draws(content: bytes, drafts: Mapping[str, Draft]) -> tuple[dict[str, Release], bytes]:
    """The releases of drafts, each by itself, and the key. Raises a `LedgerError` for bytes of another length."""
    if len(content) != draw_length(drafts):
        raise LedgerError("the ledger was changed: its stored draw is not one of this request")
    indices, start, releases = np.frombuffer(content, _INDEX, offset=KEY_BYTES), 0, {}
    for name, draft in drafts.items():
        end = start + _count_numbers(draft)
        releases[name] = _complete(draft, indices[start:end])
        start = end
    return releases, content[:KEY_BYTES]


def _count_numbers(draft: Draft) -> int:
    """How many numbers are drawn: for a joint draw, those of all its members."""
    if draft.record.group is None:
        return len(draft.record.parts)
    assert isinstance(draft.record.certificate, Certificate)
    return draft.record.certificate.dimension


def _list_laws(release: Release, size: int) -> Sequence[Certificate]:
    """The distribution of each number. All numbers of a joint draw have one."""
    if release.group is None:
        return release.parts
    assert isinstance(release.certificate, Certificate)
    return [release.certificate] * size


def _find_indices(release: Release) -> Integers:
    # Equal numbers often share one object, since of a million counts few differ.
    known: dict[tuple[int, int], int] = {}

    def find(number: Fraction, law: Certificate) -> int:
        pair = id(number), id(law)
        if pair not in known:
            index = (number - law.origin) / law.step
            if index.denominator != 1:
                raise ArithmeticError("a number is not on the grid of its distribution")
            known[pair] = index.numerator
        return known[pair]

    numbers = release.noisy
    return np.fromiter(map(find, numbers, _list_laws(release, len(numbers))), dtype=_INDEX, count=len(numbers))


def _complete(draft: Draft, indices: Integers) -> Release:
    """The release of a draft with the numbers at these indices."""
    record = draft.record
    noisy = _read_indices(indices, _list_laws(record, len(indices)))
    if record.group is not None:
        return replace(record, noisy=noisy)
    if (
        isinstance(record.certificate, Composition)
        and record.bounding == "truncated"
        and record.statistic.traits.matrix
    ):
        # The distribution of a covariance depends on the variances that were drawn before it.
        certificate, bounds = laws_in_turn(record.certificate, record.bounds, noisy)
        record = replace(record, certificate=certificate, bounds=bounds)
        noisy = _read_indices(indices, record.parts)
    release = replace(record, noisy=noisy)
    return replace(release, notes=release.own_notes())


def _read_indices(indices: Integers, laws: Sequence[Certificate]) -> tuple[Fraction, ...]:
    known: dict[tuple[int, int], Fraction] = {}

    def read(index: int, law: Certificate) -> Fraction:
        pair = index, id(law)
        if pair not in known:
            known[pair] = law.origin + index * law.step
        return known[pair]

    # Blocks keep the memory of the integers of Python small.
    blocks = (indices[start : start + _BLOCK].tolist() for start in range(0, len(indices), _BLOCK))
    return tuple(map(read, chain.from_iterable(blocks), laws))
