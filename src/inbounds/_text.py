"""Text that others wrote, made safe for where it is shown: a terminal, Markdown, a cell of a CSV file.

Names of releases, columns, levels and datasets are whatever a plan or a ledger says. Records keep them as they are.
Whatever shows them to a person calls one of these functions first.
"""

import json
import re
import unicodedata
from collections.abc import Callable
from itertools import product
from typing import Any

# Control, format, surrogate, private and unassigned characters, and separators of lines.
_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
# Characters of other categories that show nothing: joiners, fillers, selectors of variants.
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")


def is_unseen(character: str) -> bool:
    """Whether a character shows nothing, or changes how others are shown.

    >>> [is_unseen(x) for x in ("a", " ", "\\n", "\\u202e", "\\u200b")]
    [False, False, True, True, True]
    """
    return unicodedata.category(character) in _UNSEEN or _BLANK.match(character) is not None


def visible(text: str) -> str:
    r"""Text in one line, with an escape in place of every character that would not be seen or would act on others.

    >>> print(visible("a\x1b[2J\u202eb\n"))
    a\x1b[2J\u202eb\n
    """
    return _escape_unseen(text, lambda one: one.encode("unicode_escape", "surrogatepass").decode("ascii"))


def visible_lines(text: str) -> str:
    """The same for a text of several lines, which stay."""
    return "\n".join(map(visible, text.split("\n")))


def _escape_unseen(text: str, escape: Callable[[str], str], keep: str = "") -> str:
    """Unseen characters escaped. Long texts have few different characters."""
    if text.isascii() and text.isprintable():
        return text
    return text.translate({ord(one): escape(one) for one in set(text) if one not in keep and is_unseen(one)})


# What CommonMark, GitHub, raw HTML or a template language acts on anywhere in a line.
_ACTING = re.compile(r"[\\`*\[\]<>{}|~&#$@!]|(?<![^\W_])_|_(?![^\W_])")
# Schemes and domains that become links by themselves.
_LINKED = re.compile(r":(?=\S)|(?<=\w)\.(?=[^\W\d_])")
# What acts at the beginning of a line alone.
_FIRST = re.compile(r"^([-+=])|^([0-9]+)([.)])")


def markdown(text: str) -> str:
    r"""Text in one line of Markdown that shows it as it is: no HTML, link, image, heading, list or break of a table.

    >>> print(markdown("<b>[x](javascript:y)|"), markdown("1. age_group"))
    \<b\>\[x\](javascript\:y)\| 1\. age_group
    """
    shown = _ACTING.sub(lambda found: f"\\{found[0]}", visible(text).strip())
    shown = _LINKED.sub(lambda found: f"\\{found[0]}", shown)
    return _FIRST.sub(lambda found: f"\\{found[1]}" if found[1] else f"{found[2]}\\{found[3]}", shown)


_FORMULA = tuple("=+-@\t\r\n＝＋－＠")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def csv_cell(text: str) -> str:
    r"""Text for a cell that a spreadsheet takes as text: an apostrophe before what it would take as a formula.

    A number stays a number.

    >>> csv_cell("=1+1"), csv_cell("-3.5"), csv_cell("a\x1b")
    ("'=1+1", '-3.5', 'a\\x1b')
    """
    acts = text.lstrip(" ").startswith(_FORMULA) and _NUMBER.fullmatch(text) is None
    return f"'{visible(text)}" if acts else visible(text)


def to_json(value: Any, **options: Any) -> str:
    r"""JSON for a terminal: the same values as ever, with unseen characters written as escapes.

    >>> print(to_json(["é\x7f"], ensure_ascii=False))
    ["é\u007f"]
    """
    # Line breaks are those of the layout: within a string JSON has escaped them already.
    text = json.dumps(value, **options)
    return _escape_unseen(text, lambda one: json.dumps(one)[1:-1].replace("\x7f", "\\u007f"), keep="\n")


def lay_out(texts: list[str], axes: tuple[tuple[str, ...], ...]) -> str:
    """Texts of cells: one by itself, a line for each, or a table with its labels."""
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
