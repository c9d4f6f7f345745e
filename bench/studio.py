"""How fast the studio is: start, first view, a preview after ε is moved, and a whole release of a large table.

``python bench/studio.py [--rows 10000000] [--postgres env:NAME TABLE]``. The clock is that of the browser; on a machine
that does other work as well the smallest of several is the one to look at.

``python bench/studio.py --mean FILE COLUMN LOWER UPPER ROWS`` counts instead what a person does from a table to the
released mean of a column: the page itself notes every click, and every field that is filled.
"""

import sys
from pathlib import Path

sys.path = [one for one in sys.path if one != str(Path(__file__).parent)]

import argparse
import re
import subprocess
import tempfile
import threading
import time
from shutil import copyfile, which

import numpy as np
import polars as pl
from playwright.sync_api import Page, sync_playwright

from inbounds.studio.serve import make_server

COLUMNS = {"age": (18, 100), "bmi": (12, 60), "pressure": (70, 220), "sleep": (0, 16)}


MOVE = """async (value) => {
    const dial = document.getElementById("epsilon");
    performance.clearMarks();
    const from = performance.now();
    dial.value = value;
    dial.dispatchEvent(new Event("input"));
    while (!performance.getEntriesByName("redrawn").length) await new Promise(requestAnimationFrame);
    return performance.getEntriesByName("redrawn").at(-1).startTime - from;
}"""


# The page notes what is done by a person, or by a browser as if by one.
NOTE = """() => { window.done = { clicks: [], fields: [] };
    addEventListener("click", (event) => { const one = event.target.closest("a, button, summary, select, label");
        if (event.isTrusted && one) done.clicks.push(one.textContent.trim().slice(0, 30)); }, true);
    addEventListener("change", ({ target }) => target.matches("input") && done.fields.push(target.id), true); }"""


def plan_of_twenty(source: str, rows: int, table: str | None = None) -> str:
    """A plan with 20 releases: means, variances, groups, shares, tables and matrices."""
    items: list[str] = []

    def add(name: str, statistic: str, columns: list[str], more: str = "") -> None:
        named = ", ".join(f'"{one}"' for one in columns)
        items.append(f'[[release]]\nname = "{name}"\nstatistic = "{statistic}"\ncolumns = [{named}]\n{more}')

    for one in COLUMNS:
        add(f"mean {one}", "mean", [one])
        add(f"variance {one}", "variance", [one])
        add(f"{one} by region", "mean", [one], 'by = "region"\n')
    add("smokers", "proportion", ["smoker"], 'level = "yes"\n')
    add("smokers in the south", "proportion", ["smoker"], 'level = "yes"\nwhere = "region = \'south\'"\n')
    add("correlations", "correlation", list(COLUMNS))
    add("covariance", "covariance", ["age", "bmi"])
    add("health", "proportions", ["health"])
    add("regions", "histogram", ["region"])
    add("smoking by region", "crosstab", ["region", "smoker"])
    add("spread", "standard_deviation", ["pressure"])
    rules = "\n".join(
        f"{name} = {{ bounds = [{low}, {high}], missing = {low} }}" for name, (low, high) in COLUMNS.items()
    )
    levels = 'smoker = { levels = ["yes", "no"] }\nregion = { levels = ["north", "south", "east", "west"] }\n'
    levels += 'health = { levels = ["very good", "good", "fair", "poor"] }\n'
    where = f'source = "{source}"\n' + (f'table = "{table}"\n' if table else "")
    budget = '[budget]\nepsilon = 1.0\nledger = "b.ledger"\nlimit = 9\n'
    head = f"[data]\n{where}rows = {rows}\n{budget}[columns]\n{rules}\n{levels}"
    return head + "\n".join(items)


def make_table(rows: int) -> pl.DataFrame:
    """A table like the demonstration's survey."""
    rng = np.random.default_rng(1)
    numbers = {name: rng.uniform(low, high, rows).round(1) for name, (low, high) in COLUMNS.items()}
    words = {
        "smoker": ["yes", "no"],
        "region": ["north", "south", "east", "west"],
        "health": ["very good", "good", "fair", "poor"],
    }
    made = {name: pl.Series(levels).gather(rng.integers(0, len(levels), rows)) for name, levels in words.items()}
    return pl.DataFrame(numbers | made)


def move_epsilon(page: Page) -> list[float]:
    """Milliseconds from the input to the redrawn charts, for each step of the slider."""
    return [page.evaluate(MOVE, str(4 + step)) for step in range(20)]


