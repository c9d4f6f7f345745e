"""Linear regression from a released table of moments. No data are read and nothing is spent.

The least-squares coefficients of y on x are S_xx⁻¹ S_xy, with S the covariance matrix. The noise of S is known: an
element is off by h_i h_j (z_ij - m_i z_j - m_j z_i)/(n - 1), with z the noise of the sums, m the means in half-widths h
from the middle of the bounds. So the residual moments S_xy - S_xx β are off by a linear form of z, and coefficients by
S_xx⁻¹ times that, besides the sampling error of least squares. Where the noise of S_xx is not small beside its smallest
eigenvalue, the inverse is off by more: with r the relative size of that noise, by a factor of up to 1/(1 - r), which
intervals are widened by. From a half on, coefficients are not identified, and they get a ridge and no intervals.

The sampling error of slope j is the mean of v e, with e a residual and v = (S_xx⁻¹)_j (x - mean). Its variance is
E v²e²/n, a fourth moment, which the record does not have. It has E v² and E e², and the bounds of the columns bound |v|
by M and |e| by R. So E v²e² is at most M² E e², and at most R² E v². Two values of v, with residuals only at the rarer
one, attain the first bound. K M²R²/n is added for records at the far ends that are not in the sample, with the K of
`inbounds.inference.score`. If residuals have one variance at all values of the regressors, E v²e² is E v² E e².
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from inbounds import _check
from inbounds._check import Array
from inbounds._text import lay_out, visible
from inbounds.inference.result import require_release
from inbounds.inference.roots import bracket_root
from inbounds.inference.score import draw_joint, rare
from inbounds.record.release import Release

# The quantile of draws at which the relative size of the noise is taken, and the size from which it hides coefficients.
_LEVEL, _LARGEST = 0.95, 0.5
BOUND, EQUAL = "bound", "equal-variance"
METHODS = (BOUND, EQUAL)
_INDEPENDENT = "records are independent draws"
_ASSUMED = {
    BOUND: f"{_INDEPENDENT}; coverage was shown for some laws on the bounds, and is not proved for all",
    EQUAL: f"{_INDEPENDENT}; **residuals have one variance** at all values of the regressors, which the record cannot "
    "tell, and of which real tables fall short",
}


@dataclass(frozen=True, slots=True, eq=False)
class Regression:
    """A linear regression, from released moments.

    Attributes
    ----------
    outcome, regressors
        The columns.
    coefficients
        The slope of each regressor, in the units of the columns.
    intercept
        The constant.
    lower, upper
        The limits of the intervals of the slopes at ``level``, each by itself; infinite where a slope is not
        identified.
    level
        The confidence level.
    r_squared
        The share of the variance of the outcome that is explained, in [0, 1].
    residual_deviation
        The standard deviation of the residuals.
    noise_ratio
        The size of the noise relative to the smallest eigenvalue of the regressors' matrix.
    ridge
        What was added to the diagonal, in units of the variances of the regressors; 0 if nothing was.
    means
        The released means of the regressors.
    method
        How the sampling error was found: ``"bound"`` or ``"equal-variance"``.
    """

    outcome: str
    regressors: tuple[str, ...]
    coefficients: Array
    intercept: float
    lower: Array
    upper: Array
    level: float
    r_squared: float
    residual_deviation: float
    noise_ratio: float
    ridge: float
    means: Array
    method: str

    @property
    def identified(self) -> bool:
        """Whether the noise is small enough for intervals of the coefficients."""
        return self.noise_ratio < _LARGEST

    @property
    def diagnosis(self) -> str:
        """What the noise does to the coefficients, in a sentence."""
        if not self.identified:
            return (
                f"the noise is {self.noise_ratio:.2g} times the smallest eigenvalue of the regressors' matrix: "
                "coefficients are not identified; take fewer regressors, narrower bounds or a larger epsilon"
            )
        return f"the noise is {self.noise_ratio:.2g} of the smallest eigenvalue of the regressors' matrix"

    @property
    def assumption(self) -> str:
        """What has to hold for the intervals to cover."""
        return _ASSUMED[self.method]

    def predict(self, at: Mapping[str, float]) -> float:
        """The expected outcome at given values of all regressors.

        Parameters
        ----------
        at
            A value for each regressor.

        Returns
        -------
        float
            The prediction.

        Raises
        ------
        ValueError
            If a regressor has no value, or there is a value for something else.
        """
        if set(at) != set(self.regressors):
            raise ValueError(f"at must have a value for each of {', '.join(self.regressors)}, and no other")
        point = np.array([_check.finite(at[name], name) for name in self.regressors])
        return float(self.intercept + self.coefficients @ point)

    def __str__(self) -> str:
        lines = [
            f"{slope:.6g}  ({low:.6g} to {high:.6g})"
            for slope, low, high in zip(self.coefficients, self.lower, self.upper, strict=True)
        ]
        head = (
            f"{self.outcome} on {', '.join(self.regressors)}: R² {self.r_squared:.3g}, intercept {self.intercept:.6g}"
        )
        notes = f"  {_check.percent(self.level)} intervals; {self.diagnosis}; assumes {self.assumption}"
        return f"{visible(head)}{lay_out(lines, (self.regressors,))}\n{visible(notes)}"


# claim:regression
def regression(
    release: Release, outcome: str, regressors: Sequence[str], *, level: float = 0.95, method: str = BOUND
) -> Regression:
    """The linear regression of one column on others, from their released moments.

    Parameters
    ----------
    release
        A release of `inbounds.moments` of a public number of records, with all of the columns.
    outcome
        The column that is explained.
    regressors
        The columns that explain it. A column of 0 and 1 is a group; several of them are the levels of another column.
    level
        The confidence level of the intervals.
    method
        How large the sampling error is taken to be. ``"bound"``: the largest that bounds and released moments allow,
        whatever the variance of residuals depends on. ``"equal-variance"``: that of textbooks, for residuals that have
        one variance at all values of the regressors; one to five times narrower where there is little noise, and too
        narrow where they have not.

    Returns
    -------
    Regression
        Coefficients with intervals, R², predictions, and what the noise does to them.

    Raises
    ------
    ValueError
        If the release has no moments of these columns, or no public number of records.

    Examples
    --------
    >>> import inbounds as ib
    >>> table = {"x": [1.0, 2.0, 3.0, 4.0] * 2000, "y": [2.1, 3.9, 6.1, 7.9] * 2000}
    >>> release = ib.moments(table, bounds={"x": (0, 5), "y": (0, 10)}, epsilon=1)
    >>> fit = regression(release, "y", ["x"], level=0.999)
    >>> bool(fit.lower[0] < 1.96 < fit.upper[0])
    True
    """
    require_release(release, "release")
    way = release.derivation
    if not way.means_above or way.rows is None:
        raise ValueError(
            "a regression needs the record of ib.moments, of a public number of records: neighbours='substitute', "
            "without where= and with missing values counted as numbers, not skipped"
        )
    level = _check.level(level)
    _check.choice(method, "method", METHODS)
    names = list(release.axes[1])
    regressors = (regressors,) if isinstance(regressors, str) else tuple(regressors)
    columns = [*regressors, outcome]
    for name in columns:
        if name not in names:
            raise ValueError(f"the release has no column {name!r}; it has {', '.join(names)}")
    if not regressors or len(set(columns)) < len(columns):
        raise ValueError("name at least one regressor, and each column once")
    places = [names.index(name) for name in columns]
    value = release.value
    matrix = value.covariance[np.ix_(places, places)]
    return _fit(release, way.rows, places, value.mean[places], matrix, level, columns, method)


def _fit(
    release: Release,
    rows: int,
    indices: list[int],
    means: Array,
    matrix: Array,
    level: float,
    names: list[str],
    method: str,
) -> Regression:
    size = len(indices) - 1
    # In units of the half-widths of the bounds, in which all columns have about the same noise.
    ends = release.numeric_ends()[indices]
    halves = (ends[:, 1] - ends[:, 0]) / 2
    scaled = matrix / np.outer(halves, halves)
    places = (means - ends.mean(axis=1)) / halves
    noise = _noise_of_matrix(release, indices, places, rows)
    inner, cross = scaled[:size, :size], scaled[:size, size]
    eigenvalues, vectors = np.linalg.eigh(inner)
    root = vectors / np.sqrt(np.maximum(eigenvalues, 1e-12))
    relative = np.abs(np.linalg.eigvalsh(root.T @ noise[:_DRAWS_OF_SIZE, :size, :size] @ root)).max(axis=1)
    ratio = float(np.quantile(relative, _LEVEL))
    ridge = 0.0
    if not ratio < _LARGEST:
        # The size of the noise of the matrix.
        ridge = float(np.quantile(np.abs(np.linalg.eigvalsh(noise[:_DRAWS_OF_SIZE, :size, :size])).max(axis=1), _LEVEL))
    inverse = np.asarray(np.linalg.inv(inner + max(ridge, 1e-12) * np.eye(size)), np.float64)
    slopes = inverse @ cross
    residual = float(np.clip(scaled[size, size] - 2 * slopes @ cross + slopes @ inner @ slopes, 0, scaled[size, size]))
    lower, upper = np.full(size, -np.inf), np.full(size, np.inf)
    if ridge == 0.0:
        whole = np.append(-slopes, 1.0)
        off = (noise[:, :size] @ whole) @ inverse
        spread = residual + float(np.std(np.einsum("i,dij,j->d", whole, noise, whole)))
        variances = spread * np.diag(inverse)
        if method == BOUND:
            variances = _largest_variances(inverse, slopes, places, spread, rare(1 - level) / rows)
        deviations = np.sqrt(variances / max(rows - size - 1, 1))
        reach = np.array([_reach(off[:, j], float(deviations[j]), 1 - level) for j in range(size)]) / (1 - ratio)
        lower, upper = slopes - reach, slopes + reach
    units = halves[size] / halves[:size]
    coefficients = slopes * units
    intercept = float(means[size] - coefficients @ means[:size])
    total = max(float(scaled[size, size]), 1e-300)
    return Regression(
        names[size],
        tuple(names[:size]),
        coefficients,
        intercept,
        lower * units,
        upper * units,
        level,
        float(np.clip(1 - residual / total, 0.0, 1.0)),
        float(np.sqrt(residual) * halves[size]),
        ratio,
        ridge,
        means[:size],
        method,
    )


def _largest_variances(inverse: Array, slopes: Array, places: Array, residual: float, unseen: float) -> Array:
    """The largest E v²e² of each slope, for columns in [-1, 1] with these means, with unseen records."""
    farthest = (np.abs(inverse).sum(axis=1) + np.abs(inverse @ places[:-1])) ** 2
    reach = float(1 + np.abs(slopes).sum() + abs(places[-1] - slopes @ places[:-1])) ** 2
    largest = np.minimum(residual * farthest, reach * np.diag(inverse))
    return np.asarray(largest + unseen * farthest * reach)


def _noise_of_matrix(release: Release, indices: list[int], means: Array, rows: int) -> Array:
    """Draws of the noise of some columns' covariances, in units of their half-widths."""
    size = len(release.axes[1])
    in_draw = release.places or tuple(range(len(release.noisy)))
    pairs = {(i, j): size + i * size - i * (i - 1) // 2 + j - i for i in range(size) for j in range(i, size)}
    rank = [[pairs[min(a, b), max(a, b)] for b in indices] for a in indices]
    places = sorted({*indices, *(place for row in rank for place in row)})
    noise = draw_joint(release.parts[0], tuple(in_draw[place] for place in places), _DRAWS)
    noise = noise * np.array([float(release.units[place]) for place in places])
    at = {place: k for k, place in enumerate(places)}
    first = noise[:, [at[place] for place in indices]]
    second = noise[:, [[at[place] for place in row] for row in rank]]
    second = np.where(np.eye(len(indices), dtype=bool), second / 2, second)
    crossed = means[:, None] * first[:, None, :]
    return np.asarray((second - crossed - np.swapaxes(crossed, 1, 2)) / (rows - 1))


# How many draws of the noise there are, and how many of them are used for its relative size, which takes longest.
_DRAWS, _DRAWS_OF_SIZE = 4096, 1024


def _reach(noise: Array, deviation: float, alpha: float) -> float:
    """How far a normal error and noise reach together, except with a probability of alpha."""
    deviation = max(deviation, 1e-300)

    def excess(reach: float) -> float:
        ndtr = scipy.special.ndtr
        inside = ndtr((reach - noise) / deviation) - ndtr((-reach - noise) / deviation)
        return float(inside.mean()) - (1 - alpha)

    high = 10 * deviation + float(np.abs(noise).max())
    return bracket_root(excess, 0.0, high, 1e-9 * high)[1]
