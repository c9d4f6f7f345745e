"""The engine: the same numbers for any number of workers, in any order, whole or in parts."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from inbounds.lab.studies import paper
from inbounds.lab.studies.covariance import Covariance, Matrix
from inbounds.lab.studies.engine import BLOCK, Draws, Setting, columns, draw_block, run, simulate
from inbounds.lab.studies.proportions import Proportions, Run, Shares, t_reach


@dataclass(frozen=True)
class Tosses:
    chance: float = 0.5

    def __call__(self, size, rng):
        return (rng.random((size, 5)) < self.chance).astype(float)


@dataclass(frozen=True)
class Mean:
    """A study of one's own, in Python: the mean of five tosses, with a little noise."""

    def __call__(self, samples, noise):
        return Draws(samples.mean(axis=1, keepdims=True) + 1e-9 * noise.random((len(samples), 1)))


def coin(chance=0.5, name="fair", simulate=None):
    labels = (("study", "coin"), ("scenario", name))
    return Setting(labels, ("mean",), (chance,), ((0.0, 1.0),), Tosses(chance), name, simulate or Mean())


def few():
    design = Proportions(
        (Shares("p", (0.2, 0.3, 0.5)),),
        (50, 200),
        (0.5,),
        ("truncated", "bit", "joint"),
        ("rescale", "project"),
        ("wald", "synthesis", "exact"),
    )
    matrix = Matrix("m", ((1.0, 0.3), (0.3, 1.0)), ((-3, 3), (-3, 3)))
    other = Covariance((matrix,), (50, 100), (1.0,), ("bit", "joint"))
    return [*design.settings("few"), *other.settings("few")]


@pytest.mark.claim("study-reproducible")
def test_any_number_of_workers_gives_the_same():
    settings = few()
    alone = run(settings, 300, seed=5, workers=1)
    assert repr(run(settings, 300, seed=5, workers=2)) == repr(alone)
    assert repr(run(settings, 300, seed=5, workers=7)) == repr(alone)
    assert repr(run(settings, 300, seed=6, workers=2)) != repr(alone)


@pytest.mark.claim("study-stream")
def test_a_setting_does_not_depend_on_the_others():
    settings = few()
    whole = run(settings, 200, workers=1)
    backwards = run(settings[::-1], 200, workers=1)[::-1]
    part = run(settings[3:5], 200, workers=1)
    assert repr(backwards) == repr(whole)
    assert repr(part) == repr(whole[3:5])


@pytest.mark.claim("study-stream")
def test_blocks_are_drawn_apart():
    """Repetitions beyond a block have generators of their own; what came before stays."""
    setting = coin()
    first, second = draw_block(setting, BLOCK, 1, 0).estimates, draw_block(setting, 10, 1, 1).estimates
    both = np.concatenate([first, second])
    assert simulate(setting, BLOCK + 10, 1)[0][0][0] == pytest.approx(both.mean())
    assert not (first[:10] == second).all()
    # The noise, too, is what is left of these means of five tosses.
    noise = [part - part.round(6) for part in (first[:10], second)]
    assert not np.isclose(*noise, rtol=0, atol=1e-12).any()


def test_settings_with_one_sample_see_the_same_samples_with_noise_of_their_own():
    a, b, c = coin(), replace(coin(), noise="other"), coin(0.51)
    means, others, bent = (draw_block(setting, 50, 1, 0).estimates for setting in (a, b, c))
    assert (means.round(6) == others.round(6)).all()
    assert (means != others).all()
    assert (means.round(6) != bent.round(6)).any()


@dataclass(frozen=True)
class Shifted:
    by: object

    def __call__(self, size, rng):
        return rng.normal(float(np.max(self.by)), 1, (size, 1))


def shifted(by, name):
    return replace(coin(name=name), sample=Shifted(by))


def test_what_is_described_alike_is_alike_and_nothing_else():
    """Long arrays are not shortened, numbers that are equal but written apart are apart, addresses are refused."""
    flat, bumped = np.zeros(2000), np.zeros(2000)
    bumped[1000] = 5
    means = [summary[0][0][0] for summary in run([shifted(flat, "a"), shifted(bumped, "b")], 200, workers=1)]
    assert means[1] - means[0] > 4
    near = [shifted(np.array([0.1]), "a"), shifted(np.array([0.1 + 4e-9]), "b")]
    assert near[0].identity != near[1].identity
    both = run([shifted(40, "a"), shifted(40.0, "b")], 50, workers=1)
    assert repr(run([shifted(40.0, "b")], 50, workers=1)[0]) == repr(both[1])
    with pytest.raises(TypeError, match="must be frozen dataclasses"):
        run([replace(coin(), sample=lambda size, rng: rng.random((size, 1)))], 10)


