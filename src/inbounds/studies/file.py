"""A study of one's own, written as a TOML file.

.. code-block:: toml

    name = "wards"                        # of the files that are written
    kind = "proportions"                  # or "covariance"
    n = [100, 400, 1600]
    epsilon = [0.1, 0.5, 1.0]
    mechanisms = ["truncated", "bit", "joint"]
    repairs = ["rescale", "project"]
    estimators = ["wald", "exact"]
    repetitions = 2000                    # --reps overrules it
    seed = 1                              # --seed overrules it

    [[scenario]]
    name = "skewed"
    shares = [0.05, 0.1, 0.15, 0.2, 0.5]

Every mistake is one line that names the key, the rule and what to write instead.
"""

import difflib
import math
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from inbounds import _check
from inbounds.studies.covariance import Covariance, Matrix
from inbounds.studies.engine import Setting, require_distinct, require_repetitions, shortened
from inbounds.studies.proportions import Proportions, Shares

KINDS = ("proportions", "covariance")
# More settings than this are a slip of the pen: hours of work and a table of millions of rows.
MOST_SETTINGS = 20_000
# Beginnings of names that the paper's studies give to files.
_RESERVED = ("covariance", "proportions", "paper", "claims", "ours", "fig")
_GENERAL = ("name", "kind", "repetitions", "seed", "scenario")


@dataclass(frozen=True, slots=True)
class StudyFile:
    """What a study file says: its settings, how often to repeat them, and with which seed."""

    name: str
    kind: str
    settings: tuple[Setting, ...]
    repetitions: int | None
    seed: int | None


def load(path: Path, *, undefined: str | None = None) -> StudyFile:
    """claim:study-file. Read and check a study file; mistakes are ValueErrors of one line that begin with its name.

    ``undefined`` overrules the key of that name, which is one of covariance studies.
    """
    try:
        content = tomllib.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path}: is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: is not valid TOML: {error}") from None
    except (ValueError, RecursionError):
        raise ValueError(f"{path}: is not valid TOML: a number is too long, or lists are too deep") from None
    try:
        return study(content, path.stem, undefined=undefined)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from None


def study(content: Mapping[str, Any], name: str = "study", *, undefined: str | None = None) -> StudyFile:
    """A study from the keys of a file, as a dictionary.

    >>> made = study({"kind": "proportions", "n": [50], "epsilon": [1], "scenario": [{"shares": [0.5, 0.5]}]})
    >>> made.name, len(made.settings)
    ('study', 2)
    """
    if "kind" not in content:
        raise ValueError('kind is missing; write kind = "proportions" or kind = "covariance"')
    kind = _check.choice(content["kind"], "kind", KINDS)
    if undefined is not None:
        if kind != "covariance":
            raise ValueError("--undefined is for studies of covariance matrices")
        content = {**content, "undefined": undefined}
    design: Any = Proportions if kind == "proportions" else Covariance
    keys = [field.name for field in fields(design) if field.name != "scenarios"]
    _known(content, (*_GENERAL, *keys), "")
    own = "name" in content
    name = _named(content["name"], "name") if own else name
    if not re.fullmatch(r"\w([\w. -]{0,98}\w)?", name) or name.lower().startswith(_RESERVED):
        rule = "name must be letters, digits, spaces, '.', '-' and '_', at most 100, and no name of the paper's files"
        hint = f"got {shortened(name)}" + ("" if own else ' from the file\'s; write name = "..."')
        raise ValueError(f"{rule}: it names files; {hint}")
    make = _shares if kind == "proportions" else _matrix
    given = {key: _value(key, content[key]) for key in keys if key in content}
    for key in ("n", "epsilon"):
        if not given.get(key):
            raise ValueError(f"{key} is missing; write {key} = [{'100, 500' if key == 'n' else '0.1, 1'}]")
    scenarios = _scenarios(content.get("scenario"), make)
    count = math.prod(len(value) for value in given.values() if isinstance(value, tuple)) * len(scenarios)
    if count > MOST_SETTINGS:
        raise ValueError(f"a study may have {MOST_SETTINGS:,} settings, this one has {count:,}; shorten its lists")
    settings = tuple(design(scenarios=scenarios, **given).settings(name))
    require_distinct(settings)
    repetitions = content.get("repetitions")
    repetitions = None if repetitions is None else require_repetitions(repetitions)
    seed = None if "seed" not in content else _check.integer(content["seed"], "seed", least=0)
    return StudyFile(name, kind, settings, repetitions, seed)


