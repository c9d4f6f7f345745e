"""Edited records, by the thousand, at both doors: none may be taken that says more than what was paid for.

    python -m tests.record_fuzz [count] [seed]

Every field of records of every statistic is edited, alone and in pairs: numbers by a little and by a lot, signs, types,
nulls, elements added and removed, fields copied from other records, and pairs that agree (ε and loss, bounds and ends,
rows and sensitivity). A forger restores whatever he can: losses and moves of certificates, digests, values, the
digest of the plan and the hash of the ledger's entry.

What is accepted is compared with the record that it was made of:

- *same*: nothing differs but notation, or last digits of a value that is rounded by processor;
- *relabelled*: names of columns, labels, and what missing and other values counted as. No law depends on them: the
  record is, word for word, an honest one of a table with other names;
- *redrawn*: another point of the same grid, with the value that follows. No proof from the record alone can tell: it is
  what another draw would have given. Laws of truncated covariances that follow from redrawn variances are of this kind;
- *rescaled*: a column in other units. Its bounds and steps, the grid, the numbers and the value are all so many times
  what they were; ε, the law in steps and its loss are not touched. It is an honest record of the column in those units;
- *reprocessed*: the same draws by another repair or tree with the same law, with the value that follows from it;
- *exchanged*, at the first door alone: word for word the honest record of another call, whose law holds for it. A count
  of one level under add-remove has the law of a count of all records; an ε that differs by 10⁻¹² has the same law; the
  certificate of a clamped table may be that of a truncated one. Nothing in a record says which was asked for: the plan
  does, and `verify` refuses them all. That the law holds is shown without a draft (`holds`);
- *breach*: anything else. ε, bounds, units, contributions, neighbours, rows, steps or laws are not what was paid for.

There must be no breach. A value that does not follow from its numbers is one, too.
"""

import copy
import inspect
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from inbounds.record_text import parsed

import inbounds as ib
from inbounds import derive, soundness
from inbounds.plan.release import Releases, release
from inbounds.plan.plan import Plan, digest
from inbounds.ledger import Account, Entry
from inbounds.privacy import certificate as certificates
from inbounds.privacy.certificate import CertificateError
from inbounds.record import RecordError, Release
from tests.release.cases import every_call, table

ROWS = 60
REFUSALS = (RecordError, CertificateError)
WORDS = [
    *derive.METHODS,
    *("mean", "sum", "count", "proportion", "proportions", "variance", "standard_deviation", "histogram", "crosstab"),
    *("covariance", "correlation", "pooled_variance", "pooled_covariance", "substitute", "add-remove", "bit"),
    *("truncated", "unbounded", "laplace", "sup-norm", "zero-sum", "inside", "anywhere", "clip", "nearest", "newton"),
    *("record", "person", "", "x", "yes", "not yes", "True", "0", "1", "1/2"),
]


def calls() -> dict[str, Any]:
    """Every call of the releases' tests, and what changes a draw beside them."""
    made = dict(every_call())
    bounds = {"age": (0, 100), "weight": (20, 140)}
    for how in ("nearest", "newton"):
        made[f"correlation, {how}"] = partial(ib.correlation, bounds=bounds, repair=how)
    made["mean, missing"] = partial(ib.mean, column="age", bounds=(0, 100), missing=50, integer=True)
    made["standard deviation, quiet"] = partial(made["standard deviation, substitute"], epsilon=10**5)
    groups = table(ROWS)["group"]
    sizes = {str(level): int((groups == level).sum()) for level in ("a", "b")}
    made["pooled covariance, sizes"] = partial(made["pooled covariance, substitute"], sizes=sizes)
    return made


