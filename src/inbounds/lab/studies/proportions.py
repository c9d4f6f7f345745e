"""Studies of shares that sum to one (the paper's second study): mechanisms × repairs × estimators.

A sample of n records is drawn from known shares, its shares get noise and are repaired to sum to one again, and an
estimator makes intervals of what came out.

mechanisms  ``truncated``, ``bit``, ``unbounded``: Laplace noise for each share; ``joint``: noise that keeps the sum
repairs     ``rescale``, ``all-but-one`` (``all-but-one raw`` leaves the derived share as it falls, below zero too),
            ``project``, ``tree`` with nested groups (negative nodes are repaired on the way down)
estimators  ``wald``: q ± z√(q(1-q)/n), as if there were no noise; ``synthesis``: copies at ε/m combined; ``exact``:
            each share's interval from its noisy count by the exact law (noise on whole counts)
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import scipy

from inbounds import _check
from inbounds._check import Array
from inbounds.inference.counts import Binomial, choose_family
from inbounds.inference.inversion import interval as inverted
from inbounds.inference.laws import DiscreteLaplace, Law, ZeroSum
from inbounds.lab.studies import noise
from inbounds.lab.studies.engine import Draws, Setting
from inbounds.lab.studies.scales import CALIBRATIONS, require_sizes, share_scale
from inbounds.lab.synthesis import pool_copies
from inbounds.privacy.exact import calibrate_scale
from inbounds.repairs.simplex import all_but_one, project, rescale
from inbounds.repairs.tree import Groups, Tree, balanced, consistent, grow, leaves_of

REPAIRS = ("rescale", "all-but-one", "all-but-one raw", "project", "tree")
ESTIMATORS = ("wald", "synthesis", "exact")
NEIGHBOURS = ("add-remove", "substitute")
_LEVEL = 0.95
_MOST_SHARES = 1_000


@dataclass(frozen=True, slots=True)
class Shares:
    """A scenario: true shares with their labels, how a tree would group them, and sums of interest.

    >>> Shares("two", (0.3, 0.7)).labels
    ('p1', 'p2')
    """

    name: str
    shares: tuple[float, ...]
    labels: tuple[str, ...] = ()
    groups: Groups = ()
    sums: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        if len(self.shares) < 2:
            raise ValueError("shares must be two numbers or more")
        shares = tuple(_check.finite(x, f"shares[{i}]") for i, x in enumerate(self.shares))
        if len(shares) > _MOST_SHARES:
            raise ValueError(f"shares must be at most {_MOST_SHARES:,} numbers, got {len(shares):,}")
        if min(shares) < 0:
            raise ValueError("shares must be >= 0, got one below 0")
        if abs(math.fsum(shares) - 1) > 1e-9:
            raise ValueError(f"shares must be >= 0 and sum to 1, got a sum of {math.fsum(shares):.10g}")
        shares = tuple(x / math.fsum(shares) for x in shares)
        labels = tuple(self.labels) or tuple(f"p{i + 1}" for i in range(len(shares)))
        if len(labels) != len(shares) or len(set(labels)) < len(labels):
            names = f"{len(labels)}, {len(set(labels))} of them different"
            raise ValueError(f"labels must name each of the {len(shares)} shares once, got {names}")
        for total in self.sums:
            if not total or len(set(total)) < len(total) or not set(total) <= set(labels):
                raise ValueError(f"sums must be lists of labels, each once, such as {list(labels[:2])}")
        for field, value in (("shares", shares), ("labels", labels), ("groups", self.groups or balanced(labels))):
            object.__setattr__(self, field, value)
        try:
            self.tree()
        except ValueError:
            raise ValueError("groups must be nested lists that hold every label exactly once") from None

    def tree(self) -> Tree:
        """The tree of the groups."""
        return grow(self.groups, self.labels)

    @property
    def quantities(self) -> tuple[str, ...]:
        return (*self.labels, *("+".join(total) for total in self.sums))

    def combinations(self) -> Array:
        """One row for each quantity: which shares are in it."""
        return _combinations(self)


@dataclass(frozen=True, slots=True)
class Counts:
    """Samples of n records: how many have each level."""

    shares: tuple[float, ...]
    n: int

    def __call__(self, size: int, rng: np.random.Generator, /) -> Array:
        return rng.multinomial(self.n, self.shares, size).astype(float)


@dataclass(frozen=True, slots=True)
class Run:
    """How to simulate one setting of shares: it is called by the engine."""

    scenario: Shares
    n: int
    mechanism: str | None
    repair: str
    estimator: str
    scale: float
    copies: int

    def __call__(self, counts: Array, noise_: np.random.Generator, /) -> Draws:
        combine = _combinations(self.scenario).T
        if self.mechanism is None:
            return self._wald(counts / self.n @ combine)
        if self.estimator == "exact":
            return self._exact(self._noisy_counts(counts, noise_), combine)
        if self.estimator == "wald":
            return self._wald(self._release(counts, noise_) @ combine)
        values = np.stack([self._release(counts, noise_) @ combine for _ in range(self.copies)])
        point, variance, freedom, _, _ = pool_copies(values, self.n)
        half = t_reach(freedom, self.copies) * np.sqrt(np.maximum(variance, 0.0))
        return Draws(point, point - half, point + half)

    def _release(self, counts: Array, rng: np.random.Generator) -> Array:
        """Shares with noise, repaired."""
        if self.mechanism == "joint":
            noisy = (counts + noise.zero_sum(self.scale * self.n, counts.shape[1], len(counts), rng)) / self.n
            return self._repair(noisy)
        true = counts @ _members(self.scenario.tree()).T if self.repair == "tree" else counts
        return self._repair(noise.draw_bounded(self.mechanism or "", true / self.n, self.scale, 0.0, 1.0, rng))

    def _repair(self, noisy: Array) -> Array:
        if self.repair == "rescale":
            return rescale(noisy)
        if self.repair == "project":
            return project(noisy)
        if self.repair == "all-but-one":
            return all_but_one(noisy, 0)
        if self.repair == "all-but-one raw":
            return np.column_stack([1 - noisy[:, 1:].sum(axis=1), noisy[:, 1:]])
        tree = self.scenario.tree()
        return leaves_of(tree, consistent(tree, noisy, 1.0, weights="hay"))

    def _wald(self, values: Array) -> Draws:
        """A share below zero has no variance, and an interval that is a point."""
        half = _NORMAL * np.sqrt(np.maximum(values * (1 - values), 0.0) / self.n)
        return Draws(values, values - half, values + half)

    def _noisy_counts(self, counts: Array, rng: np.random.Generator) -> Array:
        scale = self.scale * self.n
        if self.mechanism == "joint":
            return counts + noise.zero_sum(scale, counts.shape[1], len(counts), rng)
        return noise.draw_whole_bounded(self.mechanism or "", counts, scale, self.n, rng)

    def _exact(self, noisy: Array, combine: Array) -> Draws:
        """One interval for every noisy count that occurs; none for sums, whose noise has another law."""
        whole, place = np.unique(np.clip(noisy, 0, self.n), return_inverse=True)
        law = self._law()
        ends = np.array([_ends(law, self.n, float(count)) for count in whole])
        limits = [ends[place.reshape(noisy.shape), side] for side in (0, 1)]
        values = self._repair(noisy / self.n) @ combine
        sums = np.full((len(noisy), combine.shape[1] - noisy.shape[1]), np.nan)
        return Draws(values, *(np.column_stack([limit, sums]) for limit in limits))

    def _law(self) -> Law:
        scale, top = self.scale * self.n, float(self.n)
        if self.mechanism == "joint":
            return Law(ZeroSum(scale, len(self.scenario.shares)), 0.0, top)
        return Law(DiscreteLaplace(scale), 0.0, top, (0.0, top) if self.mechanism == "truncated" else None)


@lru_cache(maxsize=1 << 16)
def _ends(law: Law, n: int, count: float) -> tuple[float, float]:
    low, high = inverted(choose_family(Binomial(n), law, count), count, 1 - _LEVEL)
    return float(low), float(high)


_NORMAL = float(scipy.special.ndtri((1 + _LEVEL) / 2))


def _moves(scenario: Shares, repair: str, *, substituted: bool) -> int:
    """How many numbers with noise one record can move by 1/n, if it is added or goes from one level to another."""
    numbers = np.eye(len(scenario.shares))
    if repair == "tree":
        numbers = _members(scenario.tree())
    elif repair.startswith("all-but-one"):
        numbers = numbers[1:]
    columns = numbers.T
    changes = np.abs(columns[:, None] - columns[None]) if substituted else columns
    return int(changes.sum(axis=-1).max())


@lru_cache(maxsize=64)
def _combinations(scenario: Shares) -> Array:
    members = [{label} for label in scenario.labels] + [set(total) for total in scenario.sums]
    return np.array([[float(label in group) for label in scenario.labels] for group in members])


@lru_cache(maxsize=64)
def _members(tree: Tree) -> Array:
    """One row for each node: which leaves it counts."""
    return np.array([[float(i in members) for i in range(len(tree.order))] for members in tree.leaves])


@lru_cache(maxsize=16)
def _reach_polynomial(copies: int) -> np.polynomial.Chebyshev:
    """The t quantile as a polynomial in 1/df on [0, 1/(m-1)], where it is smooth: good to 1e-10."""

    def exact(share: Array) -> Array:
        endless = share <= 1e-9
        freedom = np.where(endless, 1.0, 1 / np.where(endless, 1.0, share))
        return np.where(endless, _NORMAL, scipy.special.stdtrit(freedom, (1 + _LEVEL) / 2))

    return np.polynomial.Chebyshev.interpolate(exact, 40, domain=[0.0, 1 / (copies - 1)])


# claim:study-t
def t_reach(freedom: Array, copies: int) -> Array:
    """The half-width of a t law's middle 95%: a thousand times as fast as its quantile function."""
    return np.asarray(_reach_polynomial(copies)(1 / freedom))


