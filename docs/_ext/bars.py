"""Bars in docstrings are absolute values; reStructuredText would take them for substitutions."""

import re
from typing import Any

# Literals, and lines of examples, stay as they are.
PIECES = re.compile(r"(``.+?``|`[^`]+`)")


def _escape(line: str) -> str:
    if line.lstrip().startswith((">>>", "...")) or "|" not in line:
        return line
    return "".join(piece if piece.startswith("`") else piece.replace("|", r"\|") for piece in PIECES.split(line))


def _escape_bars(_app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    lines[:] = map(_escape, lines)


def setup(app: Any) -> dict[str, bool]:
    # Before numpydoc, which makes directives of the lines.
    app.connect("autodoc-process-docstring", _escape_bars, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
