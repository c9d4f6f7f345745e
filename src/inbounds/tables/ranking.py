"""Keep a few rows of each person by sorting them in this process: the rows that `inbounds.tables.persons` keeps.

Windows over all rows cost many times what a plain group-by does. Where rows are in this process anyway (Polars, DuckDB)
each becomes few machine words: its id, its integers, packed, and its hash as the first among equal rows. Sorted by id
and hash the rows of a person stand in a run, equal ones next to each other, so that

- a person with no more rows than may be kept keeps all of them;
- of a person without equal rows, the first rows of the run are kept;
- for all others, equal rows are numbered and hashed again, and the run is sorted once more.

What a sort by few bits cannot decide is left to the rule itself, as other engines run it: persons whose ids share a
code, different rows with the same hash, and hashes where p divides what is cubed. That is about one person in
2^25/rows.

A table of more rows than fit in memory is read several times, some persons at a time.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from inbounds.tables import digits
from inbounds.tables.persons import (
    HASH,
    ID,
    LIMB,
    NUMBER,
    NUMBERED,
    PRIME,
    Factors,
    Integer,
    Keeping,
    Key,
    cube,
    mix,
    rank,
    read_ids,
)

if TYPE_CHECKING:
    import polars as pl

    from inbounds.tables.sources import Frame

_Words: TypeAlias = npt.NDArray[np.int64]
_Places: TypeAlias = npt.NDArray[np.integer[Any]]
_Mask: TypeAlias = npt.NDArray[np.bool_]
# Rows that are sorted at once: some 60 bytes each.
MOST_AT_ONCE = 1 << 25
# Bits of a hash, of the code of a person before it, and of a word that integers are packed into.
_HASHED, _CODED, _WORD = 25, 38, 62
_SUM = "sum"
_OCCURRENCE = Integer(NUMBER, 0, (1 << NUMBERED) - 1)


def can_rank(frame: "Frame", keeping: Keeping) -> bool:
    """Whether rows can be sorted here, with ids that are the same in Polars as in their engine."""
    import narwhals as nw

    engine, rule = frame.implementation, keeping.persons
    if not (engine.is_polars() or engine.is_duckdb()) or rule.keep != "random" or rule.groups is not None:
        return False
    if engine.is_polars():
        return True
    kinds = (nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.UInt8, nw.UInt16, nw.UInt32, nw.UInt64)
    return frame.collect_schema()[ID] in (*kinds, nw.Float64, nw.String, nw.Boolean)


def count_parts(frame: "Frame") -> int:
    """How many times a table is read, so that the rows sorted at once fit in memory."""
    import narwhals as nw

    rows: Any = frame.select(nw.len().alias("rows"))
    rows = rows.collect() if isinstance(rows, nw.LazyFrame) else rows
    return max(1, -(-int(rows["rows"][0]) // MOST_AT_ONCE))


def collect_rows(frame: Any, keeping: Keeping, integers: Sequence[Integer], part: int, parts: int) -> "pl.LazyFrame":
    """The ids and integers of the rows of a part of the persons, for Polars."""
    import polars as pl

    names = [ID, *(integer.name for integer in integers)]
    table = frame.to_native()
    if frame.implementation.is_polars():
        table = table.lazy().select(names)
        if parts > 1:
            table = table.filter(pl.col(ID).hash() % parts == part)
    else:
        table = table.project(", ".join(f'"{name}"' for name in names))
        if parts > 1:
            table = table.filter(f'hash("{ID}") % {parts} = {part}')
        table = pl.DataFrame(pl.from_arrow(table.to_arrow_table())).lazy()
    rows: pl.LazyFrame = table
    return rows.filter(pl.col(ID).is_not_null()) if keeping.persons.missing == "skip" else rows


# claim:kept
def keep_ranked(table: "pl.LazyFrame", keeping: Keeping, integers: Sequence[Integer]) -> "pl.DataFrame":
    """The integers of the rows that are kept of each person."""
    import polars as pl

    packed = Packed(integers)
    hashed, factors = _add_hashes(table, keeping, integers)
    rows = hashed.select(
        pl.col(ID), pl.col(HASH).cast(pl.UInt32), pl.col(_SUM).cast(pl.UInt32), **packed.pack()
    ).collect(engine="streaming")
    alone = None
    if rows[ID].null_count():
        alone = rows.filter(pl.col(ID).is_null())
        rows = rows.filter(pl.col(ID).is_not_null())
    sure, doubtful = _rank(rows, keeping, packed, factors)
    parts = [packed.unpack(rows.filter(pl.Series(sure)))]
    if doubtful.any():
        parts.append(_rank_slowly(rows.filter(pl.Series(doubtful)), keeping, packed))
    if alone is not None:
        parts.append(packed.unpack(alone))
    return pl.concat(parts)


class Packed:
    """How the integers of a row are packed into words, each within its range."""

    def __init__(self, integers: Sequence[Integer]) -> None:
        self.integers = integers
        # For each integer: its word, the place of its lowest bit, and its number of bits.
        self.places: list[tuple[int, int, int]] = []
        word, place = 0, 0
        for integer in integers:
            bits = max(1, (integer.high - integer.low).bit_length())
            word, place = (word, place) if place + bits <= _WORD else (word + 1, 0)
            self.places.append((word, place, bits))
            place += bits
        self.words = word + 1

    def pack(self) -> "dict[str, pl.Expr]":
        """The words, of columns of whole numbers."""
        import polars as pl

        words: dict[str, pl.Expr] = {f"w{i}": pl.lit(0, dtype=pl.Int64) for i in range(self.words)}
        for integer, (word, place, _) in zip(self.integers, self.places, strict=True):
            words[f"w{word}"] = words[f"w{word}"] + (pl.col(integer.name).cast(pl.Int64) - integer.low) * (1 << place)
        return words

    def unpack(self, rows: "pl.DataFrame") -> "pl.DataFrame":
        """The integers again, as doubles."""
        import polars as pl

        words = [rows[f"w{i}"].to_numpy() for i in range(self.words)]
        return pl.DataFrame(
            {
                integer.name: (((words[word] >> place) & ((1 << bits) - 1)) + integer.low).astype(np.float64)
                for integer, (word, place, bits) in zip(self.integers, self.places, strict=True)
            }
            or {"row": words[0]}
        )


def _add_hashes(table: "pl.LazyFrame", keeping: Keeping, integers: Sequence[Integer]) -> "tuple[pl.LazyFrame, Factors]":
    """The frame with the hash of every row as the first among equal rows, and the sum whose cube it is."""
    import narwhals as nw
    import polars as pl

    frame: Any = nw.from_native(table)
    parts = digits.PARTS
    if table.collect_schema()[ID] == pl.String:
        longest = table.select(pl.col(ID).str.len_bytes().max()).collect(engine="streaming").item()
        parts = max(1, digits.count_parts(longest or 0, written=keeping.written))
    frame, id_integers = read_ids(frame, keeping, parts)
    names = set(frame.collect_schema().names())
    zeros = frozenset(integer.name for integer in id_integers if integer.name not in names) | {NUMBER}
    factors = _draw(keeping, id_integers, integers)
    frame = mix(frame, factors, [*id_integers, *integers, _OCCURRENCE], zeros).with_columns(**{_SUM: nw.col(HASH)})
    hashes: pl.LazyFrame = cube(frame, HASH, factors.added).to_native()
    return hashes, factors


def _draw(keeping: Keeping, id_integers: Sequence[Integer], integers: Sequence[Integer]) -> Factors:
    """The factors of this release; those of the number of a row among equal ones come last."""
    return Factors.draw(Key(keeping.key), sum(integer.limbs for integer in (*id_integers, *integers, _OCCURRENCE)))


def _rank(rows: "pl.DataFrame", keeping: Keeping, packed: Packed, factors: Factors) -> tuple[_Mask, _Mask]:
    """Which rows are kept, and which belong to persons that a sort cannot decide, in the order of the table."""
    import polars as pl

    mask, doubtful = np.zeros(rows.height, dtype=bool), np.zeros(rows.height, dtype=bool)
    if not rows.height:
        return mask, doubtful
    keys, sure = _code_persons(rows[ID])
    keys <<= _HASHED
    keys |= rows[HASH].to_numpy()
    order = pl.Series(keys).arg_sort().to_numpy()
    keys = keys[order]
    equal = np.append(False, keys[1:] == keys[:-1])
    keys >>= _HASHED
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    sizes = np.diff(starts, append=keys.size)
    del keys
    first = _number(starts, sizes) < keeping.rows
    doubt = np.zeros(starts.size, dtype=bool) if sure else _find_mixed(rows[ID], order, starts)
    # Equal rows are numbered where not all are kept.
    again = np.logical_or.reduceat(equal, starts) & (sizes > keeping.rows)
    if again.any():
        places = np.flatnonzero(np.repeat(again, sizes))
        mask_of_equal, unclear = _rank_equal(
            rows, order[places], equal[places], sizes[again], keeping.rows, packed.words, factors
        )
        first[places] = mask_of_equal
        doubt[again] |= unclear
    unsure = np.repeat(doubt, sizes)
    doubtful[order[unsure]] = True
    mask[order[first & ~unsure]] = True
    return mask, doubtful


def _number(starts: _Places, sizes: _Places) -> _Places:
    """The place of each row in its run, from 0."""
    return np.arange(int(sizes.sum())) - np.repeat(starts, sizes)


def _code_persons(ids: "pl.Series") -> tuple[_Words, bool]:
    """A number below 2^38 for each id, and whether different ids surely have different numbers."""
    import polars as pl

    if ids.dtype.is_integer() and ids.dtype not in (pl.Int128, pl.UInt64):
        low, high = int(ids.min()), int(ids.max())  # type: ignore[arg-type]
        if (high - low) >> _CODED == 0:
            return ids.to_numpy().astype(np.int64) - low, True
    return (ids.hash().to_numpy() >> np.uint64(64 - _CODED)).astype(np.int64), False


def _find_mixed(ids: "pl.Series", order: _Places, starts: _Places) -> _Mask:
    """Which runs have rows of more than one id."""
    sorted_ids = ids.gather(order)
    other = np.append(False, (sorted_ids[1:] != sorted_ids[:-1]).to_numpy())
    other[starts] = False
    return np.logical_or.reduceat(other, starts)


def _rank_equal(
    rows: "pl.DataFrame",
    order: _Places,
    equal: _Mask,
    sizes: _Places,
    most: int,
    words: int,
    factors: Factors,
) -> tuple[_Mask, _Mask]:
    """Which rows are kept of persons with equal rows, in runs; and which persons a sort cannot decide."""
    import polars as pl

    starts = np.cumsum(sizes) - sizes
    person, place = np.repeat(np.arange(sizes.size), sizes), np.arange(order.size)
    unclear = np.zeros(sizes.size, dtype=bool)
    later = np.flatnonzero(equal)
    for word in range(words):
        values = rows[f"w{word}"].to_numpy()
        unclear[person[later[values[order[later]] != values[order[later - 1]]]]] = True
    number = (place - np.maximum.accumulate(np.where(equal, 0, place)))[later]
    low, high = (int(factor) for factor in factors.limbs[-2:])
    sums = rows[_SUM].to_numpy()[order[later]].astype(np.int64)
    sums = (sums + low * (number & ((1 << LIMB) - 1)) + high * (number >> LIMB)) % PRIME
    unclear[person[later[sums == 0]]] = True
    hashes = rows[HASH].to_numpy()[order].astype(np.int64)
    hashes[later] = _cube(sums, factors.added)
    keys = (person << _HASHED) | hashes
    again = pl.Series(keys).arg_sort().to_numpy()
    keys = keys[again]
    unclear[person[again[1:][keys[1:] == keys[:-1]]]] = True
    mask = np.zeros(order.size, dtype=bool)
    mask[again[_number(starts, sizes) < most]] = True
    return mask, unclear


def _cube(sums: _Words, shift: float) -> _Words:
    """The hash of a sum, by the same doubles as in `inbounds.tables.persons.cube`."""
    base = sums + np.float64(shift)
    square = base * base
    product = (square - np.floor(square * (1 / PRIME)) * PRIME) * base
    hashed: _Words = (product - np.floor(product * (1 / PRIME)) * PRIME).astype(np.int64)
    return hashed


def _rank_slowly(rows: "pl.DataFrame", keeping: Keeping, packed: Packed) -> "pl.DataFrame":
    """The integers of the rows that are kept, by the rule itself."""
    import narwhals as nw

    whole = packed.unpack(rows).with_columns(rows[ID])
    rows_kept: pl.DataFrame = rank(nw.from_native(whole), keeping, packed.integers, None).to_native()
    return rows_kept.drop(ID)