def test_nobody_can_write_into_shared_samples():
    @dataclass(frozen=True)
    class Careless:
        def __call__(self, samples, noise):
            samples[:] = noise.random(samples.shape)
            return Draws(samples)

    with pytest.raises(ValueError, match="read-only"):
        run([coin(simulate=Careless())], 10)


def test_the_same_work_is_done_once():
    """At the paper's scale and at the honest one BIT is the same: simulated once, shown twice."""
    calls = []

    @dataclass(frozen=True)
    class Counted:
        def __call__(self, samples, noise):
            calls.append(len(samples))
            return Mean()(samples, noise)

    first = coin(simulate=Counted())
    second = replace(first, labels=(("study", "coin"), ("scenario", "again")))
    found = run([first, second], 100, workers=1)
    assert len(calls) == 1
    assert repr(found[0]) == repr(found[1])
    for settings in (paper.covariance(), paper.proportions()):
        labels = {setting: dict(setting.labels) for setting in settings}
        both = [s for s, words in labels.items() if words["mechanism"] == "bit" and words["repair"] != "project"]
        paired = [s for s in both if labels[s]["neighbours"] == "add-remove" or labels[s]["study"] == "covariance"]
        assert len({setting.identity for setting in paired}) == len(paired) / 2


def test_what_is_known_is_not_simulated_again():
    settings = [coin(), coin(0.3, "bent")]
    summaries = run(settings, 100, workers=1)
    seen, told = [], []
    again = run(
        settings,
        100,
        workers=1,
        known={settings[0].identity: summaries[0]},
        finished=lambda setting, _: seen.append(setting),
        progress=lambda done, of: told.append((done, of)),
    )
    assert repr(again) == repr(summaries)
    assert seen == [settings[1]]
    assert told == [(1, 2), (2, 2)]


def test_an_interrupt_is_passed_on_and_nothing_more_is_begun():
    done = []

    @dataclass(frozen=True)
    class Stopped:
        place: int

        def __call__(self, samples, noise):
            if self.place == 2:
                raise KeyboardInterrupt
            return Mean()(samples, noise)

    settings = [coin(name=f"{i}", simulate=Stopped(i)) for i in range(40)]
    with pytest.raises(KeyboardInterrupt):
        run(settings, 100, workers=2, finished=lambda setting, _: done.append(setting.noise))
    assert done == ["0", "1"]


def test_samples_of_other_kinds_are_drawn_apart():
    """Not the same random numbers put to another use: sizes would move together."""
    near = [shifted(by, "a") for by in (1.0, 1.000001)]
    first, second = (draw_block(setting, 50, 1, 0).estimates for setting in near)
    assert np.abs(first - second).min() > 1e-5


def test_renaming_a_study_changes_nothing():
    design = Proportions((Shares("p", (0.2, 0.8)),), (50,), (1.0,))
    one, other = (run(list(design.settings(name)), 50, workers=1) for name in ("one", "other"))
    assert repr(one) == repr(other)


def test_the_table_has_a_row_for_each_figure_and_none_for_what_is_not_defined():
    table = columns([coin()], run([coin()], 100, workers=1), 100)
    assert table["measure"][:4] == ["mean", "bias", "sd", "rmse"]
    assert "coverage" not in table["measure"]
    assert set(table["repetitions"]) == {100}
    assert {len(column) for column in table.values()} == {len(table["measure"])}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"repetitions": 1}, "repetitions must be >= 2"),
        ({"repetitions": 2_000_000}, "at most 1,000,000"),
        ({"repetitions": 10.0}, "repetitions must be an integer"),
        ({"seed": -1}, "seed must be >= 0"),
        ({"workers": 0}, "workers must be >= 1"),
    ],
)
def test_bad_orders(given, words):
    order = {"repetitions": 10} | given
    with pytest.raises((ValueError, TypeError), match=words):
        run([coin()], order.pop("repetitions"), **order)


def test_labels_must_tell_settings_apart():
    with pytest.raises(ValueError, match="must not have one setting twice: study coin, scenario fair"):
        run([coin(), coin()], 10)