@dataclass(frozen=True, slots=True)
class Proportions:
    """A design for shares: every combination of its lists is a setting.

    >>> design = Proportions((Shares("coin", (0.5, 0.5)),), n=(100,), epsilon=(1.0,), mechanisms=("bit", "joint"))
    >>> len(list(design.settings("mine")))
    3
    """

    scenarios: tuple[Shares, ...]
    n: tuple[int, ...]
    epsilon: tuple[float, ...]
    mechanisms: tuple[str, ...] = ("bit",)
    repairs: tuple[str, ...] = ("rescale",)
    estimators: tuple[str, ...] = ("wald",)
    calibrations: tuple[str, ...] = ("honest",)
    neighbours: str = "substitute"
    copies: int = 5

    def __post_init__(self) -> None:
        require_sizes(self.n, self.epsilon, least=1)
        words = {"mechanisms": noise.MECHANISMS, "repairs": REPAIRS, "estimators": ESTIMATORS}
        for name, options in (words | {"calibrations": CALIBRATIONS}).items():
            for i, word in enumerate(getattr(self, name)):
                _check.choice(word, f"{name}[{i}]", options)
        _check.choice(self.neighbours, "neighbours", NEIGHBOURS)
        if _check.integer(self.copies, "copies", least=2) > 1000:
            raise ValueError("copies must be at most 1,000")
        if "joint" in self.mechanisms and self.neighbours != "substitute":
            raise ValueError("mechanism 'joint' keeps a public sum: it needs neighbours 'substitute'")
        if not any(fits(*words) for words in product(self.mechanisms, self.repairs, self.estimators)):
            raise ValueError(
                "no mechanism, repair and estimator of the lists go together: 'joint' needs 'rescale' or 'project'; "
                "'exact' needs one of these and 'truncated', 'bit' or 'joint'"
            )

    def settings(self, study: str, *, original: bool = True) -> Iterator[Setting]:
        """All settings; ``original`` adds the samples themselves, without noise."""
        for scenario, n in product(self.scenarios, self.n):
            if original:
                run = Run(scenario, n, None, "none", "wald", 0.0, 1)
                yield self._setting(study, scenario, n, None, "none", run)
            for epsilon, calibration in product(self.epsilon, self.calibrations):
                for mechanism, repair, estimator in product(self.mechanisms, self.repairs, self.estimators):
                    if fits(mechanism, repair, estimator):
                        run = self._run(scenario, n, epsilon, calibration, mechanism, repair, estimator)
                        yield self._setting(study, scenario, n, epsilon, calibration, run)

    def _run(
        self, scenario: Shares, n: int, epsilon: float, calibration: str, mechanism: str, repair: str, estimator: str
    ) -> Run:
        moves = _moves(scenario, repair, substituted=self.neighbours == "substitute")
        copies = self.copies if estimator == "synthesis" else 1
        if estimator == "exact" and mechanism == "truncated" and calibration == "honest":
            # On whole counts, as a release would have it.
            exact = calibrate_scale("truncated", 1, n, _check.fraction(epsilon, "epsilon") / Fraction(moves))
            scale = float(exact.steps) / n
        else:
            scale = share_scale(mechanism, calibration, n, epsilon / copies, moves)
        return Run(scenario, n, mechanism, repair, estimator, scale, copies)

    def _setting(
        self, study: str, scenario: Shares, n: int, epsilon: float | None, calibration: str, run: Run
    ) -> Setting:
        combine = scenario.combinations()
        labels: dict[str, Any] = {"study": study, "scenario": scenario.name, "n": n, "epsilon": epsilon}
        labels |= {"neighbours": self.neighbours if epsilon is not None else "none", "calibration": calibration}
        labels |= {"mechanism": run.mechanism or "original", "repair": run.repair, "estimator": run.estimator}
        # The same random numbers at either calibration: what differs is the scale.
        noise_key = "/".join(str(value) for name, value in labels.items() if name not in ("study", "calibration"))
        return Setting(
            tuple(labels.items()),
            scenario.quantities,
            tuple((combine @ np.array(scenario.shares)).tolist()),
            ((0.0, 1.0),) * len(scenario.quantities),
            Counts(scenario.shares, n),
            noise_key,
            run,
        )


def fits(mechanism: str, repair: str, estimator: str) -> bool:
    """Whether three words of a design go together; combinations that do not are left out.

    Noise that keeps the sum needs no tree; exact intervals come from counts of the shares themselves, and a share that
    is derived has none.
    """
    if mechanism == "joint" and repair not in ("rescale", "project"):
        return False
    return not (estimator == "exact" and (repair.startswith(("tree", "all-but-one")) or mechanism == "unbounded"))
