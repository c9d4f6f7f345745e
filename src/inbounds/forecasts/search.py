"""Search for the least number at which an error is small enough, with few evaluations of the error."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

# A tiny tolerance makes the answer the same on every processor.
TOLERANCE = 1e-9
# How much further than expected the search goes to have the answer between two ends, and how often it takes the middle.
_FURTHER, _HALVED = 1.02, 4


@dataclass(slots=True)
class Search:
    """Errors at places, which are integers; each stands for a number that errors fall with, nearly as its inverse.

    Attributes
    ----------
    error_of
        The error at a place.
    value_of, place_of
        The number of a place, and the place next to a number. Numbers rise with places.
    ends
        The first and the last place.
    """

    error_of: Callable[[int], float]
    value_of: Callable[[int], float]
    place_of: Callable[[float], int]
    ends: tuple[int, int]
    _known: dict[int, float] = field(default_factory=dict)

    def find(self, goal: float, start: float) -> int | None:
        """The least place with an error of at most ``goal``, from the number to start with; None if there is none."""
        first, last = self.ends
        below, above = first - 1, last + 1
        place, tries = min(max(self.place_of(start), first), last), 0
        while above - below > 1:
            if self._error(place) <= goal * (1 + TOLERANCE):
                above = place
            else:
                below = place
            tries += 1
            place = min(max(self._next(place, below, above, goal, tries), below + 1), above - 1)
        return above if above <= last else None

    def _error(self, place: int) -> float:
        if place not in self._known:
            self._known[place] = self.error_of(place)
        return self._known[place]

    def _next(self, place: int, below: int, above: int, goal: float, tries: int) -> int:
        """Where the error probably is the goal."""
        first, last = self.ends
        value, ratio = self.value_of(place), self._error(place) / goal
        if below < first or above > last:
            # Only one end is known: go on, at least by a half more with each try.
            least = 1.5**tries
            if above > last:
                return self.place_of(value * max(min(ratio * _FURTHER, 1e6), least))
            return self.place_of(value * min(max(ratio / _FURTHER, 1e-6), 1 / least))
        low, high = self._error(below), self._error(above)
        logs = math.log(self.value_of(below)), math.log(self.value_of(above))
        part = 0.5
        if tries % _HALVED and high > 0 and math.isfinite(low) and low > high:
            part = math.log(low / goal) / math.log(low / high)
        return self.place_of(math.exp(logs[0] + part * (logs[1] - logs[0])))
