"""The draws of a record: which of its releases share one, and that what they say of it is so."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from inbounds.errors import RecordError
from inbounds.privacy.certificate import CertificateError
from inbounds.record.group import Group
from inbounds.tables.request import MOST_ROWS

if TYPE_CHECKING:
    from inbounds.record.release import Release

# Of one record, and so of a plan: each takes a few milliseconds to prove.
MOST_RELEASES = 300


def list_groups(releases: "Mapping[str, Release]") -> list[Group]:
    """The draws that releases share with others, each once, in the order in which they come up."""
    return list(dict.fromkeys(one.group for one in releases.values() if one.group is not None))


def place_in(groups: list[Group], release: "Release") -> list[int] | None:
    """The number of the group that a release is of, and that of its statistic among the members."""
    if release.group is None:
        return None
    return [groups.index(release.group), release.member]


@contextmanager
def blame_record() -> Iterator[None]:
    """Whatever goes wrong with a record that somebody else wrote is the record's fault."""
    try:
        yield
    except (RecordError, CertificateError):
        raise
    except (ArithmeticError, AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise RecordError(f"the record is malformed ({type(error).__name__})") from None


def read_groups(body: Any) -> "list[list[Release]]":
    """The drafts of every group, in order; what a group asks for is bounded before it is drafted."""
    with blame_record():
        if not isinstance(body, list) or len(body) > MOST_RELEASES:
            raise RecordError("its groups are no list, or too many")
        drafts = []
        for one in body:
            try:
                group = Group.from_dict(one)
                if not 2 <= len(group.members) <= MOST_RELEASES:
                    raise ValueError(f"a group has 2 to {MOST_RELEASES} members")
                if group.terms.rows is None or not group.terms.rows <= MOST_ROWS:
                    raise ValueError("a group is of a public number of rows")
                # As text: 1, 1.0 and true are not the same there.
                if json.dumps(group.to_dict(), sort_keys=True) != json.dumps(one, sort_keys=True):
                    raise ValueError("it is not written as it would be")
                drafts.append([draft.record for draft in group.draft()])
            except (ValueError, TypeError, ArithmeticError) as error:
                raise RecordError(f"a group cannot be drawn as it says: {error}") from None
    return drafts


def check_shared(releases: "Mapping[str, Release]", groups: "list[list[Release]]") -> None:
    """Numbers of one draw that several releases are made of are the same in each; every group has its release."""
    if len({drafts[0].group for drafts in groups}) < len(groups):
        raise RecordError("the record names a group twice")
    for drafts in groups:
        seen: dict[int, Fraction] = {}
        members = [release for release in releases.values() if release.group == drafts[0].group]
        if not members:
            raise RecordError("the record has a group of which it has no release")
        for release in members:
            for place, number in zip(release.places, release.noisy, strict=True):
                if seen.setdefault(place, number) != number:
                    raise RecordError("releases of one draw have different numbers in the same place")
