"""The studio in a real Chromium: by mouse, by keyboard, small, dark, reloaded, in two windows, and killed."""

import re
import threading
import tomllib
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from inbounds import ledger, service
from tests import health as demo
from tests.engines import places
from tests.studio.harness import CHROMIUM, WITHOUT, Local, Server

pytestmark = [
    pytest.mark.xdist_group("studio-browser"),
    pytest.mark.skipif(CHROMIUM is None, reason=WITHOUT),
]

VIEWS = ("data", "plan", "preview", "release", "ledger", "learn")
# A machine may be slow and busy; nothing waits as long as this unless it is broken.
PATIENCE = 120_000
MANY = 10_000_000
# Texts of the page that lie wholly within the window.
SEEN = """() => [...document.querySelectorAll("dt, dd, header p")].filter((one) => {
    const box = one.getBoundingClientRect();
    return box.width && box.top >= 0 && box.bottom <= innerHeight;
}).map((one) => one.innerText).join(" | ")"""


@pytest.fixture(scope="module")
def survey():
    return demo.survey().write_csv()


@pytest.fixture(scope="module")
def chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def axe():
    return next(Path(find_spec("axe_playwright_python").origin).parent.rglob("axe*.js")).read_text("utf-8")


@pytest.fixture
def folder(tmp_path, survey):
    (tmp_path / "survey.csv").write_text(survey, "utf-8")
    (tmp_path / "plan.toml").write_text(demo.PLAN, "utf-8")
    return tmp_path


@pytest.fixture
def studio(folder):
    server = Local(folder)
    yield server
    server.stop()


@pytest.fixture
def visit(chromium):
    """Open a window of its own. In the end nothing was asked of another host, and no window had an error."""
    contexts, asked, errors = [], [], []

    def open_window(server, view="", **options):
        context = chromium.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("request", lambda request: asked.append((request.url, server.origin)))
        page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(server.address)
        page.wait_for_selector("html[data-ready]")
        if view:
            go(page, view)
        return page

    open_window.errors = errors
    yield open_window
    for context in contexts:
        context.close()
    assert asked
    assert [url for url, origin in asked if not url.startswith((f"{origin}/", "data:"))] == []
    assert errors == []


def go(page, view):
    page.click(f"nav a[href='#{view}']")
    page.wait_for_selector(f"nav a[href='#{view}'][aria-current]")


def release(page):
    page.click("#go:not([disabled])")
    page.wait_for_selector("#confirm[open]")
    page.click("#confirm-go")
    page.wait_for_selector("#outcome")
    page.wait_for_selector("iframe")


def read(folder):
    return tomllib.loads((folder / "plan.toml").read_text("utf-8"))


def write_many(path):
    """A table of ten million rows, with two of the survey's columns."""
    rng = np.random.default_rng(1)
    smoker = pl.Series(["yes", "no"]).gather(rng.integers(0, 2, MANY, dtype=np.uint32))
    pl.DataFrame({"age": rng.integers(18, 101, MANY, dtype=np.uint8), "smoker": smoker}).write_parquet(path)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_from_nothing_to_a_verified_report(folder, visit, kind):
    (folder / "plan.toml").unlink()
    if kind == "parquet":
        (folder / "survey.csv").unlink()
        write_many(folder / "survey.parquet")
    server = Local(folder, None)
    try:
        page = visit(server)
        page.fill("#begin-name", "plan.toml")
        page.click("#begin-go")
        page.fill("#data-rows", str(MANY if kind == "parquet" else demo.ROWS))
        page.press("#data-rows", "Tab")
        page.click("#column-age summary")
        # Parquet declares types; the text of a CSV file has none that could be shown without reading it.
        assert page.locator("#column-age summary .chip").count() == (kind == "parquet")
        # As people write it.
        page.fill("#column-age-bounds", "18, 100" if kind == "parquet" else "18 to 100")
        page.press("#column-age-bounds", "Tab")
        page.wait_for_selector("#column-age summary:has-text('from 18 to 100')")
        page.fill("#column-age-from", "the questionnaire")
        page.press("#column-age-from", "Tab")
        page.click("#column-smoker summary")
        page.fill("#column-smoker-levels", "yes\nno" if kind == "parquet" else "yes, no")
        page.press("#column-smoker-levels", "Tab")
        page.wait_for_selector("#column-smoker summary:has-text('2 levels')")
        go(page, "plan")
        page.click("#add")
        page.wait_for_selector("#item-0-name")
        page.click("#add")
        page.wait_for_selector("#item-1-statistic")
        page.select_option("#item-1-statistic", "proportion")
        page.wait_for_selector("#item-1-level")
        page.select_option("#item-1-column", "smoker")
        page.wait_for_selector("#mistakes")
        page.fill("#item-1-level", "yes")
        page.press("#item-1-level", "Tab")
        page.wait_for_selector("#fine")
        made = read(folder)
        assert made["columns"]["age"] == {"bounds": [18, 100], "known_from": "the questionnaire"}
        assert [(one["statistic"], one["columns"]) for one in made["release"]] == [
            ("mean", ["age"]),
            ("proportion", ["smoker"]),
        ]
        go(page, "preview")
        page.wait_for_selector(".item:nth-of-type(2) .figure")
        assert page.locator(".item .chip.reliable").count() == 2
        go(page, "release")
        release(page)
        page.click("[data-verify]")
        assert "2 releases hold" in page.inner_text("[data-proof]")
        assert "the ledger has the charge" in page.inner_text("[data-proof]")
        assert page.frame_locator("iframe").locator("h1").count() == 1
        for name, end in (("Download everything", ".zip"), ("Excel", ".xlsx"), ("LaTeX", ".tex")):
            with page.expect_download() as packed:
                page.click(f"text={name}")
            assert packed.value.suggested_filename.endswith(end)
        # Back is the view before, and what was released is still there on the way forward.
        page.go_back()
        page.wait_for_selector("nav a[href='#preview'][aria-current]")
        page.go_forward()
        page.wait_for_selector("[data-verify]")
    finally:
        server.stop()


