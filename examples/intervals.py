"""Know the error before, cover the truth after: preview, release, intervals, and multiple synthesis beside them.

    python examples/intervals.py [--rows 500] [--epsilon 0.1] [--out build/examples]

A generated table of smokers and ages. Prints what each release would cost and how far off it would be, what ε a wanted
error needs, how to share a budget; then releases, and says what the records alone tell: intervals, a test, a posterior.
Draws the curves of the preview to preview.png and preview.svg, and the intervals of 40 releases to intervals.svg.
"""

import argparse
from fractions import Fraction
from pathlib import Path

import altair as alt
import numpy as np

import inbounds as ib
from inbounds.inference import combine, difference, naive_wald, p_value, posterior, unbiased
from inbounds.targets import Target, Wanted, least_epsilon, least_rows, share_budget

SHARE = 0.2


def before(rows: int, epsilon: str) -> None:
    """What can be known before anything is spent."""
    smokers = {"column": "smoker", "level": "yes", "rows": rows, "epsilon": epsilon}
    print(ib.preview("proportion", plausible=(0.1, 0.3), **smokers), end="\n\n")
    wanted = Wanted("proportion", smokers, plausible=(0.1, 0.3))
    print(f"for 95% of releases within 0.01 of the table: epsilon {least_epsilon(wanted, Target(half_width=0.01))}")
    needed = least_rows(wanted, Target(half_width=0.02, kind="population"))
    print(f"for an interval of ±0.02 for the population: {needed} rows\n")
    ages = {"column": "age", "bounds": (18, 95), "rows": rows}
    plan = [wanted, Wanted("mean", ages, (40, 60)), Wanted("variance", ages, 400)]
    print(share_budget(plan, 1), end="\n\n")


def after(rows: int, epsilon: str) -> None:
    """What the records say, without the data."""
    rng = np.random.default_rng(2026)
    table = {"smoker": np.where(rng.random(rows) < SHARE, "yes", "no"), "age": rng.integers(18, 96, rows)}
    other = {"smoker": np.where(rng.random(rows) < SHARE + 0.1, "yes", "no")}
    share = ib.proportion(table, "smoker", level="yes", levels=["yes", "no"], epsilon=epsilon)
    print(share)
    for kind in ("noise", "population"):
        print(f"  {share.interval(kind=kind)}")
    guess = posterior(share, kind="population")
    print(f"  posterior mean {guess.mean:.4f}, median {guess.median:.4f}; without its bias {unbiased(share):.4f}")
    print(f"  p-value of 'at most 15% smoke': {p_value(share, 0.15):.4f}")
    later = ib.proportion(other, "smoker", level="yes", levels=["yes", "no"], epsilon=epsilon)
    print(f"difference to another table: {difference(later, share)}\n")
    mean = ib.mean(table, "age", bounds=(18, 95), epsilon=epsilon)
    variance = ib.variance(table, "age", bounds=(18, 95), epsilon=epsilon)
    print(mean)
    print(f"  {mean.interval()}\n  {mean.interval(variance=variance)}\n")
    fifth = Fraction(epsilon) / 5
    copies = combine(
        [ib.proportion(table, "smoker", level="yes", levels=["yes", "no"], epsilon=fifth) for _ in range(5)]
    )
    print(f"multiple synthesis, five copies at epsilon/5: {copies.value:.4f}, {copies.interval}")


def picture(rows: int, epsilon: str) -> alt.Chart:
    """Forty tables of one population: intervals that know the noise, and naive ones that miss the truth."""
    rng, found = np.random.default_rng(7), []
    for run in range(40):
        share = ib.proportion((rng.random(rows) < SHARE).astype(int), epsilon=epsilon)
        for name, made in (
            ("release.interval()", share.interval()),
            ("naive Wald, ignores the noise", naive_wald(share)),
        ):
            covers = bool(made.lower <= SHARE <= made.upper)
            found.append({"run": run, "way": name, "lower": made.lower, "upper": made.upper, "covers": covers})
    data = alt.InlineData(values=found)
    colour = alt.Color(
        "covers:N",
        title="holds the truth",
        scale=alt.Scale(domain=[True, False], range=["#0072B2", "#D55E00"]),
        legend=alt.Legend(orient="bottom"),
    )
    dash = alt.StrokeDash("covers:N", legend=None, scale=alt.Scale(domain=[True, False], range=[[1, 0], [4, 2]]))
    bars = (
        alt.Chart(data)
        .mark_rule(strokeWidth=3)
        .encode(
            x=alt.X("run:O", axis=None),
            y=alt.Y("lower:Q", title="share of smokers"),
            y2="upper:Q",
            color=colour,
            strokeDash=dash,
        )
    )
    truth = alt.Chart(data).mark_rule(color="#666").encode(y=alt.datum(SHARE))
    panels = alt.layer(bars, truth).properties(width=330, height=200)
    return panels.facet(column=alt.Column("way:N", title=None, sort="descending"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--epsilon", default="0.1")
    parser.add_argument("--out", type=Path, default=Path("build/examples"))
    arguments = parser.parse_args()
    before(arguments.rows, arguments.epsilon)
    after(arguments.rows, arguments.epsilon)
    arguments.out.mkdir(parents=True, exist_ok=True)
    seen = ib.preview("proportion", epsilon=arguments.epsilon, rows=arguments.rows, plausible=(0.1, 0.3)).plot()
    for name, chart in {"preview": seen, "intervals": picture(arguments.rows, arguments.epsilon)}.items():
        for ending in ("png", "svg"):
            chart.save(arguments.out / f"{name}.{ending}")
    print(f"\npictures are in {arguments.out}")


if __name__ == "__main__":
    main()
