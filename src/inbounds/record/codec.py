"""Write a record, of one release or many, as text, and verify it when it is read.

A record holds what was asked for (each statistic with its terms) and the numbers that were drawn. Everything else in it
follows from these two. When a record is read, each statistic is drafted again and its value computed again, and the
record is refused if anything differs. So a reader only has to trust that the drawn numbers were drawn.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cache
from itertools import chain
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds import _check
from inbounds.errors import RecordError as RecordError
from inbounds.ledger import Entry, LedgerError
from inbounds.privacy.certificate import Certificate, CertificateError, Composition, parse_fraction, without_repeats
from inbounds.privacy.terms import Terms
from inbounds.record.asked import Asked, read_asked, write_asked
from inbounds.record.charges import digest_of, list_guarantees, request_of
from inbounds.record.group import Group
from inbounds.record.numbers import check_together
from inbounds.record.selection import draft_statistic, terms_of
from inbounds.record.sequential import laws_in_turn
from inbounds.record.shared import MOST_RELEASES as MOST_RELEASES
from inbounds.record.shared import blame_record, check_shared, list_groups, place_in, read_groups, read_key
from inbounds.record.spelling import describe, parse_statistic
from inbounds.tables.request import MOST_ROWS

if TYPE_CHECKING:
    from inbounds.record.release import ColumnRule, Release

FORMAT = "inbounds-record/1"
# Formats of version 0.1.
_FORMER = ("inbounds-release/1", "inbounds-releases/1")
_FIELDS = {"format", "dataset", "digest", "entry", "groups", "releases"}
_RELEASE_FIELDS = (
    "value",
    "statistic",
    "terms",
    "drawn_with",
    "method",
    "columns",
    "axes",
    "noisy",
    "units",
    "bounds",
    "notes",
    "certificate",
)
# Fields of which only one entry is written if all entries of a long list are equal.
_SHARED = ("units", "bounds")
_LONG = 100
# How many elements of a list are written at a time.
_BLOCK = 10_000
_NAME_LENGTH = 10_000
# The most digits of a sum of epsilons. Python does not write longer numbers.
_MOST_DIGITS = 4000


# Writing


def record_pieces(
    releases: "Mapping[str, Release]",
    dataset: str | None = None,
    entry: Entry | None = None,
    asked: Mapping[str, Asked] | None = None,
) -> Iterator[str]:
    """A record as text, in pieces, so that a large record is not in memory twice."""
    groups, intervals = list_groups(releases), write_asked(asked or {}, releases)
    head = {
        "format": FORMAT,
        "dataset": dataset,
        "digest": digest_of(dataset, releases),
        "entry": None if entry is None else entry.to_dict(),
        "groups": [group.to_dict() for group in groups],
        **({"intervals": intervals} if intervals else {}),
    }
    start = "{"
    for name, value in head.items():
        yield f"{start}\n{json.dumps(name)}: {json.dumps(value, indent=1, ensure_ascii=False)}"
        start = ","
    yield ',\n"releases": '
    start = "{"
    for name, release in releases.items():
        yield f"{start}\n{json.dumps(name, ensure_ascii=False)}: "
        yield from _release_pieces(release, groups)
        start = ","
    yield "\n}\n}\n"


def _body(release: "Release", groups: list[Group]) -> dict[str, Any]:
    """The fields of a release that are written as lists or plain values."""
    return {
        "value": release.table,
        "statistic": describe(release.statistic),
        "terms": release.terms.to_dict(),
        "drawn_with": place_in(groups, release),
        **({} if release.key is None else {"key": release.key}),
        "method": release.method,
        "columns": release.columns,
        "axes": release.axes,
        "noisy": release.noisy,
        "units": _shorten(release.units),
        "bounds": _shorten(release.bounds),
        "notes": release.notes,
    }


def _release_pieces(release: "Release", groups: list[Group]) -> Iterator[str]:
    start = "{"
    for name, value in _body(release, groups).items():
        yield f"{start}\n {json.dumps(name)}: "
        yield from _write(value)
        start = ","
    certificate = json.dumps(release.certificate.to_dict(), indent=1, ensure_ascii=False).replace("\n", "\n ")
    yield f'{start}\n "certificate": {certificate}\n}}'


def longest_text(draft: "Release") -> int:
    """An upper bound of the number of bytes of the text of a release of this draft."""
    statistic = json.dumps([describe(draft.statistic), draft.terms.to_dict(), draft.method])
    plain = (draft.columns, draft.axes, _shorten(draft.units), _shorten(draft.bounds))
    proof = len(json.dumps(draft.certificate.to_dict(), indent=1))
    laws = 1 if isinstance(draft.certificate, Certificate) else len(draft.certificate.parts)
    numbers = max(len(draft.units), prod(draft.shape))
    # A number has no more digits than the law that it is drawn from, and a character has up to four bytes.
    lists = sum(map(len, chain.from_iterable(map(_write, plain)))) + len(statistic)
    return 20_000 + 4 * (lists + proof + numbers * (100 + proof // laws))


def _shorten(values: tuple[Any, ...]) -> Any:
    alike = len(values) > _LONG and all(value == values[0] for value in values)
    return {"all": _plain(values[0]), "count": len(values)} if alike else values


def _write(value: Any) -> Iterator[str]:
    """JSON of a value in pieces."""
    value = value.tolist() if isinstance(value, np.ndarray) and value.ndim == 1 else value
    if not isinstance(value, tuple | list | np.ndarray):
        yield json.dumps(_plain(value), ensure_ascii=False)
    elif len(value) and isinstance(value[0], tuple | list | np.ndarray) and len(value[0]) != 2:
        for i, row in enumerate(value):
            yield "[" if i == 0 else ", "
            yield from _write(row)
        yield "]"
    else:
        # A list of numbers, or of pairs of numbers.
        yield "["
        for start in range(0, len(value), _BLOCK):
            block = [_plain(row) for row in value[start : start + _BLOCK]]
            yield (", " if start else "") + json.dumps(block, ensure_ascii=False)[1:-1]
        yield "]"


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return str(value)
    if hasattr(value, "__dataclass_fields__"):
        return _plain_rule(value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _plain_rule(rule: "ColumnRule") -> dict[str, Any]:
    return {field.name: _plain(getattr(rule, field.name)) for field in fields(rule)}


# Reading


@dataclass(frozen=True, slots=True)
class Proved:
    """The content of a record that was verified."""

    releases: "dict[str, Release]"
    dataset: str | None
    entry: Entry | None
    asked: dict[str, Asked]


# claim:verify
def read_record(text: str) -> Proved:
    """Read a record and verify everything in it. Raises a `RecordError` if anything is wrong.

    Every statistic is drafted again, with its laws and certificates, and every value is computed again from the drawn
    numbers. The digest must be that of what was asked for. The entry of the ledger, if there is one, must have its hash
    and be the charge of these releases.
    """
    if not isinstance(text, str):
        raise TypeError(f"the record must be text, got {_check.shown(text)}; read a file with Path(...).read_text()")
    try:
        body = json.loads(text, object_pairs_hook=without_repeats)
    except (ValueError, RecursionError):
        path = "; to read a file, give its text: Path(...).read_text()" if len(text) < 4096 and "{" not in text else ""
        raise RecordError(f"the file is not JSON, or has a field twice{path}") from None
    if isinstance(body, dict) and body.get("format") in _FORMER:
        raise RecordError(
            f"the format is {body['format']}, of version 0.1; verify it with that version, or release it again"
        )
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise RecordError(f"the format is not {FORMAT}")
    if set(body) - {"intervals"} != _FIELDS or not isinstance(body["releases"], dict) or not body["releases"]:
        raise RecordError("the record has missing or unknown fields")
    dataset = body["dataset"]
    if len(body["releases"]) > MOST_RELEASES:
        raise RecordError(f"the record has more than {MOST_RELEASES} releases")
    if not (dataset is None or (isinstance(dataset, str) and dataset)):
        raise RecordError("the record's dataset is not a name")
    if isinstance(body["groups"], list) and len(body["groups"]) > len(body["releases"]):
        raise RecordError("the record has more groups than releases")
    groups = read_groups(body["groups"])
    releases = {}
    for name, plain in body["releases"].items():
        try:
            if not 0 < len(name) <= _NAME_LENGTH:
                raise RecordError("its name is empty or too long")
            releases[name] = _read_release(plain, groups)
        except (RecordError, CertificateError) as error:
            raise type(error)(f"release {name[:200]!r}: {error}") from None
    if len({(release.terms.unit.protected, release.terms.rows) for release in releases.values()}) > 1:
        raise RecordError("the releases of a record must be of one table, with one number of rows and one unit")
    if len({release.key for release in releases.values()} - {None}) > 1:
        raise RecordError("the releases of a record must have one key for the rows of persons")
    check_shared(releases, groups)
    _check_total(releases)
    if digest_of(dataset, releases) != body["digest"]:
        raise RecordError("the record's digest is not that of what was asked for")
    asked = read_asked(body["intervals"], releases) if "intervals" in body else {}
    return Proved(releases, dataset, _prove_entry(body["entry"], dataset, releases), asked)


def read_single(text: str) -> "Release":
    """The release of a record that has one."""
    releases = read_record(text).releases
    if len(releases) > 1:
        raise RecordError("the record has several releases: inbounds.Releases.from_json reads it")
    (release,) = releases.values()
    return release


# claim:proof
def _read_release(body: Any, groups: "list[list[Release]]") -> "Release":
    """Read a release, and check that everything in it follows from its statistic and the drawn numbers."""
    with blame_record():
        if not isinstance(body, dict) or set(body) - {"key"} != set(_RELEASE_FIELDS):
            raise RecordError("it has missing or unknown fields")
        try:
            statistic, terms = parse_statistic(body["statistic"]), Terms.from_dict(body["terms"])
        except (ValueError, TypeError) as error:
            raise RecordError(f"its statistic cannot be released: {error}") from None
        if terms.rows is not None and not statistic.least_rows <= terms.rows <= MOST_ROWS:
            raise RecordError(f"a {statistic.name} cannot be released of so few or so many rows")
        if body["drawn_with"] is None:
            draft = _draft_single(statistic, terms, body["noisy"])
        else:
            number, member = body["drawn_with"]
            draft = groups[number][member]
            if not isinstance(body["noisy"], list) or len(body["noisy"]) != len(draft.places):
                raise RecordError("its numbers are not as many as its statistic has")
        release = replace(with_numbers(draft, body["noisy"]), key=read_key(body.get("key"), terms))
    return _compare(release, body, [drafts[0].group for drafts in groups if drafts[0].group is not None])


def _draft_single(statistic: Any, terms: Terms, noisy: Any) -> "Release":
    """The draft of a release by itself."""
    # It may ask for far more numbers than the record holds. That is checked before it is drafted.
    if not isinstance(noisy, list) or len(noisy) != statistic.numbers(terms_of(statistic, terms)):
        raise RecordError("its numbers are not as many as its statistic has")
    try:
        draft: Release = draft_statistic(statistic, terms).record
    except (ValueError, TypeError, ArithmeticError) as error:
        raise RecordError(f"this {statistic.name} cannot be released: {error}") from None
    return draft


def with_numbers(draft: "Release", noisy: list[Any]) -> "Release":
    """The release of a draft with these drawn numbers, as JSON has them. Raises `RecordError` if it is impossible."""
    # Equal numbers share one object, as in the release that was written.
    parse = cache(lambda text: parse_fraction(text, "noisy"))
    numbers = tuple(parse(text) for text in noisy)
    certificate, bounds = draft.certificate, draft.bounds
    if isinstance(certificate, Composition) and draft.bounding == "truncated" and draft.statistic.traits.matrix:
        certificate, bounds = laws_in_turn(certificate, bounds, numbers)
    release = replace(draft, noisy=numbers, certificate=certificate, bounds=bounds)
    on_grid: dict[tuple[int, int], bool] = {}
    for number, law in zip(numbers, release.parts, strict=True):
        pair = id(number), id(law)
        if pair not in on_grid:
            on_grid[pair] = _is_on_grid(number, law)
        if not on_grid[pair]:
            raise RecordError("its noisy values are not on the grid of its certificate")
    check_together(release)
    return replace(release, notes=release.own_notes())


def _check_total(releases: "Mapping[str, Release]") -> None:
    """Refuse epsilons whose sum has too many digits. This is checked before the sum grows further."""
    total = Fraction(0)
    for guarantee in list_guarantees(releases):
        total += guarantee.epsilon
        if max(map(_count_digits, total.as_integer_ratio())) > _MOST_DIGITS:
            raise RecordError(f"the epsilons of the releases add up to a number of more than {_MOST_DIGITS} digits")


def _count_digits(number: int) -> int:
    return number.bit_length() * 3 // 10


def _is_on_grid(noisy: Fraction, law: Certificate) -> bool:
    index = (noisy - law.origin) / law.step
    low, high = (None, None) if law.bounding == "unbounded" else (law.first, law.last)
    return index.denominator == 1 and (low is None or index >= low) and (high is None or index <= high)


def _compare(release: "Release", body: Mapping[str, Any], groups: list[Group]) -> "Release":
    """The release, if it would be written as ``body``. Values may differ by rounding."""
    with blame_record():
        again = json.loads("".join(_release_pieces(release, groups)))
    if set(again) != set(body):
        raise RecordError("it has missing or unknown fields")
    for name in again:
        # Texts are compared, because 1 == 1.0 == True.
        same = json.dumps(again[name], sort_keys=True) == json.dumps(body[name], sort_keys=True)
        same = same or (name == "value" and _is_rounded(release, again[name], body[name]))
        if not same:
            raise RecordError(f"its field {name!r} does not follow from its statistic and its numbers")
    return release


def _is_rounded(release: "Release", value: Any, claim: Any) -> bool:
    """Whether a value is the same up to rounding, which depends on the processor and on versions of libraries."""
    room = release.derivation.room(np.array(value, dtype=np.float64))
    return room is not None and _is_near(value, claim, room.tolist())


def _is_near(value: Any, claim: Any, room: Any) -> bool:
    """Whether numbers, in nested lists of the same shape, differ by no more than each may."""
    if isinstance(value, list):
        same = isinstance(claim, list) and len(claim) == len(value)
        return same and all(_is_near(a, b, c) for a, b, c in zip(value, claim, room, strict=True))
    if value is None:
        return claim is None
    number = isinstance(claim, int | float) and not isinstance(claim, bool)
    return bool(number and abs(value - claim) <= room)


def _prove_entry(plain: Any, dataset: str | None, releases: "Mapping[str, Release]") -> Entry | None:
    if plain is None:
        return None
    try:
        entry = Entry.from_dict(plain)
    except (LedgerError, KeyError, TypeError) as error:
        raise RecordError(f"the ledger's entry: {error}") from None
    charge = {"dataset": dataset} | request_of(dataset, releases).to_dict()
    if entry.kind != "charge" or {name: entry.body.get(name) for name in charge} != charge:
        raise RecordError("the ledger's entry is not the charge of these releases")
    return entry
