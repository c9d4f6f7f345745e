"""Records in tests: values of many, the body of a single release, and the text of a record with an edited one.

A careful forger restores every digest; so does this.
"""

import hashlib
import json

import numpy as np

from inbounds.record import FORMAT


def body_of(release):
    """What the record of one release says, as JSON has it."""
    (body,) = json.loads(release.to_json())["releases"].values()
    return body


def values_of(releases):
    """The values of many releases of one draft, a row for each, all at once; 0 where one is not available."""
    one = releases[0]
    if any(release.bounds != one.bounds for release in releases):
        # Numbers that are drawn within what others came out at.
        return np.array([np.ma.filled(release.table, 0.0) for release in releases])
    values = one.derivation.values(np.array([release.worth() for release in releases]), one.limits())
    return (np.rint(values) if one.statistic.traits.whole else values).reshape(-1, *one.shape)


def restored(record):
    """The record with the digest that fits what it asks for, where that can be made."""
    asked = [
        [name, one.get("statistic"), one.get("terms"), one.get("drawn_with")]
        for name, one in record["releases"].items()
    ]
    plain = {"dataset": record["dataset"], "groups": record["groups"], "releases": asked}
    text = json.dumps(plain, separators=(",", ":"), ensure_ascii=True)
    return record | {"digest": hashlib.sha256(text.encode("ascii")).hexdigest()}


def record_with(body, name="r", groups=()):
    """The text of a record of one release that has this body, and of the groups that it may be drawn with."""
    head = {"format": FORMAT, "dataset": None, "digest": "", "entry": None, "groups": list(groups)}
    record = head | {"releases": {name: body}}
    return json.dumps(restored(record) if isinstance(body, dict) else record)
