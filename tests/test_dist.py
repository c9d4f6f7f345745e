"""What `make dist` and `make sbom` hold: builds of the same bytes, and a bill that agrees with the lock."""

import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import dist  # noqa: E402
import sbom  # noqa: E402


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The wheel and the archive, which are only there if two builds agree in every byte."""
    out = tmp_path_factory.mktemp("dist")
    return out, dist.build_alike(ROOT, out)


def test_two_builds_are_the_same(made):
    out, digests = made
    assert [name.rpartition(".")[2] for name in digests] == ["whl", "gz"]
    assert dist.digests(out) | digests == dist.digests(out)
    sums = (out / "SHA256SUMS").read_text("utf-8").splitlines()
    assert sums == [f"{digest}  {name}" for name, digest in digests.items()]


def test_a_build_that_differs_is_seen(tmp_path, monkeypatch):
    """With its own date in each of the two surroundings no archive is the same."""
    project = tmp_path / "project"
    (project / "src" / "small").mkdir(parents=True)
    (project / "src" / "small" / "__init__.py").write_text('"""Small."""\n')
    (project / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        '[project]\nname = "small"\nversion = "1"\n[tool.hatch.build.targets.wheel]\npackages = ["src/small"]\n'
    )
    assert len(dist.build_alike(project, tmp_path / "good")) == 2
    dated = [(t, mask, around | {"SOURCE_DATE_EPOCH": str(t)}) for t, mask, around in dist.SURROUNDINGS]
    monkeypatch.setattr(dist, "SURROUNDINGS", dated)
    with pytest.raises(
        SystemExit, match=r"built twice, these differ: small-1-py2\.py3-none-any\.whl, small-1\.tar\.gz"
    ):
        dist.build_alike(project, tmp_path / "bad")
    assert not (tmp_path / "bad").exists()


def test_the_archives_hold_the_licence_and_what_the_tests_need(made):
    out, _ = made
    (wheel,), (archive,) = out.glob("*.whl"), out.glob("*.tar.gz")
    licence = (ROOT / "LICENSE").read_bytes()
    with zipfile.ZipFile(wheel) as packed:
        (name,) = [name for name in packed.namelist() if name.endswith("licenses/LICENSE")]
        assert packed.read(name) == licence
        assert not [name for name in packed.namelist() if not name.startswith("inbounds")]
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    tops = {name.partition("/")[0] for name in names}
    assert {"LICENSE", "Makefile", "README.md", "docs", "locks", "pyproject.toml", "src", "tests", "tools"} <= tops
    assert not tops & {".git", ".venv", "build", "dist"}


def test_the_lock_is_read_as_installers_read_it():
    lock = (
        "a-b==1.0 \\\n    --hash=sha256:00\nC.d==2 ; sys_platform == 'nowhere' \\\n    --hash=sha256:00\n"
        "e==3 ; python_full_version >= '3.11' \\\n    --hash=sha256:00\n    # via a-b\n"
    )
    assert sbom.read_lock(lock) == {"a-b": "1.0", "e": "3"}
    assert len(sbom.read_lock(sbom.LOCK.read_text("utf-8"))) > 20
    assert sbom.read_bill({"components": [{"name": "A_b", "version": "1.0"}]}) == {"a-b": "1.0"}
