"""Forecast how errors fall and rise with the number of rows that are kept of each person.

More rows have more noise, and leave out less. What is left out has two parts, both for the statistic of all rows:

- *choice*: which rows are kept is random. With n of R rows, and v the standard deviation of what one row adds to an
  average, that is v √(1/n - 1/R), as if rows of a person were no more alike than those of different persons; if they
  are, it is smaller. Of a total it is n times that.
- *shift*: those who had many rows weigh less. Counts and sums are too small by what is not counted. Averages move by
  the weight that goes to other persons, times what these differ by: a quarter of v is assumed.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from inbounds._check import Array
from inbounds.derivations import Chosen
from inbounds.derivations.truths import typical_size, typical_truth
from inbounds.forecasts.figures import one_figure
from inbounds.forecasts.forecast import at_plausible_truth, typical_error
from inbounds.forecasts.rows import RowsPerPerson
from inbounds.forecasts.wanted import Wanted
from inbounds.record.release import Release
from inbounds.record.selection import is_selection, plain_statistic

# What persons with many rows and others differ by, in standard deviations of what is averaged.
DIFFERENCE = 1 / 4
# The share of records that a selection, or a level that nothing is known of, typically has.
_SOME, _HALF = 1 / 4, 1 / 2
ASSUMED = (
    "choice is by chance, as rows are kept; shift assumes that persons with many rows differ from others by a quarter "
    "of a standard deviation, and that sums and counts miss what is left out"
)


@dataclass(frozen=True, slots=True)
class Kept:
    """The typical error where at most so many rows are kept of each person, for the statistic of all rows.

    Attributes
    ----------
    contributions
        The rows that are kept of each person, or of each person in one group.
    left_out
        The share of rows that are not kept.
    noise, choice, shift
        The parts of the RMSE: noise, the random choice of rows, and what is left out for good.
    """

    contributions: int
    left_out: float
    noise: float
    choice: float
    shift: float

    @property
    def rmse(self) -> float:
        """The typical RMSE, of noise and of what is left out."""
        return math.sqrt(self.noise**2 + self.choice**2 + self.shift**2)

    def to_dict(self) -> dict[str, float]:
        """The figures as plain values, for JSON."""
        names = ("contributions", "left_out", "noise", "choice", "shift", "rmse")
        return {name: getattr(self, name) for name in names}


def forecast_contributions(
    wanted: Wanted, draft: Callable[[Wanted], Release] | None = None, limits: tuple[int, ...] = ()
) -> tuple[Kept, ...]:
    """claim:forecast-kept. The errors at several numbers of rows of each person; none if nothing is stated of them.

    Parameters
    ----------
    wanted
        The release; its ``plausible_rows`` say how many rows persons have.
    draft
        Makes the record of the release with other contributions; by default as it would be drawn alone.
    limits
        The numbers of rows; by default 1, 2, 5, 10 and so on.

    Returns
    -------
    tuple of Kept
        The errors by number of rows. Numbers for which the release would be refused are left out.
    """
    rows = wanted.plausible_rows
    if not isinstance(rows, RowsPerPerson) or wanted.keywords.get("fold") is not None:
        return ()
    made = []
    for k in limits or rows.list_limits(wanted.keywords.get("contributions", 1)):
        one = wanted.but(contributions=k)
        try:
            record = one.draft().record if draft is None else draft(one)
        except ValueError:
            # Some statistics need exactly one row of each person.
            continue
        most, persons = record.terms.contributions, one.persons
        choice, shift = _lose(one, record, rows, most) if persons is not None else (math.nan, math.nan)
        made.append(Kept(k, rows.left_out(most), typical_error(one, record), choice, shift))
    return tuple(made)


def find_least(kept: tuple[Kept, ...]) -> Kept:
    """The one with the smallest error; the fewest rows if several have it."""
    return min(kept, key=lambda one: (round(one.rmse, 12), one.contributions))


def _lose(wanted: Wanted, record: Release, rows: RowsPerPerson, most: int) -> tuple[float, float]:
    """The errors by choice and by shift, one figure for all numbers of the release."""
    persons = wanted.persons or 0.0
    n, total = persons * rows.kept(most), persons * rows.mean
    traits, seen = record.statistic.traits, record.situation(wanted.plausible, wanted.size)
    if (traits.counted and traits.whole) or traits.meaning == "total":
        share, mean, spread = _describe_total(wanted, record, total)
        choice = spread * np.sqrt(n * share * (1 - n / total))
        return one_figure(choice), one_figure(np.abs(mean) * share * (total - n))
    unit = _spread_of_row(wanted, record)
    way = record.derivation
    groups = way.groups if isinstance(way, Chosen) else seen.groups
    apart = groups > 1 and not traits.matrix and bool(record.axes) and len(record.axes[0]) == groups
    part = typical_size(seen, groups) / n if apart or is_selection(record.statistic) else 1.0
    return one_figure(unit * np.sqrt((1 / n - 1 / total) / part)), one_figure(unit * DIFFERENCE * rows.moved(most))


def _describe_total(wanted: Wanted, record: Release, total: float) -> tuple[Any, Any, Any]:
    """The share of rows that a total is of, and the mean and spread of what each of them adds to it."""
    statistic, stated = record.statistic, wanted.plausible
    plain = stated if isinstance(stated, int | float | tuple | list) and not record.axes else None
    known = None if plain is None else float(np.mean(plain))
    some = _SOME if is_selection(statistic) else 1.0
    if statistic.traits.counted:
        if record.axes:
            cells = np.ravel(np.asarray(at_plausible_truth(record, wanted).table, float))
            share = cells / max(cells.sum(), 1e-9)
        else:
            counts_all = not plain_statistic(statistic).inputs
            share = min(known / total, 1.0) if known is not None else some if counts_all else some * _HALF
        return share, 1.0, np.sqrt(1 - share)
    truth = typical_truth(record.situation(None if plain is not None else stated, wanted.size), "total")
    mean, spread = float(truth.means[0]), math.sqrt(truth.matrix[0, 0])
    groups = max(math.prod(len(axis) for axis in record.axes), 1)
    return some / groups, mean if known is None else known / total, spread


def _spread_of_row(wanted: Wanted, record: Release) -> Array:
    """The standard deviation of what one row adds to each number, where the number is an average or nearly one."""
    traits, way, seen = record.statistic.traits, record.derivation, record.situation(wanted.plausible, wanted.size)
    values = np.ravel(np.asarray(at_plausible_truth(record, wanted).table, float))
    if traits.counted:
        p = np.clip(values, 0.0, 1.0)
        return np.asarray(np.sqrt(p * (1 - p)))
    if isinstance(way, Chosen):
        shares = np.array([float(way.shares[place]) for place in way.shown])
        height = np.exp(-(scipy.special.ndtri(shares) ** 2) / 2) / math.sqrt(2 * math.pi)
        spread = math.sqrt(way.find_truths(seen).typical.matrix[0, 0])
        return np.tile(spread * np.sqrt(shares * (1 - shares)) / height, way.groups)
    if traits.unit_diagonal:
        # Of a correlation; of Kendall's tau two thirds of it.
        return (1 - values**2) * (2 / 3 if traits.columns == "ordered" else 1.0)
    if traits.matrix or traits.meaning is None:
        matrix = values.reshape(-1, round(len(record.axes[-1])))
        means, matrix = (matrix[:0], matrix) if traits.matrix else (matrix[:1], matrix[1:])
        variances = np.maximum(matrix.diagonal(), 0.0)
        spreads = np.sqrt(np.outer(variances, variances) + matrix**2)
        return np.concatenate([np.sqrt(variances)[: means.size], spreads.ravel()])
    sd = math.sqrt(typical_truth(seen, traits.meaning).matrix[0, 0])
    spreads = {"spread": sd / math.sqrt(2), "squared spread": sd**2 * math.sqrt(2)}
    return np.full(max(len(values), 1), spreads.get(traits.meaning, sd))
