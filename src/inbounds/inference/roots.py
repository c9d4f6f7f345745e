"""Find a root of a function. SciPy can do this too, but loading its optimisers takes longer than a whole release."""

from collections.abc import Callable


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