def _known(content: Mapping[str, Any], keys: Sequence[str], where: str) -> None:
    for key in content:
        if key not in keys:
            near = difflib.get_close_matches(key, keys, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"use {', '.join(keys)}"
            shown = key if key.isidentifier() and len(key) < 60 else shortened(key)
            raise ValueError(f"{where}{shown} is not a key of a study; {hint}")


def _named(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise TypeError(f"{name} must be a text, got {_check.shown(value)}")
    return value


def _value(key: str, value: Any) -> Any:
    """Lists as tuples; single words and numbers as they are."""
    if key in ("neighbours", "copies", "undefined"):
        return value
    values = _listed(value, key)
    if len(set(map(repr, values))) < len(values):
        raise ValueError(f"{key} must not have one entry twice")
    if key != "epsilon":
        return tuple(values)
    return tuple(_check.real(x, f"epsilon[{i}]") for i, x in enumerate(values))


def _listed(value: Any, name: str) -> list[Any]:
    if isinstance(value, list) and not value:
        raise ValueError(f"{name} must be a list with an entry or more, got an empty one")
    if not isinstance(value, list):
        raise TypeError(f"{name} must be a list, got {_check.shown(value)}")
    return value


def _words(value: Any, name: str) -> Any:
    """Lists within lists of text, as tuples."""
    if isinstance(value, list):
        return tuple(_words(member, name) for member in _listed(value, name))
    return _named(value, name)


def _scenarios(entries: Any, make: Callable[[Mapping[str, Any], str, str], Any]) -> tuple[Any, ...]:
    if isinstance(entries, dict):
        raise ValueError("scenario must be a section in double brackets, [[scenario]]")
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError("scenario is missing; write a [[scenario]] section with the truth to simulate from")
    made = []
    for i, entry in enumerate(entries):
        where = f"scenario[{i}]."
        try:
            made.append(make(entry, _named(entry.get("name", f"scenario {i + 1}"), "name"), where))
        except (TypeError, ValueError) as error:
            text = str(error)
            raise ValueError(text if text.startswith("scenario[") else where + text) from None
    names = [scenario.name for scenario in made]
    if len(set(names)) < len(names):
        raise ValueError("scenario names must differ from each other")
    return tuple(made)


def _shares(entry: Mapping[str, Any], name: str, where: str) -> Shares:
    _known(entry, ("name", "shares", "labels", "groups", "sums"), where)
    if "shares" not in entry:
        raise ValueError("shares is missing; write shares = [0.2, 0.3, 0.5]")
    labels = tuple(_named(label, "labels") for label in _listed(entry["labels"], "labels")) if "labels" in entry else ()
    sums = (
        [_words(_listed(total, "sums"), "sums") for total in _listed(entry["sums"], "sums")] if "sums" in entry else []
    )
    groups = _words(_listed(entry["groups"], "groups"), "groups") if "groups" in entry else ()
    return Shares(name, tuple(_listed(entry["shares"], "shares")), labels, groups, tuple(sums))


def _matrix(entry: Mapping[str, Any], name: str, where: str) -> Matrix:
    _known(entry, ("name", "matrix", "bounds", "columns"), where)
    for key, example in (("matrix", "[[1.0, 0.5], [0.5, 1.0]]"), ("bounds", "[[-3, 3], [-3, 3]]")):
        if key not in entry:
            raise ValueError(f"{key} is missing; write {key} = {example}")
    rows = tuple(tuple(_listed(row, "matrix")) for row in _listed(entry["matrix"], "matrix"))
    bounds = tuple(_listed(pair, "bounds") for pair in _listed(entry["bounds"], "bounds"))
    columns = (
        tuple(_named(one, "columns") for one in _listed(entry["columns"], "columns")) if "columns" in entry else ()
    )
    return Matrix(name, rows, bounds, columns)  # type: ignore[arg-type]
