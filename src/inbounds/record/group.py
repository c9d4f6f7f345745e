"""Groups: statistics whose noise is drawn together, with one guarantee for all of them."""

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
    """Register the function that drafts groups. It is used as a decorator, in the room of statistics."""
    _DRAFTERS.append(function)
    return function


@dataclass(frozen=True, slots=True)
class Group:
    """The statistics of a joint draw, in order, and the terms of the draw as a whole.

    The ε of the terms is spent once for all members.
    """

    terms: Terms
    members: tuple[Statistic, ...]

    def draft(self) -> "list[Draft]":
        """The drafts of its members, in order. Raises a `ValueError` if they cannot be drawn together."""
        # Loading the statistics registers the drafter.
        registered()
        drafts: list[Draft] = _DRAFTERS[-1](self)
        return drafts

    def to_dict(self) -> dict[str, Any]:
        """The group as plain values, for JSON."""
        return {"terms": self.terms.to_dict(), "statistics": [describe(member) for member in self.members]}

    @classmethod
    def from_dict(cls, body: Any) -> "Group":
        """Read what `to_dict` wrote. Raises a `ValueError` or `TypeError` for anything else."""
        if not isinstance(body, dict) or not isinstance(body.get("statistics"), list) or len(body) != 2:
            raise TypeError("a group must have the fields terms and statistics")
        return cls(
            Terms.from_dict(body["terms"]), tuple(parse_statistic(statistic) for statistic in body["statistics"])
        )