def test_a_table_of_a_database_from_nothing_to_a_verified_report(folder, visit, monkeypatch):
    if places.postgres() is None:
        pytest.skip("SKIPPED LOUDLY: no PostgreSQL binaries (initdb) on this machine; install postgresql to test it")
    (folder / "plan.toml").unlink()
    places.put(demo.survey().select("age", "smoker").head(2000), "people")
    monkeypatch.setenv("STUDIO_DATABASE", places.postgres())
    server = Local(folder, None)
    try:
        page = visit(server)
        page.fill("#begin-source", "env:STUDIO_DATABASE")
        page.fill("#begin-table", "people")
        page.fill("#begin-name", "plan.toml")
        page.click("#begin-go")
        page.fill("#data-rows", "2000")
        page.click("#column-age summary")
        # The database declares types; values are on no page.
        assert page.inner_text("#column-age summary .chip") != ""
        page.fill("#column-age-bounds", "18, 100")
        go(page, "plan")
        page.click("#add")
        page.wait_for_selector("#item-0-name")
        page.wait_for_selector("#fine")
        go(page, "release")
        release(page)
        page.click("[data-verify]")
        assert "1 release holds" in page.inner_text("[data-proof]")
        assert "the ledger has the charge" in page.inner_text("[data-proof]")
        data = read(folder)["data"]
        assert (data["source"], data["table"], data["rows"]) == ("env:STUDIO_DATABASE", "people", 2000)
    finally:
        server.stop()


def test_mistakes_are_shown_where_they_are_and_both_ways_are_one_file(studio, folder, visit):
    page = visit(studio, "plan")
    text = page.input_value("#toml")
    assert text == demo.PLAN
    page.fill("#toml", text.replace('level = "yes"', 'level = "perhaps"'))
    page.wait_for_selector("#mistakes")
    line = demo.PLAN.splitlines().index('level = "yes"') + 1
    assert f"line {line}" in page.inner_text("#mistakes")
    assert "must be one of 'yes', 'no'" in page.inner_text("#mistakes")
    assert read(folder)["release"][0]["level"] == "perhaps"
    page.click("#item-0 summary")
    page.fill("#item-0-level", "no")
    page.press("#item-0-level", "Tab")
    page.wait_for_selector("#fine")
    assert read(folder)["release"][0]["level"] == "no"
    assert 'level = "no"' in page.input_value("#toml")
    # What somebody else does to the file is seen.
    (folder / "plan.toml").write_text(demo.PLAN.replace("epsilon = 1.0", "epsilon = 0.25"), "utf-8")
    page.wait_for_function("() => document.getElementById('budget-epsilon').value === '0.25'")
    page.fill("#toml", "not TOML [")
    page.wait_for_selector("#mistakes")
    assert (folder / "plan.toml").read_text("utf-8") == "not TOML ["


