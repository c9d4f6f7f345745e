"""A statistic as it would be asked for, without data: what previews, targets and budgets are about."""

import difflib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from inbounds import _check
from inbounds.releases import catalogue
from inbounds.releases.catalogue import STATISTICS as STATISTICS
from inbounds.releases.opening import MOST_ROWS, Draft


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """A statistic as it would be asked for: the keywords of its function, but no data.

    ``plausible`` is where the truth may lie: a number or a range (low, high), shares for several cells, a covariance
    matrix for several columns. ``expected_rows`` says about how many records there are where that is protected.
    """

    statistic: str
    keywords: Mapping[str, Any]
    plausible: Any = None
    expected_rows: int | None = None
    confidence: float = 0.95

    def __post_init__(self) -> None:
        _check.choice(self.statistic, "statistic", tuple(STATISTICS))
        if not isinstance(self.keywords, Mapping):
            raise TypeError(
                f"keywords must be a dictionary of what {self.statistic} takes, got {_check.shown(self.keywords)}"
            )
        object.__setattr__(self, "keywords", dict(self.keywords))
        _known_keywords(self.statistic, self.keywords)
        if self.expected_rows is not None:
            if self.keywords.get("neighbours", "substitute") == "substitute":
                raise ValueError(
                    "expected_rows= is for neighbours='add-remove'; under 'substitute' rows are public: state rows="
                )
            if _check.integer(self.expected_rows, "expected_rows", least=1) > MOST_ROWS:
                raise ValueError("expected_rows must not exceed 2^31, the limit of a release")
        object.__setattr__(self, "confidence", _check.level(self.confidence, "confidence"))

    @property
    def size(self) -> int | None:
        """The number of records that errors are for."""
        rows = self.keywords.get("rows")
        return self.expected_rows if rows is None else rows

    def but(self, **keywords: Any) -> "Wanted":
        """The same with other keywords."""
        return replace(self, keywords={**self.keywords, **keywords})

    def draft(self) -> Draft:
        """The release before the data; raises what the release would raise."""
        rest = {name: value for name, value in self.keywords.items() if name != "rows"}
        rows = self.keywords.get("rows")
        if self.keywords.get("neighbours") == "add-remove" and rows is not None:
            raise ValueError("rows= does not go with neighbours='add-remove'; say about how many with expected_rows=")
        rows = None if rows is None else _check.integer(rows, "rows", least=1)
        return catalogue.draft(self.statistic, rows, rest)


def _known_keywords(statistic: str, keywords: Mapping[str, Any]) -> None:
    """Refuse data, and names that the release function does not have."""
    if "data" in keywords:
        raise TypeError("a preview reads no data: give rows=, bounds= and so on, but no data=")
    known = [name for name in inspect.signature(STATISTICS[statistic]).parameters if name != "data"]
    for name in keywords:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f"; did you mean {near[0]}=?" if near else f"; it takes {', '.join(known)}"
            raise TypeError(f"{statistic} has no keyword {name}={hint}")


def require_wanted(value: Any, name: str = "wanted") -> Wanted:
    """A `Wanted`, or how to make one."""
    if not isinstance(value, Wanted):
        raise TypeError(f"{name} must be Wanted('mean', {{'bounds': ..., 'rows': ...}}), got {_check.shown(value)}")
    return value


def sized(wanted: Wanted, rows: int) -> Wanted:
    """The same for another number of records, public or expected."""
    if wanted.keywords.get("neighbours") == "add-remove":
        return replace(wanted, expected_rows=rows)
    return wanted.but(rows=rows)
