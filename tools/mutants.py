"""Run mutmut on what keeps the promise, one module after another, each against the tests that are aimed at it.

    python tools/mutants.py [--children N] [--out build/mutants] [--sample '*3'] [module ...]

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
_LEDGER = [f"tests/ledger/test_{name}.py" for name in ("guarantees", "ledger", "messages", "store")]
_CHAIN = [*_LEDGER, "tests/ledger/test_chain.py", "tests/ledger/test_checkpoints.py"]
# The modules that decide privacy, by importance, each with the tests that are written for it.
AIMED = {
    "grid/scale": ["tests/grid/test_scale.py"],
    "grid/law": ["tests/grid/test_law.py"],
    "privacy/exact": ["tests/privacy/test_exact.py"],
    "privacy/certificate": ["tests/privacy/test_certificate.py"],
    "grid/joint": ["tests/grid/test_joint.py", "tests/grid/test_zero_sum.py", "tests/grid/test_geometric.py"],
    "grid/exponential": ["tests/grid/test_exponential.py"],
    "grid/geometric": ["tests/grid/test_sampler.py", "tests/grid/test_geometric.py"],
    "grid/sides": ["tests/grid/test_sampler.py", "tests/grid/test_sides.py"],
    "grid/sampler": ["tests/grid/test_sampler.py", "tests/grid/test_sides.py"],
    "ledger/spending": _LEDGER,
    "ledger/draws": [*_LEDGER, "tests/ledger/test_drawn_once.py", "tests/app/test_paid.py"],
    "ledger/turns": ["tests/app/test_paid.py"],
    "ledger/limits": [*_LEDGER, "tests/ledger/test_reading.py"],
    "ledger/request": [*_LEDGER, "tests/ledger/test_results.py"],
    "ledger/chain": [*_CHAIN, "tests/ledger/test_hostile_ledger.py"],
    "ledger/entry": [*_CHAIN, "tests/ledger/test_hostile_ledger.py"],
    "ledger/standing": [*_CHAIN, "tests/ledger/test_reading.py"],
    "grid/polyhedral": ["tests/grid/test_polyhedral.py", "tests/grid/test_polyhedral_parts.py"],
    "grid/staircase": ["tests/grid/test_staircase.py"],
    "grid/interval": ["tests/grid/test_interval.py"],
    "privacy/certified": ["tests/privacy/test_certified.py"],
    "grid/halving": ["tests/grid/test_halving.py", "tests/grid/test_exponential.py"],
    "grid/nodes": ["tests/grid/test_nodes.py", "tests/grid/test_exponential.py"],
    "grid/together": ["tests/grid/test_together.py", "tests/grid/test_together_parts.py"],
    "grid/stirling": ["tests/grid/test_stirling.py", "tests/grid/test_zero_sum.py"],
    "grid/entropy": ["tests/grid/test_entropy.py"],
    "road/draw": ["tests/release/test_draw.py"],
    "ledger/sqlite": [
        *_LEDGER,
        "tests/ledger/test_sqlite.py",
        "tests/ledger/test_heads.py",
        "tests/ledger/test_hostile_ledger.py",
    ],
    "ledger/results": [*_LEDGER, "tests/ledger/test_results.py", "tests/ledger/test_hostile_ledger.py"],
    "ledger/history": [*_LEDGER, "tests/ledger/test_reading.py", "tests/ledger/test_results.py"],
    "ledger/access": [*_CHAIN, "tests/ledger/test_reading.py"],
    "ledger/account": [*_LEDGER, "tests/ledger/test_reading.py"],
    "ledger/amounts": [*_LEDGER, "tests/ledger/test_reading.py"],
    "ledger/names": ["tests/ledger/test_names.py", "tests/ledger/test_reading.py"],
    "ledger/registry": ["tests/ledger/test_reports.py"],
    "ledger/reports": [*_LEDGER, "tests/ledger/test_reports.py"],
    "ledger/store": _LEDGER,
}
# Tests in those files that take long, with thousands of draws, whole tables by enumeration, or other processes.
LONG = [
    "tests/grid/test_exponential.py::test_draws_by_machine_words_follow_it_too",
    "tests/grid/test_exponential.py::test_the_loss_over_all_neighbours_is_within_the_certificate",
    "tests/grid/test_exponential.py::test_shifted_ranks_lose_no_more",
    "tests/grid/test_exponential.py::test_tilted_scores_lose_no_more",
    "tests/grid/test_joint.py::test_points_follow_the_law",
    "tests/grid/test_joint.py::test_the_radius_on_every_path",
    "tests/grid/test_joint.py::test_total_mse_is_that_of_the_k_norm",
    "tests/grid/test_joint.py::test_total_mse_of_zero_sum_noise",
    "tests/grid/test_joint.py::test_zero_sum_points_follow_the_law",
    "tests/grid/test_law.py::test_calibrated_mechanisms_keep_epsilon_by_enumeration",
    "tests/grid/test_law.py::test_enumeration_of_larger_grids",
    "tests/grid/test_law.py::test_enumeration_rejects_planted_defects",
    "tests/grid/test_law.py::test_open_sides",
    "tests/grid/test_polyhedral.py::test_a_million_proposals_follow_the_law",
    "tests/grid/test_polyhedral.py::test_draws_follow_the_law",
    "tests/grid/test_polyhedral.py::test_proposals_follow_the_law_point_by_point",
    "tests/grid/test_polyhedral.py::test_radii_follow_their_law",
    "tests/grid/test_sampler.py::test_few_and_many_have_the_same_law",
    "tests/grid/test_sampler.py::test_inversion_on_every_word",
    "tests/grid/test_sampler.py::test_laplace_on_every_path",
    "tests/grid/test_sampler.py::test_ten_million_draws",
    "tests/grid/test_sampler.py::test_truncation_on_every_path",
    "tests/grid/test_staircase.py::test_a_million_draws",
    "tests/grid/test_staircase.py::test_errors_on_a_grid_are_sums_over_it",
    "tests/grid/test_staircase.py::test_few_draws_have_the_law_of_many",
    "tests/grid/test_staircase.py::test_the_loss_is_the_worst_over_neighbours_and_outputs",
    "tests/grid/test_staircase.py::test_worst_errors_are_not_exceeded",
    "tests/grid/test_zero_sum.py::test_both_ways_have_one_law_of_the_sum_of_magnitudes",
    "tests/grid/test_zero_sum.py::test_vectors_by_totals_follow_the_law",
    "tests/ledger/test_hostile_ledger.py::test_hostile_ledgers_are_refused_at_once",
    "tests/ledger/test_hostile_ledger.py::test_our_own_ledger_is_not_hostile",
    "tests/ledger/test_ledger.py::test_64_processes_race_for_the_last_unit",
    "tests/ledger/test_ledger.py::test_a_crash_within_a_commit_is_rolled_back",
    "tests/ledger/test_ledger.py::test_no_alarm_while_others_write",
    "tests/ledger/test_ledger.py::test_processes_that_ask_for_the_same",
    "tests/ledger/test_ledger.py::test_whole_billionths_never_pass_a_limit",
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
    if not path.exists():
        return None
    found = json.loads(path.read_text("utf-8"))
    all_, killed, late = found.pop("total"), found.pop("killed"), found.pop("timeout") + found.pop("segfault")
    return {"mutants": all_, "killed": killed, "late": late, "survived": sum(found.values())}


def describe(name: str, counts: dict[str, int]) -> str:
    """A row of the table: a mutant that runs for ever, or ends the process, is noticed."""
    noticed = counts["killed"] + counts["late"]
    tried = noticed + counts["survived"]
    cells = name, counts["mutants"], tried, counts["killed"], counts["late"], counts["survived"]
    return f"| {' | '.join(map(str, cells))} | {100 * noticed / max(tried, 1):.1f} % |"


def main() -> None:
    """Try the modules that are named, or all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("modules", nargs="*", default=[], metavar="module")
    parser.add_argument("--children", type=int, default=2, help="processes at a time")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "mutants", help="folder of the results")
    parser.add_argument("--sample", action="append", default=[], help="names, as '*3' for every tenth or so")
    words = parser.parse_args()
    found: dict[str, dict[str, int]] = {}
    for module in words.modules or AIMED:
        folder = words.out / module
        if not folder.exists():
            prepare(module, folder)
        if read_counts(folder) is None:
            run(folder, "run", "--max-children", str(words.children), *words.sample)
            run(folder, "export-cicd-stats")
        found[module] = read_counts(folder) or {}
    print("| module | mutants | tried | killed | timed out | survived | noticed |\n|---|---:|---:|---:|---:|---:|---:|")
    for module, counts in found.items():
        print(describe(f"`{module}.py`", counts))
    names = ("mutants", "killed", "late", "survived")
    print(describe("**all**", {name: sum(counts[name] for counts in found.values()) for name in names}))


if __name__ == "__main__":
    main()
