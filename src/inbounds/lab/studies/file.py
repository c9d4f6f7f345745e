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

All mistakes of its form are found at once; each is a line that names the key, the rule and what to write instead.
"""

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr, ValidationError

from inbounds import _check
from inbounds._mistakes import explain, write_place
from inbounds.errors import StudyError as StudyError
from inbounds.lab.studies.covariance import Covariance, Matrix
from inbounds.lab.studies.engine import Setting, require_distinct, require_repetitions, shorten
from inbounds.lab.studies.proportions import Proportions, Shares
from inbounds.repairs.tree import Groups

# More settings than this are a mistake: they would take hours and give a table of millions of rows.
MOST_SETTINGS = 20_000
# Prefixes of the files of the paper's studies.
_RESERVED = ("covariance", "proportions", "paper", "claims", "ours", "fig")


@dataclass(frozen=True, slots=True)
class StudyFile:
    """What a study file says: its settings, how often to repeat them, and with which seed."""

    name: str
    kind: str
    settings: tuple[Setting, ...]
    repetitions: int | None
    seed: int | None


# The form of a file: its keys, and the type of each. The designs and scenarios that are made from them check values,
# such as shares, which must sum to one.


def _refuse_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must be text that can be seen")
    return text


def _refuse_repeats(entries: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(set(entries)) < len(entries):
        raise ValueError("must not have one entry twice")
    return entries


def _refuse_all_but_labels(groups: tuple[Any, ...]) -> Groups:
    """Labels in nested groups, as tuples."""
    labels: list[Any] = []
    for entry in groups:
        if isinstance(entry, list | tuple) and entry:
            labels.append(_refuse_all_but_labels(tuple(entry)))
        elif isinstance(entry, str) and entry.strip():
            labels.append(entry)
        else:
            raise ValueError("must be labels in nested lists, none of them empty")
    return tuple(labels)


Text: TypeAlias = Annotated[StrictStr, AfterValidator(_refuse_blank)]
Number: TypeAlias = Annotated[StrictFloat, Field(allow_inf_nan=False)]
Texts: TypeAlias = Annotated[tuple[Text, ...], Field(min_length=1)]
Words: TypeAlias = Annotated[tuple[Text, ...], Field(min_length=1), AfterValidator(_refuse_repeats)]
Sizes: TypeAlias = Annotated[tuple[StrictInt, ...], Field(min_length=1), AfterValidator(_refuse_repeats)]
Losses: TypeAlias = Annotated[tuple[Number, ...], Field(min_length=1), AfterValidator(_refuse_repeats)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    def _list_given(self, *names: str) -> dict[str, Any]:
        """The values of those of some keys that the file has."""
        return {name: getattr(self, name) for name in names if name in self.model_fields_set}


class SharesSection(_Section):
    """A scenario of shares."""

    name: Text | None = None
    shares: Annotated[tuple[Number, ...], Field(min_length=1)]
    labels: Texts = ()
    groups: Annotated[tuple[Any, ...], Field(min_length=1), AfterValidator(_refuse_all_but_labels)] = ()
    sums: Annotated[tuple[Texts, ...], Field(min_length=1)] = ()

    def build(self, name: str) -> Shares:
        """The scenario; ``name`` is its name if it has none."""
        return Shares(self.name or name, self.shares, self.labels, self.groups, self.sums)


class MatrixSection(_Section):
    """A scenario of a covariance matrix."""

    name: Text | None = None
    matrix: Annotated[tuple[tuple[Number, ...], ...], Field(min_length=1)]
    bounds: Annotated[tuple[tuple[Number, Number], ...], Field(min_length=1)]
    columns: Texts = ()

    def build(self, name: str) -> Matrix:
        """The scenario; ``name`` is its name if it has none."""
        return Matrix(self.name or name, self.matrix, self.bounds, self.columns)


class ProportionsKeys(_Section):
    """The keys of a study of shares."""

    name: Text | None = None
    kind: Literal["proportions"]
    repetitions: StrictInt | None = None
    seed: Annotated[StrictInt, Field(ge=0)] | None = None
    n: Sizes
    epsilon: Losses
    mechanisms: Words = ()
    repairs: Words = ()
    estimators: Words = ()
    calibrations: Words = ()
    neighbours: Text = ""
    copies: StrictInt = 0
    scenario: Annotated[tuple[SharesSection, ...], Field(min_length=1)]

    def design(self, scenarios: tuple[Any, ...]) -> Proportions:
        """The design, with its own defaults for what the file leaves out."""
        words = "mechanisms", "repairs", "estimators", "calibrations", "neighbours", "copies"
        return Proportions(scenarios, self.n, self.epsilon, **self._list_given(*words))


class CovarianceKeys(_Section):
    """The keys of a study of covariance matrices."""

    name: Text | None = None
    kind: Literal["covariance"]
    repetitions: StrictInt | None = None
    seed: Annotated[StrictInt, Field(ge=0)] | None = None
    n: Sizes
    epsilon: Losses
    mechanisms: Words = ()
    repairs: Words = ()
    calibrations: Words = ()
    undefined: Text = ""
    scenario: Annotated[tuple[MatrixSection, ...], Field(min_length=1)]

    def design(self, scenarios: tuple[Any, ...]) -> Covariance:
        """The design, with its own defaults for what the file leaves out."""
        words = "mechanisms", "repairs", "calibrations", "undefined"
        return Covariance(scenarios, self.n, self.epsilon, **self._list_given(*words))


Keys: TypeAlias = ProportionsKeys | CovarianceKeys
_KEYS: dict[str, type[Keys]] = {"proportions": ProportionsKeys, "covariance": CovarianceKeys}
_SCENARIOS: dict[str, type[BaseModel]] = {"proportions": SharesSection, "covariance": MatrixSection}
_REMEDIES = {
    "n": "write n = [100, 500]",
    "epsilon": "write epsilon = [0.1, 1.0]",
    "scenario": "write a [[scenario]] section, in double brackets, with the truth to simulate from",
    "shares": "write shares = [0.2, 0.3, 0.5]",
    "matrix": "write matrix = [[1.0, 0.5], [0.5, 1.0]]",
    "bounds": "write bounds = [[-3, 3], [-3, 3]]",
}


# claim:study-file
def load(path: Path, *, undefined: str | None = None) -> StudyFile:
    """Read and check a study file.

    Parameters
    ----------
    path
        The file, in TOML.
    undefined
        Overrules the key of that name, which is one of covariance studies.

    Returns
    -------
    StudyFile
        What it says.

    Raises
    ------
    StudyError
        With all mistakes that were found, after the name of the file.
    """
    try:
        content = tomllib.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise StudyError([f"cannot be read ({error.strerror})"], str(path)) from None
    except UnicodeDecodeError:
        raise StudyError(["is not UTF-8 text"], str(path)) from None
    except tomllib.TOMLDecodeError as error:
        raise StudyError([f"is not valid TOML: {error}"], str(path)) from None
    except (ValueError, RecursionError):
        problem = "is not valid TOML: a number is too long, or lists are too deep"
        raise StudyError([problem], str(path)) from None
    try:
        return parse(content, path.stem, undefined=undefined)
    except StudyError as error:
        raise StudyError(error.problems, str(path)) from None


def parse(content: Mapping[str, Any], name: str = "study", *, undefined: str | None = None) -> StudyFile:
    """Check the content of a study file and make its settings.

    Parameters
    ----------
    content
        The keys of the file.
    name
        The name of the study if it has no key ``name``.
    undefined
        Overrules the key of that name, which is one of covariance studies.

    Returns
    -------
    StudyFile
        What it says.

    Raises
    ------
    StudyError
        With all mistakes of its form or, if there are none, the first value that is not possible.

    Examples
    --------
    >>> study = parse({"kind": "proportions", "n": [50], "epsilon": [1], "scenario": [{"shares": [0.5, 0.5]}]})
    >>> study.name, len(study.settings)
    ('study', 2)
    """
    if "kind" not in content:
        raise StudyError(['kind is missing; write kind = "proportions" or kind = "covariance"'], _UNNAMED)
    try:
        kind = _check.choice(content["kind"], "kind", tuple(_KEYS))
        if undefined is not None:
            if kind != "covariance":
                raise ValueError("undefined is for studies of covariance matrices")
            content = {**content, "undefined": undefined}
        return _build(_KEYS[kind].model_validate(content), name)
    except ValidationError as error:
        mistakes = explain(error, content, _KEYS[kind], {"scenario": _SCENARIOS[kind]}, _REMEDIES)
        raise StudyError([f"{write_place(mistake.place)} {mistake.rule}" for mistake in mistakes], _UNNAMED) from None
    except (TypeError, ValueError) as error:
        raise StudyError([str(error)], _UNNAMED) from None


# A study that did not come from a file.
_UNNAMED = "the study"


def _build(keys: Keys, name: str) -> StudyFile:
    """The settings of a study whose form is right; a ValueError or TypeError for a value that is not possible."""
    name = _check_name(keys, name)
    scenarios = _build_scenarios(keys)
    count = math.prod(len(value) for key in keys.model_fields_set if isinstance(value := getattr(keys, key), tuple))
    if count > MOST_SETTINGS:
        raise ValueError(f"a study may have {MOST_SETTINGS:,} settings, this one has {count:,}; shorten its lists")
    settings = tuple(keys.design(scenarios).settings(name))
    require_distinct(settings)
    repetitions = None if keys.repetitions is None else require_repetitions(keys.repetitions)
    return StudyFile(name, keys.kind, settings, repetitions, keys.seed)


def _check_name(keys: Keys, name: str) -> str:
    """The name of the study, which names files."""
    name, origin = (name, ' from the file\'s; write name = "..."') if keys.name is None else (keys.name, "")
    if not re.fullmatch(r"\w([\w. -]{0,98}\w)?", name) or name.lower().startswith(_RESERVED):
        rule = "name must be letters, digits, spaces, '.', '-' and '_', at most 100, and no name of the paper's files"
        raise ValueError(f"{rule}: it names files; got {shorten(name)}{origin}")
    return name


def _build_scenarios(keys: Keys) -> tuple[Any, ...]:
    scenarios = []
    sections: tuple[SharesSection | MatrixSection, ...] = keys.scenario
    for i, section in enumerate(sections):
        try:
            scenarios.append(section.build(f"scenario {i + 1}"))
        except (TypeError, ValueError) as error:
            raise ValueError(f"scenario[{i}].{error}") from None
    names = [scenario.name for scenario in scenarios]
    if len(set(names)) < len(names):
        raise ValueError("scenario names must differ from each other")
    return tuple(scenarios)
