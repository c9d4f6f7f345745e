"""How a file writes its table: public facts that somebody declares, and that are never guessed from the file.

===============  ==========================================================  ====================
key              what it says                                                 without it
===============  ==========================================================  ====================
``separator``    the character between two fields                             ``,``
``quote``        the character around a field; empty if there is none         ``"``
``decimal``      the character before the decimals of a number                ``.``
``thousands``    the character between groups of three digits                 there is none
``encoding``     how bytes are characters, one of `ENCODINGS`                 ``utf-8``
``null_values``  fields that are missing values, beside empty ones            there are none
``header``       whether names of columns come first                          yes
``skip_lines``   lines (rows of a sheet) above the header                     0
``sheet``        the sheet of an Excel file                                   the only one
===============  ==========================================================  ====================
"""

import codecs
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from inbounds import _check

ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "latin-1", "cp1252")
UTF_8 = ENCODINGS[:2]
# Names of files without types of their own, by which a reader is chosen.
CSV = tuple(ending + packed for ending in (".csv", ".tsv", ".txt") for packed in ("", ".gz", ".zst"))
EXCEL = (".xlsx",)
UNTYPED = CSV + EXCEL
DECIMALS = (".", ",")
# Between groups of digits: also the spaces that break no line, and the apostrophes of Switzerland.
THOUSANDS = (".", ",", "'", "_", " ", "\u00a0", "\u202f", "\u2019")
# Python's own names of the encodings, by which their other names are known, too.
_NAMES = {codecs.lookup(name).name: name for name in ENCODINGS}
# What is part of a number or ends a record separates no fields.
_NO_MARK = "\0\r\n+-"
_MOST_LINES = 10_000


@dataclass(frozen=True, slots=True)
class Format:
    """How a file writes its table; see the module.

    Raises `TypeError` or `ValueError` with the key as the first word of the message.

    >>> Format(separator=";", decimal=",", encoding="ISO-8859-1").encoding
    'latin-1'
    >>> Format(separator=";;")
    Traceback (most recent call last):
    ...
    ValueError: separator must be one character, got ';;' of type str; write "\\t" for a tab
    """

    separator: str = ","
    quote: str = '"'
    decimal: str = "."
    thousands: str | None = None
    encoding: str = "utf-8"
    null_values: tuple[str, ...] = ()
    header: bool = True
    skip_lines: int = 0
    sheet: str | None = None

    def __post_init__(self) -> None:
        _check_mark(self.separator, "separator", '; write "\\t" for a tab')
        if self.quote != "":
            _check_mark(self.quote, "quote", '; write "" if no field is in quotes')
        _check.choice(self.decimal, "decimal", DECIMALS)
        if self.thousands is not None:
            _check.choice(self.thousands, "thousands", THOUSANDS)
        object.__setattr__(self, "encoding", _name_encoding(self.encoding))
        object.__setattr__(self, "null_values", _list_texts(self.null_values))
        if not isinstance(self.header, bool):
            raise TypeError(f"header must be true or false, got {_check.shown(self.header)}")
        if _check.integer(self.skip_lines, "skip_lines", least=0) > _MOST_LINES:
            raise ValueError(f"skip_lines must be at most {_MOST_LINES}, got {self.skip_lines}")
        if self.sheet is not None and (not isinstance(self.sheet, str) or not self.sheet):
            raise TypeError(f"sheet must be the name of a sheet, got {_check.shown(self.sheet)}")
        self._require_different()

    def _require_different(self) -> None:
        """Refuse one character with two meanings."""
        pairs = ("quote", "separator"), ("decimal", "separator"), ("thousands", "separator"), ("thousands", "decimal")
        for character, other in (*pairs, ("decimal", "quote"), ("thousands", "quote")):
            mark = getattr(self, character)
            if mark == getattr(self, other):
                remedy = (
                    '; say how fields are separated, as in separator = ";"'
                    if (mark, other) == (",", "separator")
                    else ""
                )
                raise ValueError(f"{character} must be another character than {other}, got {mark!r} for both{remedy}")

    @property
    def is_plain(self) -> bool:
        """Whether records begin where a file of UTF-8 begins, after one line of names."""
        return self.encoding in UTF_8 and self.header and not self.skip_lines

    @property
    def declared(self) -> dict[str, Any]:
        """The keys that are not as they would be without being written."""
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) != field.default
        }


def _check_mark(mark: Any, key: str, remedy: str) -> None:
    if not isinstance(mark, str) or len(mark) != 1:
        raise ValueError(f"{key} must be one character, got {_check.shown(mark)}{remedy}")
    if not mark.isascii() or mark.isalnum() or mark in _NO_MARK:
        raise ValueError(
            f"{key} must be a character of ASCII that is no letter, digit, sign or line break, got {mark!r}"
        )


def _name_encoding(encoding: Any) -> str:
    """The name of an encoding as `ENCODINGS` has it."""
    words = ", ".join(map(repr, ENCODINGS))
    try:
        return _NAMES[codecs.lookup(encoding).name]
    except (LookupError, TypeError, ValueError):
        text = _check.shown(encoding)
    raise ValueError(f"encoding must be one of {words}; got {text}")


def _list_texts(texts: Any) -> tuple[str, ...]:
    if isinstance(texts, str) or not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        raise TypeError('null_values must be a list of texts, as in null_values = ["NA", "-"]')
    return tuple(dict.fromkeys(texts))


PLAIN = Format()
