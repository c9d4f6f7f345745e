"""Find a root of a function. SciPy can do this too, but loading its optimisers takes longer than a whole release."""

from collections.abc import Callable
from typing import Any

import numpy as np

from inbounds._check import Array


def bracket_root(
    function: Callable[[float], float],
    low: float,
    high: float,
    width: float,
    *,
    relative: float = 1e-15,
    ends: tuple[float, float] | None = None,
) -> tuple[float, float]:
    """Bracket a root in an interval no wider than ``width``, or than ``relative`` of the root (Chandrupatla 1997).

    The method uses inverse quadratic interpolation where it is reliable, and bisection elsewhere. It needs about as
    many evaluations as Brent's method, and never more than a few times those of bisection. The function must have
    different signs at both ends. ``ends`` are its values there, if they are already known.

    >>> low, high = bracket_root(lambda x: x**3 - 2, 0.0, 2.0, 1e-12)
    >>> low <= 2 ** (1 / 3) <= high, high - low <= 2e-12
    (True, True)
    """
    x1, x2 = high, low
    f2, f1 = (function(low), function(high)) if ends is None else ends
    if f1 == 0 or f2 == 0:
        root = x1 if f1 == 0 else x2
        return root, root
    t = 0.5
    while True:
        x = x1 + t * (x2 - x1)
        f = function(x)
        if (f > 0) == (f1 > 0):
            x3, f3 = x1, f1
        else:
            x3, f3, x2, f2 = x2, f2, x1, f1
        x1, f1 = x, f
        if f == 0:
            return x, x
        size = abs(x2 - x1)
        least = max(width, relative * max(abs(x1), abs(x2))) / 2
        if size <= 2 * least:
            return min(x1, x2), max(x1, x2)
        xi, phi = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
        t = 0.5
        if phi**2 < xi and (1 - phi) ** 2 < 1 - xi:
            far = (x3 - x1) / (x2 - x1)
            t = f1 / (f1 - f2) * f3 / (f3 - f2) - far * f1 / (f3 - f1) * f2 / (f2 - f3)
        # Stay half a tolerance away from both ends, so that the bracket shrinks from both sides.
        t = min(max(t, least / size), 1 - least / size)


def bracket_roots(
    function: Callable[[Array, Any], Array], low: Array, high: Array, width: Array
) -> tuple[Array, Array]:
    """Bracket many roots at once, each in its interval and no wider than its ``width``, as `bracket_root` does one.

    ``function(x, places)`` has the values at x for the roots with these places in ``low`` and ``high``.

    >>> squares = np.array([2.0, 3.0])
    >>> function = lambda x, places: x**2 - squares[places]
    >>> low, high = bracket_roots(function, np.ones(2), 2 * np.ones(2), np.full(2, 1e-9))
    >>> (low**2 <= squares).all(), (squares <= high**2).all(), (high - low <= 2e-9).all()
    (np.True_, np.True_, np.True_)
    """
    left: Any = np.arange(len(low))
    below, above = np.array(low), np.array(high)
    x1, x2, f1, f2 = np.array(high), np.array(low), function(high, left), function(low, left)
    t = np.full(len(low), 0.5)
    while len(left):
        x = x1 + t * (x2 - x1)
        f = function(x, left)
        on = (f > 0) == (f1 > 0)
        x3, f3 = np.where(on, x1, x2), np.where(on, f1, f2)
        x2, f2 = np.where(on, x2, x1), np.where(on, f2, f1)
        x1, f1 = x, f
        size = np.abs(x2 - x1)
        least = np.maximum(width[left], 1e-15 * np.maximum(np.abs(x1), np.abs(x2))) / 2
        done = size <= 2 * least
        below[left[done]], above[left[done]] = np.minimum(x1, x2)[done], np.maximum(x1, x2)[done]
        left, size, least = left[~done], size[~done], least[~done]
        x1, x2, x3, f1, f2, f3 = (some[~done] for some in (x1, x2, x3, f1, f2, f3))
        t = np.clip(_step(x1, x2, x3, f1, f2, f3), least / size, 1 - least / size)
    return below, above


def _step(x1: Array, x2: Array, x3: Array, f1: Array, f2: Array, f3: Array) -> Array:
    """Where to look next between x1 and x2, as a part of their distance."""
    with np.errstate(all="ignore"):
        xi, phi = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
        far = (x3 - x1) / (x2 - x1)
        t = f1 / (f1 - f2) * f3 / (f3 - f2) - far * f1 / (f3 - f1) * f2 / (f2 - f3)
    return np.where((phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi), t, 0.5)
