"""Formulas as MathML, which browsers draw by themselves: made when the site is built, with nothing to load."""

from html import escape
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert


def _element(node: Any, display: str) -> str:
    text = node.astext()
    # What a reader without MathML hears or copies is the formula as it was written.
    return convert(text, display=display).replace("<math ", f'<math alttext="{escape(text)}" ', 1)


def _inline(translator: Any, node: Any) -> None:
    translator.body.append(_element(node, "inline"))
    raise nodes.SkipNode


def _block(translator: Any, node: Any) -> None:
    translator.body.append(f'<div class="math">{_element(node, "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
