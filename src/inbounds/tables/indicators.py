"""Sums of columns and of their products, where each level of a column except the first counts as a column of 0 and 1.

Levels stay keys of a table, so that the rule of a column says what becomes of values that are no level, as for every
other statistic. Sums over 0 and 1 are then numbers of records in the cells of the table.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import prod

from inbounds.tables.answers import Cell, Cells
from inbounds.tables.request import Request
from inbounds.tables.schema import AnyKey, Levels, Quantised

# Columns of levels are counted together up to this many cells, and then pair by pair of such blocks.
_MOST_CELLS = 32


@dataclass(frozen=True, slots=True)
class Indicators:
    """Columns of numbers, then those of 0 and 1 for all levels but the first of each key."""

    numbers: tuple[Quantised, ...]
    keys: tuple[Levels, ...]

    @property
    def blocks(self) -> list[tuple[Levels, ...]]:
        """The keys in blocks of few cells."""
        blocks: list[tuple[Levels, ...]] = []
        for key in self.keys:
            if blocks and prod(member.cells for member in (*blocks[-1], key)) <= _MOST_CELLS:
                blocks[-1] = (*blocks[-1], key)
            else:
                blocks.append((key,))
        return blocks

    @property
    def requests(self) -> tuple[Request, ...]:
        """What is counted: every pair of keys in one of them, and numbers by each key. The first has all products."""
        first, *others = self.blocks or [()]
        if not others:
            return (Request(first, self.numbers, True),)
        requests = [Request((*first, *block), self.numbers, place == 0) for place, block in enumerate(others)]
        requests += [Request((*left, *right)) for i, left in enumerate(others) for right in others[i + 1 :]]
        return tuple(requests)

    @property
    def _starts(self) -> dict[AnyKey, int]:
        """The place of the first column of 0 and 1 of each key."""
        starts: dict[AnyKey, int] = {}
        place = len(self.numbers)
        for key in self.keys:
            starts[key], place = place, place + len(key.levels) - 1
        return starts

    def compose(self, *tables: Cells) -> Cell:
        """The number of records, sums and products of all columns, as if those of 0 and 1 were in the table."""
        size, starts = len(self.numbers), self._starts
        width = size + sum(len(key.levels) - 1 for key in self.keys)
        sums, products = [0] * width, dict.fromkeys(combinations_with_replacement(range(width), 2), 0)
        counted: set[tuple[int, int]] = set()
        for request, cells in zip(self.requests, tables, strict=True):
            key_starts = [starts[key] for key in request.by]
            every = combinations_with_replacement(range(len(key_starts)), 2)
            pairs = [pair for pair in every if _at(key_starts, pair) not in counted]
            for place, (records, totals, _) in cells.items():
                # The column of the level that the records of a cell have; none for the first level.
                ones = [start + level - 1 if level else None for start, level in zip(key_starts, place, strict=True)]
                for first, second in pairs:
                    i, j = ones[first], ones[second]
                    if i is None or j is None:
                        continue
                    products[i, j] += records
                    if i == j:
                        sums[i] += records
                        for number, total in enumerate(totals):
                            products[number, i] += total
            counted.update(_at(key_starts, pair) for pair in pairs)
        count = sum(records for records, _, _ in tables[0].values())
        for _, totals, multiplied in tables[0].values():
            for number, total in enumerate(totals):
                sums[number] += total
            for both, total in zip(combinations_with_replacement(range(size), 2), multiplied, strict=True):
                products[both] += total
        return count, tuple(sums), tuple(products.values())


def _at(starts: Sequence[int], pair: tuple[int, int]) -> tuple[int, int]:
    return starts[pair[0]], starts[pair[1]]
