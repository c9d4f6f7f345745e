"""The figures of docs/architecture.md, counted on the code as it is: its files, its imports, and the road of a release.

python docs/measures.py            # write them into the page
python docs/measures.py --check    # write nothing, and fail if a figure of the page is more than 5% off
"""

import ast
import importlib.util
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import grimp
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
FILES = sorted((ROOT / "src" / "inbounds").rglob("*.py"))
# Rows of the page by their first words -> what is written in the last column, with a place for each figure.
ROWS = {
    "files and lines in `src`": "{} and {}",
    "lines of the longest file": "{}",
    "imports between modules": "{}",
    "circles among them, and modules in these": "{}, of {} modules",
    "imports inside functions: libraries, own": "{}, {}",
    "`ib.mean`, shown: modules, changes of room, drafts": "{}, {}, {}",
    "`inbounds release`, a plan of 8: modules, changes of room, drafts, derivations": "{}, {}, {}, {}",
    "`inbounds verify` of its record: modules, changes of room, drafts, certificates computed": "{}, {}, {}, {}",
}
NEAR = 0.05


def measure() -> dict[str, tuple[int, ...]]:
    """The figures of each row, as they are now."""
    lines = [len(path.read_text("utf-8").splitlines()) for path in FILES]
    # A name that only a type checker reads is no dependency.
    graph = grimp.build_graph("inbounds", exclude_type_checking_imports=True)
    late = [own for path in FILES for own in _list_late(path)]
    mean, release, verify = trace_roads()
    figures = [
        (len(FILES), sum(lines)),
        (max(lines),),
        (graph.count_imports(),),
        _count_circles(graph),
        (late.count(False), late.count(True)),
        (*mean[:2], mean[2]),
        (*release[:2], release[2], release[3]),
        (*verify[:2], verify[2], verify[4]),
    ]
    return dict(zip(ROWS, figures, strict=True))


def _count_circles(graph: grimp.ImportGraph) -> tuple[int, int]:
    """How many circles of imports there are, and how many modules are in one."""
    names = sorted(graph.modules)
    places = {name: place for place, name in enumerate(names)}
    pairs = [(places[a], places[b]) for a in names for b in graph.find_modules_directly_imported_by(a)]
    rows, columns = zip(*pairs, strict=True)
    matrix = csr_array(([1] * len(pairs), (rows, columns)), shape=(len(names), len(names)))
    circles = connected_components(matrix, connection="strong")[1].tolist()
    sizes = [circles.count(circle) for circle in set(circles)]
    return sum(size > 1 for size in sizes), sum(size for size in sizes if size > 1)


def _list_late(path: Path) -> Iterator[bool]:
    """For each import inside a function, whether it is of the package itself."""
    functions = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.FunctionDef)]
    found = {node for function in functions for node in ast.walk(function)}
    for node in found:
        if isinstance(node, ast.ImportFrom):
            yield node.level > 0 or (node.module or "").split(".")[0] == "inbounds"
        elif isinstance(node, ast.Import):
            yield node.names[0].name.split(".")[0] == "inbounds"


def trace_roads() -> list[tuple[int, ...]]:
    """For a mean, a plan and its record: modules, changes of room, drafts, derivations and certificates."""
    tracer = _load_tracer()
    counted = []
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        for folder in (Path(first), Path(second)):
            tracer.write_files(folder)
        for run in tracer.roads(Path(first)).values():
            run()
        for run in tracer.roads(Path(second)).values():
            tracer.forget_results()
            with tracer.tracing() as trace:
                run()
            counts = [trace.count(functions) for functions in tracer.COUNTED.values()]
            counted.append((len(trace.modules), trace.changes, *counts))
    return counted


def _load_tracer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("trace_road", ROOT / "tools" / "trace_road.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules["trace_road"] = module
    spec.loader.exec_module(module)
    return module


def read_page(text: str) -> dict[str, tuple[int, ...]]:
    """The figures in the last column of each row of the page."""
    found = {}
    for row in ROWS:
        cells = re.search(rf"^\| {re.escape(row)} \|.*\| ([^|]*) \|$", text, re.MULTILINE)
        found[row] = (
            () if cells is None else tuple(int(one.replace(",", "")) for one in re.findall(r"[\d,]*\d", cells[1]))
        )
    return found


def write_page(text: str, measured: dict[str, tuple[int, ...]]) -> str:
    """The page with these figures."""
    for row, figures in measured.items():
        words = ROWS[row].format(*(f"{figure:,}" for figure in figures))
        text = re.sub(rf"^(\| {re.escape(row)} \|.*\| )[^|]*( \|)$", rf"\g<1>{words}\g<2>", text, flags=re.MULTILINE)
    return text


def find_stale(text: str, measured: dict[str, tuple[int, ...]]) -> list[str]:
    """The rows of the page with a figure that is too far from the one that was counted."""
    written = read_page(text)
    return [row for row, figures in measured.items() if not _is_near(written[row], figures)]


def _is_near(written: tuple[int, ...], counted: tuple[int, ...]) -> bool:
    return len(written) == len(counted) and all(abs(a - b) <= NEAR * b for a, b in zip(written, counted, strict=True))


def main(check: bool) -> int:
    text, measured = PAGE.read_text("utf-8"), measure()
    if not check:
        PAGE.write_text(write_page(text, measured), "utf-8")
    stale = find_stale(PAGE.read_text("utf-8"), measured)
    for row in stale:
        print(f"docs/{PAGE.name}: {row}: counted {measured[row]}; run: make pages")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv))
