"""Previews: forecasts against simulated releases, shares of a budget on random plans, and how long a plan takes.

python bench/forecasts.py [--runs 10000] [--plans 1000] [--part errors shares time]
"""

import sys
from pathlib import Path

# As a script its own folder would hide the standard library's `statistics`.
sys.path[0] = str(Path(__file__).parents[1])

import argparse
import time
from fractions import Fraction

import numpy as np
from tests.forecasts.plans import simulated, wanted
from tests.forecasts.test_targets import POOL

from inbounds.forecasts.preview import Wanted, forecast_errors, preview_wanted
from inbounds.targets import Target, least_epsilon, share_budget


def errors(runs: int) -> None:
    """RMSE and half-width as forecast over those of real draws from the release's own law (target 1 ± .05)."""
    print(f"Forecasts over {runs} releases at ε = 0.5, and RMSE at the least ε for 0.7 of it over what was wanted")
    worst = 0.0
    for name, one in wanted().items():
        one = one.but(epsilon=0.5)
        seen, (rmse, half) = forecast_errors(one), simulated(one, runs)
        target = Target(rmse=0.7 * seen.typical)
        epsilon = least_epsilon(one, target)
        again, _ = simulated(one.but(epsilon=epsilon), runs)
        worst = max(worst, abs(seen.typical / rmse - 1))
        figures = f"{seen.typical / rmse:6.3f} {seen.reach / half:6.3f}  {epsilon:7.3g} {again / target.wanted:6.3f}"
        print(f"{name:38s} {figures}", flush=True)
    print(f"largest deviation of an RMSE: {worst:.1%}")


def shares(plans: int) -> None:
    rng, gains, above = np.random.default_rng(1), [], 0
    for _ in range(plans):
        chosen = [POOL[i] for i in rng.integers(0, len(POOL), rng.integers(2, 6))]
        epsilon = Fraction(int(10 ** rng.uniform(1, 4)), 1000)
        weights = None if rng.random() < 0.5 else np.exp(rng.normal(0, 2, len(chosen))).tolist()
        made = share_budget(chosen, epsilon, weights)
        gains.append(1 - made.total / made.equal_total)
        above += made.total > made.equal_total
    quantiles = ", ".join(f"{x:.1%}" for x in np.quantile(gains, [0.05, 0.5, 0.95]))
    print(f"\n{plans} random plans: above equal shares {above} times; gain at 5, 50, 95% of plans: {quantiles}")


def fifty() -> list[Wanted]:
    """A plan of fifty statistics: thirty numbers, twelve tables, four grouped means, four 4 × 4 matrices."""
    rows, levels = {"rows": 20_000, "epsilon": "1/50"}, ["north", "south", "east", "west"]
    four = {name: (0, 10 * (i + 1)) for i, name in enumerate("abcd")}
    plan = [Wanted("mean", {"bounds": (0, i + 1), **rows}) for i in range(10)]
    plan += [Wanted("proportion", {"level": "yes", **rows}, 0.05 * (i + 1)) for i in range(10)]
    plan += [Wanted("variance", {"bounds": (0, i + 1), **rows}) for i in range(5)]
    plan += [Wanted("standard_deviation", {"bounds": (0, i + 1), **rows}, 0.2) for i in range(5)]
    plan += [
        Wanted("histogram", {"levels": levels, **rows}),
        Wanted("crosstab", {"levels": {"r": levels, "s": [1, 2]}, **rows}),
    ] * 3
    plan += [
        Wanted("proportions", {"levels": levels, "repair": how, **rows}) for how in ("project", "rescale", "tree")
    ] * 2
    plan += [Wanted("mean", {"bounds": (0, i + 1), "by": "r", "levels": levels, **rows}) for i in range(4)]
    plan += [Wanted(name, {"bounds": four, **rows}) for name in ("covariance", "correlation")] * 2
    return plan


def timed() -> None:
    plan = fifty()
    [preview_wanted(one) for one in plan[::7]]
    start = time.perf_counter()
    made = [preview_wanted(one) for one in plan]
    took = time.perf_counter() - start
    options = sum(len(one.options) for one in made)
    print(f"\nA plan of {len(plan)} statistics, {options} ways to release them: {1000 * took:.0f} ms (target 500)")
    kinds: dict[str, list[float]] = {}
    for one in plan:
        start = time.perf_counter()
        preview_wanted(one)
        kinds.setdefault(one.statistic, []).append(time.perf_counter() - start)
    print("  " + ", ".join(f"{name} {1000 * np.mean(times):.1f}" for name, times in kinds.items()) + " ms each")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--plans", type=int, default=1000)
    parser.add_argument("--part", nargs="*", choices=["errors", "shares", "time"], default=["errors", "shares", "time"])
    arguments = parser.parse_args()
    if "time" in arguments.part:
        timed()
    if "errors" in arguments.part:
        errors(arguments.runs)
    if "shares" in arguments.part:
        shares(arguments.plans)


if __name__ == "__main__":
    main()
