"""The state of a dataset in a ledger: its limit, and what was spent."""

from dataclasses import dataclass, replace
from typing import Any

from inbounds._text import visible
from inbounds.ledger.amounts import read_amount, spell_amount, write_amount
from inbounds.privacy.guarantee import NEIGHBOURS, Guarantee


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of a dataset: its limit and what was spent.

    Attributes
    ----------
    dataset
        The name of the dataset.
    limit, spent
        The limit, and what was spent; None is nothing.
    neighbours, contributions
        The neighbour relation and the unit of privacy of all charges.
    charges
        The number of charges.
    person
        The column of persons, if they are protected by a rule for their rows; None for rows.
    """

    dataset: str
    limit: Guarantee
    spent: Guarantee | None
    neighbours: str
    contributions: int
    charges: int
    person: str | None = None

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> "Standing":
        """Read a state from its fields, without ``left``. Raises a usual error if they are impossible."""
        spent = None if plain["spent"] == 0 else read_amount(plain["spent"])
        standing = cls(**plain | {"limit": read_amount(plain["limit"]), "spent": spent})
        texts = type(standing.dataset) is str and type(standing.person) in (str, type(None))
        numbers = type(standing.contributions) is type(standing.charges) is int
        if not (texts and numbers and standing.contributions >= 1 and standing.neighbours in NEIGHBOURS):
            raise ValueError("a state is impossible")
        return standing.with_limit(standing.limit)

    @property
    def left(self) -> Guarantee | None:
        """What may still be spent; None is nothing."""
        return self.limit if self.spent is None else self.limit.minus(self.spent)

    def after(self, cost: Guarantee) -> "Standing":
        """The state after a charge. Raises a `ValueError` if it exceeds the limit or is of another kind."""
        same = cost.kind == self.limit.kind
        total = self.spent.plus(cost) if same and self.spent is not None else cost
        if not same or not self.limit.covers(total):
            raise ValueError("a charge is beyond the limit, or of another kind")
        return replace(self, spent=total, charges=self.charges + 1)

    def with_limit(self, limit: Guarantee) -> "Standing":
        """The state with another limit. Raises a `ValueError` if it is below what was spent or of another kind."""
        if limit.kind != self.limit.kind or (self.spent is not None and not limit.covers(self.spent)):
            raise ValueError("a limit is below what was spent, or of another kind")
        return replace(self, limit=limit)

    def opening(self) -> dict[str, Any]:
        """The fields of the entry that opens the dataset."""
        names = "dataset", "limit", "neighbours", "contributions"
        values = {name: self.to_dict()[name] for name in names}
        return values if self.person is None else values | {"person": self.person}

    def to_dict(self) -> dict[str, Any]:
        """The state as plain values. Amounts are written as in entries; pure ε is in billionths."""
        amounts = {"limit": self.limit, "spent": self.spent, "left": self.left}
        return {
            "dataset": self.dataset,
            **{name: write_amount(amount) for name, amount in amounts.items()},
            "neighbours": self.neighbours,
            "contributions": self.contributions,
            "charges": self.charges,
            "person": self.person,
        }

    def __str__(self) -> str:
        spent, limit, left = map(spell_amount, (self.spent, self.limit, self.left))
        times = "1 charge" if self.charges == 1 else f"{self.charges} charges"
        who = "" if self.person is None else f"; persons by {visible(self.person)}"
        return f"{visible(self.dataset)}: {spent} of {limit} spent, {left} left ({times}; {self.neighbours}{who})"
