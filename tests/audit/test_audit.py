"""The audit catches what leaks, and does not cry wolf at what does not."""

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from inbounds.audit.events import _certify_ratio, audit, granularity
from inbounds.audit.replay import replay, trace
from inbounds.audit.sources import build_leaking, build_shipped
from inbounds.grid.entropy import SeededEntropy, words
from inbounds.grid.joint import supnorm
from inbounds.grid.law import GridMechanism
from inbounds.grid.scale import Scale

SHIPPED = build_shipped(100, Fraction(1), SeededEntropy(2026))


@pytest.mark.parametrize("name", SHIPPED)
def test_nothing_we_ship_is_certified_above_its_claim(name):
    """ε = 1, a proportion of 100 records, 40,000 draws a side, or half of it of vectors, and a fixed seed."""
    draws = 20_000 if name.startswith(("sup-norm", "zero-sum")) else 40_000
    # The same draws are looked at twice.
    pair = [lambda _, drawn=drawn: drawn for drawn in [source(draws) for source in SHIPPED[name]]]
    finding = audit(*pair, draws=draws)
    assert 0.2 < finding.epsilon <= 1
    only_granularity = audit(*pair, draws=draws, kinds=("granularity",))
    assert only_granularity.epsilon <= 1


@pytest.mark.parametrize("name", ["NumPy Laplace", "NumPy Laplace, clamped"])
def test_floating_point_noise_is_caught(name):
    finding = audit(*build_leaking(100, 1.0)[name], draws=40_000)
    assert finding.epsilon > 3
    assert "2^" in finding.event
    assert "certified" in str(finding)


def test_a_mechanism_with_half_the_noise_is_caught():
    mechanism = GridMechanism("bit", Scale.at_least(Fraction(1 << 19)), 0, 100 << 20)
    pair = [lambda k, at=at: mechanism.draw_each(np.full(k, at), _System()) for at in (0, 1 << 20)]
    assert audit(*pair, draws=40_000).epsilon > 1.5


class _System:
    handed_out = 0

    def take(self, count):
        return np.random.default_rng().bytes(count)


