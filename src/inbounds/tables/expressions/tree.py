"""The nodes of an expression: frozen values, compared without the place where they were written."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["number", "text", "boolean", "time", "any"]
Operator: TypeAlias = Literal["=", "<>", "<", "<=", ">", ">="]
Sign: TypeAlias = Literal["+", "-", "*", "/"]

# Functions by name, with the kind of what they take. All of them give a number.
FUNCTIONS: dict[str, Kind] = {
    "abs": "number",
    "year": "time",
    "month": "time",
    "day": "time",
    "weekday": "time",
    "hour": "time",
    "days": "time",
}


@dataclass(frozen=True, slots=True)
class Number:
    """A literal number, as the nearest double."""

    value: float
    place: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Text:
    """A literal text."""

    value: str
    place: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Truth:
    """``true`` or ``false``."""

    value: bool
    place: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Moment:
    """A literal date or time: how it is written, and its seconds since 1970-01-01 00:00:00."""

    text: str
    seconds: float
    place: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table. ``quoted`` says that its name was written in double quotes."""

    name: str
    place: int = field(default=0, compare=False, repr=False)
    quoted: bool = field(default=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Call:
    """One of the functions of `FUNCTIONS`, of one argument."""

    function: str
    argument: "Node"
    place: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Negative:
    """A number with the other sign."""

    operand: "Node"
    place: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Chain:
    """Numbers added and subtracted, or multiplied and divided, from left to right: one sign fewer than operands."""

    signs: tuple[Sign, ...]
    operands: tuple["Node", ...]
    place: int = field(default=0, compare=False, repr=False)

    @property
    def is_sum(self) -> bool:
        """Whether the signs are plus and minus."""
        return self.signs[0] in ("+", "-")


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two values compared."""

    operator: Operator
    left: "Node"
    right: "Node"
    place: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class In:
    """Whether a value is one of some literals, or none of them."""

    operand: "Node"
    items: tuple["Literals", ...]
    negated: bool = False
    place: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Between:
    """Whether a value lies between two others, ends included, or does not."""

    operand: "Node"
    low: "Node"
    high: "Node"
    negated: bool = False
    place: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class IsNull:
    """Whether a value is missing, or is there."""

    operand: "Node"
    negated: bool = False
    place: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Not:
    """A condition turned round."""

    operand: "Node"
    place: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Junction:
    """Conditions joined: all of them (``and``) or any of them (``or``)."""

    word: Literal["and", "or"]
    operands: tuple["Node", ...]
    place: int = field(default=0, compare=False, repr=False)


Literals: TypeAlias = Number | Text | Truth | Moment
Node: TypeAlias = (
    Literals | Column | Call | Negative | Chain | Comparison | In | Between | IsNull | Not | Junction
)  # fmt: skip


def list_parts(node: Node) -> tuple[Node, ...]:
    """The nodes right below one, in the order in which they are written."""
    match node:
        case Call(argument=part) | Negative(operand=part) | IsNull(operand=part) | Not(operand=part):
            return (part,)
        case Chain(operands=parts) | Junction(operands=parts):
            return parts
        case Comparison(left=left, right=right):
            return (left, right)
        case In(operand=operand, items=items):
            return (operand, *items)
        case Between(operand=operand, low=low, high=high):
            return (operand, low, high)
        case _:
            return ()


def walk(node: Node) -> Iterator[Node]:
    """A node and all below it, in the order in which they are written."""
    yield node
    for part in list_parts(node):
        yield from walk(part)
