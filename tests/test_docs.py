"""The documentation: every page is in the contents, every link and every pointer to a test leads somewhere."""

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.studio.harness import CHROMIUM, WITHOUT

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(
    [*DOCS.glob("*.md"), *(ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING", "SECURITY"))]
)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def prose(text: str) -> str:
    """The text without its blocks of code."""
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(text: str) -> set[str]:
    """The names of headings as code hosts make them, and those that a page gives to places itself."""
    heads = re.findall(r"^#{1,3} (.*)$", prose(text), flags=re.MULTILINE)
    given = re.findall(r'^<a id="([\w-]+)"></a>$', prose(text), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads} | set(given)


def broken(page: Path) -> list[str]:
    found = []
    for link in LINK.findall(prose(page.read_text("utf-8"))):
        place, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = (page.parent / place).resolve() if place else page
        known = target.exists() and (
            not anchor or target.suffix != ".md" or anchor in anchors(target.read_text("utf-8"))
        )
        found += [] if known else [f"{page.name}: {link}"]
    return found


def module(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    made = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules[path.stem] = made
    spec.loader.exec_module(made)
    return made


def test_every_page_is_in_the_contents_once():
    parts = module(DOCS / "_ext" / "contents.py").parts((DOCS / "index.md").read_text("utf-8"))
    assert list(parts) == ["Tutorial", "How-to", "Reference", "Explanation", "Proof", "Project"]
    named = [(DOCS / f"{name}.md").resolve() for pages in parts.values() for name in pages]
    assert len(named) == len(set(named))
    assert set(named) == set(PAGES) - {DOCS / "index.md", ROOT / "README.md"}


def misnamed(index: Path) -> list[str]:
    """Items of the contents that are not called as their page is: the side bar has the page's title."""
    found = []
    for name, link in re.findall(r"^- \[([^\]]*)\]\(([^)#]+\.md)\)", index.read_text("utf-8"), flags=re.MULTILINE):
        title = re.search(r"^# (.*)$", (index.parent / link).read_text("utf-8"), flags=re.MULTILINE)[1]
        found += [f"{link}: {name} / {title}"] * (name != title)
    return found


def test_the_contents_name_pages_by_their_titles():
    assert misnamed(DOCS / "index.md") == []


def test_another_name_is_seen(tmp_path):
    (tmp_path / "a.md").write_text("# A page\n")
    (tmp_path / "index.md").write_text("- [A page](a.md)\n- [Another](a.md): why\n")
    assert misnamed(tmp_path / "index.md") == ["a.md: Another / A page"]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_hold_as_plain_markdown(page):
    assert broken(page) == []


def test_a_broken_link_is_seen(tmp_path):
    (tmp_path / "other.md").write_text("# A heading, with signs\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](other.md#a-heading-with-signs) [b](other.md#gone) [c](gone.md) ![d](gone.svg)\n```\n[e](e.md)\n```\n"
    )
    assert broken(page) == ["page.md: other.md#gone", "page.md: gone.md", "page.md: gone.svg"]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_files_and_tests_that_are_named_exist(page):
    for name, _, function in re.findall(
        r"`((?:src|tests|bench|examples)/[\w./-]+)(::(\w+))?`", page.read_text("utf-8")
    ):
        path = ROOT / name
        assert path.exists(), name
        if function:
            defined = {
                one.name for one in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(one, ast.FunctionDef)
            }
            assert function in defined, f"{name}::{function}"


def test_pages_made_from_the_library_are_up_to_date():
    done = subprocess.run(
        [sys.executable, DOCS / "generate.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_figures_of_the_architecture_are_those_of_the_code():
    """Counted on the code as it is, in a process of its own. A figure that is a tenth off is found."""
    done = subprocess.run(
        [sys.executable, DOCS / "measures.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    measures, text = module(DOCS / "measures.py"), (DOCS / "architecture.md").read_text("utf-8")
    written = measures.read_page(text)
    assert len(written) == 8
    assert measures.find_stale(text, written) == []
    for row, figures in written.items():
        other = written | {row: tuple(round(1.1 * figure) + 1 for figure in figures)}
        assert measures.find_stale(text, other) == [row]
        assert measures.find_stale(measures.write_page(text, other), other) == []


SITE = {
    "a link that leads nowhere": '<a href="gone.html">x</a>',
    "an anchor that is not there": '<a href="other.html#gone">x</a>',
    "a script from elsewhere": '<script src="https://example.org/x.js"></script>',
    "a style from elsewhere": '<link rel="stylesheet" href="//example.org/x.css">',
    "a frame from elsewhere": '<iframe src="http://example.org/"></iframe>',
    "a picture without words": '<img src="picture.svg">',
    "a picture with its address for words": '<img src="picture.svg" alt="../picture.svg">',
    "a picture that is not there": '<img src="gone.svg" alt="gone">',
}


@pytest.mark.parametrize("what", SITE)
def test_the_check_of_the_site_sees(what, tmp_path):
    check = module(DOCS / "check.py")
    good = '<a href="other.html#here">x</a> <a href="https://example.org">y</a> <img src="picture.svg" alt="z">'
    (tmp_path / "other.html").write_text('<p id="here">')
    (tmp_path / "picture.svg").write_text("<svg/>")
    page = tmp_path / "page.html"
    page.write_text(good)
    assert check.problems(tmp_path) == []
    page.write_text(good + SITE[what])
    assert len(check.problems(tmp_path)) == 1


def test_the_check_of_the_site_reads_styles(tmp_path):
    check = module(DOCS / "check.py")
    (tmp_path / "page.html").write_text("<p>")
    (tmp_path / "style.css").write_text(
        "@import 'https://example.org/x.css'; a { background: url(//example.org/x.png) }"
    )
    assert len(check.problems(tmp_path)) == 2


# How the site's theme places the text: between two bars, one of which is missing in narrow windows.
THEME = """body { margin: 0 } pre { overflow: auto } .page, .main { display: flex } .main { flex: 1 }
.sidebar { width: calc(50% - 26em); min-width: 15em } .toc { width: 15em; flex-shrink: 0 } .content { padding: 0 3em }
@media (max-width: 82em) { .toc { display: none } } @media (max-width: 63em) { .sidebar { display: none } }"""


@pytest.mark.skipif(CHROMIUM is None, reason=WITHOUT)
def test_no_page_of_the_site_scrolls_sideways(tmp_path):
    """The style of the site leaves room for the bars beside the text. What is too wide by itself is found."""
    check = module(DOCS / "check.py")
    style = f"<style>{THEME}</style><style>{(DOCS / '_static' / 'site.css').read_text('utf-8')}</style>"
    text = f"<h1>x</h1><p>{'words ' * 200}</p><pre>{'code ' * 200}</pre>"
    body = '<div class="page"><div class="sidebar"></div><div class="main"><div class="content">{}</div>{}</div></div>'
    toc = '<div class="toc"></div>'
    (tmp_path / "good.html").write_text(f"<!doctype html>{style}{body.format(text, toc)}", "utf-8")
    assert check.find_wide_pages(tmp_path) == []
    (tmp_path / "wide.html").write_text(
        f'<!doctype html>{style}<div style="width: 1150px">x</div>{body.format(text, toc)}', "utf-8"
    )
    assert check.find_wide_pages(tmp_path) == ["wide.html: scrolls sideways at 320, 390, 768, 900, 1024, 1100 pixels"]
