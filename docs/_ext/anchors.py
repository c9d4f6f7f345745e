"""Anchors in pages, written so that links to them hold both on code hosts and on the site.

A page has ``<a id="name"></a>`` on a line before what it names. Sphinx knows its own form only: ``(name)=``.
"""

import re
from typing import Any

ANCHOR = re.compile(r'^<a id="([\w-]+)"></a>$', re.MULTILINE)


def to_targets(text: str) -> str:
    """The anchors of a page as targets that Sphinx can check links against."""
    return ANCHOR.sub(r"(\1)=", text)


def _with_targets(app: Any, name: str, source: list[str]) -> None:  # noqa: ARG001
    source[0] = to_targets(source[0])


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", _with_targets)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
