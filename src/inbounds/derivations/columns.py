"""What is plausible for the column of points: its records are nearly normal, within their bounds."""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import scipy

from inbounds.derivations import truths
from inbounds.derivations.base import Situation
from inbounds.derivations.truths import Truth
from inbounds.expected.quantiles import Spread

# Gaps and values that many records share may make errors many times as large, or nothing.
_NORMAL = "nearly normal values without gaps or ties"


def find_column_truths(situation: Situation, ends: tuple[float, float], groups: int) -> truths.Truths:
    """What is plausible for the column; a number or a range without a name is where its middle lies."""
    statement = situation.plausible
    if statement is not None and not isinstance(statement, Mapping | Truth):
        situation = replace(situation, plausible={truths.KEYS[1]: statement})
    plausible = truths.find_truths(replace(situation, groups=groups, columns=np.array([ends])), "spread")
    return replace(plausible, assumed=f"{_NORMAL}, {plausible.assumed}" if plausible.assumed else "")


def spread_of_column(truth: Truth, ends: tuple[float, float]) -> Spread:
    """The law of nearly normal records, within their bounds."""
    lower, upper = ends
    deviation = max(math.sqrt(float(truth.matrix[0, 0])), 1e-9 * (upper - lower))
    centre, inner = float(truth.means[0]), scipy.special.ndtri(np.linspace(0.0005, 0.9995, 400))
    spread_out = np.concatenate([centre + deviation * inner, np.linspace(lower, upper, 200)])
    points = np.unique(np.clip(spread_out, lower, upper))
    ranks = scipy.special.ndtr((points - centre) / deviation)
    ranks[0], ranks[-1] = 0.0, 1.0
    return Spread.through(points, ranks)
