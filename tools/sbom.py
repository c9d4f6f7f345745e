"""Write a bill of materials (CycloneDX, JSON) for a wheel with the locked versions of what it needs.

    python tools/sbom.py dist/inbounds-*.whl --cyclonedx .venv-sbom/bin/cyclonedx-py

The lock and the wheel are installed into an environment that has nothing else; the command must start there. Every
package of the lock must be in the bill, and nothing else. The bill has no time and no path, so that it is the same
wherever it is made.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "locks" / "run.lock"


def read_lock(text: str) -> dict[str, str]:
    """Names and versions of a lock that concern this machine."""
    from packaging.markers import Marker

    found = {}
    for name, version, marker in re.findall(r"^([\w.-]+)==([^\s;]+)(?:\s*;\s*([^\\\n]+))?", text, flags=re.MULTILINE):
        if not marker.strip() or Marker(marker.strip()).evaluate():
            found[normalize(name)] = version
    return found


def read_bill(bill: dict[str, object]) -> dict[str, str]:
    """Names and versions of a bill's components."""
    return {normalize(one["name"]): one["version"] for one in bill["components"]}


def normalize(name: str) -> str:
    """A package's name as indexes write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def make_bill(wheel: Path, tool: Path) -> dict[str, object]:
    """Install the wheel by itself, and describe the environment."""
    name, version = wheel.name.split("-")[:2]
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", here / "alone"], check=True)
        python = here / "alone" / "bin" / "python"
        pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
        subprocess.run([*pip, "--require-hashes", "-r", LOCK], check=True)
        place = ["--no-index", "--find-links", wheel.parent]
        subprocess.run([*pip, "--no-deps", *place, f"{name}=={version}"], check=True)
        started = subprocess.run(
            [here / "alone" / "bin" / "inbounds", "--version"], check=True, capture_output=True, text=True
        )
        assert started.stdout == f"inbounds {version}\n", started.stdout
        # The version of a checkout is written in its code, where the tool does not look for it.
        project = (
            (ROOT / "pyproject.toml").read_text("utf-8").replace('dynamic = ["version"]', f'version = "{version}"')
        )
        (here / "pyproject.toml").write_text(project, "utf-8")
        words = [tool, "environment", "--pyproject", here / "pyproject.toml", "--mc-type", "library"]
        done = subprocess.run([*words, "--output-reproducible", python], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--cyclonedx", type=Path, required=True, help="the program cyclonedx-py")
    given = parser.parse_args()
    bill = make_bill(given.wheel, given.cyclonedx)
    wanted, found = read_lock(LOCK.read_text("utf-8")), read_bill(bill)
    if wanted != found:
        raise SystemExit(f"the lock and the bill differ: {sorted(wanted.items() ^ found.items())}")
    out = given.wheel.with_name(f"{'-'.join(given.wheel.name.split('-')[:2])}.cdx.json")
    out.write_text(json.dumps(bill, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(f"{out}: {len(found)} packages, the wheel installed by itself")


if __name__ == "__main__":
    main()