def plan_of(call: Any) -> Plan:
    """The plan that asks for what a call asks for."""
    given = dict(call.keywords)
    signature = inspect.signature(call.func)
    statistic = call.func.__name__
    columns: dict[str, dict[str, Any]] = {}
    names: list[str] = []
    if isinstance(given.get("bounds"), dict):
        names = list(given["bounds"])
        columns |= {name: {"bounds": list(pair)} for name, pair in given["bounds"].items()}
    elif statistic == "crosstab":
        names = list(given["levels"])
        columns |= {name: {"levels": levels} for name, levels in given["levels"].items()}
    elif "column" in given:
        names = [given["column"]]
        rule = {word: given[word] for word in ("bounds", "levels", "edges", "missing", "integer") if word in given}
        if "by" in given:
            rule.pop("levels", None)
        columns[names[0]] = rule
    if "by" in given:
        columns[given["by"]] = {"levels": given["levels"]}
    item: dict[str, Any] = {"name": "r", "statistic": statistic, "columns": names}
    own = ("by", "level", "repair", "method", "derived", "tree", "denominator", "bounding", "sizes")
    item |= {word: given[word] for word in own if word in given and word in signature.parameters}
    item = json.loads(json.dumps(item))
    neighbours = given.get("neighbours", "substitute")
    data = {"neighbours": neighbours, "contributions": given.get("contributions", 1)}
    data |= {"rows": ROWS} if neighbours == "substitute" else {}
    epsilon = given.get("epsilon", 2)
    return Plan.of(
        {"data": data, "budget": {"epsilon": epsilon, "dataset": "d"}, "columns": columns, "release": [item]}
    )


def originals(names: Any = None) -> dict[str, dict[str, Any]]:
    """Bodies of plans' records, each with one release and the entry of a ledger, by the name of the call."""
    data, made = table(ROWS), {}
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, call) in enumerate(calls().items()):
            if names is None or name in names:
                account = Account(Path(folder) / f"ledger {number}", "d", 10**6)
                made[name] = json.loads(release(plan_of(call), data, account, new=True).to_json())
    return made


# Edits


