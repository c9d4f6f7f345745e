"""Mistakes in files: every error that our models can find is told in a plain sentence."""

from decimal import Decimal
from typing import Any, Literal, get_args

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core.core_schema import ErrorType

import inbounds as ib
from inbounds import _mistakes
from inbounds._mistakes import FileError, Mistake, explain, suggest, write_place
from inbounds.errors import LONGEST, InboundsError
from inbounds.lab.studies.file import CovarianceKeys, MatrixSection, ProportionsKeys, SharesSection
from inbounds.plan.model import PARTS
from inbounds.plan.plan import Plan

MODELS = [Plan, *PARTS.values(), ProportionsKeys, CovarianceKeys, SharesSection, MatrixSection]
# Whatever a key may be given: what TOML and JSON have, and what a dictionary of Python may have beside.
ODD: list[Any] = [
    None, True, 0, -1, 3, 10**400, 1.5, float("nan"), float("inf"), 1e308, "", " ", "x", "1", "a" * 300, "\ud800",
    b"\xff", Decimal("NaN"), Decimal("Infinity"), Decimal("1" * 70), [], [[]], [[], []], [1], [1, 1], [1, 2, 3], [1.5],
    ["x", ""], [["x"]], [[1, 2, 3]], [None], [True], [{}], [[{}]], {}, {"a": 1}, {"a": "x"}, {1: 2}, {"number": "q"},
    (1, 2), object(), ["x", ["y", 3]], [1, "x", float("nan")],
]  # fmt: skip


def failures(model: type[BaseModel]) -> list[tuple[ValidationError, Any]]:
    """What goes wrong with a model when one key after the other is given all sorts of things."""
    found = []
    for content in [*ODD, *({key: value} for key in [*model.model_fields, "wibble"] for value in ODD)]:
        try:
            model.model_validate(content)
        except ValidationError as error:
            found.append((error, content))
    return found


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_error_of_our_models_has_a_plain_sentence(model):
    seen = set()
    for error, content in failures(model):
        seen |= {one["type"] for one in error.errors()}
        for mistake in explain(error, content, model, PARTS, {}):
            assert mistake.rule.split()[0] in ("must", "has", "is", "tree"), mistake
            # Neither pydantic's words nor its insides.
            for word in (
                "Input",
                "nput should",
                "valid",
                "Value error",
                "function",
                "dictionary",
                "0x",
                "{",
                "decimal_",
            ):
                assert word not in mistake.rule, mistake
    assert seen <= set(_mistakes.KINDS) | set(_mistakes.RULES)
    assert "model_type" in seen
    # Further keys of an item are keywords of its statistic; the plan tells those that are not.
    assert ("extra_forbidden" in seen) == (model.model_config["extra"] == "forbid")


def test_the_codes_are_those_of_pydantic():
    """A code that pydantic does not know would be a sentence that nobody ever reads."""
    assert set(_mistakes.KINDS) | set(_mistakes.RULES) <= set(get_args(ErrorType))
    assert not set(_mistakes.KINDS) & set(_mistakes.RULES)


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    size: bool | int | None = None
    pair: tuple[int, int] | None = None
    word: Literal["joint", "split"] | None = None
    date: str | None = Field(None, pattern="^[0-9]+$")


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    inner: Inner | None = None
    several: list[Inner] = Field(default_factory=list, min_length=1)


def told(content):
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate(content, strict=True)
    return explain(caught.value, content, Outer, {"inner": Inner, "several": Inner}, {"several": "write [[several]]"})