def test_what_is_in_hand_stays_when_the_page_changes(studio, folder, visit):
    """A field with unsaved text, its focus, what is open and an open confirmation are not made again."""
    page = visit(studio, "plan")
    page.click("#item-0 summary")
    page.fill("#item-0-name", "smokers")
    page.evaluate("document.getElementById('item-0-name').same = true")
    (folder / "plan.toml").write_text(demo.PLAN.replace("epsilon = 1.0", "epsilon = 0.25"), "utf-8")
    page.wait_for_function("() => document.getElementById('budget-epsilon').value === '0.25'")
    assert page.evaluate("document.activeElement.id === 'item-0-name' && document.activeElement.same")
    assert page.input_value("#item-0-name") == "smokers"
    assert page.get_attribute("#item-0", "open") is not None
    # A browser reports a change only if a person made it: this is what a script that puts text back would break.
    page.press("#item-0-name", "Tab")
    page.wait_for_selector("#item-0 summary:has-text('smokers')")
    assert read(folder)["release"][0]["name"] == "smokers"
    assert read(folder)["budget"]["epsilon"] == 0.25
    # Two changes one after the other, the second before the first is answered, are both made.
    page.evaluate("""() => { for (const [id, value] of [['budget-epsilon', '0.5'], ['budget-limit', '4']]) {
        const one = document.getElementById(id); one.value = value; one.dispatchEvent(new Event('change')); } }""")
    page.wait_for_function("() => /limit = 4/.test(document.getElementById('toml').value)")
    assert (read(folder)["budget"]["epsilon"], read(folder)["budget"]["limit"]) == (0.5, 4)
    go(page, "release")
    page.click("#go:not([disabled])")
    page.wait_for_selector("#confirm[open]")
    (folder / "more.csv").write_text("a\n1\n", "utf-8")
    page.wait_for_function(
        "() => fetch('/api/state').then((one) => one.json()).then((one) => one.files.tables.includes('more.csv'))"
    )
    assert page.get_attribute("#confirm", "open") is not None
    # Going to another view leaves the field, and so saves it.
    page.click("#confirm-no")
    go(page, "plan")
    page.fill("#budget-limit", "5")
    page.go_back()
    page.wait_for_selector("nav a[href='#release'][aria-current]")
    page.wait_for_function(
        "() => fetch('/api/state').then((one) => one.json()).then((one) => one.read.content.budget.limit === 5)"
    )
    assert read(folder)["budget"]["limit"] == 5


def test_every_key_is_within_reach_of_a_form(studio, folder, visit):
    """Computed columns, persons, how a file is written, keys of one statistic, of intervals and of previews."""
    page = visit(studio, "data")

    def fill(place, text):
        page.fill(place, text)
        page.press(place, "Tab")

    def wait(words):
        page.wait_for_function("words => document.getElementById('toml').value.includes(words)", arg=words)

    page.fill("#derive-name", "adult")
    page.fill("#derive-text", "age >= 18")
    page.click("#derive-add")
    page.wait_for_selector("#derive-adult")
    page.click("#data-written summary")
    fill("#data-written-null_values", "NA, -")
    page.click("#data-persons summary")
    fill("#data-persons-where", "age >= 20")
    page.select_option("#data-persons-keep", "first")
    go(page, "plan")
    wait('keep = "first"')
    page.click("#item-0 summary")
    page.select_option("#item-0-statistic", "quantile")
    page.wait_for_selector("#item-0-q")
    page.select_option("#item-0-column", "age")
    fill("#item-0-q", "0.25, 0.5")
    wait("q = ")
    page.click("#item-0-more summary")
    page.select_option("#item-0-more-interval", "noise")
    wait('interval = "noise"')
    fill("#item-0-more-plausible", "{ sd = [5, 20] }")
    wait("plausible = ")
    page.select_option("#budget-joint", "false")
    wait("joint = false")
    made = read(folder)
    first = made["release"][0]
    assert made["derive"] == {"adult": "age >= 18"}
    assert made["data"]["null_values"] == ["NA", "-"]
    assert (made["data"]["where"], made["data"]["keep"]) == ("age >= 20", "first")
    assert (first["statistic"], first["columns"], first["q"]) == ("quantile", ["age"], [0.25, 0.5])
    assert (first["interval"], first["plausible"], made["budget"]["joint"]) == ("noise", {"sd": [5, 20]}, False)
    # As usual removes the key again.
    page.select_option("#budget-joint", "")
    page.wait_for_function("() => !document.getElementById('toml').value.includes('joint = false')")
    # All keys of the schema have a field on one of the two views.
    every = service.list_keys()
    shown = set(page.eval_on_selector_all("#item-0 [id]", "all => all.map((one) => one.id)"))
    for key in every["release"]:
        name = key["name"]
        assert shown & {f"item-0-{name}", f"item-0-more-{name}", f"item-0-{name.removesuffix('s')}"}, name


