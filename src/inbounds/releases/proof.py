"""Whether a record is what its own statistic comes to: it is drafted once more, from the record alone, and compared.

A draft has everything of a release but what was drawn. Whatever else a record says must be what the draft says: laws
with their grids and ends, bounds, units, steps of columns, labels. Every door goes through here: `Release.from_json`
compares with the draft of the record itself, `inbounds verify` also with that of the plan.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from typing import Any

import numpy as np

from inbounds import derive
from inbounds.privacy.certificate import Composition, compose, parse_fraction
from inbounds.record import Bound, ColumnRule, RecordError, Release, same_rows
from inbounds.releases.catalogue import draft
from inbounds.releases.kinds import within_variances
from inbounds.tables.schema import LARGEST_COUNT, MOST_UNEQUAL, even_spacing, short

# What is drawn, or follows from it; the certificate is compared apart.
_DRAWN = ("noisy", "notes", "certificate", "bounds")


def prove(record: Release, draft_of: Callable[[Release], Release] | None = None) -> None:
    """claim:proof. Refuse a record that differs from the draft of its own statistic, with `RecordError`.

    The statistic, its columns, rows, unit, neighbours and ε are taken from the record; the release function is called
    with them, without data. All that it fixes before reading any must be in the record, element by element. Where the
    draft follows from something else that is proved, as a plan, ``draft_of`` makes it.
    """
    try:
        own = (draft_of or _draft_of)(record)
    except RecordError:
        raise
    except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise RecordError(f"no {record.statistic} can be released as the record says: {error}") from None
    if wrong := difference(record, own):
        raise RecordError(f"the record's {wrong} does not fit the {record.statistic} that it states")


def difference(record: Release, own: Release) -> str | None:
    """The first field in which a record is not what a draft became; None where all that was not drawn is the same."""
    for field in fields(own):
        if field.name not in _DRAWN and not _is_same(getattr(record, field.name), getattr(own, field.name)):
            return field.name
    certificate, bounds = own.certificate, own.bounds
    if isinstance(certificate, Composition) and own.bounding == "truncated":
        if len(record.noisy) != len(own.units):
            return "noisy"
        try:
            certificate, bounds = _in_turn(certificate, bounds, record.noisy)
        except ValueError:
            return "certificate"
    if record.certificate != certificate:
        return "certificate"
    return None if _is_same(record.bounds, bounds) else "bounds"


def _is_same(given: Any, own: Any) -> bool:
    # Long tuples hold few objects, many times: each pair of them is compared once.
    return same_rows(given, own) if isinstance(own, tuple) and isinstance(given, tuple) else bool(given == own)


def _in_turn(
    laws: Composition, bounds: Sequence[Bound], noisy: Sequence[Fraction]
) -> tuple[Composition, tuple[Bound, ...]]:
    """Laws and bounds of elements that were truncated one by one: variances first, covariances within them."""
    places = list(combinations_with_replacement(range(derive.triangle_size(len(noisy))), 2))
    variances = {i: noisy[place] for place, (i, j) in enumerate(places) if i == j}
    made = [
        (law, bound) if i == j else within_variances(law, bound, variances[i], variances[j])
        for (i, j), law, bound in zip(places, laws.parts, bounds, strict=True)
    ]
    return compose([law for law, _ in made], laws.epsilon), tuple(bound for _, bound in made)


def _draft_of(record: Release) -> Release:
    """The draft of a record's own statistic."""
    keywords = {
        "epsilon": record.certificate.epsilon,
        "neighbours": record.neighbours,
        "contributions": record.contributions,
        "bounding": record.bounding,
        **_KEYWORDS[record.statistic](record),
    }
    made = draft(record.statistic, record.rows, {k: v for k, v in keywords.items() if v is not None}).record
    # Intervals were drafted as levels, which have the same law; that they are intervals is shown here.
    rules = [_intervals(rule) if _has_edges(rule) else None for rule in record.columns]
    if record.statistic not in _TABLES or not any(rules):
        return made
    if any(before and not after for before, after in pairwise(rules)):
        raise RecordError("the record's columns with edges come before those with levels")
    return replace(made, columns=tuple(one or own for one, own in zip(rules, made.columns, strict=True)))


