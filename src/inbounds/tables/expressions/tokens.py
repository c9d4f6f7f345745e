"""From text to tokens, within public limits.

Every limit is a number that is known without the data. They are checked before any work that grows with the text.
"""

import math
import unicodedata
from dataclasses import dataclass
from typing import Literal, NoReturn

from inbounds._text import visible
from inbounds.errors import ExpressionError as ExpressionError

MOST_CHARACTERS = 4_000
MOST_IN_TEXT = 1_000
# As large as bounds may be (`inbounds.tables.schema`).
LARGEST_NUMBER = 1e60
# What is smaller than this counts as 0, and what is larger than the other counts as that (see `compiler`).
TINY, HUGE = 1e-100, 1e100

_SPACES = " \t\r\n"
_DIGITS = "0123456789"
_DOUBLE = ("<>", "<=", ">=", "!=")
_SINGLE = "()+-*/=<>,"
# What other languages have, and what to write here; longer ones first.
_HINTS = {
    "--": "there are no comments; for two signs in a row write - -1",
    "/*": "there are no comments",
    "*/": "there are no comments",
    "**": "there are no powers; write x * x",
    "==": "write = to compare",
    "&&": "write and",
    "||": "write or",
    "=>": "write >=",
    "=<": "write <=",
    "::": "there are no casts",
    "&": "write and",
    "|": "write or",
    "!": "write not, or <> to compare",
    "~": "write not",
    ";": "an expression has no semicolon",
    ".": "a name with a dot is written in double quotes",
    "%": "there is no remainder",
    "^": "there are no powers; write x * x",
    "`": "names are written as they are, or in double quotes",
    "[": "lists are written in parentheses, and names in double quotes",
    "{": "there is nothing in braces",
    "‘": "text is written in single quotes, '...'",
    "’": "text is written in single quotes, '...'",
    "“": "text is written in single quotes, '...', and names in double quotes",
    "”": "text is written in single quotes, '...', and names in double quotes",
    "≤": "write <=",
    "≥": "write >=",
    "≠": "write <>",
    "−": "write - for minus",
}


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of an expression. ``place`` is that of its first character, from 1.

    ``name`` and ``quoted`` (a name in double quotes), ``text`` and ``number`` have a value; ``symbol`` is its own; at
    the end there is ``end``.
    """

    kind: Literal["name", "quoted", "text", "number", "symbol", "end"]
    value: str
    place: int

    @property
    def word(self) -> str:
        """The name in small letters: keywords and functions may be written in any case."""
        return self.value.lower() if self.kind == "name" else ""

    def __str__(self) -> str:
        """The token as a message shows it."""
        if self.kind == "end":
            return "the end"
        text = visible(self.value if len(self.value) <= 40 else f"{self.value[:39]}…")
        return f'"{text}"' if self.kind == "quoted" else f"'{text}'" if self.kind == "text" else text


def fail(place: int, message: str) -> NoReturn:
    """Raise the error of a place in an expression. Spaces that only look like the usual one are escaped."""
    text = "".join(character if character.isprintable() else ascii(character)[1:-1] for character in message)
    raise ExpressionError(f"at character {place}: {text}")


def tokenize(text: str) -> list[Token]:
    """The tokens of a text, the last of which is its end.

    Raises
    ------
    ExpressionError
        The text is longer than a limit allows, or holds what no expression has.

    Examples
    --------
    >>> [token.value for token in tokenize("age >= 18.5 and region <> 'north'")]
    ['age', '>=', '18.5', 'and', 'region', '<>', 'north', '']
    """
    if not isinstance(text, str):
        raise TypeError(f"an expression must be text, got {type(text).__name__}")
    if len(text) > MOST_CHARACTERS:
        raise ExpressionError(f"an expression must have at most {MOST_CHARACTERS} characters; it has {len(text)}")
    for place, character in enumerate(text, 1):
        # Half a surrogate pair cannot be written in UTF-8, which is what engines compare.
        if unicodedata.category(character) in ("Cc", "Cs") and character not in _SPACES:
            fail(place, "an expression must not hold control characters; leave it out")
    tokens = []
    at = 0
    while at < len(text):
        if text[at] in _SPACES:
            at += 1
            continue
        token, at = _read(text, at)
        tokens.append(token)
    return [*tokens, Token("end", "", len(text) + 1)]


def _read(text: str, at: int) -> tuple[Token, int]:
    """The token that begins here, and where the next may begin."""
    first, two = text[at], text[at : at + 2]
    if first in ("'", '"'):
        return _read_quoted(text, at)
    if first in _DIGITS or (first == "." and two[1:] in (*_DIGITS,)):
        return _read_number(text, at)
    if is_start(first):
        end = at + 1
        while end < len(text) and is_part(text[end]):
            end += 1
        if end - at > MOST_IN_TEXT:
            fail(at + 1, f"a name must have at most {MOST_IN_TEXT} characters")
        return Token("name", text[at:end], at + 1), end
    for symbol in (two, first):
        if symbol in _HINTS:
            fail(at + 1, f"{symbol} is not part of an expression; {_HINTS[symbol]}")
        if symbol in _DOUBLE:
            return Token("symbol", "<>" if symbol == "!=" else symbol, at + 1), at + 2
    if first in _SINGLE:
        return Token("symbol", first, at + 1), at + 1
    character = first if first.isprintable() else ascii(first)[1:-1]
    fail(at + 1, f"{character} is not part of an expression; text is written in single quotes, '...'")


def is_start(character: str) -> bool:
    """Whether a name without quotes may begin with a character."""
    return character == "_" or character.isalpha()


def is_part(character: str) -> bool:
    """Whether a name without quotes may have a character after its first."""
    return is_start(character) or character in _DIGITS


def _read_quoted(text: str, at: int) -> tuple[Token, int]:
    """A text or a name in quotes; a quote in it is written twice."""
    quote, pieces, start = text[at], [], at + 1
    kind: Literal["text", "quoted"] = "text" if quote == "'" else "quoted"
    what = "text" if kind == "text" else "a name"
    while True:
        end = text.find(quote, start)
        if end < 0:
            fail(at + 1, f"{what} must end with {quote}; a {quote} within it is written twice")
        pieces.append(text[start:end])
        if text[end + 1 : end + 2] != quote:
            break
        pieces.append(quote)
        start = end + 2
    value = "".join(pieces)
    if len(value) > MOST_IN_TEXT:
        fail(at + 1, f"{what} must have at most {MOST_IN_TEXT} characters")
    if any(character in "\t\r\n" for character in value):
        fail(at + 1, f"{what} must not hold control characters such as tabs and line breaks")
    if kind == "quoted" and not value:
        fail(at + 1, "a name must not be empty; text is written in single quotes, '...'")
    return Token(kind, value, at + 1), end + 1


def _read_number(text: str, at: int) -> tuple[Token, int]:
    """A number in decimal digits, with a point and an exponent or without."""
    end = _skip_digits(text, at)
    if text[end : end + 1] == ".":
        after = _skip_digits(text, end + 1)
        if after == end + 1:
            fail(at + 1, "a number must have digits after its point")
        end = after
    if text[end : end + 1] in ("e", "E"):
        sign = end + 1 + (text[end + 1 : end + 2] in ("+", "-"))
        after = _skip_digits(text, sign)
        if after == sign:
            fail(at + 1, "a number must have digits in its exponent, as in 1e6")
        end = after
    if end < len(text) and (is_part(text[end]) or text[end] == "."):
        fail(at + 1, "a number must be written as in 15, 0.5 or 1e6, with nothing else right after it")
    return Token("number", text[at:end], at + 1), end


def _skip_digits(text: str, at: int) -> int:
    while at < len(text) and text[at] in _DIGITS:
        at += 1
    return at


def read_double(token: Token) -> float:
    """The double nearest to a number, 0 for what is below 1e-100."""
    value = float(token.value)
    if not (math.isfinite(value) and value < LARGEST_NUMBER):
        fail(token.place, "a number must be below 1e60; use other units")
    return value if value >= TINY else 0.0
