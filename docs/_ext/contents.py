"""The order of the site is that of docs/index.md: a list of links below a heading is a part of the contents."""

import re
from typing import Any

LINK = re.compile(r"^- \[[^\]]*\]\(([^)#]+)\.md\)", re.MULTILINE)


def parts(text: str) -> dict[str, list[str]]:
    """Headings of the second level, each with the pages whose links begin the items below it."""
    sections = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)[1:]
    found = {name.strip(): LINK.findall(body) for name, body in zip(sections[::2], sections[1::2], strict=True)}
    return {name: pages for name, pages in found.items() if pages}


def _with_contents(app: Any, name: str, source: list[str]) -> None:
    if name == app.config.root_doc:
        for caption, pages in parts(source[0]).items():
            source[0] += "\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""])


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", _with_contents)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
