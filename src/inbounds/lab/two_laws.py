"""The two laws for learners: what clamping and truncating do to a mean, by the exact formulas."""

import math
from typing import Any, Literal

import numpy as np

from inbounds import _check
from inbounds.lab.theory import sensitivity
from inbounds.lab.theory.calibrate import calibrate
from inbounds.lab.theory.loss import privacy_loss
from inbounds.laws.mechanism import Mechanism

_POINTS, _MOST_ROWS = 161, 10**9
# Name, bounding, calibration, and what it is.
_LAWS: tuple[tuple[str, str, Literal["exact", "paper"], str], ...] = (
    ("bit", "bit", "exact", "Clamped (BIT): values beyond a bound are put on it"),
    ("truncated", "truncated", "exact", "Truncated, with the scale that keeps ε"),
    ("paper", "truncated", "paper", "Truncated at the paper's scale δ/ε: keeps less than it says"),
)


def compare_laws(epsilon: float, rows: int, lower: float, upper: float, truth: float) -> dict[str, Any]:
    """The laws of a released mean of some rows, for one true value.

    Parameters
    ----------
    epsilon
        The ε that is asked for.
    rows
        The public number of rows.
    lower, upper
        The bounds.
    truth
        The true mean, within the bounds.

    Returns
    -------
    dict
        ``x``, the released values, and ``laws``: for each its ``density`` over x, ``atoms`` at the bounds, ``bias``,
        ``rmse``, ``scale``, and the ``loss`` that it really has.

    Raises
    ------
    TypeError, ValueError
        If an argument is not valid.
    """
    laws = _make_laws(epsilon, rows, lower, upper)
    truth = _check.finite(truth, "the true value")
    if not lower <= truth <= upper:
        raise ValueError("the true value must lie within the bounds")
    x = np.linspace(lower, upper, _POINTS)
    move = sensitivity.mean(bounds=(lower, upper), n=rows)
    return {
        "x": x.tolist(),
        "laws": [
            {
                "name": name,
                "title": title,
                "density": _finite(law.pdf(x, at=truth)),
                "atoms": [float(mass) for mass in law.atoms(at=truth)],
                "bias": _spell(float(law.bias(truth))),
                "rmse": _spell(math.sqrt(float(law.mse(truth)))),
                "scale": _spell(float(law.noise.scale)),
                "loss": _spell(float(privacy_loss(law, move))),
                "keeps": bool(privacy_loss(law, move) <= epsilon * (1 + 1e-9)),
            }
            for (name, _, _, title), law in zip(_LAWS, laws, strict=True)
        ],
    }


def compare_over_truths(epsilon: float, rows: int, lower: float, upper: float) -> dict[str, Any]:
    """Bias and root mean squared error of the same laws over all true values, as in the paper's figures.

    Parameters
    ----------
    epsilon, rows, lower, upper
        As in `compare_laws`.

    Returns
    -------
    dict
        ``x``, the true values, and ``laws`` with ``bias`` and ``rmse`` over them.

    Raises
    ------
    TypeError, ValueError
        If an argument is not valid.
    """
    laws = _make_laws(epsilon, rows, lower, upper)
    x = np.linspace(lower, upper, _POINTS)
    return {
        "x": x.tolist(),
        "laws": [
            {"name": name, "title": title, "bias": _finite(law.bias(x)), "rmse": _finite(np.sqrt(law.mse(x)))}
            for (name, _, _, title), law in zip(_LAWS, laws, strict=True)
        ],
    }


def _make_laws(epsilon: float, rows: int, lower: float, upper: float) -> list[Mechanism]:
    epsilon, (lower, upper) = _check.positive(epsilon, "epsilon"), _check.bounds((lower, upper))
    if not (math.isfinite(lower) and math.isfinite(upper)):
        raise ValueError("bounds must be finite")
    if not 0.001 <= epsilon <= 20:
        raise ValueError("epsilon must lie between 0.001 and 20")
    if _check.integer(rows, "rows", least=1) > _MOST_ROWS:
        raise ValueError(f"rows must not exceed {_MOST_ROWS:,}")
    move = sensitivity.mean(bounds=(lower, upper), n=rows)
    return [
        calibrate("laplace", bounding, bounds=(lower, upper), sensitivity=move, epsilon=epsilon, calibration=how)
        for _, bounding, how, _ in _LAWS
    ]


def _finite(values: Any) -> list[float]:
    return [float(value) if math.isfinite(value) else 0.0 for value in np.asarray(values, float)]


def _spell(x: float) -> str:
    return f"{x:.3g}"
