"""The joint draws of a record: which releases share one, and whether they agree about it."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from inbounds.errors import RecordError
from inbounds.privacy.certificate import CertificateError
from inbounds.privacy.terms import Terms
from inbounds.record.group import Group
from inbounds.tables.request import MOST_ROWS

if TYPE_CHECKING:
    from inbounds.record.release import Release

# The most releases of a record, and so of a plan. Each takes a few milliseconds to verify.
MOST_RELEASES = 300


def list_groups(releases: "Mapping[str, Release]") -> list[Group]:
    """The joint draws of some releases, each once, in order."""
    return list(dict.fromkeys(release.group for release in releases.values() if release.group is not None))


def list_draws(releases: "Mapping[str, Release]") -> list[tuple[str, ...]]:
    """The names of the releases of each draw, in order. Each draw is paid for once."""
    names: dict[object, list[str]] = {}
    for name, release in releases.items():
        names.setdefault(name if release.group is None else release.group, []).append(name)
    return [tuple(members) for members in names.values()]


def place_in(groups: list[Group], release: "Release") -> list[int] | None:
    """The index of a release's group, and its index in the group. None if it was drawn alone."""
    if release.group is None:
        return None
    return [groups.index(release.group), release.member]


@contextmanager
def blame_record() -> Iterator[None]:
    """Turn any error while a record is read into a `RecordError`, since the record may be forged."""
    try:
        yield
    except (RecordError, CertificateError):
        raise
    except (ArithmeticError, AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise RecordError(f"the record is malformed ({type(error).__name__})") from None


def read_groups(body: Any) -> "list[list[Release]]":
    """The drafts of every group, in order. The size of a group is checked before it is drafted."""
    with blame_record():
        if not isinstance(body, list) or len(body) > MOST_RELEASES:
            raise RecordError("its groups are not a list, or there are too many")
        drafts = []
        for plain in body:
            try:
                group = Group.from_dict(plain)
                if not 2 <= len(group.members) <= MOST_RELEASES:
                    raise ValueError(f"a group must have 2 to {MOST_RELEASES} members")
                if group.terms.rows is None or not group.terms.rows <= MOST_ROWS:
                    raise ValueError("a group must have a public number of rows")
                # Texts are compared, because 1 == 1.0 == True.
                if json.dumps(group.to_dict(), sort_keys=True) != json.dumps(plain, sort_keys=True):
                    raise ValueError("it is not in the form that inbounds writes")
                drafts.append([draft.record for draft in group.draft()])
            except (ValueError, TypeError, ArithmeticError) as error:
                raise RecordError(f"a group cannot be drawn: {error}") from None
    return drafts


def check_shared(releases: "Mapping[str, Release]", groups: "list[list[Release]]") -> None:
    """Check that releases of one draw have the same numbers, and that every group has a release."""
    if len({drafts[0].group for drafts in groups}) < len(groups):
        raise RecordError("the record has a group twice")
    for drafts in groups:
        numbers: dict[int, Fraction] = {}
        members = [release for release in releases.values() if release.group == drafts[0].group]
        if not members:
            raise RecordError("the record has a group without a release")
        for release in members:
            for place, number in zip(release.places, release.noisy, strict=True):
                if numbers.setdefault(place, number) != number:
                    raise RecordError("releases of one draw have different numbers in the same place")


def read_key(key: Any, terms: Terms) -> str | None:
    """The key that decided between rows of a person, where the rule for persons has one."""
    if terms.unit.persons is None or not terms.unit.persons.keyed:
        return None
    if not isinstance(key, str) or re.fullmatch("[0-9a-f]{32}", key) is None:
        raise RecordError("its key for the rows of persons is not 32 hexadecimal digits")
    return key
