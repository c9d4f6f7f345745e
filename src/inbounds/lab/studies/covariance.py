"""Studies of covariance matrices (the paper's first study): the matrix is given, only its release is random.

Split mechanisms (``truncated``, ``bit``) share ε equally among the elements: variances first, within [0, their largest
value], then every covariance within ±√(S_jj* S_kk*). ``joint`` draws sup-norm noise for all of them together. From
three columns on the result is made positive semidefinite by a repair.

A correlation next to a released variance of zero is not defined; what that means is the option ``undefined``:
``"omit"`` leaves such repetitions out of the measures (their share is one of them), ``"zero"`` counts them as 0.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from inbounds import _check
from inbounds._check import Array
from inbounds.lab.studies import noise
from inbounds.lab.studies.engine import Draws, NoSample, Setting
from inbounds.lab.studies.scales import CALIBRATIONS, require_sizes, truncated_scale
from inbounds.repairs import matrix

MECHANISMS = ("truncated", "bit", "joint")
UNDEFINED = ("omit", "zero")
# Products of bounds fit a double, with room.
_LARGEST = 1e50
_MOST_COLUMNS = 50


@dataclass(frozen=True, slots=True)
class Matrix:
    """A scenario: a covariance matrix of columns with public bounds.

    >>> Matrix("r", ((1.0, 0.5), (0.5, 1.0)), ((-3, 3), (-3, 3))).quantities
    ('S11', 'S22', 'S12', 'r')
    """

    name: str
    matrix: tuple[tuple[float, ...], ...]
    bounds: tuple[tuple[float, float], ...]
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        size = len(self.matrix)
        if size > _MOST_COLUMNS:
            raise ValueError(f"matrix must have at most {_MOST_COLUMNS} columns, got {size}")
        if size < 2 or any(len(row) != size for row in self.matrix):
            raise ValueError("matrix must be square, with two columns or more")
        rows = tuple(
            tuple(_check.finite(x, f"matrix[{j}][{k}]") for k, x in enumerate(row)) for j, row in enumerate(self.matrix)
        )
        array = np.array(rows)
        if not (array == array.T).all() or not (np.diagonal(array) > 0).all():
            raise ValueError("matrix must be symmetric, with variances > 0")
        if np.linalg.eigvalsh(array)[0] < -1e-12 * np.trace(array):
            raise ValueError("matrix must be positive semidefinite: no data have such covariances")
        if len(self.bounds) != size:
            raise ValueError(f"bounds must be one pair for each of the {size} columns, got {len(self.bounds)}")
        bounds = tuple(_check.bounds(pair, f"bounds[{j}]", bounded=True) for j, pair in enumerate(self.bounds))
        for j, (low, high) in enumerate(bounds):
            if max(abs(low), abs(high), 1 / rows[j][j]) > _LARGEST:
                raise ValueError(
                    f"bounds[{j}] must not exceed 1e50 in size, nor matrix[{j}][{j}] be below 1e-50: use other units"
                )
            if rows[j][j] > (high - low) ** 2 / 4:
                raise ValueError(
                    f"matrix[{j}][{j}] is more than values within bounds[{j}] can have, {(high - low) ** 2 / 4:g}"
                )
        columns = tuple(self.columns) or tuple(str(j + 1) for j in range(size))
        if len(columns) != size or len(set(columns)) < size:
            raise ValueError(f"columns must name each of the {size} columns once")
        for field, value in (("matrix", rows), ("bounds", bounds), ("columns", columns)):
            object.__setattr__(self, field, value)

    @property
    def elements(self) -> tuple[tuple[int, int], ...]:
        """Variances first, then covariances."""
        size = len(self.matrix)
        return (*((j, j) for j in range(size)), *((j, k) for j in range(size) for k in range(j + 1, size)))

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        return self.elements[len(self.matrix) :]

    @property
    def quantities(self) -> tuple[str, ...]:
        short = all(len(name) == 1 for name in self.columns)

        def spell(letter: str, j: int, k: int) -> str:
            first, second = self.columns[j], self.columns[k]
            return f"{letter}{first}{second}" if short else f"{letter}({first}, {second})"

        alone = short and len(self.pairs) == 1
        return (
            *(spell("S", j, k) for j, k in self.elements),
            *("r" if alone else spell("r", j, k) for j, k in self.pairs),
        )

    @property
    def widths(self) -> tuple[float, ...]:
        return tuple(high - low for low, high in self.bounds)

    def truths(self) -> tuple[float, ...]:
        rows = self.matrix
        correlations = [rows[j][k] / rows[j][j] ** 0.5 / rows[k][k] ** 0.5 for j, k in self.pairs]
        return (*(rows[j][k] for j, k in self.elements), *correlations)


@dataclass(frozen=True, slots=True)
class Run:
    """How to simulate one setting of a matrix: it is called by the engine."""

    scenario: Matrix
    n: int
    epsilon: float
    mechanism: str
    honest: bool
    repair: str
    undefined: str

    def __call__(self, samples: Array, noise_: np.random.Generator, /) -> Draws:
        draw = self._joint if self.mechanism == "joint" else self._split
        columns = self._repair(draw(len(samples), noise_))
        return Draws(np.column_stack([*columns, *self._correlations(columns)]))

    def _sensitivity(self, j: int, k: int) -> float:
        return self.scenario.widths[j] * self.scenario.widths[k] / self.n

    def largest(self, j: int) -> float:
        """The largest variance that values within the bounds can have (n even)."""
        return self.scenario.widths[j] ** 2 * self.n / (4 * (self.n - 1))

    def _split(self, size: int, rng: np.random.Generator) -> list[Array]:
        """Element after element, each with its share of ε."""
        elements = self.scenario.elements
        released: list[Array] = []
        for j, k in elements:
            reach = np.full(size, self.largest(j)) if j == k else np.sqrt(released[j] * released[k])
            lower = np.zeros(size) if j == k else -reach
            scale = self._scale(self._sensitivity(j, k), reach - lower, len(elements))
            at = np.full(size, self.scenario.matrix[j][k])
            released.append(noise.draw_bounded(self.mechanism, at, scale, lower, reach, rng))
        return released

    def _scale(self, sensitivity: float, width: Array, shares: int) -> Array | float:
        if self.honest:
            alike = width[0] == width[-1] and (width == width[0]).all()
            return truncated_scale(sensitivity, width[0] if alike else width, self.epsilon / shares)
        return shares * sensitivity / self.epsilon

    # claim:study-joint
    def _joint(self, size: int, rng: np.random.Generator) -> list[Array]:
        """One sup-norm draw for all elements, in units of what one record may move each of them."""
        elements, roots = self.scenario.elements, range(len(self.scenario.matrix))
        draws = noise.supnorm(len(elements), size, rng) / self.epsilon
        noisy = [
            self.scenario.matrix[j][k] + self._sensitivity(j, k) * draws[:, place]
            for place, (j, k) in enumerate(elements)
        ]
        variances = [np.clip(noisy[j], 0.0, self.largest(j)) for j in roots]
        limits = [np.sqrt(variances[j] * variances[k]) for j, k in self.scenario.pairs]
        covariances = [np.clip(x, -limit, limit) for x, limit in zip(noisy[len(roots) :], limits, strict=True)]
        return [*variances, *covariances]

    def _repair(self, columns: list[Array]) -> list[Array]:
        """Two columns within their bounds need no repair."""
        size = len(self.scenario.matrix)
        if size == 2:
            return columns
        full = np.empty((len(columns[0]), size, size))
        for (j, k), values in zip(self.scenario.elements, columns, strict=True):
            full[:, j, k] = full[:, k, j] = values
        repaired = matrix.repair_matrix(full, self.repair)
        return [repaired[:, j, k] for j, k in self.scenario.elements]

    def _correlations(self, columns: list[Array]) -> list[Array]:
        otherwise = 0.0 if self.undefined == "zero" else np.nan
        correlations = []
        for (j, k), covariance in zip(self.scenario.pairs, columns[len(self.scenario.matrix) :], strict=True):
            limit = np.sqrt(columns[j] * columns[k])
            correlations.append(np.divide(covariance, limit, out=np.full_like(limit, otherwise), where=limit > 0))
        return correlations


@dataclass(frozen=True, slots=True)
class Covariance:
    """A design for covariance matrices: every combination of its lists is a setting."""

    scenarios: tuple[Matrix, ...]
    n: tuple[int, ...]
    epsilon: tuple[float, ...]
    mechanisms: tuple[str, ...] = ("joint",)
    repairs: tuple[str, ...] = ("clip",)
    calibrations: tuple[str, ...] = ("honest",)
    undefined: str = "omit"

    def __post_init__(self) -> None:
        require_sizes(self.n, self.epsilon, least=2)
        words = {"mechanisms": MECHANISMS, "repairs": matrix.REPAIRS, "calibrations": CALIBRATIONS}
        for name, options in words.items():
            for i, word in enumerate(getattr(self, name)):
                _check.choice(word, f"{name}[{i}]", options)
        _check.choice(self.undefined, "undefined", UNDEFINED)

    def settings(self, study: str) -> Iterator[Setting]:
        """All settings."""
        for scenario in self.scenarios:
            repairs = self.repairs if len(scenario.matrix) > 2 else ("none",)
            for words in product(self.n, self.epsilon, self.calibrations, self.mechanisms, repairs):
                yield self._setting(study, scenario, *words)

    def _setting(
        self, study: str, scenario: Matrix, n: int, epsilon: float, calibration: str, mechanism: str, repair: str
    ) -> Setting:
        # The paper's scale is honest except for truncation.
        honest = mechanism == "truncated" and calibration == "honest"
        run = Run(scenario, n, epsilon, mechanism, honest, repair, self.undefined)
        labels: dict[str, Any] = {"study": study, "scenario": scenario.name, "n": n, "epsilon": epsilon}
        labels |= {"neighbours": "substitute", "calibration": calibration, "mechanism": mechanism}
        labels |= {"repair": repair, "estimator": "none"}
        key = "/".join(str(value) for name, value in labels.items() if name not in ("study", "calibration"))
        limits = [(0.0, run.largest(j)) if j == k else (np.nan, np.nan) for j, k in scenario.elements]
        limits += [(-1.0, 1.0)] * len(scenario.pairs)
        return Setting(
            tuple(labels.items()), scenario.quantities, scenario.truths(), tuple(limits), NoSample(), key, run
        )
