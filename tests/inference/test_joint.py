"""Intervals of releases that were drawn together: they hold the truth as often as they say."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from inbounds.grid.scale import Scale
from inbounds.road.draw import take
from tests.plan.joint import exact_vector, mean, norm_noise, plan_of, proportion

ROWS = 200
ITEMS = {
    "mean": mean("x0"),
    "share": proportion("g0"),
    "count": {"statistic": "count", "columns": ["g1"], "level": "a"},
    "mean of x1": mean("x1"),
    "variance": {"statistic": "variance", "columns": ["x1"], "method": "moments"},
    "correlation": {"statistic": "correlation", "columns": ["x1", "x2"]},
}
# Simulated intervals are made of four thousand draws each.
SLOW = ("variance", "correlation")


def table(rng, near=False):
    """Normal columns within their bounds; with ``near`` numbers at an end of them."""
    x1, x2 = rng.multivariate_normal([5, 5], [[2.25, 1.35], [1.35, 2.25]], ROWS).T
    share = 0.0 if near else 0.3
    groups = {name: np.where(np.arange(ROWS) < share * ROWS, "a", "b") for name in ("g0", "g1")}
    x0 = np.full(ROWS, 0.02) if near else rng.uniform(2, 6, ROWS)
    return {"x0": x0, "x1": np.clip(x1, 0, 10), "x2": np.clip(x2, 0, 10), **groups}


def truths(data):
    return {
        "mean": data["x0"].mean(),
        "share": (data["g0"] == "a").mean(),
        "count": (data["g1"] == "a").sum(),
        "mean of x1": data["x1"].mean(),
        "variance": data["x1"].var(ddof=1),
        "correlation": np.corrcoef(data["x1"], data["x2"])[0, 1],
    }


def drawn(drafts, data, rng, times):
    """Releases with noise of the certified law, drawn here, on its lattice; all members of the vector together."""
    first = next(iter(drafts.values()))
    law = first.record.certificate
    exact = np.array([float(x) for x in exact_vector(first, data)])
    for vector in exact + norm_noise(law, rng, times):
        noisy = tuple(law.origin + round((Fraction(x) - law.origin) / law.step) * law.step for x in vector.tolist())
        whole = replace(first.record, noisy=noisy)
        yield {name: take(whole, draft) for name, draft in drafts.items()}


def held(interval, truth, name):
    low, high = interval
    if name == "correlation":
        low, high = low[0][1], high[0][1]
    return low <= truth <= high


def coverage(drafts, seed, times, names, near=False, factor=1.0):
    rng = np.random.default_rng(seed)
    data = table(rng, near)
    known, hits = truths(data), dict.fromkeys(names, 0)
    for made in drawn(drafts, data, rng, times):
        for name in names:
            one = made[name]
            if factor != 1:
                one = replace(one, noisy=tuple(factor * x for x in one.noisy))
            hits[name] += held(one.interval(kind="noise"), known[name], name)
    return {name: hit / times for name, hit in hits.items()}


@pytest.fixture(scope="module")
def drafts():
    plan = plan_of(dict(ITEMS), rows=ROWS, epsilon=3)
    found = plan.drafts()
    assert len({draft.record.group for draft in found.values()}) == 1
    assert None not in {draft.record.group for draft in found.values()}
    return found


QUICK = [name for name in ITEMS if name not in SLOW]


@pytest.mark.parametrize("near", [False, True])
def test_numbers_are_covered(drafts, near):
    """Exact intervals of the noise: 95%, and more at a bound; seeds are fixed, 6 standard errors are 4%."""
    found = coverage(drafts, 11, 1000, QUICK, near)
    assert min(found.values()) > 0.91
    assert near or max(found.values()) < 0.99


def test_less_noise_than_certified_would_show(drafts):
    """The control: numbers that have a fifth more noise than is certified are not covered as often."""
    rng = np.random.default_rng(12)
    data = table(rng)
    wide = {name: replace(draft, record=wider(draft.record)) for name, draft in drafts.items()}
    hits = [
        held(take_law(one["share"], drafts["share"]).interval(kind="noise"), truths(data)["share"], "share")
        for one in drawn(wide, data, rng, 1000)
    ]
    assert np.mean(hits) < 0.9


def wider(record):
    law = record.certificate
    return replace(
        record, certificate=replace(law, law=replace(law.law, scale=Scale(law.exponent, law.divisor * 2 // 3)))
    )


def take_law(made, draft):
    return replace(made, certificate=draft.record.certificate)


@pytest.mark.parametrize(("name", "times", "least"), [("variance", 400, 0.88), ("correlation", 60, 0.8)])
def test_what_is_made_of_moments_is_covered(drafts, name, times, least):
    """Simulated intervals, of numbers that other releases have in common; bounds are six standard errors below 95%."""
    assert coverage(drafts, 13, times, [name])[name] > least