def places(body: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a body, itself left out."""
    for key, value in body.items() if isinstance(body, dict) else enumerate(body):
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


def at(body: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        body = body[key]
    return body


def put(body: Any, path: tuple[Any, ...], value: Any) -> None:
    at(body, path[:-1])[path[-1]] = value


def changed(value: Any, rng: random.Random) -> Any:
    """Another value in place of one."""
    if isinstance(value, bool) or value is None:
        return rng.choice([None, True, False, 0, 1, "0", [], rng.choice(WORDS), 7])
    if isinstance(value, int):
        return rng.choice(
            [value + 1, value - 1, 2 * value, value // 2, -value, 0, 10**30, float(value), str(value), None]
        )
    if isinstance(value, float):
        factors = [2, 0.5, -1, 1e6, 1e-6, 1 + 1e-3, 1 + 1e-6, 1 + 1e-8, 1 + 1e-12]
        return rng.choice([value * rng.choice(factors), value + 1, 0.0, 1e300, None, str(value)])
    if isinstance(value, str):
        try:
            number = Fraction(value)
        except (ValueError, ZeroDivisionError):
            return rng.choice([rng.choice(WORDS), value + "x", value[:-1], None, 3, [value]])
        tiny = Fraction(1, 10**12)
        factors = (1 + tiny, 1 - tiny, 2, Fraction(1, 2), -1, 10**6, Fraction(1, 10**6), 0, Fraction(1, 3))
        return rng.choice(
            [str(number * rng.choice(factors)), str(number + rng.choice([1, -1, tiny])), f"0{value}", None]
        )
    if isinstance(value, list):
        options: list[Callable[[], Any]] = [lambda: value[:-1], lambda: value + value[-1:], lambda: value[::-1], list]
        options += [lambda: value[1:], lambda: value * 2, lambda: None, lambda: rng.sample(value, len(value))]
        return rng.choice(options)()
    kept = dict(value)
    if kept and rng.random() < 0.5:
        kept.pop(rng.choice(list(kept)))
    else:
        kept[rng.choice(WORDS)] = rng.choice([0, None, "x"])
    return kept


def edit(body: Any, others: list[Any], rng: random.Random) -> str:
    """One edit, in place; in words."""
    options = list(places(body))
    path = rng.choice(options)
    kind = rng.random()
    if kind < 0.6:
        put(body, path, changed(at(body, path), rng))
    elif kind < 0.7:
        two = rng.choice(options)
        try:
            one, other = copy.deepcopy(at(body, path)), copy.deepcopy(at(body, two))
            put(body, path, other)
            put(body, two, one)
        except (KeyError, IndexError, TypeError):
            return "nothing"
        return f"swap {path} {two}"
    elif kind < 0.9:
        try:
            put(body, path, copy.deepcopy(at(rng.choice(others), path)))
        except (KeyError, IndexError, TypeError):
            put(body, path, changed(at(body, path), rng))
    else:
        holder = at(body, path[:-1])
        holder.pop(path[-1])
    return str(path)


def parts_of(record: Any) -> list[Any]:
    certificate = record["certificate"]
    parts: list[Any] = certificate.get("parts", [certificate])
    return parts


def scaled(text: str | None, factor: Fraction) -> str | None:
    return None if text is None else str(Fraction(text) * factor)


def agreeing(record: Any, rng: random.Random) -> str:
    """An edit of several fields that belong together."""
    factor = rng.choice([Fraction(1, 2), Fraction(2), Fraction(1, 10**6), Fraction(999, 1000), 1 + Fraction(1, 10**9)])
    which = rng.choice(["epsilon", "ends", "rows", "contributions", "columns", "units", "neighbours", "scale", "step"])
    which = "two points" if rng.random() < 0.15 else which
    parts = parts_of(record)
    if which == "two points":
        # A grid from one value to the next, which no record moves by more than a step: a millionth of ε for any value.
        for part, noisy in zip(parts, record["noisy"], strict=False):
            away = Fraction(noisy) - Fraction(part["origin"]) or Fraction(1)
            part |= {"step": str(abs(away)), "first": min(0, int(away / abs(away))), "exponent": 40, "divisor": 1 << 20}
            part |= {"last": part["first"] + 1, "epsilon": str(Fraction(part["draws"], 10**6))}
        total = sum(Fraction(part["epsilon"]) for part in parts)
        record["certificate"]["epsilon"] = str(total)
    if which == "epsilon":
        for part in (*parts, record["certificate"]):
            part["epsilon"] = scaled(part["epsilon"], factor)
    elif which == "ends":
        for part in parts:
            for end in ("first", "last"):
                part[end] = None if part[end] is None else int(part[end] * factor)
        record["bounds"] = [[scaled(end, factor) for end in bound] for bound in record["bounds"]]
    elif which == "rows" and record["rows"]:
        record["rows"] = max(1, int(record["rows"] * factor))
        for part in parts:
            part["sensitivity"] = scaled(part["sensitivity"], 1 / factor)
    elif which == "contributions":
        record["contributions"] *= rng.choice([2, 3, 50])
        record["unit"] = "person"
        if rng.random() < 0.5:
            for part in parts:
                part["draws"] *= record["contributions"]
    elif which == "columns":
        for rule in record["columns"]:
            for end in ("lower", "upper", "step"):
                rule[end] = scaled(rule[end], factor)
        if rng.random() < 0.5:
            record["bounds"] = [[scaled(end, factor) for end in bound] for bound in record["bounds"]]
        if rng.random() < 0.5:
            for part in parts:
                part["step"], part["origin"] = scaled(part["step"], factor), scaled(part["origin"], factor)
                part["sensitivity"] = scaled(part["sensitivity"], factor)
            record["noisy"] = [scaled(x, factor) for x in record["noisy"]]
    elif which == "units":
        record["units"] = [scaled(unit, factor) for unit in record["units"]]
        record["noisy"] = [scaled(x, 1 / factor) for x in record["noisy"]]
    elif which == "neighbours":
        for part in parts:
            part["neighbours"] = "add-remove" if part["neighbours"] == "substitute" else "substitute"
        record["rows"] = None if record["rows"] else ROWS
    elif which == "scale":
        for part in parts:
            part["divisor"] = max(1, int(part["divisor"] * factor))
    else:
        for part in parts:
            part["step"] = scaled(part["step"], factor)
        if rng.random() < 0.5:
            record["noisy"] = [scaled(x, factor) for x in record["noisy"]]
    return f"agreeing {which} by {factor}"


# What a forger restores


def recertified(part: dict[str, Any]) -> None:
    """Move and loss of a part, made those that its other numbers have."""
    try:
        claimed = certificates._parse({k: v for k, v in part.items() if k != "digest"})
        law = claimed.grid
        part["move"] = int(certificates._steps(claimed.sensitivity, law, claimed.location))
        part["loss"] = str(certificates._rounded_loss(law, part["move"], claimed.draws, claimed.epsilon))
    except (ArithmeticError, KeyError, TypeError, ValueError, AttributeError):
        pass


def resigned(body: Any) -> None:
    with suppress(AttributeError, TypeError, ValueError):
        body["digest"] = certificates._digest({k: v for k, v in body.items() if k != "digest"})


def restored(record: Any, rng: random.Random) -> None:
    """Losses, digests and the value, as far as they can be made to fit."""
    if not isinstance(record, dict) or not isinstance(record.get("certificate"), dict):
        return
    whole = record["certificate"]
    parts = whole.get("parts")
    for part in parts if isinstance(parts, list) else [whole]:
        if isinstance(part, dict):
            if rng.random() < 0.7:
                recertified(part)
            resigned(part)
    resigned(whole)
    if rng.random() < 0.7:
        try:
            names = [name for name in Release.__slots__ if name != "certificate"]
            fake = {"certificate": certificates.verify(whole)}
            made = Release(**(parsed(record, [*names, "certificate"]) | fake))
            record["value"] = np.asarray(made.value).tolist()
            record["notes"] = list(made.own_notes())
        except Exception:
            return


def rehashed(body: Any) -> None:
    """The plan's digest and the ledger's entry, made to fit."""
    try:
        body["digest"] = digest(body["request"])
        entry = body["entry"]
        what = [f"{item['name']}: {item['statistic']}" for item in body["request"]["release"]]
        dataset, epsilon = body["request"]["budget"]["dataset"], body["request"]["budget"]["epsilon"]
        exact = Fraction(epsilon["number"] if isinstance(epsilon, dict) else epsilon)
        cost = -int(-exact * 10**9 // 1)
        said = {"dataset": dataset, "request": body["digest"], "epsilon": str(exact), "cost": cost, "what": what}
        made = Entry.after(None, entry["kind"], entry["body"] | said)
        body["entry"] = entry | {"sequence": 0, "body": made.body, "previous": made.previous, "hash": made.hash}
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, ArithmeticError):
        pass


# Judgement

PROTECTED = ("statistic", "rows", "unit", "contributions", "units", "bounds", "denominator", "certificate")


def judged(before: Release, after: Release, value: Any, door: str) -> str:
    """What an accepted record is, seen from the one that it was made of."""
    verdict = _judged(before, after, value)
    if door == "from_json" and verdict == "breach" and holds(before, after) and follows(after, value):
        return "exchanged"
    return verdict if door == "from_json" or verdict not in ("rescaled", "relabelled") else "breach"


def holds(before: Release, after: Release) -> bool:
    """Whether the law is enough for the statistic, by formulas that no draft goes through.

    The sensitivity is that of the facts, the loss is computed again and at most ε, and law and bounds of a number end
    where its column and the rows have it end. Where there is no formula here, they end where they did.
    """
    parts = after._parts
    if not soundness.demanded(after._facts(), after.units, parts):
        return False
    proved = all(certificates._certified_again(part) == part for part in parts)
    if not proved or after.certificate.loss > after.certificate.epsilon:
        return False
    own = own_ends(after)
    if own is None or parts[0].bounding == "unbounded":
        return after.bounds == before.bounds and ends(after) == ends(before)
    counted = after.statistic in ("proportions", "histogram", "crosstab")
    return ends(after) == {own} and (counted or set(after.bounds) == {own})


def ends(release: Release) -> set[Any]:
    """Where the laws of a release end, as values; without laws that have no ends."""
    parts = [part for part in release._parts if part.bounding != "unbounded"]
    return {tuple(None if end is None else p.origin + end * p.step for end in (p.first, p.last)) for p in parts}


def own_ends(release: Release) -> tuple[Fraction | None, Fraction | None] | None:
    """Where a single number, or each count of a table, can lie: from the column and the rows; None: no formula here."""
    rows, numbers = release.rows, [rule for rule in release.columns if rule.step is not None]
    if release.statistic == "proportion":
        return Fraction(0), Fraction(1)
    if not numbers:
        return Fraction(0), None if rows is None else Fraction(rows)
    lower, upper = numbers[0].lower or Fraction(0), numbers[0].upper or Fraction(0)
    if release.statistic == "mean":
        return lower, upper
    if release.statistic == "sum":
        open_ends = (Fraction(0) if lower >= 0 else None, Fraction(0) if upper <= 0 else None)
        return open_ends if rows is None else (rows * lower, rows * upper)
    if release.statistic == "variance" and rows is not None:
        return Fraction(0), (upper - lower) ** 2 * Fraction(rows * rows // 4, rows * (rows - 1))
    return None


def _judged(before: Release, after: Release, value: Any) -> str:
    in_turn = before.bounding == "truncated" and not isinstance(before.certificate, certificates.Certificate)
    redrawn = before.noisy != after.noisy
    if is_rescaled(before, after) and follows(after, value):
        return "rescaled"
    free = ("certificate", "bounds") if in_turn and redrawn else ()
    if any(getattr(before, name) != getattr(after, name) for name in PROTECTED if name not in free):
        return "breach"
    if (before.epsilon, before.neighbours) != (
        after.epsilon,
        after.neighbours,
    ) or after.certificate.loss > before.epsilon:
        return "breach"
    rules = [[(r.lower, r.upper, r.step, len(r.cells), r.sizes) for r in one.columns] for one in (before, after)]
    if rules[0] != rules[1] or not follows(after, value):
        return "breach"
    if redrawn:
        return "redrawn"
    if (before.method, before.repair, before.tree, before.derived) != (
        after.method,
        after.repair,
        after.tree,
        after.derived,
    ):
        return "reprocessed"
    return "same" if before == after else "relabelled"


IN_STEPS = (
    "first",
    "last",
    "exponent",
    "divisor",
    "dimension",
    "draws",
    "noise",
    "location",
    "move",
    "epsilon",
    "loss",
)


def is_rescaled(before: Release, after: Release) -> bool:
    """Whether all columns of numbers, and the grid with them, are in other units, and nothing else differs."""
    ends = [[end for rule in one.columns for end in (rule.lower, rule.upper, rule.step)] for one in (before, after)]
    factors = {b / a for a, b in zip(*ends, strict=False) if a and b is not None}
    parts = [one._parts for one in (before, after)]
    alike = len(factors) == 1 and len(ends[0]) == len(ends[1]) and len(parts[0]) == len(parts[1])
    names = ("statistic", "neighbours", "bounding", *IN_STEPS)
    same = all(getattr(a, name) == getattr(b, name) for a, b in zip(*parts, strict=False) for name in names)
    own = ("statistic", "method", "rows", "unit", "contributions", "denominator", "repair", "tree", "derived", "axes")
    return alike and factors != {1} and same and all(getattr(before, name) == getattr(after, name) for name in own)


def follows(release: Release, written: Any) -> bool:
    """Whether the text's value is the release's, to nine digits of each element or six of what it is beside."""
    own, said = np.asarray(release.value, dtype=float), np.asarray(written, dtype=float)
    if own.shape != said.shape:
        return False
    room = 2e-9 * np.abs(own)
    if release.method in derive.SIMPLEX:
        room = room + 2e-12
    elif own.ndim == 2 and release.statistic not in ("crosstab",):
        roots = np.sqrt(np.diagonal(own))
        room = room + 2e-6 * roots[:, None] * roots * (1 - np.eye(len(roots)))
    return bool((np.abs(own - said) <= room).all())


def forged(original: dict[str, Any], others: list[dict[str, Any]], rng: random.Random) -> tuple[dict[str, Any], str]:
    """A plan's record with one to three edits, and what can be restored; in words."""
    body = copy.deepcopy(original)
    said = []
    try:
        for _ in range(rng.choice([1, 1, 2, 2, 3])):
            kind = rng.random()
            record = body["releases"]["r"]
            if kind < 0.25:
                said.append(agreeing(record, rng))
            elif kind < 0.9:
                said.append(edit(record, [one["releases"]["r"] for one in others], rng))
            else:
                said.append("plan " + edit(body["request"], [one["request"] for one in others], rng))
    except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError):
        said.append("and no more")
    try:
        restored(body["releases"]["r"], rng)
        rehashed(body)
    except (AttributeError, KeyError, TypeError):
        pass
    return body, "; ".join(said)


