"""What the findings about shares have in common: which figures they look at, and how they compare them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from inbounds.lab.studies.evidence import Evidence, Measured
from inbounds.lab.studies.paper import SHARE_SIZES, SHARES

if TYPE_CHECKING:
    import polars

CELLS = SHARES.labels
SUMS = SHARES.quantities[len(CELLS) :]
SMALL = (50, 100)
FIRST, LAST = SHARE_SIZES[0], SHARE_SIZES[-1]


def evidence(table: "polars.DataFrame", calibration: str) -> Evidence:
    """Re-scaled shares with the naive interval, at one scale; one record moves one share by 1/n."""
    return Evidence.of(
        table,
        scenario=SHARES.name,
        neighbours="add-remove",
        calibration=calibration,
        repair="rescale",
        estimator="wald",
    )


def original(e: Evidence, quantity: str, measure: str, n: int) -> Measured:
    """A figure of the samples themselves, without noise."""
    plain = {"epsilon": None, "neighbours": "none", "calibration": "none", "mechanism": "original", "repair": "none"}
    return e(quantity, measure, n=n, estimator="wald", **plain)


def each(e: Evidence, measure: str, cells: Sequence[str] = CELLS, **labels: Any) -> list[Measured]:
    """A measure of every share."""
    return [e(cell, measure, **labels) for cell in cells]


def sizes(e: Evidence, **labels: Any) -> list[Measured]:
    """|bias| of every share."""
    return [abs(x) for x in each(e, "bias", **labels)]


def gaps(a: Sequence[Measured], b: Sequence[Measured]) -> list[Measured]:
    """Differences, share by share."""
    return [x - y for x, y in zip(a, b, strict=True)]


def ratios(a: Sequence[Measured], b: Sequence[Measured]) -> list[Measured]:
    """Ratios, share by share."""
    return [x.over(y) for x, y in zip(a, b, strict=True)]