def test_the_event_is_chosen_on_one_half_and_judged_on_the_other():
    """Two sources that differ in their first half only, and the other way round in the second: nothing is certified."""
    rise = lambda k: np.repeat([0.0, 1.0], k // 2)  # noqa: E731
    fall = lambda k: np.repeat([1.0, 0.0], k // 2)  # noqa: E731
    assert audit(rise, fall, draws=2000).epsilon == 0
    assert audit(lambda k: np.zeros(k), lambda k: np.ones(k), draws=2000).epsilon > 4


def test_equal_inputs_are_not_told_apart():
    rng = np.random.default_rng(3)
    for _ in range(20):
        assert audit(rng.standard_normal, rng.standard_normal, draws=2000).epsilon < 0.1


def test_outputs_that_are_not_finite():
    finding = audit(lambda k: np.full(k, np.nan), np.zeros, draws=1000)
    assert finding.epsilon > 3
    assert finding.event == "finite"
    assert audit(lambda k: np.full(k, np.inf), lambda k: np.full(k, np.nan), draws=1000).epsilon == 0


def test_clopper_pearson():
    """Exact binomial tails: at the ends of the interval the tail is half of the risk."""
    trials, high, low = 50, 40, 3
    bound = _certify_ratio(high, low, trials, 0.9)
    ends = [_end(high, trials, upper=False), _end(low, trials, upper=True)]
    assert bound == pytest.approx(math.log(ends[0] / ends[1]), rel=1e-6)
    assert _certify_ratio(0, 3, 50, 0.9) == -math.inf


def _end(count, trials, *, upper):
    def tail(p):
        terms = range(count + 1) if upper else range(count, trials + 1)
        return sum(math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in terms)

    low, high = 0.0, 1.0
    for _ in range(80):
        middle = (low + high) / 2
        rising = tail(middle) < 0.05 if not upper else tail(middle) > 0.05
        low, high = (middle, high) if rising else (low, middle)
    return low


def test_granularity_by_definition():
    x = np.array([1.0, 3.0, 0.5, 12.0, -12.0, 0.1, 2.0**-1060, 0.0])
    for value, level in zip(x, granularity(x), strict=True):
        if value:
            ratio = Fraction(float(value)) / Fraction(2) ** int(level)
            assert ratio.denominator == 1
            assert ratio.numerator % 2
        else:
            assert level == 2000


def test_an_atom_at_zero_is_called_by_its_name():
    """Every power of two divides zero; that is no granularity of floating-point numbers."""
    rng = np.random.default_rng(0)
    found = audit(lambda k: rng.random(k) * (rng.random(k) < 0.5), rng.random, draws=4000, kinds=("granularity",))
    assert found.event == "exactly 0"
    assert found.epsilon > 4


def test_replay_sees_what_differs():
    mechanism = GridMechanism("truncated", Scale.at_least(Fraction(30)), 0, 100)
    assert replay(lambda at, entropy: mechanism.draw(at, entropy), range(0, 101, 5))
    assert replay(lambda at, entropy: supnorm(Scale.at_least(Fraction(30)), 4, entropy) + at, range(5))

    def redrawing(at, entropy):
        """Re-drawing until inside: the number of draws tells the location."""
        while True:
            noisy = at + int(words(entropy, 1)[0] % np.uint64(41)) - 20
            if 0 <= noisy <= 100:
                return noisy

    assert not replay(redrawing, [0, 50])
    assert not replay(lambda at, _: [0] * (1 + at), [0, 1])

    def complaining(at, _):
        raise ValueError(f"bad value {at}")

    assert not replay(complaining, [0, 1])
    assert trace(complaining, 1, 0).message == "bad value 1"
    for inputs, seeds in (([0], range(3)), ([0, 1], [])):
        with pytest.raises(ValueError, match="replay needs two inputs"):
            replay(complaining, inputs, seeds=seeds)


def test_the_command():
    command = [sys.executable, "-m", "inbounds.audit", "--quick"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert lines[0].startswith("mechanism")
    assert len(lines) == 9
    bad = subprocess.run([*command, "--epsilon", "zero"], capture_output=True, text=True, check=False)
    assert bad.returncode == 2
    assert "--epsilon must be a finite number, got 'zero'" in bad.stderr
    assert "Traceback" not in bad.stderr


def test_both_commands_are_one(monkeypatch, capsys):
    """`inbounds audit` has the options of `python -m inbounds.audit`, and says with its exit status who was caught."""
    from typer.main import get_command

    from inbounds.audit import __main__ as module
    from inbounds.audit import sources
    from inbounds.cli import commands as cli

    commands = get_command(module.app), get_command(cli.app).commands["audit"]
    flags = [{flag for one in command.params for flag in one.opts} for command in commands]
    assert flags[0] - flags[1] <= {"--help"}
    assert {"--quick", "--n", "--epsilon"} <= flags[1]
    monkeypatch.setattr(sources, "build_shipped", lambda n, epsilon: build_leaking(n, float(epsilon)))
    monkeypatch.setattr("sys.argv", ["inbounds", "audit", "--quick", "--n", "50"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    assert capsys.readouterr().err == "caught: NumPy Laplace, NumPy Laplace, clamped\n"


@pytest.mark.parametrize(
    ("changes", "words_"),
    [
        ({"draws": 3}, "draws must be >= 100"),
        ({"confidence": 1.0}, "confidence must lie in"),
        ({"kinds": ()}, "kinds must hold"),
        ({"kinds": ("granularity", "colour")}, "kinds must hold"),
        ({"second": lambda k: np.zeros((k, 2))}, "a source must return 100 numbers"),
        ({"second": lambda k: np.full(k, 2**60)}, "integers beyond 2"),
    ],
)
def test_bad_input_is_named(changes, words_):
    call = {"first": np.zeros, "second": np.zeros, "draws": 100} | changes
    with pytest.raises(ValueError, match=words_):
        audit(call.pop("first"), call.pop("second"), **call)
