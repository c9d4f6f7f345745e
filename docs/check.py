"""Check the site that was built: every link and anchor leads somewhere, and no page loads anything from elsewhere.

    python docs/check.py build/docs

It reads HTML with the standard library alone and says what is wrong, one line for each.
"""

import re
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser fetches by itself, as against what a reader may follow.
FETCHED = {"audio", "embed", "iframe", "img", "input", "link", "object", "script", "source", "track", "video"}
ADDRESSES = ("src", "href", "data", "poster")
LOADED_BY_CSS = re.compile(r"""(?:@import\s+|url\()\s*["']?((?:https?:)?//[^"')\s]+)""")


@dataclass
class Page(HTMLParser):
    """What one page links to, fetches and can be linked at."""

    path: Path
    links: list[str] = field(default_factory=list)
    fetched: list[tuple[str, str]] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    blind: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag in FETCHED:
            self.fetched += [(tag, given[name]) for name in ADDRESSES if given.get(name)]
        # Where there are no words, the address stands in for them.
        words = given.get("alt", "").strip()
        if tag == "img" and (not words or words == given.get("src") or words.endswith((".svg", ".png"))):
            self.blind.append(given.get("src", ""))


def elsewhere(address: str) -> bool:
    """Whether an address leads off the site."""
    parts = urlsplit(address)
    return bool(parts.scheme or parts.netloc)


def problems(site: Path) -> list[str]:
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}
    found = [] if pages else [f"{site} has no pages"]
    for page in pages.values():
        name = page.path.relative_to(site)
        local = [address for address in page.links if not elsewhere(address)]
        for tag, address in page.fetched:
            if not elsewhere(address):
                local.append(address)
            elif urlsplit(address).scheme != "data":
                found.append(f"{name}: <{tag}> is fetched from {address}")
        found += [f"{name}: {why}" for address in local if (why := _broken(page, address, pages))]
        found += [f"{name}: the picture {source} has no alt text" for source in page.blind]
    for path in sorted(site.rglob("*.css")):
        remote = LOADED_BY_CSS.findall(path.read_text("utf-8"))
        found += [f"{path.relative_to(site)}: loads {address}" for address in remote]
    return found


def _broken(page: Page, address: str, pages: dict[Path, Page]) -> str | None:
    parts = urlsplit(address)
    target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path.resolve()
    if target.is_dir():
        target = target / "index.html"
    if not target.is_file():
        return f"{address} leads nowhere"
    if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
        return f"{address} has no such anchor"
    return None


def main(site: Path) -> int:
    found = problems(site)
    pages = len(list(site.rglob("*.html")))
    print("\n".join(found) or f"{pages} pages: every link holds, and nothing is loaded from elsewhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
