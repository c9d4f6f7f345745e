"""Build the wheel and the source archive twice, in unlike surroundings, and keep them if every byte is the same.

    python tools/dist.py [--out dist]

The two builds differ in their folder, the times of files, umask, time zone, language, and the order in which sets are
walked. A third wheel is built from the source archive alone. SHA256SUMS has the digests of what was kept.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Made by commands, and no part of the source.
MADE = (".git", ".venv*", "build", "dist", "mutants", "__pycache__", ".*_cache", ".hypothesis", "spark-warehouse")
# Time of files, umask, and what a process finds around it.
SURROUNDINGS = (
    (1_000_000_000, 0o022, {"TZ": "UTC", "LC_ALL": "C", "PYTHONHASHSEED": "1"}),
    (1_700_000_000, 0o077, {"TZ": "Pacific/Auckland", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "2"}),
)


def copy_tree(source: Path, target: Path, time: int, umask: int) -> None:
    """Copy the project as somebody with another umask would have checked it out at another time."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(*MADE), symlinks=True)
    for path in target.rglob("*"):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & ~umask)
            os.utime(path, (time, time))


def build(source: Path, target: Path, umask: int, surroundings: dict[str, str], *parts: str) -> None:
    """Run hatchling in a folder, without a date that anybody has set."""
    kept = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    words = [sys.executable, "-m", "hatchling", "build", "-d", str(target), *parts]
    subprocess.run(words, cwd=source, env=kept | surroundings, umask=umask, check=True, capture_output=True)


def digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of every file of a folder."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def compare(one: dict[str, str], other: dict[str, str]) -> list[str]:
    """The names of files that are missing on one side, or differ."""
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def build_alike(source: Path, out: Path) -> dict[str, str]:
    """Build in both surroundings and from the archive, and copy the files to a folder if they are all the same."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        # The second copy is made of the first: what is saved in the project meanwhile is no difference between builds.
        for number, (time, umask, _) in enumerate(SURROUNDINGS):
            copy_tree(work / "tree0" if number else source, work / f"tree{number}", time, umask)
        for number, (_, umask, surroundings) in enumerate(SURROUNDINGS):
            build(work / f"tree{number}", work / f"made{number}", umask, surroundings)
        first, second = (digests(work / f"made{number}") for number in range(2))
        if differing := compare(first, second):
            raise SystemExit(f"built twice, these differ: {', '.join(differing)}")
        (archive,) = (work / "made0").glob("*.tar.gz")
        with tarfile.open(archive) as packed:
            # The archive is our own; Python before 3.11.4 knows no filters, and later versions want one.
            packed.extractall(work / "unpacked", **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
        (tree,) = (work / "unpacked").iterdir()
        build(tree, work / "made2", 0o022, {}, "-t", "wheel")
        if differing := compare(digests(work / "made2"), {name: first[name] for name in first if name.endswith("whl")}):
            raise SystemExit(f"built from the source archive, these differ: {', '.join(differing)}")
        out.mkdir(parents=True, exist_ok=True)
        for old in out.glob("inbounds-*"):
            old.unlink()
        for file in first:
            shutil.copyfile(work / "made0" / file, out / file)
    (out / "SHA256SUMS").write_text("".join(f"{digest}  {file}\n" for file, digest in first.items()), "utf-8")
    return first


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("dist"))
    for name, digest in build_alike(ROOT, parser.parse_args().out).items():
        print(f"{digest}  {name}")
    print("built twice, and once more from the source archive: the same bytes")


if __name__ == "__main__":
    main()
