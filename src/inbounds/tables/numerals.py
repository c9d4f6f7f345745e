"""Numbers as files write them: another decimal mark than a point, and groups of three digits."""

import re
from typing import TYPE_CHECKING

from inbounds.tables.formats import Format

if TYPE_CHECKING:
    import polars as pl

_SPACES = " \t"
# What stands for a text that is no number.
_NO_NUMBER = "?"


# claim:numerals
def to_point(text: "pl.Expr", written: Format) -> "pl.Expr":
    """Numbers with a point for their decimals, made from numbers as ``written`` has them.

    ``1.234,5`` is 1234.5 with ``decimal=","`` and ``thousands="."``. Groups have three digits, the first of them one to
    three, and end before the decimals: ``1.23,4`` and ``1,5.000`` are no numbers. Neither is a text with a point if the
    decimal mark is another: ``1.5`` with ``decimal=","``. A text that is no number does not become one. Each text is
    read by itself.
    """
    import polars as pl

    decimal, thousands = written.decimal, written.thousands
    if decimal == "." and thousands is None:
        return text
    text = text.str.strip_chars(_SPACES)
    if thousands is not None:
        mark, before = re.escape(thousands), re.escape(decimal)
        grouped = text.str.contains(rf"^[+-]?[0-9]{{1,3}}({mark}[0-9]{{3}})+({before}[0-9]*)?$")
        text = pl.when(grouped).then(text.str.replace_all(thousands, "", literal=True)).otherwise(text)
    if decimal == ".":
        return text
    changed = text.str.replace_all(decimal, ".", literal=True)
    return pl.when(text.str.contains(".", literal=True)).then(pl.lit(_NO_NUMBER)).otherwise(changed)
