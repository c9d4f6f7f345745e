"""A statistic as it would be asked for, without data: what previews, targets and budgets are about."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from inbounds import _check
from inbounds.privacy.terms import Terms
from inbounds.record.draft import UNNAMED, Draft, check_rows, size_terms
from inbounds.record.selection import draft_statistic, select
from inbounds.record.statistic import Statistic, find_statistic
from inbounds.tables.request import MOST_ROWS

# Keywords of terms, which all statistics have.
TERMS = ("epsilon", "neighbours", "contributions", "bounding", "rows")
# And those that say which records it is of.
SELECTION = ("where", "derive")


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
        find_statistic(self.statistic)
        if not isinstance(self.keywords, Mapping):
            raise TypeError(
                f"keywords must be a dictionary of what {self.statistic} takes, got {_check.shown(self.keywords)}"
            )
        object.__setattr__(self, "keywords", dict(self.keywords))
        _check_keywords(self.statistic, self.keywords)
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

    def value(self) -> Statistic:
        """The statistic; raises what the release would raise."""
        made = find_statistic(self.statistic)
        given = {name: value for name, value in self.keywords.items() if name not in (*TERMS, *SELECTION)}
        # Where a single column may have no name, one is only needed for a level of it.
        named = {field.name: field.default for field in fields(made)}  # type: ignore[arg-type]
        if "column" in named and (named["column"] is not None or given.get("level") is not None):
            given.setdefault("column", UNNAMED)
        return select(made(**given), *(self.keywords.get(name) for name in SELECTION))

    def terms(self) -> Terms:
        """What it would promise; raises what the release would raise."""
        if "epsilon" not in self.keywords:
            raise TypeError(f"{self.statistic} needs epsilon=, what is to be spent")
        given = {name: self.keywords[name] for name in TERMS if name in self.keywords and name != "rows"}
        return Terms.of(**given)

    def ask(self) -> tuple[Statistic, Terms]:
        """The statistic and the terms of its release; raises what the release would raise."""
        terms, rows = self.terms(), self.keywords.get("rows")
        if terms.protects_rows and rows is not None:
            raise ValueError(
                "rows= cannot be combined with neighbours='add-remove'; say about how many with expected_rows="
            )
        statistic = self.value()
        return statistic, size_terms(statistic, terms, check_rows(rows, terms))

    def draft(self) -> Draft:
        """The release before the data; raises what the release would raise."""
        statistic, terms = self.ask()
        return draft_statistic(statistic, terms)


def _check_keywords(statistic: str, keywords: Mapping[str, Any]) -> None:
    """Refuse data, and names that the statistic does not have."""
    if "data" in keywords:
        raise TypeError("a preview reads no data: give rows=, bounds= and so on, but no data=")
    own = [field.name for field in fields(find_statistic(statistic)) if field.init]  # type: ignore[arg-type]
    known = [*own, *TERMS, *SELECTION]
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


def resize(wanted: Wanted, rows: int) -> Wanted:
    """The same for another number of records, public or expected."""
    if wanted.keywords.get("neighbours") == "add-remove":
        return replace(wanted, expected_rows=rows)
    return wanted.but(rows=rows)