def _of_number(record: Release) -> dict[str, Any]:
    """mean, sum, variance, standard_deviation, pooled_variance: one column of numbers, perhaps by groups."""
    rule, *groups = record.columns
    made = {"column": rule.name, **_number(rule)}
    return made | _groups(groups) | _given(denominator=record.denominator)


def _of_level(record: Release) -> dict[str, Any]:
    """count and proportion: records that have a level; or a count by groups, or of all records."""
    if record.axes:
        return _groups(record.columns)
    if not record.columns:
        return {}
    rule = record.columns[0]
    made = {"column": rule.name} | _given(denominator=record.denominator)
    if rule.cells == ("0", "1"):
        return made | {"missing": {None: None, "0": False, "1": True}[rule.missing]}
    (label,) = rule.cells
    truth = label in _TRUTHS and rule.missing == label.capitalize()
    has_it = {None: None, f"not {label}": False, label.capitalize() if truth else label: True}
    return made | {"level": _TRUTHS[label] if truth else label, "missing": has_it[rule.missing]}


def _of_cells(record: Release) -> dict[str, Any]:
    """histogram and proportions: levels of one column, or intervals."""
    (rule,) = record.columns
    levels, missing, other = _levels(rule)
    derived = None if record.derived is None else levels[rule.cells.index(record.derived)]
    made = {"column": rule.name, "levels": levels, "missing": missing, "other": other}
    repair = _REPAIRS.get(record.method)
    return made | _given(repair=repair, derived=derived, tree=record.tree, denominator=record.denominator)


def _of_table(record: Release) -> dict[str, Any]:
    """crosstab: levels or intervals of several columns."""
    rules = _named(record.columns)
    levels = {name: _levels(rule) for name, rule in rules.items()}
    made: dict[str, Any] = {"levels": {name: one[0] for name, one in levels.items()}}
    made["missing"] = {name: missing for name, (_, missing, _) in levels.items() if missing is not None}
    made["other"] = {name: other for name, (_, _, other) in levels.items() if other is not None}
    return made | _given(repair=_REPAIRS.get(record.method))


def _of_matrix(record: Release) -> dict[str, Any]:
    """covariance, correlation, pooled_covariance: several columns of numbers, perhaps by groups."""
    groups = record.columns[-1:] if record.statistic == "pooled_covariance" else ()
    rules = _named(record.columns[: len(record.columns) - len(groups)])
    numbers = {name: _number(rule) for name, rule in rules.items()}
    return _groups(groups) | {
        "bounds": {name: one["bounds"] for name, one in numbers.items()},
        "missing": {name: one["missing"] for name, one in numbers.items() if "missing" in one},
        "integer": [name for name, one in numbers.items() if one["integer"]],
        "method": "split" if isinstance(record.certificate, Composition) else "joint",
        "repair": record.repair,
    }


_KEYWORDS: dict[str, Callable[[Release], dict[str, Any]]] = {
    **dict.fromkeys(("mean", "sum", "variance", "standard_deviation", "pooled_variance"), _of_number),
    **dict.fromkeys(("count", "proportion"), _of_level),
    **dict.fromkeys(("histogram", "proportions"), _of_cells),
    "crosstab": _of_table,
    **dict.fromkeys(("covariance", "correlation", "pooled_covariance"), _of_matrix),
}
# Statistics whose columns may have edges.
_TABLES = ("histogram", "proportions", "crosstab")
_REPAIRS = {
    derive.WHOLE: "project",
    derive.PROJECTED: "project",
    derive.RESCALED: "rescale",
    derive.SHARES: "rescale",
    derive.ALL_BUT_ONE: "all-but-one",
    derive.TREE: "tree",
}
# How a record writes the levels of a column of booleans.
_TRUTHS = {"true": True, "false": False}


