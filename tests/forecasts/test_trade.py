"""The trade of noise against clipping: figures of a preview beside those of tables."""

import math

import numpy as np
import pytest

import inbounds as ib

MEAN = {"bounds": (0, 100_000), "epsilon": 1, "rows": 20_000}


@pytest.mark.claim("trade-clipping")
@pytest.mark.parametrize("heavy", [False, True])
def test_clipping_is_that_of_the_tail(heavy):
    """Records with such a tail above 100,000, at the quantiles of its law: their means are moved by as much."""
    shares = (np.arange(400_000) + 0.5) / 400_000
    share, excess = 0.02, 25_000
    tail = 100_000 * shares ** (-1 / 5) - 100_000 if heavy else -excess * np.log(shares)
    seen = ib.preview("mean", **MEAN).trade(beyond=share, excess=excess, heavy=heavy)
    for one in seen.widths:
        if one.times < 1:
            continue
        clipped = share * np.maximum(tail + 100_000 - one.bounds[1], 0).mean()
        assert math.isclose(one.clipping, clipped, rel_tol=0.03, abs_tol=1e-3)
    wrong = ib.preview("mean", **MEAN).trade(beyond=share, excess=excess, heavy=not heavy)
    assert not math.isclose(wrong.widths[-1].clipping, seen.widths[-1].clipping, rel_tol=0.5)


@pytest.mark.claim("trade-clipping")
def test_noise_is_that_of_a_preview_of_these_bounds():
    seen = ib.preview("mean", **MEAN).trade(times=(1, 10))
    each = [ib.preview("mean", **MEAN | {"bounds": one.bounds}).forecast.typical for one in seen.widths]
    assert [one.noise for one in seen.widths] == pytest.approx(each)
    assert seen.gain() == pytest.approx(10, rel=0.01)
    assert all(one.clipping is None for one in seen.widths)
    assert "say both as beyond= and excess=" in str(seen)


def test_the_best_width_lies_between():
    seen = ib.preview("mean", **MEAN).trade(beyond=0.004, excess=20_000)
    assert seen.best.times == 2
    assert "0.004 of the records lie above the bound" in str(seen)
    with pytest.raises(ValueError, match="times must be one of"):
        seen.gain(3)


def test_of_released_bounds_the_share_beyond_is_known():
    x = np.random.default_rng(0).lognormal(10, 0.6, 20_000)
    found = ib.bounds(x, within=(0, 1e9), epsilon=1)
    seen = ib.preview("mean", **MEAN | {"bounds": found}).trade(excess=30_000, times=(1,))
    assert seen.widths[0].clipping == pytest.approx(0.0015 * 30_000)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [({"beyond": 1}, "beyond must be a share"), ({"beyond": 0.1, "excess": 0}, "excess must be > 0")],
)
def test_mistakes(keywords, message):
    with pytest.raises(ValueError, match=message):
        ib.preview("mean", **MEAN).trade(**keywords)
    with pytest.raises(ValueError, match="only a mean"):
        ib.preview("median", **MEAN).trade()
    with pytest.raises(ValueError, match="upper bound above 0"):
        ib.preview("mean", **MEAN | {"bounds": (-9, -1)}).trade(heavy=True)
