"""A statistic with its keywords, but without data: for previews and targets."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

from inbounds import _check
from inbounds._keywords import explain_making, suggest_keyword
from inbounds.forecasts.rows import RowsPerPerson, read_shift
from inbounds.privacy.persons import Persons
from inbounds.privacy.terms import Terms, read_promise
from inbounds.record.draft import UNNAMED, Draft, check_rows, size_terms
from inbounds.record.selection import SELECTION, draft_statistic, select
from inbounds.record.statistic import Statistic, find_statistic
from inbounds.tables.request import MOST_ROWS

# The keywords of the terms of a release, which all statistics have.
TERMS = ("epsilon", "rho", "neighbours", "contributions", "bounding", "rows")
_PLAIN_TERMS = ("neighbours", "contributions", "bounding")
# And those of the rule for persons.
PERSONS = ("person", "keep", "order", "groups", "person_missing", "fold")


@explain_making("Wanted('mean', {'bounds': (0, 100), 'epsilon': 1, 'rows': 1000})")
@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """A statistic with the keywords of its release function, but without data.

    Parameters
    ----------
    statistic
        The name of a release function, such as ``"mean"``.
    keywords
        The keywords of that function, without its data.
    plausible
        A guess of the true values; see `inbounds.preview`.
    expected_rows
        About how many records there are, if that is protected (``neighbours="add-remove"``).
    confidence
        The confidence of half-widths.
    plausible_rows
        How many rows persons plausibly have, with ``person``: shares of persons by numbers of rows, as in
        ``{1: 0.5, 2: 0.3, 5: 0.2}``, or numbers of persons.
    plausible_shift
        What persons with many rows plausibly differ by from those with few, in standard deviations of what is averaged:
        a number or a pair (low, high).

    Raises
    ------
    TypeError, ValueError
        If there is no such statistic, or it has no such keyword.

    Examples
    --------
    >>> Wanted("mean", {"bounds": (0, 100), "epsilon": 1, "rows": 1000}).size
    1000
    """

    statistic: str
    keywords: Mapping[str, Any]
    plausible: Any = None
    expected_rows: int | None = None
    confidence: float = 0.95
    plausible_rows: Any = None
    plausible_shift: Any = None

    def __post_init__(self) -> None:
        find_statistic(self.statistic)
        if not isinstance(self.keywords, Mapping):
            raise TypeError(
                f"keywords must be a dictionary of keywords of {self.statistic}, got {_check.shown(self.keywords)}"
            )
        object.__setattr__(self, "keywords", dict(self.keywords))
        _check_keywords(self.statistic, self.keywords)
        if self.expected_rows is not None:
            if self.keywords.get("neighbours", "substitute") == "substitute":
                raise ValueError(
                    "expected_rows= is for neighbours='add-remove'; with 'substitute' the number of rows is public: "
                    "give rows="
                )
            if _check.integer(self.expected_rows, "expected_rows", least=1) > MOST_ROWS:
                raise ValueError("expected_rows must not exceed 2^31, the limit of a release")
        object.__setattr__(self, "confidence", _check.level(self.confidence, "confidence"))
        if self.plausible_rows is not None and self.keywords.get("person") is None:
            raise TypeError("plausible_rows= needs person=, the column that says whose row it is")
        if self.plausible_shift is not None and self.plausible_rows is None:
            raise TypeError("plausible_shift= needs plausible_rows=, about how many rows persons have")
        object.__setattr__(self, "plausible_rows", RowsPerPerson.of(self.plausible_rows))
        if self.plausible_shift is not None:
            object.__setattr__(self, "plausible_shift", read_shift(self.plausible_shift))

    @property
    def size(self) -> int | None:
        """The number of records that count, public or expected; None if it is not known.

        For persons it is the number of their ``plausible_rows`` that are kept; without these, as if each had one row,
        or one in each group that a person may be in.
        """
        rows, persons = self.keywords.get("rows"), self.persons
        if self.plausible_rows is None or persons is None:
            size = self.expected_rows if rows is None else rows
            return None if size is None else size * self._waves_of_person
        if self.keywords.get("fold") is not None:
            return max(round(persons), 1)
        rows_kept: float = self.plausible_rows.kept(self.terms().contributions)
        return max(round(persons * rows_kept), 1)

    @property
    def _waves_of_person(self) -> int:
        """In how many groups a person may be, where ``groups`` of the rule for persons says so."""
        groups = self.keywords.get("groups")
        if not isinstance(groups, Mapping) or self.keywords.get("rows") is None:
            # Where the number of rows is protected, the rows that are expected are those of all groups.
            return 1
        return int(next(iter(groups.values())))

    @property
    def persons(self) -> float | None:
        """The number of persons, public or expected; None if it is not known."""
        if self.keywords.get("person") is None:
            return None
        rows = self.keywords.get("rows")
        if rows is not None or self.expected_rows is None or self.plausible_rows is None:
            return rows
        return float(self.expected_rows / self.plausible_rows.mean)

    @property
    def guess(self) -> Any:
        """What is plausible for the records that count: if rows of persons are left out, groups are smaller, too."""
        rows = self.plausible_rows
        if rows is None or self.keywords.get("fold") is not None or not isinstance(self.plausible, Mapping):
            return self.plausible
        return _shrink(self.plausible, 1 - rows.left_out(self.terms().contributions))

    def but(self, **keywords: Any) -> "Wanted":
        """The same statistic with some keywords replaced."""
        return replace(self, keywords={**self.keywords, **keywords})

    def value(self) -> Statistic:
        """The statistic. Raises the errors that the release would raise."""
        statistic_class = find_statistic(self.statistic)
        arguments = {name: value for name, value in self.keywords.items() if name not in (*TERMS, *PERSONS, *SELECTION)}
        # If a single column may have no name, a name is only needed for one of its levels.
        defaults = {field.name: field.default for field in fields(statistic_class)}  # type: ignore[arg-type]
        if "column" in defaults and (defaults["column"] is not None or arguments.get("level") is not None):
            arguments.setdefault("column", UNNAMED)
        return select(statistic_class(**arguments), *(self.keywords.get(name) for name in SELECTION))

    def terms(self) -> Terms:
        """The terms of the release. Raises the errors that the release would raise."""
        if self.keywords.get("epsilon") is None and self.keywords.get("rho") is None:
            raise TypeError(f"{self.statistic} needs epsilon=, the privacy budget to spend")
        promise = read_promise(self.keywords.get("epsilon"), self.keywords.get("rho"))
        arguments = {name: self.keywords[name] for name in _PLAIN_TERMS if name in self.keywords}
        rule = {name: self.keywords[name] for name in PERSONS if name in self.keywords}
        return Terms.of(promise, **arguments, persons=Persons.of(**rule))

    def at_times(self, times: float) -> "Wanted":
        """The same statistic at a multiple of its budget."""
        own = self.terms().guarantee.calibrated
        return self.but(**{own.parameter: own.amount * Fraction(times)})

    def ask(self) -> tuple[Statistic, Terms]:
        """The statistic and the terms of its release. Raises the errors that the release would raise."""
        terms, rows = self.terms(), self.keywords.get("rows")
        if terms.protects_rows and rows is not None:
            raise ValueError(
                "rows= cannot be combined with neighbours='add-remove'; give expected_rows=, about how many there are"
            )
        statistic = self.value()
        return statistic, size_terms(statistic, terms, check_rows(rows, terms))

    def draft(self) -> Draft:
        """The draft of the release. Raises the errors that the release would raise."""
        statistic, terms = self.ask()
        return draft_statistic(statistic, terms)


def _shrink(statement: Mapping[str, Any], share: float) -> dict[str, Any]:
    """What is stated about columns, with sizes of groups reduced to the share of rows that counts."""
    shrunk = {name: _shrink(part, share) if isinstance(part, Mapping) else part for name, part in statement.items()}
    size = shrunk.get("size")
    if isinstance(size, int | float) and size > 1:
        shrunk["size"] = max(size * share, 1.0)
    if isinstance(size, tuple | list):
        shrunk["size"] = tuple(max(x * share, 1.0) if isinstance(x, int | float) and x > 1 else x for x in size)
    return shrunk


def _check_keywords(statistic: str, keywords: Mapping[str, Any]) -> None:
    """Refuse data, and keywords that the statistic does not have."""
    if "data" in keywords:
        raise TypeError("a preview reads no data: give rows=, bounds= and so on, but not data=")
    names = [field.name for field in fields(find_statistic(statistic)) if field.init]  # type: ignore[arg-type]
    known_names = [*names, *TERMS, *PERSONS, *SELECTION]
    for name in keywords:
        if name not in known_names:
            raise TypeError(f"{statistic} has no keyword {name}={suggest_keyword(name, known_names)}")


def require_wanted(value: Any, name: str = "wanted") -> Wanted:
    """Refuse a value that is not a `Wanted`, and say how to make one."""
    if not isinstance(value, Wanted):
        raise TypeError(f"{name} must be Wanted('mean', {{'bounds': ..., 'rows': ...}}), got {_check.shown(value)}")
    return value


def resize(wanted: Wanted, rows: int) -> Wanted:
    """The same statistic for another number of records, public or expected."""
    if wanted.keywords.get("neighbours") == "add-remove":
        return replace(wanted, expected_rows=rows)
    return wanted.but(rows=rows)
