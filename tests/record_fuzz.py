"""Edited records, by the thousand, at three doors: none may be taken that says more than what was paid for.

    python -m tests.record_fuzz [count] [seed]

Every field of records of every statistic is edited, alone and in pairs: numbers by a little and by a lot, signs, types,
nulls, elements added and removed, fields copied from other records, and pairs that agree (ε and loss, bounds and ends,
rows and sensitivity); what was asked for (statistic and terms) as well as what follows from it; and the record itself:
its dataset, its digest, its entry, names, releases of other records beside its own. A forger restores whatever he can:
losses and moves of certificates, digests, values, the digest of what was asked for and the hash of the ledger's entry.
The best of them drafts the statistic that he made up, puts the numbers on its grid, and writes what the library writes.

The doors are `Release.from_json` of a record of one, `Releases.from_json` of a plan's (``verify``), and that record
against the ledger that paid for it (``ledger``). What is accepted is compared with the record that it was made of:

- *same*: nothing differs but last digits of a value that is rounded by processor;
- *notation*: nothing differs but how a number is written (``1.0`` for ``1``);
- *relabelled*: names of columns, labels, and what missing and other values counted as. No law depends on them: the
  record is, word for word, an honest one of a table with other names;
- *recharged*, in a plan's record: the releases are the same under another name, dataset or entry of a ledger, or
  without one; what the entry says was paid is what they cost;
- *redrawn*: another point of the same grid, with the value that follows. No proof from the record alone can tell: it is
  what another draw would have given. Laws of truncated covariances that follow from redrawn variances are of this kind;
- *rescaled*: a column in other units. Its bounds and steps, the grid, the numbers and the value are all so many times
  what they were; ε, the law in steps and its loss are not touched. It is an honest record of the column in those units;
- *reprocessed*: the same draws by another repair or tree with the same law, with the value that follows from it;
- *exchanged*: word for word the honest record of another call, whose law holds for it. Nothing in a record says which
  was asked for: the ledger does, and refuses them all. That sensitivity, draws, loss, bounds and ends are those of what
  the record says is shown without a draft, by `tests.soundness`;
- *breach*: anything else. ε, bounds, units, contributions, neighbours, rows, steps or laws are not what was paid for.

Whatever is accepted must be sound by `tests.soundness`, must say in its text what was read from it, and its value must
follow from its numbers; otherwise it is a breach, as is everything but *same* and *notation* at the ledger's door.
There must be no breach.
"""

import copy
import hashlib
import inspect
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import count as numbers_from
from pathlib import Path
from typing import Any

import numpy as np

import inbounds as ib
from inbounds.ledger import Account, Entry, LedgerError
from inbounds.plan.plan import Plan
from inbounds.plan.release import Releases, release
from inbounds.privacy import certificate as certificates
from inbounds.privacy import norms
from inbounds.privacy.certificate import CertificateError
from inbounds.privacy.terms import Terms
from inbounds.record import RecordError, Release, codec
from inbounds.record.spelling import parse_statistic
from inbounds.service import verify_record as verified
from tests import records, soundness
from tests.release.cases import every_call, table

