"""An expression as a value, made from text and checked against a table's columns."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from inbounds._frozen import FrozenMap
from inbounds._mistakes import suggest
from inbounds._text import visible
from inbounds.errors import ExpressionError as ExpressionError
from inbounds.tables.expressions.kinds import find_kinds
from inbounds.tables.expressions.parser import read_tree
from inbounds.tables.expressions.spelling import quote, write, write_name
from inbounds.tables.expressions.tokens import fail
from inbounds.tables.expressions.tree import Column, Kind, Node, walk
from inbounds.tables.expressions.weight import check_weight

_NONE: Mapping[str, Kind] = FrozenMap({})


@dataclass(frozen=True, slots=True)
class Expression:
    """A condition or a number that is computed from one record. Make one by `parse`.

    Parameters
    ----------
    text
        Its one spelling: ``parse(text, columns)`` is the same expression.
    kind
        ``"boolean"`` for a condition, ``"number"`` for a number.
    columns
        The columns that it reads with the kind of each, in the order in which they are written. A column of kind
        ``"any"`` is asked for nothing but whether it is null.
    tree
        What was read.
    zone
        The time zone by whose clock its instants are told; None where times have no zone.
    """

    text: str
    kind: Kind
    columns: Mapping[str, Kind]
    tree: Node = field(repr=False)
    zone: str | None = None

    def __str__(self) -> str:
        return self.text


# claim:expressions
def parse(text: str, declared: Mapping[str, Kind] = _NONE, *, condition: bool = False) -> Expression:
    """Read an expression in SQL's spelling.

    Parameters
    ----------
    text
        What was written, as in ``origin = 'JFK' and dep_delay > 15``.
    declared
        Kinds of columns that are known from elsewhere. They decide about columns whose use leaves the kind open: those
        that are compared with other columns alone, tested for null alone, or stand alone.
    condition
        Whether it has to be a condition, as for `where`: a column alone is then one.

    Returns
    -------
    Expression
        Equal for texts that differ in spaces, in the case of keywords, in parentheses that do nothing, and in how a
        number is written.

    Raises
    ------
    ExpressionError
        With the place, the rule and what to write instead, in one line.

    Notes
    -----
    At most 4,000 characters, 200 parts and 50 levels; numbers below 1e60, texts of at most 1,000 characters, no control
    characters. Names of columns are as the table has them, keywords and functions in any case.

    Examples
    --------
    >>> expression = parse("Age  >= 18.0 AND NOT (smoker)")
    >>> expression.text, expression.kind, expression.columns
    ('Age >= 18 and not smoker', 'boolean', {'Age': 'number', 'smoker': 'boolean'})
    >>> parse("region == 'north'")
    Traceback (most recent call last):
    ...
    inbounds.errors.ExpressionError: at character 8: == is not part of an expression; write = to compare
    """
    tree = read_tree(text)
    kind, columns = find_kinds(tree, declared, condition=condition)
    if not columns:
        fail(1, "an expression must use a column: without one it is the same for every record")
    check_weight(tree)
    return Expression(write(tree), kind, FrozenMap(columns), tree)


def check_columns(expression: Expression, names: Iterable[str]) -> None:
    """Check that a table has every column that an expression reads.

    Parameters
    ----------
    expression
        What was parsed.
    names
        The table's columns.

    Raises
    ------
    ExpressionError
        A column is not there; the message has a name that may have been meant.

    Examples
    --------
    >>> check_columns(parse("Age >= 18"), ["age", "region"])
    Traceback (most recent call last):
    ...
    inbounds.errors.ExpressionError: at character 1: there is no column Age; names are case-sensitive: did you mean age?
    """
    columns = list(names)
    for node in walk(expression.tree):
        if isinstance(node, Column) and node.name not in columns:
            fail(node.place, f"there is no column {visible(write_name(node.name[:60]))}{_advise(node, columns)}")


def _advise(column: Column, names: list[str]) -> str:
    """What may have been meant by a name that is none."""
    if same := [name for name in names if name.casefold() == column.name.casefold()]:
        return f"; names are case-sensitive: did you mean {visible(write_name(same[0]))}?"
    near = suggest(column.name, [visible(write_name(name)) for name in names if name])
    if column.quoted:
        text = f"write {visible(quote(column.name[:60]))} in single quotes"
        return f"{near} For a text {text}" if near else f"; for a text {text}"
    return near


def write_out(expression: str, meanings: Mapping[str, str], declared: Mapping[str, Kind] = _NONE) -> str:
    """The text of a condition in which the columns that have a meaning are replaced by it, in parentheses.

    Parameters
    ----------
    expression
        A condition, as it was written.
    meanings
        Expressions by the names of columns that stand for them.
    declared
        Kinds of columns; see `parse`.

    Returns
    -------
    str
        A text that names none of these columns, unless a meaning does.

    Raises
    ------
    ExpressionError
        If the condition cannot be read.

    Examples
    --------
    >>> write_out("late and hour > 18", {"late": "delay > 15"})
    '(delay > 15) and hour > 18'
    """
    tree = parse(expression, declared, condition=True).tree
    nodes = [node for node in walk(tree) if isinstance(node, Column) and node.name in meanings]
    for node in sorted(nodes, key=lambda column: column.place, reverse=True):
        name = '"' + node.name.replace('"', '""') + '"' if node.quoted else node.name
        # Places are counted from 1.
        start = node.place - 1
        expression = f"{expression[:start]}({meanings[node.name]}){expression[start + len(name) :]}"
    return expression
