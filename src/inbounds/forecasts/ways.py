"""The ways to make a release that a preview compares: other boundings, and other methods."""

from collections.abc import Mapping, Sequence

from inbounds.forecasts.guesses import check_guess
from inbounds.forecasts.wanted import Wanted
from inbounds.record import Release


def has_methods(record: Release) -> bool:
    """Whether the statistic has several methods with different errors; those of a mean hardly differ.

    The method for several quantiles is chosen by their errors.
    """
    return record.statistic.compares_methods


def list_ways(wanted: Wanted) -> list[tuple[Wanted, Release]]:
    """The option that was asked for, then those with the other boundings and methods."""
    ways = [(wanted, wanted.draft().record)]
    record = ways[0][1]
    methods = has_methods(record)
    default = record.statistic.find_way(record.terms) if methods else "joint"
    others: Sequence[tuple[str, str]] = [(bounding, "joint") for bounding in ("bit", "truncated")]
    if methods:
        others = record.statistic.list_ways(record.terms, states_mean=_states_mean(wanted))
    first_way = (wanted.keywords.get("bounding", "bit"), wanted.keywords.get("method") or default)
    for bounding, method in others:
        if (bounding, method) == first_way:
            continue
        other = wanted.but(bounding=bounding, **({"method": method} if methods else {}))
        try:
            record = other.draft().record
            check_guess(other, record)
        except (ValueError, TypeError):
            # Not every statistic has this option, and not every option can use what is stated as plausible.
            continue
        ways.append((other, record))
    return ways


def _states_mean(wanted: Wanted) -> bool:
    """Whether the user stated where the mean of a column lies."""
    stated = wanted.plausible
    columns = [part for part in stated.values() if isinstance(part, Mapping)] if isinstance(stated, Mapping) else []
    return any(isinstance(part, Mapping) and "mean" in part for part in (stated, *columns))
