"""Run mutmut on what keeps the promise, one module after another, each against the tests that are aimed at it.

    python tools/mutants.py [--children N] [--out build/mutants] [module ...]

mutmut can only be told one selection of tests for all modules, and most tests reach the innermost ones. So each module
gets a folder with links to the sources and the tests, and with its own lines in `[tool.mutmut]`. There `mutmut results`
and `mutmut show NAME` say more. A module whose folder has a result is left out; remove the folder to try it again.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
# The modules that decide privacy, by importance, each with the tests that are written for it.
AIMED = {
    "grid/scale": ["tests/grid/test_scale.py"],
    "grid/law": ["tests/grid/test_law.py", "tests/grid/test_staircase.py"],
    "grid/joint": ["tests/grid/test_joint.py", "tests/grid/test_zero_sum.py"],
    "grid/exponential": ["tests/grid/test_exponential.py"],
    "grid/together": ["tests/grid/test_together.py"],
    "grid/halving": ["tests/grid/test_exponential.py"],
    "grid/nodes": ["tests/grid/test_exponential.py"],
    "grid/sampler": ["tests/grid/test_sampler.py"],
    "grid/geometric": ["tests/grid/test_sampler.py"],
    "grid/sides": ["tests/grid/test_sampler.py"],
    "grid/polyhedral": ["tests/grid/test_polyhedral.py"],
    "grid/staircase": ["tests/grid/test_staircase.py"],
    "grid/stirling": ["tests/grid/test_zero_sum.py"],
    "grid/interval": ["tests/grid/test_interval.py"],
    "grid/entropy": ["tests/grid/test_entropy.py"],
    "privacy/certificate": ["tests/privacy/test_certificate.py", "tests/privacy/test_norms.py"],
    "privacy/exact": ["tests/privacy/test_exact.py"],
    "privacy/certified": ["tests/privacy/test_certificate.py", "tests/release/test_values.py"],
    "ledger/chain": ["tests/ledger"],
    "ledger/spending": ["tests/ledger"],
    "ledger/sqlite": ["tests/ledger"],
    "ledger/results": ["tests/ledger"],
    "ledger/history": ["tests/ledger"],
    "ledger/access": ["tests/ledger"],
    "ledger/account": ["tests/ledger"],
    "ledger/amounts": ["tests/ledger"],
    "ledger/names": ["tests/ledger"],
    "ledger/reports": ["tests/ledger"],
    "ledger/store": ["tests/ledger"],
    "road/draw": ["tests/release/test_values.py"],
}
# Tests of those files that take long: thousands of draws, or whole tables by enumeration.
LONG = [
    "tests/grid/test_joint.py::test_points_follow_the_law",
    "tests/grid/test_joint.py::test_the_radius_on_every_path",
    "tests/grid/test_joint.py::test_total_mse_is_that_of_the_k_norm",
    "tests/grid/test_joint.py::test_total_mse_of_zero_sum_noise",
    "tests/grid/test_joint.py::test_zero_sum_points_follow_the_law",
    "tests/grid/test_law.py::test_calibrated_mechanisms_keep_epsilon_by_enumeration",
    "tests/grid/test_law.py::test_enumeration_of_larger_grids",
    "tests/grid/test_law.py::test_enumeration_rejects_planted_defects",
    "tests/grid/test_sampler.py::test_ten_million_draws",
    "tests/grid/test_staircase.py::test_a_million_draws",
    "tests/grid/test_zero_sum.py::test_both_ways_have_one_law_of_the_sum_of_magnitudes",
    "tests/grid/test_zero_sum.py::test_vectors_by_totals_follow_the_law",
]


def prepare(module: str, folder: Path) -> None:
    """Make the folder of a module: links to the project, and the settings of mutmut for this module."""
    folder.mkdir(parents=True)
    for name in ("src", "tests", "README.md", "docs", "examples"):
        (folder / name).symlink_to(ROOT / name)
    long = [f"--deselect={test}" for test in LONG if test.partition("::")[0] in AIMED[module]]
    own = {"only_mutate": [f"src/inbounds/{module}.py"], "pytest_add_cli_args_test_selection": [*AIMED[module], *long]}
    lines = ["[tool.mutmut]", *(f"{name} = {json.dumps(value)}" for name, value in own.items())]
    settings = (ROOT / "pyproject.toml").read_text("utf-8").replace("[tool.mutmut]", "\n".join(lines))
    (folder / "pyproject.toml").write_text(settings, "utf-8")


def run(folder: Path, *words: str) -> None:
    """Run mutmut in a folder."""
    subprocess.run([str(Path(sys.executable).with_name("mutmut")), *words], cwd=folder, check=True)


def read_counts(folder: Path) -> dict[str, int] | None:
    """How many mutants there are of each outcome, None where mutmut did not come to its end."""
    path = folder / "mutants" / "mutmut-cicd-stats.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def describe(module: str, counts: dict[str, int]) -> str:
    """A row of the table: a mutant that runs for ever, or ends the process, is noticed."""
    late = counts["timeout"] + counts["segfault"]
    survived = counts["total"] - counts["killed"] - late
    rate = 100 * (counts["total"] - survived) / max(counts["total"], 1)
    cells = f"`{module}.py`", counts["total"], counts["killed"], late, survived, f"{rate:.1f} %"
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    """Try the modules that are named, or all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("modules", nargs="*", default=[], metavar="module")
    parser.add_argument("--children", type=int, default=2, help="processes at a time")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "mutants", help="folder of the results")
    words = parser.parse_args()
    found: dict[str, dict[str, int]] = {}
    for module in words.modules or AIMED:
        folder = words.out / module
        if not folder.exists():
            prepare(module, folder)
        if read_counts(folder) is None:
            run(folder, "run", "--max-children", str(words.children))
            run(folder, "export-cicd-stats")
        found[module] = read_counts(folder) or {}
    print("| module | mutants | killed | timed out | survived | noticed |\n|---|---:|---:|---:|---:|---:|")
    for module, counts in found.items():
        print(describe(module, counts))
    everything = {name: sum(counts[name] for counts in found.values()) for name in next(iter(found.values()))}
    print(describe("all", everything).replace("`all.py`", "**all**"))


if __name__ == "__main__":
    main()
