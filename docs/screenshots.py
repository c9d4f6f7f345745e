"""Take the pictures of the report that the documentation shows: release the demonstration, open it in Chromium.

The numbers are drawn anew each time, so the pictures differ a little. Needs Chromium, from the distribution.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from inbounds import demo, release

HERE = Path(__file__).parent
# Name, width and height in pixels, and the setting for light or dark.
PICTURES = {"report.png": (1000, 720, 1), "report-dark.png": (1000, 720, 0), "report-narrow.png": (500, 900, 1)}


def main() -> None:
    """Write the pictures beside this file."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        sys.exit("no Chromium was found; install it, as with: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder:
        release(demo.write(Path(folder))).write(Path(folder) / "results")
        for name, (width, height, scheme) in PICTURES.items():
            options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
            options += ["--hide-scrollbars", f"--window-size={width},{height}", f"--screenshot={HERE / name}"]
            options += [f"--blink-settings=preferredColorScheme={scheme}"]
            page = (Path(folder) / "results" / "report.html").as_uri()
            subprocess.run([browser, *options, page], check=True, capture_output=True)


if __name__ == "__main__":
    main()
