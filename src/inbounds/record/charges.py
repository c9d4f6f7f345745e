"""What is charged for releases, or for drafts of them: their digest, their guarantee and their names."""

import hashlib
import json
from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING

from inbounds.ledger import Request
from inbounds.privacy.guarantee import Guarantee
from inbounds.record.shared import list_groups, place_in
from inbounds.record.spelling import describe

if TYPE_CHECKING:
    from inbounds.record.release import Release


def digest_of(dataset: str | None, releases: "Mapping[str, Release]") -> str:
    """The SHA-256 of what was asked for, by name. It is the same for drafts and for their releases."""
    groups = list_groups(releases)
    descriptions = [
        [name, describe(release.statistic), release.terms.to_dict(), place_in(groups, release)]
        for name, release in releases.items()
    ]
    body = {"dataset": dataset, "groups": [group.to_dict() for group in groups], "releases": descriptions}
    # Keys are not sorted, because the order of columns is that of a matrix.
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def request_of(dataset: str | None, releases: "Mapping[str, Release]") -> Request:
    """The request that is charged for releases, or for drafts of them."""
    unit = next(iter(releases.values())).terms.unit
    persons = unit.persons
    promise = total(releases), unit.neighbours, 1 if persons is not None else unit.contributions
    what = list_charged(releases)
    return Request(digest_of(dataset, releases), *promise, what, person=None if persons is None else persons.column)


def total(releases: "Mapping[str, Release]") -> Guarantee:
    """The guarantee of all releases together. The guarantee of a joint draw counts once."""
    return reduce(lambda guarantee, other: guarantee.plus(other), list_guarantees(releases))


def list_guarantees(releases: "Mapping[str, Release]") -> list[Guarantee]:
    """The guarantee of each draw."""
    alone = [release.guarantee for release in releases.values() if release.group is None]
    return [*(group.terms.guarantee for group in list_groups(releases)), *alone]


def list_charged(releases: "Mapping[str, Release]") -> tuple[str, ...]:
    """What a ledger writes about releases: the title of each, or its name and its statistic."""
    return tuple(
        (release.title if name == release.title else f"{name}: {release.statistic.name}")
        + ("" if release.terms.unit.persons is None else f" ({release.terms.unit.words})")
        for name, release in releases.items()
    )
