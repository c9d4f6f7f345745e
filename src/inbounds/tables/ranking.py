"""Keep a few rows of each person by sorting them in this process: the rows that `inbounds.tables.persons` keeps.

Windows over all rows cost many times what a plain group-by does. Where rows are in this process anyway (Polars, DuckDB)
each becomes few machine words: its id, its integers, packed, and its hash as the first among equal rows. Sorted by id
and hash the rows of a person stand in a run, equal ones next to each other, so that

- a person with no more rows than may be kept keeps all of them;
- of one without equal rows the first of the run are kept;
- of others equal rows are numbered and hashed again, and the run is sorted once more.

What a sort by few bits cannot decide is left to the rule itself, as other engines run it: persons whose ids share a
code, different rows with one hash, and hashes of which p divides what is cubed. That is about one person in 2^25/rows.

A table of more rows than fit is read several times, some persons at a time.
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
    """Whether rows can be sorted here, with ids that are the same in Polars as where they come from."""
    import narwhals as nw

    made, rule = frame.implementation, keeping.persons
    if not (made.is_polars() or made.is_duckdb()) or rule.keep != "random" or rule.groups is not None:
        return False
    if made.is_polars():
        return True
    kinds = (nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.UInt8, nw.UInt16, nw.UInt32, nw.UInt64)
    return frame.collect_schema()[ID] in (*kinds, nw.Float64, nw.String, nw.Boolean)


def count_parts(frame: "Frame") -> int:
    """How many times a table is read, so that what is sorted at once fits in memory."""
    import narwhals as nw

    counted: Any = frame.select(nw.len().alias("rows"))
    counted = counted.collect() if isinstance(counted, nw.LazyFrame) else counted
    return max(1, -(-int(counted["rows"][0]) // MOST_AT_ONCE))


def collect_rows(frame: Any, keeping: Keeping, integers: Sequence[Integer], part: int, parts: int) -> "pl.LazyFrame":
    """The ids and integers of the rows of a part of the persons, for Polars."""
    import polars as pl

    names = [ID, *(one.name for one in integers)]
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
    made: pl.LazyFrame = table
    return made.filter(pl.col(ID).is_not_null()) if keeping.persons.missing == "skip" else made


def keep_ranked(table: "pl.LazyFrame", keeping: Keeping, integers: Sequence[Integer]) -> "pl.DataFrame":
    """claim:kept. The integers of the rows that are kept of each person."""
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
    kept = [packed.unpack(rows.filter(pl.Series(sure)))]
    if doubtful.any():
        kept.append(_rank_slowly(rows.filter(pl.Series(doubtful)), keeping, packed))
    if alone is not None:
        kept.append(packed.unpack(alone))
    return pl.concat(kept)


class Packed:
    """How the integers of a row are packed into words, each within its range."""

    def __init__(self, integers: Sequence[Integer]) -> None:
        self.integers = integers
        # Of each integer its word, the place of its lowest bit and its bits.
        self.places: list[tuple[int, int, int]] = []
        word, used = 0, 0
        for one in integers:
            bits = max(1, (one.high - one.low).bit_length())
            word, used = (word, used) if used + bits <= _WORD else (word + 1, 0)
            self.places.append((word, used, bits))
            used += bits
        self.words = word + 1

    def pack(self) -> "dict[str, pl.Expr]":
        """The words, of columns of whole numbers."""
        import polars as pl

        made: dict[str, pl.Expr] = {f"w{i}": pl.lit(0, dtype=pl.Int64) for i in range(self.words)}
        for one, (word, place, _) in zip(self.integers, self.places, strict=True):
            made[f"w{word}"] = made[f"w{word}"] + (pl.col(one.name).cast(pl.Int64) - one.low) * (1 << place)
        return made

    def unpack(self, rows: "pl.DataFrame") -> "pl.DataFrame":
        """The integers again, as doubles."""
        import polars as pl

        words = [rows[f"w{i}"].to_numpy() for i in range(self.words)]
        return pl.DataFrame(
            {
                one.name: (((words[word] >> place) & ((1 << bits) - 1)) + one.low).astype(np.float64)
                for one, (word, place, bits) in zip(self.integers, self.places, strict=True)
            }
            or {"row": words[0]}
        )


def _add_hashes(table: "pl.LazyFrame", keeping: Keeping, integers: Sequence[Integer]) -> "tuple[pl.LazyFrame, Factors]":
    """The frame with the hash of every row as the first among equal ones, and the sum that it is the cube of."""
    import narwhals as nw
    import polars as pl

    frame: Any = nw.from_native(table)
    parts = digits.PARTS
    if table.collect_schema()[ID] == pl.String:
        longest = table.select(pl.col(ID).str.len_bytes().max()).collect(engine="streaming").item()
        parts = max(1, digits.count_parts(longest or 0, written=keeping.written))
    frame, own = read_ids(frame, keeping, parts)
    there = set(frame.collect_schema().names())
    zeros = frozenset(one.name for one in own if one.name not in there) | {NUMBER}
    factors = _draw(keeping, own, integers)
    frame = mix(frame, factors, [*own, *integers, _OCCURRENCE], zeros).with_columns(**{_SUM: nw.col(HASH)})
    made: pl.LazyFrame = cube(frame, HASH, factors.added).to_native()
    return made, factors


def _draw(keeping: Keeping, own: Sequence[Integer], integers: Sequence[Integer]) -> Factors:
    """The factors of this release; those of the number of a row among equal ones come last."""
    return Factors.draw(Key(keeping.key), sum(one.limbs for one in (*own, *integers, _OCCURRENCE)))


def _rank(rows: "pl.DataFrame", keeping: Keeping, packed: Packed, factors: Factors) -> tuple[_Mask, _Mask]:
    """Which rows are kept, and which are of persons of whom a sort cannot tell, in the order of the table."""
    import polars as pl

    kept, doubtful = np.zeros(rows.height, dtype=bool), np.zeros(rows.height, dtype=bool)
    if not rows.height:
        return kept, doubtful
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
        chosen, unclear = _rank_equal(
            rows, order[places], equal[places], sizes[again], keeping.rows, packed.words, factors
        )
        first[places] = chosen
        doubt[again] |= unclear
    unsure = np.repeat(doubt, sizes)
    doubtful[order[unsure]] = True
    kept[order[first & ~unsure]] = True
    return kept, doubtful


def _number(starts: _Places, sizes: _Places) -> _Places:
    """The place of each row in its run, from 0."""
    return np.arange(int(sizes.sum())) - np.repeat(starts, sizes)


def _code_persons(ids: "pl.Series") -> tuple[_Words, bool]:
    """A number below 2^38 for each id, and whether different ids surely have different ones."""
    import polars as pl

    if ids.dtype.is_integer() and ids.dtype not in (pl.Int128, pl.UInt64):
        low, high = int(ids.min()), int(ids.max())  # type: ignore[arg-type]
        if (high - low) >> _CODED == 0:
            return ids.to_numpy().astype(np.int64) - low, True
    return (ids.hash().to_numpy() >> np.uint64(64 - _CODED)).astype(np.int64), False


def _find_mixed(ids: "pl.Series", order: _Places, starts: _Places) -> _Mask:
    """Which runs have rows of more than one id."""
    ordered = ids.gather(order)
    other = np.append(False, (ordered[1:] != ordered[:-1]).to_numpy())
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
    """Which rows are kept of persons with equal ones, who stand in runs; and of which persons a sort cannot tell."""
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
    chosen = np.zeros(order.size, dtype=bool)
    chosen[again[_number(starts, sizes) < most]] = True
    return chosen, unclear


def _cube(sums: _Words, added: float) -> _Words:
    """The hash of a sum, by the same doubles as in `inbounds.tables.persons.cube`."""
    moved = sums + np.float64(added)
    square = moved * moved
    made = (square - np.floor(square * (1 / PRIME)) * PRIME) * moved
    hashed: _Words = (made - np.floor(made * (1 / PRIME)) * PRIME).astype(np.int64)
    return hashed


def _rank_slowly(rows: "pl.DataFrame", keeping: Keeping, packed: Packed) -> "pl.DataFrame":
    """The integers of the rows that are kept, by the rule itself."""
    import narwhals as nw

    whole = packed.unpack(rows).with_columns(rows[ID])
    kept: pl.DataFrame = rank(nw.from_native(whole), keeping, packed.integers, None).to_native()
    return kept.drop(ID)