def test_shares_are_dragged_on_the_bar(studio, folder, visit):
    page = visit(studio, "plan")
    # A mouse goes by where things are: nothing above the bar is still to come.
    page.wait_for_selector("#glance .chip")
    page.locator("#shares").scroll_into_view_if_needed()
    boxes = [one.bounding_box() for one in page.query_selector_all("#shares span")]
    edge, middle = boxes[0]["x"] + boxes[0]["width"], boxes[0]["y"] + boxes[0]["height"] / 2
    page.mouse.move(edge, middle)
    page.mouse.down()
    page.mouse.move(edge + boxes[1]["width"] / 2, middle, steps=4)
    page.mouse.up()
    page.wait_for_function("before => document.getElementById('toml').value !== before", arg=demo.PLAN)
    first, second = (one["share"] for one in read(folder)["release"][:2])
    before = [one.get("share", 1) for one in tomllib.loads(demo.PLAN)["release"][:2]]
    assert first > before[0]
    assert second < before[1]
    assert first + second == pytest.approx(sum(before))


def test_the_papers_figures_are_drawn_and_can_be_changed(studio, visit):
    page = visit(studio, "learn")
    page.wait_for_selector("#paper > svg")
    assert page.inner_text("#paper-title") == "Bias of S11, whose true value is 1"
    page.select_option("#paper-figure", "5")
    page.wait_for_selector("#paper-title:has-text('p1')")
    page.select_option("#paper-measure", "coverage")
    page.wait_for_selector("#paper-title:has-text('Coverage of 95% intervals of p1, whose true value is 0.1')")
    assert page.locator("#paper > svg path.four").count() == 1
    # The true value stays within bounds that are moved.
    page.evaluate("""() => { const dial = document.getElementById('learn-upper');
        dial.value = 10; dial.dispatchEvent(new Event('input')); }""")
    assert page.get_attribute("#learn-truth", "max") == "10"


def test_a_budget_that_is_refused(studio, folder, visit):
    (folder / "plan.toml").write_text(demo.PLAN.replace("epsilon = 1.0", "epsilon = 5"), "utf-8")
    page = visit(studio, "release")
    page.wait_for_selector("#offer-said.bad")
    assert "has 3 of its limit 3 left, and this costs 5; nothing was spent" in page.inner_text("#offer-said")
    assert page.is_disabled("#go")
    assert not (folder / "survey.ledger").exists()


def test_reload_in_mid_release_and_two_browsers(studio, folder, visit, monkeypatch):
    there, resume, real = threading.Event(), threading.Event(), service.release_plan

    def slow(plan, place, *, new=False, say=None):
        def told(step):
            say(step)
            if step == service.STAGES[2]:
                there.set()
                resume.wait()

        return real(plan, place, new=new, say=told)

    monkeypatch.setattr(service, "release_plan", slow)
    first, second = visit(studio, "release"), visit(studio, "release")
    first.wait_for_selector("#go:not([disabled])")
    second.wait_for_selector("#go:not([disabled])")
    first.click("#go")
    first.click("#confirm-go")
    for page in (first, second):
        page.wait_for_selector("#under-way")
    there.wait()
    first.reload()
    first.wait_for_selector("#under-way .now:has-text('reading the data')")
    assert second.is_disabled("#cancel")
    resume.set()
    for page in (first, second):
        page.wait_for_selector("#outcome:has-text('released')")
        page.wait_for_selector("[data-verify]")
    second.wait_for_selector("#offer-said:has-text('This was released on')")
    (standing,) = ledger.standings(ledger.read(folder / "survey.ledger"))
    assert standing.charges == 1


