"""Numbers that obey linear constraints: Σ a_k s_k = c, or within [c0, c1], on top of bounds of each.

The paper's Remark 1 has s1 + s2 = c. Here there may be any number of constraints on any number of statistics.
Constraints are public, so all of this is post-processing. Before a release, bounds are tightened to what the
constraints imply, which makes the release more accurate. After it, the numbers are moved to the nearest ones that
satisfy the constraints, where distances are measured in standard errors.

Linear programs are solved by SciPy's HiGHS; projections by Clarabel (the extra ``inbounds[constraints]``).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inbounds import _check
from inbounds._check import Array, Bounds
from inbounds.errors import Contradiction as Contradiction

# A violation this small, in units of a constraint's size, is rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Constraint:
    """lower ≤ Σ weights[name] · value[name] ≤ upper; an equality if both are the same."""

    weights: tuple[tuple[str, float], ...]
    lower: float
    upper: float

    @classmethod
    def of(cls, weights: Mapping[str, float], *, equals: Any = None, bounds: Any = None) -> "Constraint":
        """A constraint as a user writes it.

        >>> Constraint.of({"a": 1, "b": 1}, equals=1).upper
        1.0
        """
        if not isinstance(weights, Mapping) or not weights:
            raise TypeError("weights must be a dictionary from names to numbers, as in {'men': 1, 'women': 1}")
        if (equals is None) == (bounds is None):
            raise TypeError("a constraint needs either equals= or bounds=")
        pairs = tuple((str(name), _check.finite(weight, f"weights[{name!r}]")) for name, weight in weights.items())
        if not any(weight for _, weight in pairs):
            raise ValueError("a constraint needs a weight other than 0")
        if equals is not None:
            value = _check.finite(equals, "equals")
            return cls(pairs, value, value)
        return cls(pairs, *_check.bounds(bounds))

    def __str__(self) -> str:
        terms = " + ".join(name if weight == 1 else f"{weight:g} {name}" for name, weight in self.weights)
        if self.lower == self.upper:
            return f"{terms} = {self.lower:g}"
        return f"{self.lower:g} ≤ {terms} ≤ {self.upper:g}"


@dataclass(frozen=True, slots=True)
class System:
    """Names with their bounds, and constraints among them."""

    names: tuple[str, ...]
    boxes: tuple[Bounds, ...]
    constraints: tuple[Constraint, ...]

    @classmethod
    def of(cls, bounds: Mapping[str, Any], constraints: Sequence[Constraint]) -> "System":
        """The system; a `Contradiction` names the fewest constraints that clash, if any do."""
        names = tuple(str(name) for name in bounds)
        boxes = tuple(_check.bounds(pair, f"bounds of {name!r}") for name, pair in bounds.items())
        for constraint in constraints:
            for name, _ in constraint.weights:
                if name not in names:
                    raise ValueError(f"a constraint names {name!r}, which has no bounds")
        system = cls(names, boxes, tuple(constraints))
        if not system._feasible(system.constraints):
            clashing = system._clash()
            raise Contradiction(f"no numbers within the bounds obey all of: {'; '.join(map(str, clashing))}")
        return system

    def _rows(self, constraints: Sequence[Constraint]) -> tuple[Array, Array, Array]:
        matrix = np.zeros((len(constraints), len(self.names)))
        for row, constraint in enumerate(constraints):
            for name, weight in constraint.weights:
                matrix[row, self.names.index(name)] += weight
        return matrix, np.array([c.lower for c in constraints]), np.array([c.upper for c in constraints])

    def _optimum(self, objective: Array, constraints: Sequence[Constraint]) -> float | None:
        """The minimum of a linear function: -inf if it has none, None if nothing satisfies the constraints."""
        from scipy import optimize

        matrix, lower, upper = self._rows(constraints)
        within = [optimize.LinearConstraint(matrix, lower, upper)] if constraints else []
        lows, highs = (np.array(ends) for ends in zip(*self.boxes, strict=True))
        result = optimize.milp(objective, constraints=within, bounds=optimize.Bounds(lows, highs))
        if result.status == 2:
            return None
        return -math.inf if result.fun is None else float(result.fun)

    def _feasible(self, constraints: Sequence[Constraint]) -> bool:
        return self._optimum(np.zeros(len(self.names)), constraints) is not None

    def _clash(self) -> list[Constraint]:
        """Constraints that contradict each other; without any one of them, the others can be satisfied."""
        needed = list(self.constraints)
        for constraint in self.constraints:
            fewer = [other for other in needed if other is not constraint]
            if not self._feasible(fewer):
                needed = fewer
        return needed

    # claim:linear-tightened
    def tighten(self) -> dict[str, Bounds]:
        """The bounds of each number that bounds and constraints together imply."""
        result = {}
        for place, name in enumerate(self.names):
            unit = np.zeros(len(self.names))
            unit[place] = 1.0
            least, most = self._optimum(unit, self.constraints), self._optimum(-unit, self.constraints)
            assert least is not None
            assert most is not None
            result[name] = (max(least, self.boxes[place][0]), min(-most, self.boxes[place][1]))
        return result

    # claim:linear-nearest
    def nearest(self, values: Mapping[str, float], errors: Mapping[str, float] | None = None) -> dict[str, float]:
        """The nearest numbers that satisfy the constraints.

        Distances are in units of ``errors``, the standard errors. Without them all units are equal.

        Equalities and bounds hold to a part in 10^9. A number whose error is 0 stays as it is, if that is possible.
        """
        numbers = np.array([_check.finite(values[name], f"values[{name!r}]") for name in self.names])
        scale = np.ones(len(numbers))
        if errors is not None:
            scale = np.array([_check.finite(errors[name], f"errors[{name!r}]") for name in self.names])
            if not (scale >= 0).all():
                raise ValueError("errors must be >= 0")
            positive = scale[scale > 0]
            scale = np.where(scale > 0, scale, 1e-6 * positive.min()) if positive.size else np.ones(len(numbers))
        nearest = dict(zip(self.names, self._project(numbers, scale).tolist(), strict=True))
        if not self.obeys(nearest):
            raise ArithmeticError(
                "no numbers that obey were found near these; errors or bounds may differ too much in size: use other "
                "units for the largest ones"
            )
        return nearest

    def _project(self, numbers: Array, scale: Array) -> Array:
        """min ‖(x - given)/scale‖² over the system, in moves y = (x - given)/scale."""
        try:
            import clarabel
        except ImportError:
            raise ImportError("projections need a solver: pip install 'inbounds[constraints]'") from None
        from scipy import sparse

        matrix, lower, upper = self._rows(self.constraints)
        lows, highs = (np.array(ends) for ends in zip(*self.boxes, strict=True))
        stacked = np.vstack([matrix, np.eye(len(numbers))])
        bottom, top = np.concatenate([lower, lows]), np.concatenate([upper, highs])
        offset, moves = stacked @ numbers, stacked * scale
        equal = bottom == top
        above, below = np.isfinite(top) & ~equal, np.isfinite(bottom) & ~equal
        rows = np.vstack([moves[equal], moves[above], -moves[below]])
        limits = np.concatenate([(top - offset)[equal], (top - offset)[above], (offset - bottom)[below]])
        # Rows are scaled to one size. Otherwise a constraint on small numbers is lost next to large ones.
        size = np.linalg.norm(rows, axis=1)
        size[size == 0] = 1.0
        rows, limits = rows / size[:, None], limits / size
        cones = [clarabel.ZeroConeT(int(equal.sum())), clarabel.NonnegativeConeT(int(above.sum() + below.sum()))]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
        quadratic = sparse.csc_matrix(sparse.eye(len(numbers)))
        solver = clarabel.DefaultSolver(
            quadratic, np.zeros(len(numbers)), sparse.csc_matrix(rows), limits, cones, settings
        )
        nearest = numbers + scale * np.array(solver.solve().x)
        # A solver may stop slightly outside the bounds.
        return np.asarray(np.clip(nearest, lows, highs))

    def obeys(self, values: Mapping[str, float]) -> bool:
        """Whether numbers satisfy the constraints, up to rounding."""
        numbers = np.array([values[name] for name in self.names])
        matrix, lower, upper = self._rows(self.constraints)
        sums = matrix @ numbers
        room = _ROUNDING * np.maximum(1.0, np.abs(matrix) @ np.abs(numbers))
        inside = all(low <= x <= high for x, (low, high) in zip(numbers, self.boxes, strict=True))
        return inside and bool(((sums >= lower - room) & (sums <= upper + room)).all())
