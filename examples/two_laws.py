"""Draw the two laws of a proportion and say what each costs.

    python examples/two_laws.py [--n 50] [--epsilon 0.1] [--share 0.1] [--out build/examples]

A proportion of n records is released with Laplace noise and kept in [0, 1] by BIT (clamp) or truncation (renormalise),
at the paper's scale λ = δ/ε and at the least scale that really is ε-private. Prints density at s, atoms, bias, RMSE and
exact privacy loss as a table and draws them to two-laws.png and two-laws.svg.
"""

import argparse
import math
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

from inbounds import Mechanism, calibrate, privacy_loss, sensitivity

NAMES = {"bit": "BIT (clamp)", "truncated": "truncated (renormalise)"}
SCALES = {"paper": "the paper's scale δ/ε", "exact": "the scale that keeps ε"}
LEGEND = alt.Legend(orient="bottom", symbolType="stroke", symbolSize=400, symbolStrokeWidth=2)
# Okabe and Ito's blue and vermilion, and a dash: apart for the colour-blind and in grey.
COLOUR = alt.Color(
    "law:N",
    title="bounding",
    legend=LEGEND,
    scale=alt.Scale(domain=list(NAMES.values()), range=["#0072B2", "#D55E00"]),
)
DASH = alt.StrokeDash(
    "law:N", title="bounding", legend=LEGEND, scale=alt.Scale(domain=list(NAMES.values()), range=[[1, 0], [6, 3]])
)


def mechanisms(n: int, epsilon: float) -> dict[tuple[str, str], Mechanism]:
    """The four mechanisms: two boundings at two scales."""
    delta = sensitivity.proportion(n)
    return {
        (scale, bounding): calibrate(
            "laplace", bounding, bounds=(0, 1), sensitivity=delta, epsilon=epsilon, calibration=scale
        )
        for scale in SCALES
        for bounding in NAMES
    }


def table(laws: dict[tuple[str, str], Mechanism], n: int, epsilon: float, share: float) -> str:
    head = f"{'scale':24s} {'bounding':25s} {'λ':>7s} {'f(s)':>6s} {'P(0)':>6s} {'P(1)':>6s}"
    head += f" {'bias':>8s} {'RMSE':>7s} {'worst RMSE':>10s} {'privacy loss':>12s}"
    rows = [
        f"A proportion of n = {n} records, true value s = {share}, promised ε = {epsilon}",
        "",
        head,
        "-" * len(head),
    ]
    for (scale, bounding), law in laws.items():
        loss = privacy_loss(law, sensitivity.proportion(n))
        low, high = law.atoms(at=share)
        rows.append(
            f"{SCALES[scale]:24s} {NAMES[bounding]:25s} {law.noise.scale:7.4f} {law.pdf(share, at=share):6.3f}"
            f" {low:6.3f} {high:6.3f} {law.bias(share):+8.4f} {math.sqrt(law.mse(share)):7.4f}"
            f" {math.sqrt(law.worst_mse()):10.4f} {loss:8.4f} {'ok' if loss <= epsilon * (1 + 1e-12) else '> ε'}"
        )
    return "\n".join(rows)


def chart(laws: dict[tuple[str, str], Mechanism], n: int, epsilon: float, share: float) -> Any:
    """Density with atoms, bias and MSE, one column a scale, each row on one axis."""
    grid = np.linspace(0, 1, 201)
    values = {
        key: {"density": law.pdf(grid, at=share), "bias": law.bias(grid), "mse": law.mse(grid)}
        for key, law in laws.items()
    }
    spans = {
        field: [min(0.0, *(v[field].min() for v in values.values())), max(v[field].max() for v in values.values())]
        for field in ("density", "bias", "mse")
    }
    columns = []
    for scale, title in SCALES.items():
        curves = [
            {"x": x, "law": name} | {field: float(v[i]) for field, v in values[scale, bounding].items()}
            for bounding, name in NAMES.items()
            for i, x in enumerate(grid)
        ]
        masses = zip((0.0, 1.0), laws[scale, "bit"].atoms(at=share), strict=True)
        atoms = [{"x": x, "mass": float(m), "label": f"P = {m:.2f}", "law": NAMES["bit"]} for x, m in masses]
        losses = [privacy_loss(laws[scale, bounding], sensitivity.proportion(n)) for bounding in NAMES]
        heading = f"{title}: real ε {losses[0]:.3f} (BIT), {losses[1]:.3f} (truncated)"
        columns.append(_column(curves, atoms, spans, share).properties(title=heading))
    title = f"Released proportion, n = {n}, promised ε = {epsilon}, true value {share}"
    return alt.hconcat(*columns, title=alt.Title(title, anchor="middle")).configure_axis(grid=False)


def _column(curves: list[dict[str, Any]], atoms: list[dict[str, Any]], spans: dict[str, Any], share: float) -> Any:
    data = alt.Data(values=curves)
    size = {"width": 330, "height": 150}

    def lines(field: str, title: str, across: str, pad: float = 0.0) -> Any:
        x = alt.X("x:Q", title=across, scale=alt.Scale(domain=[-pad, 1 + pad], nice=False))
        y = alt.Y(f"{field}:Q", title=title, scale=alt.Scale(domain=spans[field]))
        return alt.Chart(data, **size).mark_line().encode(x=x, y=y, color=COLOUR, strokeDash=DASH)

    bars = alt.Chart(alt.Data(values=atoms), **size).encode(x="x:Q", y="mass:Q", color=COLOUR)
    stems = bars.mark_bar(size=5) + bars.mark_text(dy=-8).encode(text="label:N")
    truth = alt.Chart(alt.Data(values=[{"x": share}]), **size).mark_rule(color="grey", strokeDash=[2, 2])
    top = lines("density", "density", "released value", pad=0.06) + stems + truth.encode(x="x:Q")
    return top & lines("bias", "bias", "true value s") & lines("mse", "mean squared error", "true value s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=50, help="number of records")
    parser.add_argument("--epsilon", type=float, default=0.1, help="the promise")
    parser.add_argument("--share", type=float, default=0.1, help="true value of the proportion")
    parser.add_argument("--out", type=Path, default=Path("build/examples"), help="folder for the picture")
    options = parser.parse_args()
    try:
        laws = mechanisms(options.n, options.epsilon)
        text = table(laws, options.n, options.epsilon, options.share)
    except (TypeError, ValueError) as error:
        parser.error(str(error))
    print(text)
    options.out.mkdir(parents=True, exist_ok=True)
    picture = chart(laws, options.n, options.epsilon, options.share)
    for ending in ("png", "svg"):
        path = options.out / f"two-laws.{ending}"
        picture.save(path, **({"ppi": 150} if ending == "png" else {}))
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