@pytest.mark.claim("study-t")
def test_the_t_quantile_by_a_polynomial():
    from scipy.special import ndtri, stdtrit

    for copies in (2, 3, 5, 20):
        freedom = np.concatenate([np.geomspace(copies - 1, 1e6, 4000), [np.inf]])
        exact = np.append(stdtrit(freedom[:-1], 0.975), ndtri(0.975))
        assert np.abs(t_reach(freedom, copies) / exact - 1).max() < (1e-5 if copies == 2 else 1e-8)


def test_joint_noise_costs_the_ε_that_was_asked_for():
    """The scale of noise that keeps the sum is 2/ε records, as the certificate of a release has it."""
    import inbounds as ib

    design = Proportions((Shares("p", (0.5, 0.5)),), (100,), (0.5,), ("joint",), ("project",))
    ours = [s.simulate for s in design.settings("x") if isinstance(s.simulate, Run) and s.simulate.mechanism]
    released = ib.proportions([0, 1] * 50, levels=[0, 1], epsilon=0.5)
    assert ours[0].scale * 100 == pytest.approx(float(released.certificate.spread), rel=1e-9)


@pytest.mark.parametrize(
    ("shares", "groups", "repair", "neighbours", "moves"),
    [
        ((0.5, 0.5), (), "rescale", "substitute", 2),
        ((0.5, 0.5), (), "rescale", "add-remove", 1),
        ((0.5, 0.5), (), "all-but-one", "substitute", 1),
        ((0.2, 0.3, 0.5), (), "all-but-one", "substitute", 2),
        ((0.25,) * 4, (("p1", "p2"), ("p3", "p4")), "tree", "substitute", 4),
        ((0.25,) * 4, (("p1", "p2"), ("p3", "p4")), "tree", "add-remove", 2),
        ((0.2, 0.3, 0.5), ("p1", ("p2", "p3")), "tree", "substitute", 3),
        ((0.2, 0.3, 0.5), ("p1", ("p2", "p3")), "tree", "add-remove", 2),
        ((0.2,) * 5, (("p1", "p2"), ("p3", ("p4", "p5"))), "tree", "substitute", 5),
    ],
)
def test_how_many_numbers_one_record_moves(shares, groups, repair, neighbours, moves):
    """Brute force over where a record is and where it might have been; also for trees with leaves of unequal depth."""
    scenario = Shares("p", shares, groups=groups)
    design = Proportions((scenario,), (10,), (1.0,), ("unbounded",), (repair,), neighbours=neighbours)
    (made,) = [s.simulate for s in design.settings("x", original=False)]
    assert made.scale * 10 == pytest.approx(moves)


def test_a_derived_share_that_falls_below_zero_has_no_wild_interval():
    design = Proportions((Shares("p", (0.1, 0.2, 0.7)),), (50,), (0.5,), ("bit",), ("all-but-one raw",), ("synthesis",))
    (setting,) = design.settings("x", original=False)
    draws = draw_block(setting, 5000, 1, 0)
    assert draws.estimates.min() < 0
    width = draws.upper - draws.lower
    assert (width >= 0).all()
    assert width.max() < 10


def test_shares_that_sum_to_one_but_for_rounding():
    (setting, *_) = Proportions((Shares("p", (0.5, 0.5000000001, 0.0)),), (50,), (1.0,)).settings("x")
    assert draw_block(setting, 10, 1, 0).estimates.shape == (10, 3)


@pytest.mark.claim("study-joint")
def test_joint_matrices_have_the_spread_of_releases():
    """Sup-norm noise in units of what one record moves: √10 times the sensitivity over ε for three elements."""
    matrix = Matrix("m", ((1.0, 0.0), (0.0, 1.0)), ((-300, 300), (-300, 300)))
    (setting,) = Covariance((matrix,), (10_000,), (1.0,), ("joint",)).settings("x")
    data = np.random.default_rng(0)
    drawn = setting.simulate._joint(100_000, data)
    # Clamped from below only: covariances have the full spread where variances are large.
    moved = 600 * 600 / 10_000
    big = Matrix("m", ((40_000.0, 0.0), (0.0, 40_000.0)), ((-300, 300), (-300, 300)))
    (setting,) = Covariance((big,), (10_000,), (1.0,), ("joint",)).settings("x")
    drawn = setting.simulate._joint(100_000, data)
    for column in drawn:
        assert column.std() == pytest.approx(moved * np.sqrt(20 / 3), rel=0.02)