def _given(**keywords: Any) -> dict[str, Any]:
    return {name: value for name, value in keywords.items() if value is not None}


def _named(rules: Sequence[ColumnRule]) -> dict[str, ColumnRule]:
    named = {rule.name: rule for rule in rules}
    if len(named) < len(rules):
        raise RecordError("the record names a column twice")
    return named


def _number(rule: ColumnRule) -> dict[str, Any]:
    """Keywords of a column of numbers; steps of one are those of whole numbers, where all that is given is whole."""
    if rule.lower is None or rule.upper is None:
        raise RecordError(f"the record's column {rule.name!r} has no bounds")
    fill = None if rule.missing is None else parse_fraction(rule.missing, "missing")
    ends = (rule.lower, rule.upper, fill or Fraction(0))
    whole = all(end.denominator == 1 for end in ends) and rule.upper - rule.lower <= LARGEST_COUNT
    return {"bounds": (rule.lower, rule.upper), "integer": rule.step == 1 and whole} | _given(missing=fill)


def _groups(rules: Sequence[ColumnRule]) -> dict[str, Any]:
    if not rules:
        return {}
    (rule,) = rules
    levels, missing, other = _levels(rule)
    sizes = dict(zip(levels, rule.sizes, strict=True)) if rule.sizes else None
    return {"by": rule.name, "levels": levels} | _given(by_missing=missing, other=other, sizes=sizes)


def _levels(rule: ColumnRule) -> tuple[Sequence[Any], Any, Any]:
    """Levels, and those of missing and of other values. Text does for all types: laws do not depend on them."""
    if _has_edges(rule):
        return rule.cells, None, None
    places = (rule.missing, rule.other)
    # Booleans are written in two ways, of which one is no label.
    if set(rule.cells) <= set(_TRUTHS) and any(place in ("True", "False") for place in places):
        missing, other = (None if place is None else {"True": True, "False": False}[place] for place in places)
        return [_TRUTHS[cell] for cell in rule.cells], missing, other
    return rule.cells, rule.missing, rule.other


def _has_edges(rule: ColumnRule) -> bool:
    return bool(rule.cells) and rule.lower is not None


_WHOLE = re.compile(r"0|-?[1-9][0-9]*")


def _intervals(rule: ColumnRule) -> ColumnRule:
    """The rule, if its cells are intervals between its ends: what `inbounds.tables.schema.Edges` would make of them."""
    texts = [cell[1:-1].partition(", ")[0] for cell in rule.cells]
    texts.append(rule.cells[-1][1:-1].partition(", ")[2])
    *most, last = pairwise(texts)
    labels = (*(f"[{a}, {b})" for a, b in most), f"[{last[0]}, {last[1]}]")
    if labels != rule.cells or not all(map(_is_short, texts)) or rule.lower is None or rule.upper is None:
        raise RecordError(f"the record's column {rule.name!r} has cells that are no intervals")
    ends = np.array([float(text) for text in texts])
    rising = np.isfinite(ends).all() and (ends[1:] > ends[:-1]).all()
    if (short(rule.lower), short(rule.upper)) != (texts[0], texts[-1]) or not rising:
        raise RecordError(
            f"the record's column {rule.name!r} has edges that do not increase from its lower to its upper"
        )
    if len(ends) > MOST_UNEQUAL and even_spacing(ends, rule.upper - rule.lower) is None:
        raise RecordError(f"the record's column {rule.name!r} has too many edges that are not equally spaced")
    fill = None if rule.missing is None else parse_fraction(rule.missing, "missing")
    if fill is not None and (not rule.lower <= fill <= rule.upper or str(fill) != rule.missing):
        raise RecordError(f"the record's column {rule.name!r} has a missing that is not between its edges")
    return ColumnRule(rule.name, rule.lower, rule.upper, cells=labels, missing=rule.missing)


def _is_short(text: str) -> bool:
    """Whether a number is written as labels write it."""
    if _WHOLE.fullmatch(text):
        return True
    try:
        number = float(text)
    except ValueError:
        return False
    return math.isfinite(number) and repr(number) == text
