"""Plans whose releases are drawn together, and noise of their certificates, drawn without the library's samplers."""

from fractions import Fraction

import numpy as np

from inbounds.plan.plan import Plan
from inbounds.privacy.norms import make_norm
from inbounds.tables.engine import tally
from inbounds.tables.sources import read


def plan_of(items, rows=1000, epsilon=1, columns=None, contributions=1, **budget):
    """A plan with items by name; columns are x0, x1, ... within 0 and 10, and g0, g1, ... of two levels."""
    columns = columns or {}
    for item in items.values():
        for name in item.get("columns", []):
            columns.setdefault(name, {"bounds": [0, 10]} if name[0] == "x" else {"levels": ["a", "b"]})
    return Plan.of(
        {
            "data": {"rows": rows, "contributions": contributions},
            "budget": {"epsilon": epsilon, **budget},
            "columns": columns,
            "release": [{"name": name, **item} for name, item in items.items()],
        }
    )


def mean(column, **more):
    return {"statistic": "mean", "columns": [column], **more}


def proportion(column, **more):
    return {"statistic": "proportion", "columns": [column], "level": "a", **more}


def scalars(number):
    """Half of them means, half of them proportions, of different columns."""
    return {f"r{i}": mean(f"x{i}") if i % 2 else proportion(f"g{i}") for i in range(number)}


MIXED = {
    "mean": mean("x0"),
    "share": proportion("g0"),
    "count": {"statistic": "count", "columns": ["g1"], "level": "b"},
    "sum": {"statistic": "sum", "columns": ["x3"]},
    "variance": {"statistic": "variance", "columns": ["x1"], "method": "moments"},
    "correlation": {"statistic": "correlation", "columns": ["x1", "x2"]},
}


def groups_of(plan):
    """Names of releases that share a draw, and those that are by themselves, as sets."""
    found = {}
    for name, draft in plan.drafts().items():
        found.setdefault(draft.record.group if draft.record.group is not None else name, set()).add(name)
    return list(found.values())


def exact_vector(draft, table):
    """The numbers of a draw before any noise."""
    (vector,) = draft.exact(*tally(read(table, draft.columns), list(draft.requests), most=draft.terms.rows))
    return vector


def norm_of(certificate, z):
    """How long a vector is in the certified norm."""
    longest = max(abs(Fraction(x)) for x in z)
    for start, rows in make_norm(certificate.blocks).parts if certificate.blocks else ():
        for weights, limit in rows:
            moved = sum(c * x for c, x in zip(weights, z[start:], strict=False))
            longest = max(longest, Fraction(abs(moved)) / limit)
    return longest


def norm_noise(certificate, rng, draws):
    """Noise of a joint draw on the line: uniform in the unit ball, times a gamma variable of one more dimension.

    Points of the ball are those of a cube that all rows of the norm allow.
    """
    dimension = certificate.dimension
    parts = make_norm(certificate.blocks).parts if certificate.blocks else ()
    kept = np.empty((0, dimension))
    while len(kept) < draws:
        points = rng.uniform(-1, 1, (20_000, dimension))
        for start, rows in parts:
            weights = np.array([row for row, _ in rows], dtype=float)
            limits = np.array([limit for _, limit in rows], dtype=float)
            within = points[:, start : start + weights.shape[1]] @ weights.T
            points = points[(np.abs(within) <= limits).all(axis=1)]
        kept = np.concatenate([kept, points])
    radius = rng.gamma(dimension + 1, float(certificate.spread), (draws, 1))
    return kept[:draws] * radius


def noise_of(draft, rng, draws):
    """Noise of the numbers that a release is made of, in the units of a mean or of moments in halves."""
    record = draft.record
    law = record.parts[0]
    if law.dimension == 1:
        return rng.laplace(0, float(law.spread * record.units[0]), (draws, 1))
    places = record.places or range(law.dimension)
    return norm_noise(law, rng, draws)[:, list(places)] * np.array([float(unit) for unit in record.units])
