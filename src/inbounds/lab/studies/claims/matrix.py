"""The paper's findings in its first study: a released covariance matrix."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from inbounds.lab.studies.claims.judge import Claim, Part, above, below, between, state
from inbounds.lab.studies.evidence import Evidence, Measured, largest, mean, smallest
from inbounds.lab.studies.measures import PERCENTILES
from inbounds.lab.studies.paper import BOUNDINGS, MATRICES, MATRIX_SIZES

if TYPE_CHECKING:
    import polars

_ALL = ("S11", "S22", "S12", "r")
_SCENARIOS = tuple(matrix.name for matrix in MATRICES)
_LEVEL, _CORRELATED = _SCENARIOS[0], _SCENARIOS[1:]
_FIRST, _LAST = MATRIX_SIZES[0], MATRIX_SIZES[-1]
_SMALL = (50, 100)


def evidence(table: "polars.DataFrame", calibration: str) -> Evidence:
    """The split release of the paper at one scale."""
    return Evidence.of(
        table, epsilon=1.0, neighbours="substitute", calibration=calibration, repair="none", estimator="none"
    )


def _where(quantity: str) -> tuple[str, ...]:
    """Scenarios in which a bias is to be expected: covariance and correlation have none at r = 0."""
    return _SCENARIOS if quantity in ("S11", "S22") else _CORRELATED


def _truth(scenario: str, quantity: str) -> float:
    matrix = next(matrix for matrix in MATRICES if matrix.name == scenario)
    return dict(zip(matrix.quantities, matrix.truths(), strict=True))[quantity]


def _biases(e: Evidence, quantity: str, n: int, mechanism: str) -> list[Measured]:
    """|bias| relative to the true value, in each scenario where one is to be expected."""
    return [
        abs(e(quantity, "bias", scenario=s, n=n, mechanism=mechanism)).over(abs(_truth(s, quantity)))
        for s in _where(quantity)
    ]


def _bias_when_small(e: Evidence) -> Sequence[Part]:
    parts = []
    for quantity in _ALL:
        least = smallest(x for mechanism in BOUNDINGS for x in _biases(e, quantity, _FIRST, mechanism))
        text = f"{quantity}: |bias| above 10% of the true value at n = {_FIRST}, in every case; least"
        parts.append(above(text, least, 0.1))
    return parts


def _none_at_zero(e: Evidence) -> Sequence[Part]:
    parts = []
    for quantity in ("S12", "r"):
        biases = [
            e(quantity, "bias", scenario=_LEVEL, n=n, mechanism=mechanism)
            for n in MATRIX_SIZES
            for mechanism in BOUNDINGS
        ]
        # At other correlations it is four times as much and more, at n = 50.
        parts.append(between(f"{quantity} at r = 0: bias at every n, both procedures,", biases, -0.1, 0.1))
    return parts


def _truncated_more_biased(e: Evidence) -> Sequence[Part]:
    parts = []
    for quantity in _ALL:
        gaps = []
        for n in _SMALL:
            truncated, bit = (_biases(e, quantity, n, mechanism) for mechanism in BOUNDINGS)
            gaps += [a - b for a, b in zip(truncated, bit, strict=True)]
        text = f"{quantity}: |bias| over the true value, truncated minus BIT, mean at n = 50 and 100, above 0"
        # No samples are drawn in this study, so that settings are independent of each other.
        gap = mean(gaps, independent=True)
        parts.append(above(text, gap, 0))
    return parts


def _bias_vanishes(e: Evidence) -> Sequence[Part]:
    parts = []
    for quantity in _ALL:
        ratios = [
            mean(_biases(e, quantity, _LAST, mechanism)).over(mean(_biases(e, quantity, _FIRST, mechanism)))
            for mechanism in BOUNDINGS
        ]
        text = f"{quantity}: |bias| at n = {_LAST} below a fifth of that at n = {_FIRST}; larger ratio"
        parts.append(below(text, largest(ratios), 0.2))
    return parts


def _dispersion_vanishes(e: Evidence) -> Sequence[Part]:
    def spread(quantity: str, n: int, scenario: str, mechanism: str) -> Measured:
        return e(quantity, "sd", scenario=scenario, n=n, mechanism=mechanism)

    cases = [(s, mechanism) for s in _SCENARIOS for mechanism in BOUNDINGS]
    parts = []
    for quantity in _ALL:
        ratio = largest(spread(quantity, _LAST, *case).over(spread(quantity, _FIRST, *case)) for case in cases)
        text = f"{quantity}: standard deviation at n = {_LAST} below half of that at n = {_FIRST}; largest ratio"
        parts.append(below(text, ratio, 0.5))
    widest = largest(spread("r", _LAST, *case) for case in cases)
    text = f"r: standard deviation at n = {_LAST} below 0.1, a twentieth of what is possible; largest"
    return [*parts, below(text, widest, 0.1)]


def _at_bounds(e: Evidence, quantity: str, n: int, mechanism: str, scenario: str) -> Measured:
    ends = [e(quantity, f"at_{side}", scenario=scenario, n=n, mechanism=mechanism) for side in ("lower", "upper")]
    return Measured(ends[0].value + ends[1].value, (ends[0].error ** 2 + ends[1].error ** 2) ** 0.5)


def _piles(e: Evidence) -> Sequence[Part]:
    parts = []
    for quantity in ("S11", "S22", "r"):
        least = smallest(_at_bounds(e, quantity, _FIRST, "bit", s) for s in _SCENARIOS)
        text = f"{quantity}: share of BIT values at a bound above 20% at n = {_FIRST}; least"
        parts.append(above(text, least, 0.2))
    return parts


def _from_flat(e: Evidence, quantity: str, n: int, scenario: str) -> Measured:
    """How far percentiles of truncated values are from those of a uniform law on what is possible (0 to 1)."""
    matrix = next(matrix for matrix in MATRICES if matrix.name == scenario)
    low, high = -1.0, 1.0
    if quantity != "r":
        place = 0 if quantity == "S11" else 1
        low, high = 0.0, matrix.widths[place] ** 2 * n / (4 * (n - 1))
    distances = []
    for percentile in PERCENTILES:
        at = e(quantity, f"q{percentile:g}", scenario=scenario, n=n, mechanism="truncated")
        distances.append(abs(Measured((at.value - low) / (high - low) - percentile / 100, at.error / (high - low))))
    return largest(distances)


def _flat(e: Evidence) -> Sequence[Part]:
    def typical(quantity: str, n: int) -> Measured:
        return mean(_from_flat(e, quantity, n, s) for s in _SCENARIOS)

    small, large, others = typical("r", _FIRST), typical("r", _LAST), [typical(x, _FIRST) for x in ("S11", "S22")]
    gap = smallest(other - small for other in others)
    return [
        below(f"r truncated at n = {_FIRST}: percentiles within 0.15 of a flat law's", small, 0.15),
        above(f"r truncated at n = {_LAST}: further from flat than at n = {_FIRST}, by", large - small, 0),
        above(f"S11 and S22 at n = {_FIRST}: further from flat than r, by", gap, 0),
    ]


def _exact_bounds(e: Evidence) -> Sequence[Part]:
    parts = []
    for quantity, side, what in (
        ("S11", "lower", "0"),
        ("S22", "lower", "0"),
        ("r", "upper", "1"),
        ("r", "lower", "-1"),
    ):
        share = smallest(e(quantity, f"at_{side}", scenario=s, n=_FIRST, mechanism="bit") for s in _SCENARIOS)
        parts.append(above(f"{quantity} exactly {what} under BIT at n = {_FIRST}: share above 0; least", share, 0))
    never = largest(
        _at_bounds(e, x, n, "truncated", s) for x in ("S11", "S22", "r") for n in MATRIX_SIZES for s in _SCENARIOS
    )
    return [*parts, state("truncated values are never exactly at a bound; largest share", never, never.value == 0)]


CLAIMS = (
    Claim("S1.1", "study 1", "small n: noticeable bias in S11, S22, S12 and r", _bias_when_small, "reproduced"),
    Claim("S1.2", "study 1", "no bias of S12 and r at r = 0", _none_at_zero, "reproduced"),
    Claim(
        "S1.3",
        "study 1",
        "truncated results more biased than BIT's, in all components",
        _truncated_more_biased,
        "partly",
        "The proposition behind it is about one number within fixed bounds. The bounds of S12 are random: BIT's are "
        "often narrow or a point (a variance of 0), which pulls S12 to 0 at small n. For r it depends on what an "
        "undefined r counts as (option undefined): left out, BIT is less biased; counted as 0, more.",
    ),
    Claim("S1.4", "study 1", "bias goes to 0 as n grows", _bias_vanishes, "reproduced"),
    Claim(
        "S1.5",
        "study 1",
        "dispersion goes to 0 as n grows",
        _dispersion_vanishes,
        "partly",
        "It shrinks as 1/n, but λ12 = 162/n is still 0.2 at n = 800.",
    ),
    Claim("S1.6", "study 1", "small n: many BIT values at the boundary", _piles, "reproduced"),
    Claim("S1.7", "study 1", "small n: truncated results flat, above all r", _flat, "reproduced"),
    Claim(
        "S1.8",
        "discussion",
        "BIT gives variances of exactly 0, correlations of exactly ±1",
        _exact_bounds,
        "reproduced",
    ),
)