@pytest.mark.parametrize(
    ("content", "place", "rule"),
    [
        # Which types of several were tried is no part of the place, and one mistake is told once.
        ({"inner": {"size": "x"}}, "inner.size", "must be true or false or a whole number, got 'x'"),
        ({"several": [{}, {"size": []}]}, "several[1].size", "must be true or false or a whole number"),
        ({"inner": {"word": "spilt"}}, "inner.word", "must be 'joint' or 'split', got 'spilt'; did you mean split?"),
        ({"inner": {"pair": (1,)}}, "inner.pair", "has too few entries"),
        ({"inner": {"pair": (1, 2, 3)}}, "inner.pair", "must have at most 2 entries, got 3"),
        ({"inner": {"sizes": 1}}, "inner.sizes", "is not a known key; did you mean size?"),
        ({"inner": {"q": 1}}, "inner.q", "is not a known key; there are size, pair, word, date"),
        ({"several": 3}, "several", "must be a list, got 3; write [[several]]"),
        ({"several": []}, "several", "must have 1 or more entries; write [[several]]"),
        ({"inner": True}, "inner", "must be a table of keys, got true"),
        # A code that has no sentence of ours is told in pydantic's words.
        ({"inner": {"date": "x"}}, "inner.date", "is not valid: String should match pattern '^[0-9]+$'"),
    ],
)
def test_a_mistake_has_its_place_and_its_rule(content, place, rule):
    (mistake,) = told(content)
    assert (write_place(mistake.place), mistake.rule) == (place, rule)


def test_a_context_without_its_figures_is_no_crash(monkeypatch):
    """As another version of pydantic might have it."""
    monkeypatch.setitem(_mistakes.RULES, "too_long", "must have at most {most} entries")
    (mistake,) = told({"inner": {"pair": (1, 2, 3)}})
    assert mistake == Mistake(
        ("inner", "pair"), "is not valid: Tuple should have at most 2 items after validation, not 3"
    )


def test_long_names_and_numbers_are_cut():
    assert write_place(("a" * 100, 3, "b")) == "a" * 59 + "…[3].b"
    (mistake,) = told({"inner": {"word": "y" * 100}})
    assert mistake.rule == f"must be 'joint' or 'split', got '{'y' * 40}'"
    (mistake,) = told({"inner": 10**5000})
    assert mistake.rule == "must be a table of keys, got one of more than 40 digits"


def test_suggestions():
    assert suggest("epsilom", ["n", "epsilon"]) == "; did you mean epsilon?"
    assert suggest("wibble", ["n", "epsilon"]) == ""


def test_the_error_of_a_file_has_a_line_for_each_mistake():
    one = FileError(["n must be\na list"], "a\x1b.toml")
    assert (str(one), one.problems) == ("a\\x1b.toml: n must be\\na list", ("n must be\\na list",))
    assert str(FileError(["a", "b"], "f.toml")) == "f.toml: 2 mistakes:\n  a\n  b"


def test_a_file_with_thousands_of_mistakes_shows_the_first():
    """A plan of 5,000 wrong keys, and names of thousands of letters: a screenful, with how many more there are."""
    wrong = {f"wrong{number}": 1 for number in range(5_000)}
    plan = {"data": {"rows": 1}, "budget": {"epsilon": 1}, "release": [], **wrong}
    with pytest.raises(FileError) as caught:
        ib.Plan.of(plan)
    lines = str(caught.value).splitlines()
    assert len(lines) == 22
    assert lines[0] == "the plan: 5,001 mistakes:"
    assert lines[-1] == "  and 4,981 more; correct these first"
    assert len(caught.value.problems) == 5_001
    long = FileError(["x" * 10_000, "short"], "n" * 10_000)
    assert max(map(len, str(long).splitlines())) <= 420
    assert str(long).splitlines()[2] == "  short"


def test_a_long_message_keeps_its_beginning_and_its_end():
    message = str(InboundsError(f"column {'x' * 10_000} is missing; write its name"))
    assert len(message) == LONGEST
    assert message.startswith("column xxx")
    assert message.endswith("xxx is missing; write its name")
    assert str(InboundsError("short")) == "short"
    assert InboundsError(3).args == (3,)


def test_a_key_in_the_wrong_table_is_sent_to_its_own():
    plan = {
        "data": {"rows": 10, "epsilon": 1},
        "budget": {"epsilon": 1},
        "columns": {"x": {"bounds": [0, 1]}},
        "release": [{"name": "a", "statistic": "mean", "columns": ["x"]}],
        "limit": 2,
    }
    with pytest.raises(FileError) as caught:
        ib.Plan.of(plan)
    assert caught.value.problems == (
        "data.epsilon: is not a known key here; it is one of [budget]",
        "limit: is not a known key here; it is one of [budget]",
    )
