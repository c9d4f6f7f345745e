"""The ways to make a release that a preview compares: other boundings, and other methods."""

from collections.abc import Mapping

from inbounds.forecasts.guesses import check_guess
from inbounds.forecasts.wanted import Wanted
from inbounds.record import Release
from inbounds.record.selection import plain_statistic


def has_methods(record: Release) -> bool:
    """Whether the statistic has several methods with different errors; those of a mean hardly differ.

    The method for several quantiles is chosen by their errors.
    """
    return hasattr(record.statistic, "method") and record.statistic.traits.meaning != "centre"


def list_ways(wanted: Wanted) -> list[tuple[Wanted, Release]]:
    """The option that was asked for, then those with the other boundings and methods."""
    ways = [(wanted, wanted.draft().record)]
    record = ways[0][1]
    methods, default = has_methods(record), "joint"
    others = [("bit", "joint"), ("bit", "split"), ("truncated", "split")]
    if not methods:
        others = [(bounding, "joint") for bounding in ("bit", "truncated")]
    elif (find_way := getattr(plain_statistic(record.statistic), "find_way", None)) is not None:
        default = find_way(record.terms)
        others = [] if default is None else _list_spreads(wanted)
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


def _list_spreads(wanted: Wanted) -> list[tuple[str, str]]:
    """The ways to draw a spread: which of them is best follows from the mean, so they are compared where it is stated.

    If nothing is stated, the default has the smallest error on average over all means.
    """
    stated = wanted.plausible
    columns = [part for part in stated.values() if isinstance(part, Mapping)] if isinstance(stated, Mapping) else []
    if not any(isinstance(part, Mapping) and "mean" in part for part in (stated, *columns)):
        return []
    return [("bit", "centred"), ("bit", "moments"), ("bit", "direct"), ("truncated", "direct")]