def attacked(
    original: dict[str, Any], before: Release, others: list[dict[str, Any]], rng: random.Random
) -> dict[str, tuple[str, str]]:
    """One forgery at both doors: what became of it, in a word, and what it was."""
    body, said = forged(original, others, rng)
    result: dict[str, tuple[str, str]] = {}
    if repr(body) == repr(original):
        return result
    record = body["releases"]["r"]
    # Where only the plan was edited, nothing comes to the first door.
    doors: dict[str, Callable[[], Release]] = {"verify": lambda: Releases.from_json(json.dumps(body))["r"]}
    if repr(record) != repr(original["releases"]["r"]):
        doors["from_json"] = lambda: Release.from_json(json.dumps(record))
    for door, opened in doors.items():
        try:
            after = opened()
        except REFUSALS:
            result[door] = ("refused", said)
        else:
            result[door] = (judged(before, after, record["value"], door), said)
    return result


def run(count: int, seed: int = 1, names: Any = None) -> tuple[dict[tuple[str, str], Counter[str]], list[str]]:
    """That many forgeries, each at both doors: what became of them by statistic and door, and all breaches."""
    rng = random.Random(seed)
    bodies = originals(names)
    honest = {name: Releases.from_json(json.dumps(body))["r"] for name, body in bodies.items()}
    tally: dict[tuple[str, str], Counter[str]] = {}
    breaches = []
    for number in range(count):
        name = list(bodies)[number % len(bodies)]
        others = [bodies[other] for other in rng.sample(list(bodies), min(3, len(bodies)))]
        for door, (verdict, said) in attacked(bodies[name], honest[name], others, rng).items():
            statistic = bodies[name]["releases"]["r"]["statistic"]
            tally.setdefault((statistic, door), Counter())[verdict] += 1
            if verdict == "breach":
                breaches.append(f"{name}, {door}: {said}")
    return tally, breaches


def main(count: int = 50_000, seed: int = 1) -> None:
    tally, breaches = run(count, seed)
    words = ("refused", "same", "relabelled", "redrawn", "rescaled", "reprocessed", "exchanged", "breach")
    print(f"{'statistic':20s} {'door':10s} " + " ".join(f"{word:>11s}" for word in words))
    total: dict[str, Counter[str]] = {}
    for (statistic, door), counts in sorted(tally.items()):
        print(f"{statistic:20s} {door:10s} " + " ".join(f"{counts[word]:11d}" for word in words))
        total.setdefault(door, Counter()).update(counts)
    for door, counts in total.items():
        print(f"{'all':20s} {door:10s} " + " ".join(f"{counts[word]:11d}" for word in words))
    print("\n".join(breaches[:50]))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
