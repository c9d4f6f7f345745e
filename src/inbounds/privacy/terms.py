"""Terms of a release: its guarantee, its unit of privacy, its bounding, and the public number of rows."""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from inbounds import _check
from inbounds.privacy.guarantee import NEIGHBOURS, Guarantee, Neighbours, Pure, parse_guarantee

Bounding: TypeAlias = Literal["bit", "truncated"]
BOUNDINGS = ("bit", "truncated")
# Far beyond what protects anyone; exact values for tests are within reach.
_LARGEST_EPSILON = 10**6


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit of privacy: one record, or all records of a person who has up to ``contributions`` of them."""

    neighbours: Neighbours = "substitute"
    contributions: int = 1

    def __post_init__(self) -> None:
        _check.choice(self.neighbours, "neighbours", NEIGHBOURS)
        object.__setattr__(self, "contributions", _check.integer(self.contributions, "contributions", least=1))

    @property
    def name(self) -> str:
        """The unit of privacy in a word."""
        return "record" if self.contributions == 1 else "person"

    @property
    def cell_changes(self) -> int:
        """How many counts of a table change by one. A substituted record leaves a cell and enters another."""
        return self.contributions * (2 if self.neighbours == "substitute" else 1)


@dataclass(frozen=True, slots=True)
class Terms:
    """The privacy terms of a release, and the public number of rows.

    ``rows`` is None if the number of rows is protected (``neighbours="add-remove"``) or not yet known. ``counted`` says
    that nobody stated it: it was counted in a query, which may have been filtered.
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
    ) -> "Terms":
        """Make terms from the arguments of a user."""
        exact = _check.fraction(epsilon, "epsilon")
        if not 0 < exact <= _LARGEST_EPSILON:
            raise ValueError(f"epsilon must be > 0 and at most 1e6, got {_check.shown(epsilon)}")
        unit = Unit(neighbours, contributions)  # type: ignore[arg-type]
        return cls(Pure(exact), unit, _check.choice(bounding, "bounding", BOUNDINGS), rows)  # type: ignore[arg-type]

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

    def with_rows(self, rows: int | None) -> "Terms":
        """The same terms with another public number of rows."""
        return replace(self, rows=rows)

    def to_dict(self) -> dict[str, Any]:
        """The terms as plain values, for JSON."""
        return {
            **self.guarantee.to_dict(),
            "neighbours": self.unit.neighbours,
            "contributions": self.unit.contributions,
            "bounding": self.bounding,
            "rows": self.rows,
            **({"rows_counted": True} if self.counted else {}),
        }

    @classmethod
    def from_dict(cls, body: dict[str, Any]) -> "Terms":
        """Read what `to_dict` wrote. Raises a `ValueError` or `TypeError` for anything else."""
        rest = {name: body[name] for name in ("neighbours", "contributions", "bounding", "rows")}
        counted = body.get("rows_counted", False)
        others = {name: value for name, value in body.items() if name not in (*rest, "rows_counted")}
        guarantee = parse_guarantee(others)
        if guarantee.epsilon > _LARGEST_EPSILON:
            raise ValueError("epsilon must be at most 1e6")
        rows = None if rest["rows"] is None else _check.integer(rest["rows"], "rows", least=1)
        bounding = _check.choice(rest["bounding"], "bounding", BOUNDINGS)
        made = cls(guarantee, Unit(rest["neighbours"], rest["contributions"]), bounding, rows, counted)  # type: ignore[arg-type]
        if (rows is None) != made.protects_rows or (counted and rows is None):
            raise ValueError("the rows do not fit the neighbour relation")
        if made.to_dict() != body:
            raise ValueError("the terms are not written the way inbounds writes them")
        return made
