"""A table of persons with several rows, and what is kept of them by a loop in Python."""

import hashlib
from datetime import date, timedelta

import numpy as np
import polars as pl

from inbounds.privacy.persons import Persons
from inbounds.tables.persons import Keeping
from inbounds.tables.schema import Edges, Levels, Numeric, quantise_column

KEY = bytes(range(16))
PRIME = 2**25 - 39
DAYS = [date(2020, 1, 1) + timedelta(days=30 * i) for i in range(40)]

X = quantise_column(Numeric.of("x", (0, 9), integer=True), resolution=1)
Y = quantise_column(Numeric.of("y", (0, 2**40), integer=True), resolution=1)
REGION = Levels("region", ("n", "s", "e", "w"), other="w", missing="n")
KIND = Levels("kind", (0, 1, 2), other=2, missing=0)
SCORE = Edges.of("x", [0, 2, 5, 9])


def panel(rows=500, persons=60, seed=3):
    """Persons with one row to many, ids of three types, some missing; equal rows of a person are common."""
    rng = np.random.default_rng(seed)
    who = np.minimum(rng.geometric(0.03, rows), persons) - 1
    gone = rng.random(rows) < 0.06
    ids = [None if skip else int(i) for i, skip in zip(who, gone, strict=True)]
    return pl.DataFrame(
        {
            "number": pl.Series([None if i is None else i * 10**14 for i in ids], dtype=pl.Int64),
            "text": [None if i is None else ("Ä" if i % 2 else "ä") + f"{i // 2}" for i in ids],
            "day": pl.Series([None if i is None else date(1950, 1, 1) + timedelta(days=7 * i) for i in ids]),
            "x": rng.integers(0, 4, rows).astype(float),
            "y": rng.integers(0, 3, rows) * (2**39 // 2),
            "region": ["nsewq"[i] for i in rng.integers(0, 5, rows)],
            "kind": rng.integers(0, 4, rows),
            "visit": [None if rng.random() < 0.1 else DAYS[i] for i in rng.integers(0, 4, rows)],
        }
    )


def keeping(person="number", rows=2, key=KEY, **rule):
    """What is kept, with a fixed key."""
    persons = Persons.of(person, **rule)
    return Keeping(persons, rows * (1 if persons.groups is None else persons.groups[1]), key)


def limbs_of(who):
    """Limbs of an id."""
    if isinstance(who, str):
        octets = who.encode()[:48].ljust(48, b"\0")
        numbers = [int.from_bytes(octets[6 * i : 6 * i + 6], "big") for i in range(8)]
        return [limb for number in numbers for limb in (number & (2**24 - 1), number >> 24)]
    if isinstance(who, date):
        who = (who.toordinal() - date(1970, 1, 1).toordinal()) * 86_400
    return [who & (2**24 - 1), who >> 24 & (2**24 - 1), who >> 48]


def kept_by_hand(table, rule, integers, group=None, at=None, *, untyped=False):
    """The rows that are kept, one person after another. ``integers`` are (name, low, limbs, function of a row).

    Ids of an ``untyped`` table are text, in which numbers and dates are marked as such.
    """

    def digits_of(who):
        if untyped and isinstance(who, date):
            who = f"\0d{(who - date(1970, 1, 1)).days}"
        return limbs_of(f"\0n{who}" if untyped and isinstance(who, int) else who)

    drawn = iter(range(10**6))

    def draw(limit):
        return int.from_bytes(hashlib.sha256(rule.key + next(drawn).to_bytes(8, "big")).digest(), "big") % limit

    ids = len(digits_of(table[rule.persons.column].drop_nulls()[0]))
    if group is not None:
        own = [1 + draw(2**24 - 1) for _ in range(ids)], draw(PRIME), draw(PRIME), draw(PRIME)
    limbs = sum(one[2] for one in integers) + 2 + ids
    factors = [1 + draw(2**24 - 1) for _ in range(limbs)]
    start, then = draw(PRIME), draw(PRIME)
    persons = {}
    result = []
    for row in table.iter_rows(named=True):
        who = row[rule.persons.column]
        if who is None:
            result += [row] if rule.persons.missing == "own" else []
        else:
            persons.setdefault(who, []).append(row)
    for who, rows in persons.items():
        if group is not None:
            factor, begin, middle, add = own
            hashed = sum(a * x for a, x in zip(factor, digits_of(who), strict=True)) + begin
            move = pow(hashed % PRIME + middle, 3, PRIME)
            cells = sorted({group(row) for row in rows}, key=lambda cell: pow((cell + move) % PRIME + add, 3, PRIME))
            rows = [row for row in rows if group(row) in cells[: rule.persons.groups[1]]]
        seen, ordered = {}, []
        for row in rows:
            values = tuple(function(row) for _, _, _, function in integers)
            when = () if at is None else at(row)
            number = seen[when, values] = seen.get((when, values), -1) + 1
            digits = digits_of(who) + [
                (value - low) >> (24 * place) & (2**24 - 1)
                for value, (_, low, size, _) in zip((*values, number), (*integers, ("", 0, 2, None)), strict=True)
                for place in range(size)
            ]
            hashed = sum(a * x for a, x in zip(factors, digits, strict=True)) + start
            hashed = pow(hashed % PRIME + then, 3, PRIME)
            ordered.append((when, hashed, values, number, row))
        left = {}
        for *_, row in sorted(ordered, key=lambda one: one[:4]):
            place = None if group is None else group(row)
            left[place] = left.get(place, 0) + 1
            if left[place] <= rule.rows:
                result.append(row)
    return pl.DataFrame(result, schema=table.schema)