def test_by_keyboard_alone(studio, visit):
    page = visit(studio)

    def reach(target, key="Tab", most=150):
        for _ in range(most):
            page.keyboard.press(key)
            if page.evaluate("one => document.activeElement?.matches(one) ?? false", target):
                return
        raise AssertionError(f"{target} cannot be reached")

    reach("nav a[href='#preview']")
    page.keyboard.press("Enter")
    page.wait_for_selector(".item .figure")
    page.wait_for_function("() => document.getElementById('epsilon').max > 5")
    reach("#epsilon")
    before = page.inner_text("#epsilon-now")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("before => document.getElementById('epsilon-now').textContent !== before", arg=before)
    page.evaluate("document.activeElement.blur()")
    reach("nav a[href='#release']")
    page.keyboard.press("Enter")
    page.wait_for_selector("#go:not([disabled])")
    reach("#go")
    page.keyboard.press("Enter")
    page.wait_for_selector("#confirm[open]")
    assert "ε 1" in page.inner_text("#confirm-cost")
    assert "ε 2" in page.inner_text("#confirm-after")
    if not page.evaluate("document.activeElement.id === 'confirm-go'"):
        reach("#confirm-go")
    page.keyboard.press("Enter")
    page.wait_for_selector("#outcome")
    page.wait_for_selector("[data-verify]")
    # What had the focus is gone, and the view may be made again meanwhile.
    reach("[data-verify]")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-proof]")


def test_what_is_moved_keeps_the_focus(studio, visit):
    page = visit(studio, "release")
    page.wait_for_selector("#go:not([disabled])")
    # The offer goes behind a part that stays; to make the view again brings it back to its place before that.
    moved = """async () => {
        const { show } = await import("/static/app.js");
        const held = document.getElementById("go"), offer = held.closest("section"), view = offer.parentElement;
        const last = [...view.children].find((one) => one !== offer && (one.id || one.getAttribute("aria-labelledby")));
        view.append(offer);
        held.focus();
        const before = [Boolean(last), view.lastElementChild === offer, document.activeElement === held];
        show();
        return [...before, view.lastElementChild !== offer, document.activeElement === held];
    }"""
    assert page.evaluate(moved) == [True] * 5


@pytest.mark.parametrize(
    "options",
    [
        {"viewport": {"width": 1280, "height": 800}},
        {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark", "has_touch": True},
    ],
    ids=["wide", "narrow and dark"],
)
def test_every_view_is_accessible_and_fits(studio, visit, axe, options):
    page = visit(studio, **options)
    # Which numbers would be too rough? What is promised? What is left? The first screen says so.
    page.wait_for_selector("#glance .chip")
    seen = page.evaluate(SEEN)
    assert "correlations (rough)" in seen
    assert "would change by a factor of at most 2.72" in seen
    assert "ε 3 left" in seen
    settled = {
        "preview": ".item .figure",
        "release": "#go",
        "ledger": "#imagine",
        "learn": "#paper svg",
        "data": "details",
    }
    for view in VIEWS:
        go(page, view)
        page.wait_for_selector(settled.get(view, "#toml"))
        # One by one, each looked for anew: a view that is made again may have others.
        while page.locator("main details:not([open]) > summary:visible").count():
            page.locator("main details:not([open]) > summary:visible").first.click()
        wide = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert wide[0] <= wide[1], view
        page.evaluate(axe)
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        assert [(one["id"], [node["html"][:120] for node in one["nodes"]][:3]) for one in found] == [], view
    if options.get("color_scheme") == "dark":
        colour = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        assert sum(map(int, re.findall(r"\d+", colour)[:3])) < 150


def test_an_image_without_words_would_be_noticed(studio, visit, axe):
    """The control of the test above."""
    page = visit(studio, "ledger")
    page.evaluate("document.querySelector('main').append(document.createElement('img'))")
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    assert "image-alt" in [one["id"] for one in found]


def test_a_killed_server_loses_nothing(folder, visit):
    server = Server(folder / "plan.toml")
    page = visit(server, "plan")
    page.fill("#toml", demo.PLAN.replace("epsilon = 1.0", "epsilon = 0.5"))
    page.wait_for_function("() => document.getElementById('budget-epsilon').value === '0.5'")
    go(page, "release")
    release(page)
    server.stop(kill=True)
    page.wait_for_selector("#banner .note:has-text('The studio was stopped')")
    visit.errors.clear()
    page.close()
    assert read(folder)["budget"]["epsilon"] == 0.5
    again = Server(folder / "plan.toml")
    try:
        page = visit(again, "release")
        page.wait_for_selector("#offer-said:has-text('This was released on')")
        page.click("[data-verify]")
        assert "the ledger has the charge" in page.inner_text("[data-proof]")
    finally:
        page.close()
        again.stop()
        visit.errors.clear()