ROWS = 60
REFUSALS = (RecordError, CertificateError, LedgerError)
# From the least to the most that an accepted record differs.
WORDS_OF_JUDGEMENT = (
    "same",
    "notation",
    "relabelled",
    "recharged",
    "redrawn",
    "rescaled",
    "reprocessed",
    "exchanged",
    "breach",
)
WORDS = [
    *soundness.METHODS,
    *("mean", "sum", "count", "proportion", "proportions", "variance", "standard_deviation", "histogram", "crosstab"),
    *("moments", "covariance", "correlation", "kendall", "pooled_variance", "pooled_covariance", "substitute"),
    *("add-remove", "bit", "truncated", "unbounded", "laplace", "staircase", "sup-norm", "polyhedral", "zero-sum"),
    *("inside", "anywhere", "clip", "nearest", "newton"),
    *("box 2", "moments 1", "counted moments 2", "direct", "elements"),
    *("joint", "split", "project", "rescale", "all-but-one", "tree", "levels", "edges", "missing", "other", "integer"),
    *("by", "sizes", "denominator", "column", "age", "group", "region", "record", "person", "", "x", "yes", "not yes"),
    *("True", "0", "1", "1/2", "d"),
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


def at_two(name: str) -> dict[str, int]:
    """The ε of a call that names none."""
    return {} if "epsilon" in calls()[name].keywords else {"epsilon": 2}


def read_back(made: Release) -> Release:
    return Release.from_json(made.to_json())


def plan_of(call: Any) -> Plan:
    """The plan that asks for what a call asks for."""
    given = dict(call.keywords)
    signature = inspect.signature(call.func)
    statistic = call.func.__name__
    columns: dict[str, dict[str, Any]] = {}
    names: list[str] = []
    for word in ("bounds", "edges", "levels"):
        if isinstance(given.get(word), dict):
            columns |= {name: {word: list(rule)} for name, rule in given[word].items()}
            names = list(columns)
    if "column" in given:
        names = [given["column"]]
        rule = {word: given[word] for word in ("bounds", "levels", "edges", "missing", "integer") if word in given}
        if "by" in given:
            rule.pop("levels", None)
        columns[names[0]] = rule
    if "by" in given:
        # Groups of several columns have their rules in a dictionary.
        several = isinstance(given["by"], list)
        columns |= {name: {"levels": rule} for name, rule in given["levels"].items()} if several else {}
        columns |= {} if several else {given["by"]: {"levels": given["levels"]}}
        names = [name for name in names if name in (given.get("column"), *given.get("bounds", ()))]
    item: dict[str, Any] = {"name": "r", "statistic": statistic, "columns": names}
    own = (
        "by",
        "where",
        "level",
        "bins",
        "repair",
        "method",
        "derived",
        "tree",
        "level_shares",
        "denominator",
        "bounding",
        "sizes",
    )
    item |= {word: given[word] for word in own if word in given and word in signature.parameters}
    item = json.loads(json.dumps(item))
    neighbours = given.get("neighbours", "substitute")
    data = {"neighbours": neighbours, "contributions": given.get("contributions", 1)}
    data |= {"rows": ROWS} if neighbours == "substitute" else {}
    epsilon = given.get("epsilon", 2)
    return Plan.of(
        {
            "data": data,
            "budget": {"epsilon": epsilon, "dataset": "d"},
            "derive": given.get("derive", {}),
            "columns": columns,
            "release": [item],
        }
    )


def originals(folder: Path, names: Any = None) -> dict[str, dict[str, Any]]:
    """Bodies of plans' records, each with one release and the entry of its own ledger, by the name of the call."""
    data, made = table(ROWS), {}
    for name, call in calls().items():
        if names is None or name in names:
            account = Account(folder / f"{name}.ledger", "d", 10**6)
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
            [value + 1, value - 1, 2 * value, value // 2, -value, 0, 10**30, 10**12, float(value), str(value), None]
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
    if rng.random() < 0.5:
        # Fields that have few elements as often as those that have many.
        own = rng.choice(list(body))
        path = rng.choice([one for one in options if one[0] == own])
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
    which = "stairs" if any(part["width"] for part in parts_of(record)) and rng.random() < 0.2 else which
    which = "two points" if rng.random() < 0.15 else which
    parts, terms = parts_of(record), record["terms"]
    if which == "two points":
        # A grid from one value to the next, which no record moves by more than a step: a millionth of ε for any value.
        for part, noisy in zip(parts, record["noisy"], strict=False):
            away = Fraction(noisy) - Fraction(part["origin"]) or Fraction(1)
            part |= {"step": str(abs(away)), "first": min(0, int(away / abs(away))), "exponent": 40, "divisor": 1 << 20}
            part |= {"last": part["first"] + 1, "epsilon": str(Fraction(part["draws"], 10**6))}
        total = sum(Fraction(part["epsilon"]) for part in parts)
        record["certificate"]["epsilon"] = terms["epsilon"] = str(total)
    if which == "epsilon":
        whole = [record["certificate"]] if "parts" in record["certificate"] else []
        for part in (*parts, *whole, *([terms] if rng.random() < 0.7 else [])):
            part["epsilon"] = scaled(part["epsilon"], factor)
    elif which == "ends":
        for part in parts:
            for end in ("first", "last"):
                part[end] = None if part[end] is None else int(part[end] * factor)
        record["bounds"] = [[scaled(end, factor) for end in bound] for bound in record["bounds"]]
    elif which == "rows" and terms["rows"]:
        terms["rows"] = max(1, int(terms["rows"] * factor))
        for part in parts:
            part["sensitivity"] = scaled(part["sensitivity"], 1 / factor)
    elif which == "contributions":
        terms["contributions"] *= rng.choice([2, 3, 50])
        if rng.random() < 0.5:
            for part in parts:
                part["draws"] *= terms["contributions"]
    elif which == "columns":
        _rescale_columns(record, parts, factor, rng)
    elif which == "units":
        record["units"] = [scaled(unit, factor) for unit in record["units"]]
        record["noisy"] = [scaled(x, 1 / factor) for x in record["noisy"]]
    elif which == "neighbours":
        for one in (*parts, terms):
            one["neighbours"] = "add-remove" if one["neighbours"] == "substitute" else "substitute"
        terms["rows"] = None if terms["rows"] else ROWS
    elif which == "stairs":
        # Wider stairs lose less a step, and a core of another width is another law of the same loss.
        for part in parts:
            part["width"] = max(1, int(part["width"] * rng.choice([Fraction(1), factor]))) if part["width"] else None
            part["core"] = max(0, int(part["core"] * rng.choice([Fraction(1), factor]))) if part["width"] else None
    elif which == "scale":
        for part in parts:
            part["divisor"] = max(1, int(part["divisor"] * factor))
    else:
        for part in parts:
            part["step"] = scaled(part["step"], factor)
        if rng.random() < 0.5:
            record["noisy"] = [scaled(x, factor) for x in record["noisy"]]
    return f"agreeing {which} by {factor}"


def _rescale_columns(record: Any, parts: list[Any], factor: Fraction, rng: random.Random) -> None:
    """Columns in other units, in the statistic and in what follows from it, or in one of them."""
    if rng.random() < 0.7:
        asked = record["statistic"].get("bounds", [])
        for pair in asked.values() if isinstance(asked, dict) else [asked]:
            pair[:] = [scaled(end, factor) for end in pair]
        if isinstance(record["statistic"].get("missing"), str) and asked:
            record["statistic"]["missing"] = scaled(record["statistic"]["missing"], factor)
    for rule in record["columns"]:
        for end in ("lower", "upper", "step"):
            rule[end] = scaled(rule[end], factor)
    powers = 1 if record["statistic"]["name"] in ("mean", "sum", "standard_deviation") else 2
    each = factor ** rng.choice([1, powers])
    if rng.random() < 0.5:
        record["bounds"] = [[scaled(end, each) for end in bound] for bound in record["bounds"]]
    if rng.random() < 0.5:
        for part in parts:
            part["step"], part["origin"] = scaled(part["step"], each), scaled(part["origin"], each)
            part["sensitivity"] = scaled(part["sensitivity"], each)
        record["noisy"] = [scaled(x, each) for x in record["noisy"]]


def asked_otherwise(record: Any, rng: random.Random) -> str:
    """Another statistic or other terms that a user could write, or nearly so."""
    statistic, terms = record["statistic"], record["terms"]
    which = rng.choice(["terms", "word", "word", "numbers", "numbers", "labels", "missing", "other statistic"])
    factor = rng.choice([2, Fraction(1, 2), 10**6, Fraction(1, 10**6), 10**12, -1, 1 + Fraction(1, 10**12)])
    if which == "terms":
        word = rng.choice(list(terms))
        if word == "epsilon":
            terms[word] = scaled(terms[word], factor)
        elif word in ("contributions", "rows") and terms[word]:
            terms[word] = rng.choice([1, 2, 3, terms[word] + 1, 100, 2**31, 2**31 + 1, 10**9, 10**30])
        elif word == "bounding":
            terms[word] = "bit" if terms[word] == "truncated" else "truncated"
        else:
            added = terms["neighbours"] == "substitute"
            terms |= {"neighbours": "add-remove", "rows": None} if added else {"neighbours": "substitute", "rows": ROWS}
    elif which == "word":
        choices = {
            "repair": ["clip", "nearest", "newton", "project", "none", "rescale", "all-but-one", "tree"],
            "method": ["joint", "elements", "split", "moments", "direct"],
            "bins": [1, 2, 23, 256, 10**6],
            "denominator": [1, 2, 10**9, 2**31 + 1],
            "integer": [True, ["age"], ["weight"]],
            "derived": ["n", "w"],
            "sizes": [[30, 30], [1, 59], [0, 60], [59, 2], [-1, 61]],
            "level": ["no", True, 1, 0],
            "by": ["age", "h"],
        }
        word = rng.choice(list(choices))
        statistic[word] = rng.choice(choices[word])
        if rng.random() < 0.3:
            statistic.pop(word)
    elif which == "numbers":
        lists = [at(statistic, path) for path in places(statistic)]
        pairs = [one for one in lists if isinstance(one, list) and one and isinstance(one[0], str)]
        pair, place = rng.choice(pairs), rng.choice([0, -1])
        pair[place] = rng.choice([scaled(pair[place], Fraction(factor)), str(Fraction(pair[place]) + factor)])
    elif which == "labels":
        lists = [at(statistic, path) for path in places(statistic)]
        labels = rng.choice([one for one in lists if isinstance(one, list)])
        rng.choice([lambda: labels.append("z"), labels.pop, labels.reverse, lambda: rng.shuffle(labels)])()
    elif which == "missing":
        word, rule = rng.choice(["missing", "other", "by_missing"]), rng.choice(record["columns"])
        fill = rng.choice(["0", "50", "100", "n", "a", "yes", True, False, "30", *rule["cells"]])
        statistic[word] = rng.choice([fill, {rule["name"]: fill}])
    else:
        kinds = [["covariance", "correlation", "moments"], ["variance", "standard_deviation", "mean", "sum"]]
        kinds += [["histogram", "proportions"], ["count", "proportion"]]
        statistic["name"] = rng.choice(next((kind for kind in kinds if statistic["name"] in kind), WORDS))
    return f"asked otherwise: {which}"


# The record around its releases


@dataclass
class Forgery:
    """A record that was edited, in words what was done, and of which call each of its releases is."""

    body: dict[str, Any]
    origins: dict[str, str]
    said: list[str] = field(default_factory=list)


def edit_record(forgery: Forgery, others: dict[str, dict[str, Any]], rng: random.Random) -> None:
    """One edit of what is not the release: dataset, digest, entry, names, more releases."""
    body, releases = forgery.body, forgery.body["releases"]
    which = rng.choice(["head", "head", "head", "entry", "no entry", "rename", "twice", "beside", "beside", "none"])
    if which == "head":
        head = {name: value for name, value in body.items() if name != "releases"}
        forgery.said.append(
            "record " + edit(head, [{k: v for k, v in o.items() if k != "releases"} for o in others.values()], rng)
        )
        forgery.body = head | {"releases": releases}
        return
    forgery.said.append(f"record {which}")
    if which == "entry":
        body["entry"] = copy.deepcopy(rng.choice(list(others.values()))["entry"])
    elif which == "no entry":
        body["entry"] = None
    elif which == "rename":
        name, (old, one) = rng.choice(["mean of age", "", "r ", "\u202er"]), releases.popitem()
        releases[name], forgery.origins[name] = one, forgery.origins.pop(old)
    elif which == "twice":
        releases["again"], forgery.origins["again"] = copy.deepcopy(releases["r"]), forgery.origins["r"]
    elif which == "beside":
        name = rng.choice(list(others))
        releases["s"], forgery.origins["s"] = copy.deepcopy(others[name]["releases"]["r"]), name
        if rng.random() < 0.5:
            forgery.said.append(edit(releases["s"], [releases["r"]], rng))
            redraft(releases["s"])
    else:
        releases.clear()


# What a forger restores


def recertified(part: dict[str, Any]) -> None:
    """Move and loss of a part, made those that its other numbers have."""
    try:
        claimed = certificates._parse({k: v for k, v in part.items() if k != "digest"})
        law = claimed.grid
        rounding = norms.norm_rounding(claimed.blocks) if claimed.blocks else Fraction(0)
        part["move"] = int(certificates._steps(claimed.sensitivity, law, claimed.location, rounding))
        part["ranges"] = list(norms.list_ranges(claimed.blocks))
        part["loss"] = str(certificates._rounded_loss(law, part["move"], claimed.draws, claimed.epsilon))
    except (ArithmeticError, KeyError, TypeError, ValueError, AttributeError):
        pass


def resigned(body: Any) -> None:
    with suppress(AttributeError, TypeError, ValueError):
        body["digest"] = certificates._digest({k: v for k, v in body.items() if k != "digest"})


def restored(record: Any, before: Release, rng: random.Random) -> None:
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
            numbers = {name: tuple(map(Fraction, record[name])) for name in ("noisy", "units")}
            bounds = tuple(tuple(None if end is None else Fraction(end) for end in pair) for pair in record["bounds"])
            made = replace(before, **numbers, bounds=bounds)
            record["value"] = np.asarray(made.table).tolist()
            record["notes"] = list(made.own_notes())
        except Exception:
            return


def redraft(record: Any) -> None:
    """All that follows from the statistic and terms in a record, made anew by the library, with its numbers nearby."""
    try:
        statistic, terms = parse_statistic(record["statistic"]), Terms.from_dict(record["terms"])
        if statistic.numbers(terms) > 1000:
            return
        draft = statistic.draft(terms).record
        given = [Fraction(x) for x in record["noisy"]] or [Fraction(0)]
        wanted = [given[place % len(given)] for place in range(len(draft.units))]
        noisy = [_nearest(x, law) for x, law in zip(wanted, draft.parts, strict=True)]
        if not isinstance(draft.certificate, certificates.Certificate) and draft.bounding == "truncated":
            cut, _ = codec.laws_in_turn(draft.certificate, draft.bounds, noisy)
            noisy = [_nearest(x, law) for x, law in zip(noisy, cut.parts, strict=True)]
        if draft.parts[0].noise == "zero-sum":
            noisy[-1] += draft.rows - sum(noisy)
        made = codec.with_numbers(draft, [str(x) for x in noisy])
        record.clear()
        record.update(json.loads(made.to_json())["releases"][made.title])
    except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError):
        return


def _nearest(number: Fraction, law: certificates.Certificate) -> Fraction:
    index = round((number - law.origin) / law.step)
    if law.bounding != "unbounded":
        index = index if law.first is None else max(index, law.first)
        index = index if law.last is None else min(index, law.last)
    return law.origin + index * law.step


def rehashed(body: Any) -> None:
    """The digest of what was asked for and the ledger's entry, made to fit."""
    try:
        body["digest"] = records.restored(body)["digest"]
        entry, releases = body["entry"], body["releases"]
        what = [f"{name}: {one['statistic']['name']}" for name, one in releases.items()]
        exact = sum(Fraction(one["terms"]["epsilon"]) for one in releases.values())
        said = {"request": body["digest"], "epsilon": str(exact), "cost": -int(-exact * 10**9 // 1), "what": what}
        paid = entry["body"] | said | {"dataset": body["dataset"]}
        kept = Entry(**entry | {"body": paid})
        if paid == entry["body"] and _hash(kept) == entry["hash"]:
            return
        made = Entry.after(None, entry["kind"], paid)
        body["entry"] = entry | {"sequence": 0, "body": made.body, "previous": made.previous, "hash": made.hash}
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, ArithmeticError):
        pass


def _hash(entry: Entry) -> str:
    text = json.dumps(entry.body, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(json.dumps([entry.sequence, entry.kind, text, entry.previous]).encode()).hexdigest()


# Judgement

# Of a release: all that was paid for.
PROTECTED = ("rows", "unit", "contributions", "units", "bounds", "denominator", "certificate")
OWN_WAYS = ("repair", "tree", "level_shares", "derived", "method")
IN_STEPS = (
    *("first", "last", "exponent", "divisor", "dimension", "draws", "noise", "location", "move", "epsilon", "loss"),
    *("blocks", "ranges"),
)


def judged(before: Release | None, after: Release, text: Any) -> str:
    """What an accepted release is, seen from the one that it was made of and from what its text says."""
    if why := soundness.why_unsound(after):
        return f"breach ({why})"
    if not says(text, after) or not follows(after, text["value"]):
        return "breach (text)"
    verdict = "exchanged" if before is None else _judged(before, after)
    return "notation" if verdict == "same" and not is_verbatim(after, text) else verdict


def says(text: Any, release: Release) -> bool:
    """Whether somebody who reads the text alone reads what we read: every number of it, compared as a number."""
    try:
        terms, law = text["terms"], text["certificate"]
        own = [
            (Fraction(terms["epsilon"]), release.certificate.epsilon),
            (Fraction(law["epsilon"]), release.certificate.epsilon),
            (terms["neighbours"], release.neighbours),
            (terms["contributions"], release.contributions),
            (terms["rows"], release.terms.rows),
            (text["statistic"].get("where"), getattr(release.statistic, "where", None)),
            (text["statistic"].get("derive"), getattr(release.statistic, "derive", None)),
            (terms["bounding"], release.bounding),
            (text["statistic"]["name"], release.statistic.name),
            (text["method"], release.method),
            (text["axes"], [list(axis) for axis in release.axes]),
            (_fractions(text["noisy"]), list(release.noisy)),
            (_fractions(text["units"]), list(release.units)),
            ([_fractions(pair) for pair in text["bounds"]], [list(pair) for pair in release.bounds]),
            (len(text["columns"]), len(release.columns)),
            (text["notes"], list(release.notes)),
        ]
        for rule, made in zip(text["columns"], release.columns, strict=True):
            own += [(_fractions([rule[end]]), [getattr(made, end)]) for end in ("lower", "upper", "step")]
            own += [(rule["name"], made.name), (rule["cells"], list(made.cells)), (rule["sizes"], list(made.sizes))]
            own += [(rule["missing"], made.missing), (rule["other"], made.other)]
        parts = soundness.parts_of(release)
        own.append((len(parts_of(text)), len(parts)))
        for part, made in zip(parts_of(text), parts, strict=True):
            for name, value in made.to_dict().items():
                fraction = name in ("step", "origin", "sensitivity", "epsilon", "loss")
                own.append((Fraction(part[name]), Fraction(value)) if fraction else (part[name], value))
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
        return False
    return all(said == read for said, read in own)


def _fractions(texts: list[Any]) -> list[Any]:
    return [None if one is None else Fraction(one) for one in texts]


def is_verbatim(release: Release, text: Any) -> bool:
    """Whether the text is the one we would write, but for its value."""
    (own,) = json.loads(release.to_json())["releases"].values()
    parts = [{name: value for name, value in one.items() if name != "value"} for one in (own, text)]
    return json.dumps(parts[0], sort_keys=True) == json.dumps(parts[1], sort_keys=True)


def _judged(before: Release, after: Release) -> str:
    in_turn = before.bounding == "truncated" and not isinstance(before.certificate, certificates.Certificate)
    redrawn = before.noisy != after.noisy
    if is_rescaled(before, after):
        return "rescaled"
    free = ("certificate", "bounds") if in_turn and redrawn else ()
    kept = all(getattr(before, name) == getattr(after, name) for name in PROTECTED if name not in free)
    promised = [(one.statistic.name, one.epsilon, one.terms.epsilon, one.neighbours) for one in (before, after)]
    rules = [[(r.lower, r.upper, r.step, len(r.cells), r.sizes) for r in one.columns] for one in (before, after)]
    chosen = [[getattr(one.statistic, word, None) for word in ("where", "derive")] for one in (before, after)]
    alike = all(one == other for one, other in (chosen, promised, rules))
    if not kept or not alike or after.certificate.loss > before.epsilon:
        return "exchanged"
    if redrawn:
        return "redrawn"
    if ways(before) != ways(after):
        return "reprocessed"
    return "same" if before == after else "relabelled"


def ways(release: Release) -> list[Any]:
    """How the value follows from the numbers."""
    return [release.method, *(getattr(release.statistic, name, None) for name in OWN_WAYS)]


def is_rescaled(before: Release, after: Release) -> bool:
    """Whether all columns of numbers, and the grid with them, are in other units, and nothing else differs."""
    ends = [[end for rule in one.columns for end in (rule.lower, rule.upper, rule.step)] for one in (before, after)]
    factors = {b / a for a, b in zip(*ends, strict=False) if a and b is not None}
    parts = [soundness.parts_of(one) for one in (before, after)]
    alike = len(factors) == 1 and len(ends[0]) == len(ends[1]) and len(parts[0]) == len(parts[1])
    names = ("statistic", "neighbours", "bounding", *IN_STEPS)
    same = all(getattr(a, name) == getattr(b, name) for a, b in zip(*parts, strict=False) for name in names)
    own = ("rows", "unit", "contributions", "denominator", "axes")
    kept = all(getattr(before, name) == getattr(after, name) for name in own) and ways(before) == ways(after)
    return alike and factors != {1} and same and kept and before.statistic.name == after.statistic.name


def follows(release: Release, written: Any) -> bool:
    """Whether the text's value is the release's, to nine digits of each element or six of what it is beside."""
    try:
        own, said = np.asarray(release.table, dtype=float), np.asarray(written, dtype=float)
    except (TypeError, ValueError):
        return False
    if own.shape != said.shape or (np.isnan(own) != np.isnan(said)).any():
        return False
    # What is not available is null.
    own, said = (np.where(np.isnan(own), 0.0, one) for one in (own, said))
    room = 2e-9 * np.abs(own)
    if release.statistic.name == "proportions":
        room = room + 2e-12
    elif release.statistic.name == "regression":
        room = 2e-8 * np.abs(own) + 2e-12 * np.abs(own).max()
    elif release.statistic.traits.matrix or release.statistic.name == "moments":
        # Means lie above the matrix of moments.
        roots = np.sqrt(np.diagonal(own[-own.shape[1] :]))
        digits = 2e-12 if getattr(release.statistic, "repair", None) == "clip" else 2e-6
        room[-len(roots) :] += digits * roots[:, None] * roots * (1 - np.eye(len(roots)))
    if release.statistic.traits.whole:
        room = room * 0
    return bool((np.abs(own - said) <= room).all())


def judged_record(honest: dict[str, Release], original: Any, made: Releases, forgery: Forgery) -> str:
    """What an accepted record is: the worst of its releases, and what it says of all of them."""
    body = forgery.body
    if not is_paid(body, made) or list(made) != list(body["releases"]):
        return "breach (charge)"
    # One promise, for one table.
    if len({(one.neighbours, one.contributions, one.terms.rows) for one in made.values()}) > 1:
        return "breach (several promises in one record)"
    verdicts = [
        judged(honest.get(forgery.origins.get(name, "")), one, body["releases"][name]) for name, one in made.items()
    ]
    if (body["dataset"], body["entry"], list(made)) != (original["dataset"], original["entry"], ["r"]):
        verdicts.append("recharged")
    return max(verdicts, key=lambda verdict: WORDS_OF_JUDGEMENT.index(verdict.split()[0]))


def is_paid(body: Any, made: Releases) -> bool:
    """Whether a record's ε is that of its releases, and its entry, where it has one, the charge of just these."""
    total = sum((one.certificate.epsilon for one in made.values()), start=Fraction(0))
    if made.epsilon != total or body["digest"] != records.restored(body)["digest"] or made.dataset != body["dataset"]:
        return False
    entry = body["entry"]
    if entry is None or made.entry is None:
        return entry is None and made.entry is None
    paid = entry["body"]
    return (
        entry["kind"] == "charge"
        and _hash(Entry(**entry)) == entry["hash"]
        and (paid["dataset"], paid["request"]) == (body["dataset"], body["digest"])
        and Fraction(paid["epsilon"]) == total <= Fraction(paid["cost"], 10**9) < total + Fraction(1, 10**9)
        and len(paid["what"]) == len(made)
    )


# Attacks


def forged(name: str, before: Release, bodies: dict[str, Any], rng: random.Random) -> Forgery:
    """A plan's record with one to three edits, and what can be restored."""
    made = Forgery(copy.deepcopy(bodies[name]), {"r": name})
    others = {other: bodies[other] for other in rng.sample(list(bodies), min(3, len(bodies)))}
    rest = [one["releases"]["r"] for one in others.values()]
    best = rng.random() < 0.3
    try:
        for _ in range(rng.choice([1, 1, 2, 2, 3])):
            kind = rng.random()
            record = made.body["releases"]["r"]
            if kind < 0.2:
                made.said.append(agreeing(record, rng))
            elif kind < 0.3 or (best and kind < 0.7):
                made.said.append(asked_otherwise(record, rng))
            elif kind < 0.4 or (best and kind < 0.85):
                part = rng.choice(["statistic", "statistic", "terms"])
                made.said.append(f"{part} " + edit(record[part], [one[part] for one in rest], rng))
            elif kind < 0.85:
                made.said.append(edit(record, rest, rng))
            else:
                edit_record(made, others, rng)
    except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError):
        made.said.append("and no more")
    if rng.random() < 0.05:
        return made
    with suppress(AttributeError, KeyError, TypeError):
        for record in made.body["releases"].values():
            if best:
                redraft(record)
            else:
                restored(record, before, rng)
        rehashed(made.body)
    made.said += ["drafted"] if best else []
    return made


@dataclass
class Fuzz:
    """Honest records, the ledgers that paid for them, and forgeries of them."""

    folder: Path
    rng: random.Random
    bodies: dict[str, dict[str, Any]]
    honest: dict[str, Release]
    files: Iterator[int] = field(default_factory=numbers_from)

    def attack(self, name: str) -> dict[str, tuple[str, str]]:
        """One forgery at all doors: what became of it, in a word, and what it was."""
        original, before = self.bodies[name], self.honest[name]
        forgery = forged(name, before, self.bodies, self.rng)
        said, result = "; ".join(forgery.said), {}
        if repr(forgery.body) == repr(original):
            return result
        text = json.dumps(forgery.body)
        try:
            made = Releases.from_json(text)
        except REFUSALS:
            # The ledger's door begins with this one.
            result["verify"] = result["ledger"] = ("refused", said)
        else:
            result["verify"] = (judged_record(self.honest, original, made, forgery), said)
            result["ledger"] = (self.at_the_ledger(name, text, result["verify"][0]), said)
        record = (forgery.body.get("releases") or {}).get("r")
        # Where only the record around it was edited, nothing comes to the first door.
        if record is not None and repr(record) != repr(original["releases"]["r"]):
            try:
                after = Release.from_json(records.record_with(record))
            except REFUSALS:
                result["from_json"] = ("refused", said)
            else:
                result["from_json"] = (judged(before, after, record), said)
        return result

    def at_the_ledger(self, name: str, text: str, verdict: str) -> str:
        """What became of it against the ledger that paid: anything that is not the same must be refused."""
        file = self.folder / f"{next(self.files)}.json"
        file.write_text(text)
        try:
            verified(file, self.folder / f"{name}.ledger")
        except REFUSALS:
            return "refused"
        finally:
            file.unlink()
        return verdict if verdict in ("same", "notation") else f"breach ({verdict})"


def run(count: int, seed: int = 1, names: Any = None) -> tuple[dict[tuple[str, str], Counter[str]], list[str]]:
    """That many forgeries, each at all doors: what became of them by statistic and door, and all breaches."""
    tally: dict[tuple[str, str], Counter[str]] = {}
    breaches = []
    with tempfile.TemporaryDirectory() as folder:
        bodies = originals(Path(folder), names)
        honest = {name: Releases.from_json(json.dumps(body))["r"] for name, body in bodies.items()}
        fuzz = Fuzz(Path(folder), random.Random(seed), bodies, honest)
        for number in range(count):
            name = list(bodies)[number % len(bodies)]
            for door, (verdict, said) in fuzz.attack(name).items():
                statistic = honest[name].statistic.name
                tally.setdefault((statistic, door), Counter())[verdict.split()[0]] += 1
                if verdict.startswith("breach"):
                    breaches.append(f"{verdict}: {name}, {door}: {said}")
    return tally, breaches


def main(count: int = 50_000, seed: int = 1) -> None:
    tally, breaches = run(count, seed)
    words = ("refused", *WORDS_OF_JUDGEMENT)
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
