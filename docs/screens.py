"""Make the pictures of the page on the studio: every view, of the demonstration's survey, in a real browser."""

import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from inbounds import demo
from inbounds.studio.serve import make_server

# What is on the page when a view is ready.
READY = {
    "data": "#column-age",
    "plan": "#glance .chip",
    "preview": ".item:nth-of-type(8) .figure",
    "release": "#go",
    "ledger": "#imagine",
    "learn": "#paper > svg",
}


def take(page: Page, view: str, out: Path, *, whole: bool = False) -> None:
    """Take a picture of a view."""
    page.click(f"nav a[href='#{view}']")
    page.wait_for_selector(READY[view])
    page.wait_for_function("() => !document.getElementById('made').textContent.includes('Looking at the names')")
    if view == "preview":
        # Until the curves are complete.
        page.wait_for_function(
            "() => document.querySelector('.item path.line').getAttribute('d').split('L').length > 25"
        )
    page.screenshot(path=out, full_page=whole)


def main(folder: Path) -> None:
    """Write the pictures to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        demo.write(Path(place))
        running = make_server(Path(place), "plan.toml")
        thread = threading.Thread(target=running.run)
        thread.start()
        try:
            browser = playwright.chromium.launch(executable_path=_find(), args=["--no-sandbox"])
            _take_all(browser, running.door.address, folder)
            browser.close()
        finally:
            running.stop()
            thread.join()


def _open(browser: Browser, address: str, **options: Any) -> Page:
    page = browser.new_page(**options)
    # A machine may be slow and busy.
    page.set_default_timeout(600_000)
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    return page


def _take_all(browser: Browser, address: str, folder: Path) -> None:
    page = _open(browser, address, viewport={"width": 1120, "height": 800})
    for view in ("data", "plan", "preview", "learn"):
        take(page, view, folder / f"{view}.png", whole=view == "learn")
    page.click("nav a[href='#release']")
    page.click("#go:not([disabled])")
    page.screenshot(path=folder / "confirm.png")
    page.click("#confirm-go")
    page.wait_for_selector("iframe")
    page.click("[data-verify]")
    page.wait_for_selector("[data-proof]")
    page.wait_for_selector("#summary")
    page.frame_locator("iframe").locator("h1").wait_for()
    # A picture of the whole page would be taken before the report's frame is painted in it.
    page.set_viewport_size({"width": 1120, "height": 1500})
    page.wait_for_timeout(2000)
    page.screenshot(path=folder / "release.png")
    page.set_viewport_size({"width": 1120, "height": 800})
    take(page, "ledger", folder / "ledger.png")
    phone = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}
    dark = _open(browser, address, **phone)
    take(dark, "plan", folder / "phone.png")
    take(dark, "preview", folder / "dark.png")


def _find() -> str | None:
    from shutil import which

    return next(filter(None, map(which, ("chromium", "chromium-browser", "google-chrome"))), None)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
