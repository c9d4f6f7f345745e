"""Check the site that was built: every link and anchor leads somewhere, and no page loads anything from elsewhere.

    python docs/check.py build/docs

It reads HTML with the standard library, and opens each page in Chromium, in windows of many widths: no page may scroll
sideways. It prints what is wrong, one line for each.
"""

import re
import shutil
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

# From a telephone to a wide screen, in pixels. Most laptops are among 1,024 to 1,440.
WIDTHS = (320, 390, 768, 900, 1024, 1100, 1200, 1280, 1366, 1440, 1600, 1920)
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
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


def find_wide_pages(site: Path) -> list[str]:
    """The pages that scroll sideways in a window of one of the widths."""
    from playwright.sync_api import sync_playwright

    found = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        window = browser.new_page()
        for path in sorted(site.rglob("*.html")):
            window.goto(path.resolve().as_uri())
            if wide := [width for width in WIDTHS if _is_wider(window, width)]:
                found.append(f"{path.relative_to(site)}: scrolls sideways at {', '.join(map(str, wide))} pixels")
        browser.close()
    return found


def _is_wider(window: Any, width: int) -> bool:
    window.set_viewport_size({"width": width, "height": 900})
    return bool(window.evaluate("document.documentElement.scrollWidth") > width)


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
    if CHROMIUM is None:
        print("*** NOT TESTED: the width of pages. It needs Chromium: apt-get install chromium ***", file=sys.stderr)
    else:
        found += find_wide_pages(site)
    pages = len(list(site.rglob("*.html")))
    print("\n".join(found) or f"{pages} pages: every link holds, nothing is loaded from elsewhere, none is too wide")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
