"""Norms of vectors that are drawn together, as certificates name them: blocks of coordinates, each with its own bounds.

- ``"box 3"``: three numbers, each in units of the most that one record moves it.
- ``"moments 2"``: the sums of two columns and of their products, in halves; one record is substituted.
- ``"mean moments 1"``: the moments of one column with its square in eighths, so that the noise of the sum is as small
  as if it were drawn alone.
- ``"counted moments 2"``: moments with a count; one record is added or removed.
- ``"selected moments 2"``: moments with a count; one record is substituted, and only some records are selected.
- ``"selected sums 2"``: the same without products.

Their bounds are those of `inbounds.privacy.forms`. One record moves each block by at most 1 in its norm, and so all
blocks by at most 1 in the largest of these norms.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import cast

from inbounds.grid.polyhedral import Norm
from inbounds.privacy.forms import Moves, Row, find_range, list_forms, moment_rows

# Coordinates of one draw.
MOST_COORDINATES = 25_000
_TEXT = re.compile(r"(box|moments|mean moments|counted moments|selected moments|selected sums) ([1-9][0-9]{0,4})")


@dataclass(frozen=True, slots=True)
class Block:
    """Coordinates that are bounded together: ``size`` numbers of a box, or the moments of ``size`` columns."""

    kind: str
    size: int

    @classmethod
    def parse(cls, text: object) -> "Block":
        """Read what `str` wrote. Raises a `ValueError` for anything else."""
        match = _TEXT.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            raise ValueError("a block of a norm is written as 'box 3', 'moments 2' or 'selected moments 2'")
        kind, size = match.groups()
        if kind == "mean moments" and size != "1":
            raise ValueError("a block of mean moments is of one column")
        return cls(kind, int(size))

    def __str__(self) -> str:
        return f"{self.kind} {self.size}"

    @property
    def counted(self) -> bool:
        """Whether one of its coordinates is a count."""
        return self.kind not in ("box", "moments", "mean moments")

    @property
    def dimension(self) -> int:
        """Its coordinates."""
        products = 0 if self.kind in ("box", "selected sums") else self.size * (self.size + 1) // 2
        return self.size + products + self.counted

    def rows(self) -> tuple[Row, ...]:
        """What bounds several of its coordinates together."""
        return () if self.kind == "box" else moment_rows(self.size, self.moves)

    @property
    def moves(self) -> Moves:
        """How records move it, for blocks other than boxes."""
        assert self.kind != "box"
        return cast(Moves, self.kind)


def count_coordinates(blocks: Sequence[str]) -> int:
    """Coordinates of all blocks."""
    return sum(Block.parse(text).dimension for text in blocks)


@lru_cache(maxsize=64)
def make_norm(blocks: tuple[str, ...]) -> Norm:
    """The norm of some blocks, one after another."""
    parsed = [Block.parse(text) for text in blocks]
    dimension = count_coordinates(blocks)
    if not 1 <= dimension <= MOST_COORDINATES:
        raise ValueError(f"a norm has blocks of at most {MOST_COORDINATES:,} coordinates in all")
    parts, start = [], 0
    for block in parsed:
        if rows := block.rows():
            parts.append((start, rows))
        start += block.dimension
    return Norm(dimension, tuple(parts))


def norm_rounding(blocks: tuple[str, ...]) -> Fraction:
    """The steps that rounding two vectors to a lattice can add to their distance in the norm: at least 1."""
    return max(map(_block_rounding, set(blocks)), default=Fraction(1))


@lru_cache(maxsize=64)
def _block_rounding(text: str) -> Fraction:
    sizes = [Fraction(sum(map(abs, weights)), limit) for weights, limit in Block.parse(text).rows()]
    return max([Fraction(1), *sizes])


@lru_cache(maxsize=64)
def list_ranges(blocks: tuple[str, ...]) -> tuple[str, ...]:
    """Each kind of form that bounds its moments, with its extremes on the cube. Anybody can check them."""
    moments = [block for block in map(Block.parse, blocks) if block.kind != "box"]
    forms = {form: find_range(form) for block in moments for form in list_forms(block.size, block.moves)}
    return tuple(f"{form} from {low} to {high}" for form, (low, high) in forms.items())
