"""Plot a law: its density over the released value, and its atoms as bars at the bounds."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds._charts import as_picture

if TYPE_CHECKING:
    import altair

    from inbounds.laws.mechanism import Mechanism


_COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00"]
_DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [1, 3]]


@as_picture
def plot(law: "Mechanism", at: Any = None) -> "altair.LayerChart":
    """Plot densities for one or a few true values: by default one next to the lower bound and one in the middle."""
    import altair as alt
    import polars as pl

    low, high = _window(law)
    places = np.atleast_1d([low + 0.05 * (high - low), (low + high) / 2] if at is None else np.asarray(at, float))
    x = np.linspace(low, high, 400)
    curves = [
        {"released": float(value), "density": float(height), "true value": f"{place:.4g}"}
        for place in places
        for value, height in zip(x, law.pdf(x, at=place), strict=True)
    ]
    atoms = [
        {"released": end, "probability": float(chance), "true value": f"{place:.4g}"}
        for place in places
        for end, chance in zip(law.bounds, law.atoms(at=place), strict=True)
        if chance > 0
    ]
    # Lines differ in colour and in dashes.
    colour = alt.Color("true value:N").scale(range=_COLOURS)
    dash = alt.StrokeDash("true value:N", legend=None).scale(range=_DASHES)
    horizontal = alt.X("released:Q", title="released value").scale(domain=[low, high])
    lines = (
        alt.Chart(pl.DataFrame(curves))
        .mark_line()
        .encode(x=horizontal, y=alt.Y("density:Q", title="density"), color=colour, strokeDash=dash)
    )
    layers: list[Any] = [lines]
    if atoms:
        bars = (
            alt.Chart(pl.DataFrame(atoms))
            .mark_circle(size=120)
            .encode(
                x=horizontal,
                y=alt.Y("probability:Q", title="probability at a bound").scale(domain=[0, 1]),
                color=colour,
                tooltip=["released", "probability", "true value"],
            )
        )
        layers.append(bars)
    chart: alt.LayerChart = (
        alt.layer(*layers).resolve_scale(y="independent").properties(width=420, height=240, title=repr(law))
    )
    return chart


def _window(law: "Mechanism") -> tuple[float, float]:
    """The bounds, or six scales where a side is open."""
    lower, upper = law.bounds
    reach = 6 * float(law.noise.scale)
    if not math.isfinite(lower) and not math.isfinite(upper):
        return -reach, reach
    if not math.isfinite(lower):
        return upper - 2 * reach, upper
    return lower, upper if math.isfinite(upper) else lower + 2 * reach
