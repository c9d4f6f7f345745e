"""Make text from elsewhere safe to show: in a terminal, in Markdown, in a cell of a CSV file.

The names of releases, columns, levels and datasets come from plans and ledgers and may hold any character. Records
keep them unchanged. Code that shows them to a person calls one of these functions first.
"""

import json
import re
import textwrap
import unicodedata
from collections.abc import Callable
from itertools import product
from typing import Any

# The width of a terminal that texts are made for.
WIDTH = 80
# Control, format, surrogate, private and unassigned characters, and separators of lines.
_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
# Invisible characters of other categories: joiners, fillers, variation selectors.
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")


def is_unseen(character: str) -> bool:
    """Whether a character is invisible, or changes how others are shown.

    >>> [is_unseen(x) for x in ("a", " ", "\\n", "\\u202e", "\\u200b")]
    [False, False, True, True, True]
    """
    return unicodedata.category(character) in _UNSEEN or _BLANK.match(character) is not None


def visible(text: str) -> str:
    r"""Text in one line, with escapes in place of characters that are invisible or change how others are shown.

    >>> print(visible("a\x1b[2J\u202eb\n"))
    a\x1b[2J\u202eb\n
    """
    return _escape_unseen(text, lambda character: character.encode("unicode_escape", "surrogatepass").decode("ascii"))


def visible_lines(text: str) -> str:
    """The same as `visible` for a text of several lines. Line breaks are kept."""
    return "\n".join(map(visible, text.split("\n")))


def _escape_unseen(text: str, escape: Callable[[str], str], keep: str = "") -> str:
    """Escape invisible characters."""
    if text.isascii() and text.isprintable():
        return text
    # Each character is looked at once, since a long text has few different ones.
    return text.translate({ord(x): escape(x) for x in set(text) if x not in keep and is_unseen(x)})


def shorten(text: str, longest: int) -> str:
    """Cut the middle out of a text that is too long. Its beginning and its end have what a reader needs most.

    >>> shorten("0123456789" * 10, 30), shorten("short", 30)
    ('01234567890123456789 … 3456789', 'short')
    """
    if len(text) <= longest:
        return text
    begin = (longest - 3) * 3 // 4
    return f"{text[:begin]} … {text[len(text) - (longest - 3 - begin) :]}"


def wrap(text: str, first: str = "", rest: str = "") -> str:
    """Break one line of text into lines that fit on a terminal. Words are not broken, and spaces are kept.

    >>> print(wrap("word " * 16 + "end", rest="  "))
    word word word word word word word word word word word word word word word word
      end
    """
    lines = textwrap.fill(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
        expand_tabs=False,
        replace_whitespace=False,
    )
    return lines or first


# Characters that have a meaning anywhere in a line: in CommonMark, on GitHub, in HTML or in a template language. A sign
# > has one after a < or at the beginning of a line, and an & before what may be the name of a character.
_ACTING = re.compile(r"[\\`*\[\]<{}|~#$@]|&(?=[#\w])|^>|(?<![^\W_])_|_(?![^\W_])")
_CLOSING = re.compile(r"(?<!\\)>")
# Characters that turn the text around them into a link: in schemes and domains.
_LINKED = re.compile(r"(?<=[^\W\d_]):(?=\S)|(?<=\w)\.(?=[^\W\d_])")
# What has a meaning only at the beginning of a line: marks of lists, and lines that underline a heading or divide.
_FIRST = re.compile(r"^([-+])(?=\s|$)|^(-)(?=[-\s]+$)|^(=)(?=[=\s]*$)|^([0-9]{1,9})(?=[.)](?:\s|$))")


def markdown(text: str) -> str:
    r"""Escape text for one line of Markdown, so that it makes no HTML, link, image, heading, list or table cell.

    >>> print(markdown("<b>[x](javascript:y)|"), markdown("1. age_group"), markdown("-5.6 if x >= 3"))
    \<b\>\[x\](javascript\:y)\| 1\. age_group -5.6 if x >= 3
    """
    line = _ACTING.sub(lambda match: f"\\{match[0]}", visible(text).strip())
    line = _CLOSING.sub(r"\\>", line) if "<" in line else line
    line = _LINKED.sub(lambda match: f"\\{match[0]}", line)
    return _FIRST.sub(lambda match: f"{match[4]}\\" if match[4] else f"\\{match[0]}", line)


_FORMULA = tuple("=+-@\t\r\n＝＋－＠")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def csv_cell(text: str) -> str:
    r"""Escape text for a cell of a CSV file: what a spreadsheet would take as a formula gets an apostrophe before it.

    Numbers stay numbers.

    >>> csv_cell("=1+1"), csv_cell("-3.5"), csv_cell("a\x1b")
    ("'=1+1", '-3.5', 'a\\x1b')
    """
    acts = text.lstrip(" ").startswith(_FORMULA) and _NUMBER.fullmatch(text) is None
    return f"'{visible(text)}" if acts else visible(text)


def to_json(value: Any, **options: Any) -> str:
    r"""Write JSON for a terminal: the same values, with invisible characters written as escapes.

    >>> print(to_json(["é\x7f"], ensure_ascii=False))
    ["é\u007f"]
    """
    # Line breaks are part of the layout. Those within strings are already escaped.
    text = json.dumps(value, **options)
    return _escape_unseen(text, lambda character: json.dumps(character)[1:-1].replace("\x7f", "\\u007f"), keep="\n")


def lay_out(texts: list[str], axes: tuple[tuple[str, ...], ...]) -> str:
    """Lay out the texts of cells: a single one, one per line, or a table with its labels."""
    if not axes:
        return f" {texts[0]}"
    *outer, last = [[visible(label) for label in axis] for axis in axes]
    if not outer:
        wide = max(map(len, last))
        return "".join(f"\n  {label:{wide}s}  {text}" for label, text in zip(last, texts, strict=True))
    heads = [", ".join(labels) for labels in product(*outer)]
    wide, cell = max(map(len, heads)), max(map(len, [*last, *texts]))
    lines = [[" " * wide, *last]] + [[h, *texts[i * len(last) : (i + 1) * len(last)]] for i, h in enumerate(heads)]
    return "".join(f"\n  {head:{wide}s}" + "".join(f"  {x:>{cell}s}" for x in row) for head, *row in lines)
