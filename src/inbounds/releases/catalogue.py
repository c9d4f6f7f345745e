"""The release functions by name, and a draft of any of them without data."""

from collections.abc import Callable, Mapping
from typing import Any

from inbounds.record import Release
from inbounds.releases import matrices, scalars, vectors
from inbounds.releases.opening import Blank, Draft, Drafted

STATISTICS: dict[str, Callable[..., Release]] = {
    "mean": scalars.mean,
    "sum": scalars.sum,
    "count": scalars.count,
    "proportion": scalars.proportion,
    "variance": scalars.variance,
    "standard_deviation": scalars.standard_deviation,
    "histogram": vectors.histogram,
    "proportions": vectors.proportions,
    "crosstab": vectors.crosstab,
    "covariance": matrices.covariance,
    "correlation": matrices.correlation,
    "pooled_variance": matrices.pooled_variance,
    "pooled_covariance": matrices.pooled_covariance,
}


def draft(statistic: str, rows: int | None, keywords: Mapping[str, Any]) -> Draft:
    """The release before the data; raises what the release would raise."""
    try:
        STATISTICS[statistic](Blank(rows), **keywords)
    except Drafted as drafted:
        return drafted.draft
    raise AssertionError("a release without data")
