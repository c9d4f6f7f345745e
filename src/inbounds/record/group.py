"""Statistics whose noise is drawn together: one vector, one promise for all of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from inbounds.privacy.terms import Terms
from inbounds.record.spelling import describe, parse_statistic
from inbounds.record.statistic import Statistic, registered

if TYPE_CHECKING:
    from inbounds.record.draft import Draft

_Drafter = TypeVar("_Drafter", bound="Callable[[Group], list[Draft]]")
_DRAFTERS: list[Any] = []


def register_drafter(function: _Drafter) -> _Drafter:
    """Make known how groups are drafted; a decorator of the function, which lives with the statistics."""
    _DRAFTERS.append(function)
    return function


@dataclass(frozen=True, slots=True)
class Group:
    """What is in a draw, in order, and what the draw promises as a whole.

    ε of the terms is spent once, whichever of the members are looked at.
    """

    terms: Terms
    members: tuple[Statistic, ...]

    def draft(self) -> "list[Draft]":
        """The drafts of its members, in order; `ValueError` for what cannot be drawn together."""
        # The statistics of the library bring it with them when they are loaded.
        registered()
        drafts: list[Draft] = _DRAFTERS[-1](self)
        return drafts

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {"terms": self.terms.to_dict(), "statistics": [describe(member) for member in self.members]}

    @classmethod
    def from_dict(cls, body: Any) -> "Group":
        """What `to_dict` wrote; `ValueError` or `TypeError` for anything else."""
        if not isinstance(body, dict) or not isinstance(body.get("statistics"), list) or len(body) != 2:
            raise TypeError("a group is written as its terms and statistics")
        return cls(Terms.from_dict(body["terms"]), tuple(parse_statistic(one) for one in body["statistics"]))
