"""Terms of a release: its guarantee, its unit of privacy, its bounding, and the public number of rows."""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from inbounds import _check
from inbounds.privacy.guarantee import NEIGHBOURS, Guarantee, Neighbours, Pure, parse_guarantee
from inbounds.privacy.persons import MOST_RECORDS, Persons

Bounding: TypeAlias = Literal["bit", "truncated"]
BOUNDINGS = ("bit", "truncated")
# Far beyond what protects anyone; exact values for tests are within reach.
_LARGEST_EPSILON = 10**6


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit of privacy: one record, or all records of a person who has up to ``contributions`` of them.

    Without ``persons``, whoever hands over the table promises that nobody has more. With ``persons`` it is enforced:
    ``contributions`` is the most rows that are kept of each person, in all groups together.
    """

    neighbours: Neighbours = "substitute"
    contributions: int = 1
    persons: Persons | None = None

    def __post_init__(self) -> None:
        _check.choice(self.neighbours, "neighbours", NEIGHBOURS)
        object.__setattr__(self, "contributions", _check.integer(self.contributions, "contributions", least=1))

    @classmethod
    def of(cls, neighbours: Any, contributions: Any, persons: Persons | None) -> "Unit":
        """Make a unit from the arguments of a user, whose ``contributions`` are those in each group."""
        rows = _check.integer(contributions, "contributions", least=1)
        if persons is None:
            if rows > MOST_RECORDS:
                raise ValueError("contributions must not exceed 2^31 records of one person")
            return cls(neighbours, rows)
        if persons.fold is not None and rows != 1:
            raise ValueError(
                "fold= makes one record of all rows of a person: contributions= cannot be combined with it"
            )
        total = rows * (1 if persons.groups is None else persons.groups[1])
        if total > MOST_RECORDS:
            raise ValueError("contributions must not exceed 2^31 rows of one person, in all groups together")
        return cls(neighbours, total, persons)

    @property
    def name(self) -> str:
        """The unit of privacy in a word."""
        return "record" if self.contributions == 1 and self.persons is None else "person"

    @property
    def words(self) -> str:
        """The unit of privacy in words."""
        if self.persons is not None:
            return self.persons.describe(self.contributions)
        return "one record" if self.contributions == 1 else f"a person, up to {self.contributions} records"

    @property
    def per_unit(self) -> str:
        """What ε is per, in words."""
        if self.persons is not None:
            return self.persons.describe(self.contributions).removeprefix("one ")
        return self.name if self.contributions == 1 else f"{self.name} with up to {self.contributions} records"

    @property
    def protected(self) -> tuple[str, int | str]:
        """What is protected. The losses of releases that protect the same add up. For persons it is their column,
        whatever is kept of their rows."""
        if self.persons is None:
            return self.neighbours, self.contributions
        return self.neighbours, self.persons.column

    @property
    def cell_changes(self) -> int:
        """How many counts of a table change by one. A substituted record leaves a cell and enters another."""
        return self.contributions * (2 if self.neighbours == "substitute" else 1)


@dataclass(frozen=True, slots=True)
class Terms:
    """The privacy terms of a release, and the public number of rows.

    ``rows`` is None if the number of rows is protected (``neighbours="add-remove"``) or not yet known. Where persons
    are found by a column, it is the number of persons. ``counted`` says that nobody stated the number: it was counted
    in a query, which may have been filtered.
    """

    guarantee: Guarantee
    unit: Unit = field(default_factory=Unit)
    bounding: Bounding = "bit"
    rows: int | None = None
    counted: bool = False

    @classmethod
    def of(
        cls,
        epsilon: object,
        neighbours: object = "substitute",
        contributions: object = 1,
        bounding: object = "bit",
        rows: int | None = None,
        persons: Persons | None = None,
    ) -> "Terms":
        """Make terms from the arguments of a user."""
        budget = _check.fraction(epsilon, "epsilon")
        if not 0 < budget <= _LARGEST_EPSILON:
            raise ValueError(f"epsilon must be > 0 and at most 1e6, got {_check.shown(epsilon)}")
        unit = Unit.of(neighbours, contributions, persons)
        return cls(Pure(budget), unit, _check.choice(bounding, "bounding", BOUNDINGS), rows)  # type: ignore[arg-type]

    @property
    def epsilon(self) -> Fraction:
        """The ε to which noise is calibrated; see `Guarantee.epsilon`."""
        return self.guarantee.epsilon

    @property
    def neighbours(self) -> Neighbours:
        """The neighbour relation."""
        return self.unit.neighbours

    @property
    def contributions(self) -> int:
        """The most records that one person may have."""
        return self.unit.contributions

    @property
    def protects_rows(self) -> bool:
        """Whether the number of rows is protected."""
        return self.unit.neighbours == "add-remove"

    @property
    def counts_persons(self) -> bool:
        """Whether several rows of a person may be kept. Then the number of records is secret: it is not the number of
        persons, and a person who is replaced may have had more or fewer."""
        return self.unit.persons is not None and self.unit.contributions > 1

    def with_rows(self, rows: int | None) -> "Terms":
        """The same terms with another public number of rows."""
        return replace(self, rows=rows)

    def to_dict(self) -> dict[str, Any]:
        """The terms as plain values, for JSON."""
        return {
            **self.guarantee.to_dict(),
            "neighbours": self.unit.neighbours,
            "contributions": self.unit.contributions,
            **({} if self.unit.persons is None else {"persons": self.unit.persons.to_dict()}),
            "bounding": self.bounding,
            "rows": self.rows,
            **({"rows_counted": True} if self.counted else {}),
        }

    @classmethod
    def from_dict(cls, body: dict[str, Any]) -> "Terms":
        """Read what `to_dict` wrote. Raises a `ValueError` or `TypeError` for anything else."""
        rest = {name: body[name] for name in ("neighbours", "contributions", "bounding", "rows")}
        rest |= {"persons": body["persons"]} if "persons" in body else {}
        rows_counted = body.get("rows_counted", False)
        others = {name: value for name, value in body.items() if name not in (*rest, "rows_counted")}
        guarantee = parse_guarantee(others)
        if guarantee.epsilon > _LARGEST_EPSILON:
            raise ValueError("epsilon must be at most 1e6")
        rows = None if rest["rows"] is None else _check.integer(rest["rows"], "rows", least=1)
        bounding = _check.choice(rest["bounding"], "bounding", BOUNDINGS)
        persons = Persons.from_dict(rest["persons"]) if "persons" in rest else None
        unit = Unit(rest["neighbours"], rest["contributions"], persons)
        if persons is not None:
            most = 1 if persons.groups is None else persons.groups[1]
            if unit.contributions % most or Unit.of(unit.neighbours, unit.contributions // most, persons) != unit:
                raise ValueError("the contributions do not fit the rule for persons")
        terms = cls(guarantee, unit, bounding, rows, rows_counted)  # type: ignore[arg-type]
        if (rows is None) != terms.protects_rows or (rows_counted and rows is None):
            raise ValueError("the rows do not fit the neighbour relation")
        if terms.to_dict() != body:
            raise ValueError("the terms are not written the way inbounds writes them")
        return terms
