"""The report in a real Chromium: what its first screen answers, wide and narrow, and what axe-core says of it."""

from datetime import date
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import inbounds as ib
from inbounds.grid.entropy import SeededEntropy
from inbounds.road import draw as road_draw
from tests.studio.harness import CHROMIUM, WITHOUT

pytestmark = [pytest.mark.xdist_group("studio-browser"), pytest.mark.skipif(CHROMIUM is None, reason=WITHOUT)]

CARRIERS = [f"carrier with a long name {i}" for i in range(16)]
# Long names, few records, numbers of both signs, dates: what makes charts ugly.
PLAN = {
    "data": {"rows": 3000},
    "columns": {
        "delay": {"bounds": [-60, 600]},
        "carrier": {"levels": CARRIERS},
        "origin": {"levels": ["Newark", "Kennedy", "La Guardia"]},
        "month": {"levels": list(range(1, 13))},
        "day": {"bounds": [date(2013, 1, 1), date(2013, 12, 31)]},
    },
    "release": [
        {"name": "delay by carrier", "statistic": "mean", "columns": ["delay"], "by": "carrier"},
        {"name": "delay by month", "statistic": "mean", "columns": ["delay"], "by": "month"},
        {"name": "flights", "statistic": "crosstab", "columns": ["origin", "carrier"]},
        {"name": "deciles", "statistic": "quantile", "columns": ["delay"], "q": [0.1, 0.5, 0.9]},
        {"name": "a typical day", "statistic": "mean", "columns": ["day"]},
        {"name": "months", "statistic": "proportions", "columns": ["month"]},
    ],
}
# Texts of the page that lie wholly within the window.
SEEN = """() => [...document.querySelectorAll("h1, h2, p, li")].filter((one) => {
    const box = one.getBoundingClientRect();
    return box.width && box.top >= 0 && box.bottom <= innerHeight;
}).map((one) => one.textContent.trim()).join(" | ")"""
# Texts that leave their chart.
CLIPPED = """() => [...document.querySelectorAll("figure svg text")].filter((one) => {
    const box = one.getBoundingClientRect(), all = one.ownerSVGElement.getBoundingClientRect();
    return box.left < all.left - 6 || box.right > all.right + 6;
}).map((one) => one.textContent)"""
# Texts of one chart that lie over each other.
OVERLAPPING = """() => [...document.querySelectorAll("figure svg")].flatMap((svg) => {
    const all = [...svg.querySelectorAll("text")].map((one) => [one.textContent, one.getBoundingClientRect()]);
    const meet = (p, q) => p.left < q.right && q.left < p.right && p.top + 2 < q.bottom - 2 && q.top + 2 < p.bottom - 2;
    return all.flatMap(([a, p], i) => all.slice(i + 1).filter(([, q]) => meet(p, q)).map(([b]) => `${a} over ${b}`));
})"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    rng = np.random.default_rng(8)
    table = {
        "delay": rng.normal(10, 30, 3000).clip(-60, 600),
        "carrier": rng.choice(CARRIERS, 3000, p=[0.985] + [0.001] * 15).tolist(),
        "origin": rng.choice(["Newark", "Kennedy", "La Guardia"], 3000).tolist(),
        "month": rng.integers(1, 13, 3000).tolist(),
        "day": (np.datetime64("2013-01-01") + rng.integers(0, 365, 3000)).astype("datetime64[D]").tolist(),
    }
    folder = tmp_path_factory.mktemp("report")
    budget = {"epsilon": 0.5, "ledger": str(folder / "flights.ledger"), "limit": 2}
    entropy = SeededEntropy(8)
    # Where labels lie depends on what was drawn: it is the same in every run.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(road_draw, "entropy_source", lambda: entropy)
        ib.release(ib.Plan.of({**PLAN, "budget": budget}), table).write(folder / "results")
    return (folder / "results" / "report.html").as_uri()


@pytest.fixture(scope="module")
def chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_first_screen_answers_three_questions(chromium, report, width, height, scheme):
    page = chromium.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.set_default_timeout(120_000)
    page.goto(report)
    seen = page.evaluate(SEEN)
    # Which number is too rough? What was promised to me? What is left?
    assert "tells nothing delay by carrier" in seen
    assert "would change by a factor of at most 1.65" in seen
    assert "ε 0.5 spent, 1.5 left" in seen
    # What is below is not seen, so that the test can fail.
    assert "Every number on this page" not in seen
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    # All columns of the table of releases are seen without scrolling it.
    assert page.evaluate("(({ scrollWidth: all, clientWidth: seen }) => all <= seen)(document.querySelector('.wide'))")
    assert page.evaluate(CLIPPED) == []
    assert page.evaluate(OVERLAPPING) == []
    for summary in page.query_selector_all("summary"):
        summary.click()
    page.evaluate(next(Path(find_spec("axe_playwright_python").origin).parent.rglob("axe*.js")).read_text("utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    assert [(one["id"], [node["html"][:120] for node in one["nodes"]][:3]) for one in found] == []
    page.close()


def test_what_lies_over_something_would_be_noticed(chromium, report):
    """The control of the test above."""
    page = chromium.new_page(viewport={"width": 390, "height": 844})
    page.goto(report)
    page.evaluate("""() => { const [a, b, c] = document.querySelectorAll("figure svg text");
        for (const name of ["x", "y"]) b.setAttribute(name, a.getAttribute(name)); c.setAttribute("x", -50); }""")
    assert page.evaluate(OVERLAPPING) != []
    assert page.evaluate(CLIPPED) != []
    page.close()
