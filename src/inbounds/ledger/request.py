"""What is charged, the guarantee of one or more releases, and what the ledger returns for it."""

from dataclasses import dataclass, field
from typing import Any

from inbounds import _check
from inbounds.ledger.amounts import write_amount
from inbounds.ledger.entry import Entry
from inbounds.privacy.guarantee import NEIGHBOURS, Guarantee, parse_guarantee


@dataclass(frozen=True, slots=True)
class Request:
    """What is charged: the guarantee of one or more releases.

    Parameters
    ----------
    digest
        Identifies what was asked for. The same digest is the same request, which gets its stored result.
    guarantee
        The guarantee of all releases together, of a kind that is registered with
        `inbounds.privacy.guarantee.register_guarantee`.
    neighbours, contributions
        The neighbour relation, and how many records a person may have. All charges of a dataset have the same.
    person
        The column of persons, if a rule bounds the rows of each; ``contributions`` is 1 then.
    what
        What is released, in words, for readers of the ledger.
    longest
        The most bytes that the result may have. A longer stored result is not read.
    room
        The bytes of its draw. This room is reserved with the charge, and the draw is stored in it before the result. A
        run that was interrupted before the draw may then be repeated without a second charge. None for a request whose
        result is stored in one step.

    Raises
    ------
    TypeError, ValueError
        If an argument is not valid.
    """

    digest: str
    guarantee: Guarantee
    neighbours: str
    contributions: int
    what: tuple[str, ...] = ()
    longest: int | None = None
    person: str | None = None
    room: int | None = None

    def __post_init__(self) -> None:
        _check.choice(self.neighbours, "neighbours", NEIGHBOURS)
        if not isinstance(self.guarantee, Guarantee):
            raise TypeError(f"guarantee must be a guarantee such as Pure(1), got {_check.shown(self.guarantee)}")
        # A guarantee that cannot be read again must not be written.
        if parse_guarantee(self.guarantee.to_dict()) != self.guarantee:
            raise ValueError(f"the guarantee of kind {self.guarantee.kind!r} does not match its fields")

    @property
    def cost(self) -> Guarantee:
        """What is charged: the guarantee, rounded up to the units of a ledger."""
        return self.guarantee.round_up()

    def to_dict(self) -> dict[str, Any]:
        """The fields of the entry of its charge."""
        plain = {"request": self.digest, "cost": write_amount(self.cost), "what": list(self.what)}
        return plain | self.guarantee.to_dict()


@dataclass(frozen=True, slots=True)
class Receipt:
    """A charge that was made.

    Attributes
    ----------
    entry
        Its entry in the chain.
    left
        What was left of the limit after it; None is nothing.
    stored
        The stored result, if the request was charged before.
    drawn
        The stored draw, if there is one and no result was made from it yet.
    attempt, room
        The number of this attempt to count, and the bytes of the draw; None for a request without ``room``.
    """

    entry: Entry
    left: Guarantee | None
    stored: str | None = None
    drawn: bytes | None = field(default=None, repr=False)
    attempt: int | None = None
    room: int | None = None

    @property
    def is_drawn(self) -> bool:
        """Whether there is a draw or a result, so that nothing is left to be drawn."""
        return self.stored is not None or self.drawn is not None