def look(address: str, *, release: bool) -> None:
    """Open the page, move ε, and release."""
    with sync_playwright() as playwright:
        path = next(filter(None, map(which, ("chromium", "chromium-browser", "google-chrome"))), None)
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(600_000)
        firsts = []
        for number in range(3):
            before = time.perf_counter()
            page.goto(address if not number else address.partition("?")[0])
            page.wait_for_selector("html[data-ready]")
            firsts.append(time.perf_counter() - before)
        print(f"first view: {min(firsts):.2f} s (of {', '.join(f'{one:.2f}' for one in firsts)})")
        page.click("nav a[href='#preview']")
        before = time.perf_counter()
        page.wait_for_selector(".item .figure")
        print(f"first preview of 20 releases: {time.perf_counter() - before:.2f} s after the click")
        page.wait_for_function(
            "() => document.querySelector('.item path.line').getAttribute('d').split('L').length > 25"
        )
        print(f"all curves after {time.perf_counter() - before:.2f} s")
        took = sorted(move_epsilon(page))
        print(f"moved ε: redrawn after {took[0]:.0f} to {took[-1]:.0f} ms, median {took[10]:.0f} ms")
        if release:
            page.click("nav a[href='#release']")
            before = time.perf_counter()
            page.click("#go:not([disabled])")
            page.click("#confirm-go")
            page.wait_for_selector("#outcome")
            print(f"released ({page.inner_text('#outcome')}) after {time.perf_counter() - before:.1f} s")
            page.click("[data-verify]")
            print(page.inner_text("[data-proof]"))
        browser.close()


def release_mean(file: Path, column: str, lower: str, upper: str, rows: str) -> None:
    """Release the mean of a column of a table as somebody would who comes for the first time, and count it."""
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        copyfile(file, Path(place) / file.name)
        words = [sys.executable, "-m", "inbounds.cli.commands", "studio", place, "--no-browser"]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
        path = next(filter(None, map(which, ("chromium", "chromium-browser", "google-chrome"))), None)
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page()
        before = time.perf_counter()
        server = subprocess.Popen(words, **pipes)
        try:
            address = re.search(r"http://\S+", server.stderr.readline())[0]
            page.goto(address)
            page.wait_for_selector("#begin-go")
            print(f"first page: {time.perf_counter() - before:.1f} s after the command")
            page.evaluate(NOTE)
            page.click("#begin-go")
            page.fill("#data-rows", rows)
            page.click(f"#column-{column} summary")
            page.fill(f"#column-{column}-bounds", f"{lower}, {upper}")
            page.click("nav a[href='#plan']")
            page.click("#add")
            page.wait_for_selector("#fine")
            before = time.perf_counter()
            page.click("nav a[href='#preview']")
            page.wait_for_selector(".item .figure")
            print(f"first preview: {time.perf_counter() - before:.1f} s; the click for it is not needed for a release")
            page.evaluate("done.clicks.pop()")
            page.click("nav a[href='#release']")
            before = time.perf_counter()
            page.click("#go:not([disabled])")
            page.click("#confirm-go")
            page.wait_for_selector("#summary")
            done = page.evaluate("done")
            print(f"released: {page.inner_text('#outcome')}, {time.perf_counter() - before:.1f} s with its report")
            print(f"its interval: {page.frame_locator('iframe').locator('.glance td').first.inner_text()}")
            print(f"{len(done['clicks'])} clicks: {'; '.join(done['clicks'])}")
            print(f"{len(done['fields'])} fields: {', '.join(done['fields'])}")
        finally:
            browser.close()
            server.terminate()
            server.wait()


def main() -> None:
    """Run it all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mean", nargs=5, metavar=("FILE", "COLUMN", "LOWER", "UPPER", "ROWS"))
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--postgres", nargs=2, metavar=("SOURCE", "TABLE"))
    given = parser.parse_args()
    if given.mean:
        file, *rest = given.mean
        release_mean(Path(file), *rest)
        return
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if given.postgres:
            text = plan_of_twenty(given.postgres[0], given.rows, given.postgres[1])
        else:
            make_table(given.rows).write_parquet(folder / "t.parquet")
            text = plan_of_twenty("t.parquet", given.rows)
        (folder / "plan.toml").write_text(text, "utf-8")
        running = make_server(folder, "plan.toml")
        thread = threading.Thread(target=running.run)
        thread.start()
        try:
            look(running.door.address, release=True)
        finally:
            running.stop()
            thread.join()


if __name__ == "__main__":
    main()
