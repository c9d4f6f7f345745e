"""The wheel that `make dist` makes: all modules, the command, and the demonstration from an installed package."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).parents[1]


def test_the_wheel_holds_everything_and_runs(tmp_path):
    """Installed by itself into an empty folder; what it depends on comes from this environment."""
    run = {"check": True, "capture_output": True, "text": True}
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path], cwd=HERE, **run)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    source = HERE / "src"
    modules = {str(path.relative_to(source)) for path in source.rglob("*.py")}
    templates = {str(path.relative_to(source)) for path in source.rglob("*.jinja")}
    page = {str(path.relative_to(source)) for path in source.rglob("static/**/*") if path.is_file()}
    assert templates
    assert page
    assert modules | templates | page <= names
    assert any(name.endswith("entry_points.txt") for name in names)
    where = tmp_path / "installed"
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", where, wheel], **run)
    code = "import inbounds, sys, inbounds.cli.commands as c; print(inbounds.__file__, file=sys.stderr); c.main()"
    environment = os.environ | {"PYTHONPATH": str(where)}
    words = [sys.executable, "-c", code, "demo", "--out", tmp_path / "demo"]
    done = subprocess.run(words, env=environment, cwd=tmp_path, **run)
    assert str(where) in done.stderr
    assert (tmp_path / "demo" / "results" / "report.html").stat().st_size > 10_000
