"""The paper's findings, judged: each is a list of conditions on figures of the two studies, or on exact formulas.

A condition holds, does not, or cannot be told from the repetitions there are (less than three standard errors from its
limit); then the figure still leans one way. The verdict is computed: *reproduced* if no condition fails or leans to
failing, *not* if none holds or leans to holding, *partly* otherwise; *undecided* if none can be told. Limits for words
such as "minimal" or "about" are in the text of the condition.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from inbounds.lab.studies.evidence import Measured, mean


@dataclass(frozen=True, slots=True)
class Part:
    """One condition: its words, the figure that decides it, whether it holds (None: cannot be told), how it leans."""

    text: str
    figure: Measured
    holds: bool | None
    leans: bool

    def __str__(self) -> str:
        words = {True: "holds", False: "does not hold", None: "too close to tell"}
        return f"{self.text}: {self.figure}, {words[self.holds]}"


def state(text: str, figure: Measured, holds: bool) -> Part:
    """A condition that is decided without doubt."""
    return Part(text, figure, holds, holds)


def above(text: str, figure: Measured, limit: float) -> Part:
    """The figure is above a limit."""
    return Part(text, figure, figure.above(limit), figure.value > limit)


def below(text: str, figure: Measured, limit: float) -> Part:
    """The figure is below a limit."""
    return Part(text, figure, figure.below(limit), figure.value < limit)


def within(text: str, figure: Measured, limit: float) -> Part:
    """The figure is within ±limit."""
    return Part(text, figure, abs(figure).below(limit), abs(figure.value) < limit)


def everywhere(text: str, figures: Iterable[Measured], limit: float, *, independent: bool = False) -> Part:
    """On average the figures are above a limit, and none is clearly below it; the least of them is shown."""
    values = list(figures)
    typical, least = mean(values, independent=independent), min(values, key=lambda figure: figure.value - limit)
    holds = False if any(figure.above(limit) is False for figure in values) else typical.above(limit)
    return Part(text, least, holds, holds is not False and typical.value > limit)


def between(text: str, figures: Iterable[Measured], low: float, high: float) -> Part:
    """All figures lie within limits; the one that is furthest out decides and is shown."""
    out = max(figures, key=lambda figure: max(low - figure.value, figure.value - high))
    holds = False if False in (answers := (out.above(low), out.below(high))) else None if None in answers else True
    return Part(f"{text} within {low:g} to {high:g}; furthest out", out, holds, low <= out.value <= high)


@dataclass(frozen=True, slots=True)
class Claim:
    """A finding of the paper: where it stands, its words in short, how to judge it.

    ``judge`` takes the evidence of its study; statements about the laws alone need none. ``reference`` is the verdict
    of a separate computation at the paper's scale, and ``remark`` what explains the outcome.
    """

    id: str
    where: str
    words: str
    judge: Callable[..., Sequence[Part]]
    reference: str
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """A claim with its conditions at one calibration, and the verdict."""

    claim: Claim
    calibration: str
    parts: tuple[Part, ...]

    @property
    def verdict(self) -> str:
        return verdict(self.parts)

    @property
    def sure(self) -> bool:
        """Whether the verdict would be the same whichever way the conditions go that are too close to tell."""
        ways = [
            verdict([part if part.holds is not None else state("", part.figure, way) for part in self.parts])
            for way in (True, False)
        ]
        return ways[0] == ways[1]

    @property
    def decisive(self) -> Part | None:
        """The first condition that does not hold, or leans to it; or else the first that does."""
        failing = [part for part in self.parts if not part.leans]
        holding = [part for part in self.parts if part.holds]
        return next(iter(failing + holding + list(self.parts)), None)

    @property
    def why(self) -> str:
        """All conditions, one per line, those that do not hold first."""
        return "\n".join(map(str, sorted(self.parts, key=lambda part: part.leans)))


# claim:study-verdict
def verdict(parts: Sequence[Part]) -> str:
    """From conditions to a word.

    >>> verdict([])
    'not run'
    """
    if not parts:
        return "not run"
    if all(part.holds is None for part in parts):
        return "undecided"
    answers = [part.leans if part.holds is None else part.holds for part in parts]
    return "reproduced" if all(answers) else "partly" if any(answers) else "not"
