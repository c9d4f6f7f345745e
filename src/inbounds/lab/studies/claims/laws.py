"""The paper's statements about the two laws that formulas decide, without simulation."""

from collections.abc import Sequence

import numpy as np

from inbounds.lab.studies.claims.judge import Claim, Part, state
from inbounds.lab.studies.evidence import Measured
from inbounds.lab.studies.paper import BOUNDINGS, EPSILONS
from inbounds.lab.theory.calibrate import calibrate
from inbounds.lab.theory.loss import privacy_loss
from inbounds.laws.mechanism import Mechanism
from inbounds.laws.noise import Laplace

# Where the true value lies within bounds (0, 1): midpoints of 2,000 equal parts.
_WITHIN = (np.arange(2000) + 0.5) / 2000


def _unaffected() -> Sequence[Part]:
    parts = []
    for width in (1, 3, 10, 30, 100):
        scale = 1 / width
        ratios = [float(Mechanism(Laplace(scale), b, (0, 1)).mse(_WITHIN).mean()) / (2 * scale**2) for b in BOUNDINGS]
        furthest = min(ratios)
        text = f"W/λ = {width}: MSE within 10% of 2λ², mean over where the true value lies; furthest ratio"
        parts.append(state(text, Measured(furthest), abs(furthest - 1) <= 0.1))
    return parts


def _no_advantage() -> Sequence[Part]:
    parts = []
    for product in (10, 50, 500):
        epsilon = 0.1
        laws = [
            calibrate("laplace", b, bounds=(0, 1), sensitivity=epsilon / product, epsilon=epsilon) for b in BOUNDINGS
        ]
        least = float((laws[0].mse(_WITHIN) / laws[1].mse(_WITHIN)).min())
        text = f"a share at ε = 0.1 and nε = {product}, at equal true ε: MSE of truncated over BIT's not above 1; least"
        parts.append(state(text, Measured(least), least <= 1))
    return parts


def _claimed_loss() -> Sequence[Part]:
    parts = []
    for epsilon in EPSILONS:
        step = 1 / 1000
        paper = calibrate("laplace", "truncated", bounds=(0, 1), sensitivity=step, epsilon=epsilon, calibration="paper")
        real = float(privacy_loss(paper, step))
        parts.append(
            state(f"a share of 1,000 records, claimed ε = {epsilon:g}: real loss", Measured(real), real <= epsilon)
        )
    return parts


CLAIMS = (
    Claim(
        "T.1",
        "after Prop. 2",
        "bounding does not seem to affect the MSE",
        _unaffected,
        "partly",
        "2λ² is an upper bound. Near a bound BIT has half of it, and for bounds narrower than about ten scales both "
        "procedures are far below it.",
    ),
    Claim(
        "T.2",
        "discussion",
        "BIT has no practical advantage over truncation",
        _no_advantage,
        "not",
        "Truncation that keeps its promise needs up to twice the scale.",
    ),
    Claim(
        "T.3",
        "Def. 2(a)",
        "truncated Laplace noise at δ/ε is ε-differentially private",
        _claimed_loss,
        "not",
        "The normaliser depends on the data: the loss is up to 2ε (erratum 2).",
    ),
)
