"""Blocks of code without the empty line at their end, which doctests need in the source."""

from typing import Any

from docutils import nodes


def _trimmed(_: Any, doctree: nodes.document) -> None:
    for block in doctree.findall(nodes.literal_block):
        text = block.astext().rstrip()
        block.rawsource, block.children = text, []
        block += nodes.Text(text)


def setup(app: Any) -> dict[str, bool]:
    app.connect("doctree-read", _trimmed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
