"""How an expression is written: one spelling for each tree, which reads as the same tree."""

from inbounds.tables.expressions.tokens import is_part, is_start
from inbounds.tables.expressions.tree import (
    Between,
    Call,
    Chain,
    Column,
    Comparison,
    In,
    IsNull,
    Junction,
    Moment,
    Negative,
    Node,
    Not,
    Number,
    Text,
    Truth,
)

KEYWORDS = frozenset({"and", "or", "not", "in", "between", "is", "null", "true", "false"})

# How tightly the parts of an expression hold together.
_OR, _AND, _NOT, _COMPARED, _SUM, _PRODUCT, _SIGN, _ATOM = range(8)


def write(node: Node) -> str:
    """The one spelling of a tree: single spaces, small keywords, no parentheses that do nothing.

    Numbers are written in the fewest digits that give the same double.

    Examples
    --------
    >>> write(Comparison("<", Column("my age"), Number(30.0)))
    '"my age" < 30'
    """
    match node:
        case Number(value=number):
            return write_number(number)
        case Text(value=value):
            return quote(value)
        case Truth(value=truth):
            return "true" if truth else "false"
        case Moment(text=written):
            return written
        case Column(name=name):
            return write_name(name)
        case Call(function=function, argument=argument):
            return f"{function}({write(argument)})"
        case Negative(operand=operand):
            return f"-{_within(operand, _ATOM)}"
        case Chain():
            return _write_chain(node)
        case Not(operand=operand):
            return f"not {_within(operand, _NOT)}"
        case Junction(word=word, operands=operands):
            level = (_AND if word == "and" else _OR) + 1
            return f" {word} ".join(_within(operand, level) for operand in operands)
        case _:
            return _write_comparison(node)


def _write_chain(node: Chain) -> str:
    level = (_SUM if node.is_sum else _PRODUCT) + 1
    first, *others = (_within(operand, level) for operand in node.operands)
    return first + "".join(f" {sign} {other}" for sign, other in zip(node.signs, others, strict=True))


def _write_comparison(node: Comparison | In | Between | IsNull) -> str:
    match node:
        case Comparison(operator=operator, left=left, right=right):
            return f"{_within(left, _SUM)} {operator} {_within(right, _SUM)}"
        case In(operand=operand, items=items, negated=negated):
            return f"{_within(operand, _SUM)} {'not ' * negated}in ({', '.join(map(write, items))})"
        case Between(operand=operand, low=low, high=high, negated=negated):
            ends = f"{_within(low, _SUM)} and {_within(high, _SUM)}"
            return f"{_within(operand, _SUM)} {'not ' * negated}between {ends}"
        case IsNull(operand=operand, negated=negated):
            return f"{_within(operand, _SUM)} is {'not ' * negated}null"


def _within(node: Node, level: int) -> str:
    """A part of an expression, in parentheses where it would not hold together otherwise."""
    text = write(node)
    return text if _tightness(node) >= level else f"({text})"


def _tightness(node: Node) -> int:
    match node:
        case Junction(word=word):
            return _AND if word == "and" else _OR
        case Not():
            return _NOT
        case Comparison() | In() | Between() | IsNull():
            return _COMPARED
        case Chain():
            return _SUM if node.is_sum else _PRODUCT
        case Negative():
            return _SIGN
        case Number(value=number):
            return _SIGN if number < 0 else _ATOM
        case _:
            return _ATOM


def write_number(value: float) -> str:
    """A number in the fewest digits that give the same double.

    >>> write_number(18.0), write_number(0.1), write_number(1e30)
    ('18', '0.1', '1e+30')
    """
    return str(int(value)) if value.is_integer() and abs(value) < 1e16 else repr(value)


def quote(text: str) -> str:
    """A text in single quotes."""
    return "'" + text.replace("'", "''") + "'"


def write_name(name: str) -> str:
    """A column's name, in double quotes where it needs them.

    >>> write_name("age"), write_name("my age"), write_name("in")
    ('age', '"my age"', '"in"')
    """
    plain = is_start(name[0]) and all(map(is_part, name)) and name.lower() not in KEYWORDS
    return name if plain else '"' + name.replace('"', '""') + '"'
