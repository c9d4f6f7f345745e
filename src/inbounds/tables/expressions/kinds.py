"""Which columns are numbers, text, conditions or times: found out from how an expression uses them.

Nothing is read from a table for it, so that what an expression means does not depend on the data or on the engine.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from inbounds._text import visible
from inbounds.tables.expressions.tokens import fail
from inbounds.tables.expressions.tree import (
    FUNCTIONS,
    Between,
    Call,
    Chain,
    Column,
    Comparison,
    In,
    IsNull,
    Junction,
    Kind,
    Moment,
    Negative,
    Node,
    Not,
    Number,
    Text,
    Truth,
    walk,
)

_NAMES: dict[Kind, str] = {"number": "a number", "text": "text", "boolean": "a condition", "time": "a time"}
_IN_DAYS = "; the days between two dates are days(later) - days(earlier)"
_LOOKS_LIKE_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T].*)?")


def find_kinds(tree: Node, declared: Mapping[str, Kind], *, condition: bool) -> tuple[Kind, dict[str, Kind]]:
    """The kind of an expression, and those of its columns in the order in which they are written.

    Parameters
    ----------
    tree
        The expression.
    declared
        Kinds of columns from elsewhere, for those whose use leaves them open.
    condition
        Whether the whole has to be a condition.

    Raises
    ------
    ExpressionError
        A column is used in two kinds, or a part is not of the kind that its place needs.
    """
    kinds = _Kinds(declared)
    if condition:
        kinds.demand(tree, "boolean")
        kind: Kind = "boolean"
    else:
        kinds.visit(tree)
        kind = kinds.kind_of(tree) or kinds.resolve(tree)
    for node in kinds.compared:
        _check_operator(node, kinds)
    if kind not in ("boolean", "number"):
        fail(tree.place, f"an expression must be a condition or a number, and this is {_NAMES[kind]}; compare it")
    names = dict.fromkeys(node.name for node in walk(tree) if isinstance(node, Column))
    return kind, {name: kinds.resolve_name(name) for name in names}


@dataclass(slots=True)
class _Kinds:
    """What is known about columns so far.

    ``groups`` has, for each column, those that it is compared with, itself included: they are of one kind.
    """

    declared: Mapping[str, Kind]
    used: dict[str, Kind] = field(default_factory=dict)
    groups: dict[str, list[str]] = field(default_factory=dict)
    compared: list[Comparison | Between] = field(default_factory=list)

    def kind_of(self, node: Node) -> Kind | None:
        """The kind of a part by its form; None for a column."""
        match node:
            case Column():
                return None
            case Number() | Chain() | Negative() | Call():
                return "number"
            case Text():
                return "text"
            case Moment():
                return "time"
            case _:
                return "boolean"

    def resolve(self, node: Node) -> Kind:
        """The kind of a part, when everything has been visited."""
        if not isinstance(node, Column):
            return self.kind_of(node) or "any"
        kind = self.resolve_name(node.name)
        if kind == "any":
            self.use(node, kind := "number")
        return kind

    def resolve_name(self, name: str) -> Kind:
        """The kind of a column: by its use, by what is declared, a number where it is compared, or any."""
        group = self.groups.get(name, [name])
        kinds = [self.used[column] for column in group if column in self.used]
        kinds += [kind for column in group if (kind := self.declared.get(column, "any")) != "any"]
        return kinds[0] if kinds else "number" if name in self.groups else "any"

    def use(self, column: Column, kind: Kind) -> None:
        """A column is used in a kind, and with it all that it is compared with."""
        if kind == "number" and self.declared.get(column.name) == "time":
            fail(column.place, f"column {visible(column.name[:40])!r} holds times, and is used as a number{_IN_DAYS}")
        for name in self.groups.get(column.name, [column.name]):
            other = self.used.setdefault(name, kind)
            if other != kind:
                also = "" if name == column.name else f", through {visible(column.name[:40])!r}"
                hint = "; a date is written date '2013-06-01'" if {kind, other} == {"time", "text"} else ""
                hint = _IN_DAYS if {kind, other} == {"time", "number"} else hint
                words = f"{_NAMES[other]} and as {_NAMES[kind]}"
                fail(column.place, f"column {visible(name[:40])!r} is used as {words}{also}; use it as one{hint}")

    def link(self, left: Column, right: Column) -> None:
        """Two columns are compared: they are of one kind."""
        first, second = (self.groups.setdefault(column.name, [column.name]) for column in (left, right))
        if first is not second:
            kind = next((self.used[name] for name in first if name in self.used), None)
            back = next((self.used[name] for name in second if name in self.used), None)
            first.extend(second)
            for name in second:
                self.groups[name] = first
            for earlier in (kind, back):
                if earlier is not None:
                    self.use(right, earlier)

    def demand(self, node: Node, kind: Kind) -> None:
        """A part has to be of a kind."""
        if isinstance(node, Column):
            return self.use(node, kind)
        self.visit(node)
        if self.kind_of(node) != kind:
            kind_found = _NAMES[self.kind_of(node) or "any"]
            hint = "; put parentheses around comparisons, and join them by and" if kind != "text" else ""
            hint = _IN_DAYS if (kind, self.kind_of(node)) == ("number", "time") else hint
            fail(node.place, f"expected {_NAMES[kind]} here, found {kind_found}{hint}")
        return None

    def visit(self, node: Node) -> None:
        """Find what a part says about its columns."""
        match node:
            case Negative(operand=operand):
                self.demand(operand, "number")
            case Chain(operands=operands):
                for operand in operands:
                    self.demand(operand, "number")
            case Call(function=function, argument=argument):
                if FUNCTIONS[function] == "time" and not isinstance(argument, Column):
                    literal = "; of a date that is written down, write the number" if function == "days" else ""
                    fail(argument.place, f"{function} takes a column with dates or times, and nothing else{literal}")
                self.demand(argument, FUNCTIONS[function])
            case Not(operand=operand):
                self.demand(operand, "boolean")
            case Junction(operands=operands):
                for operand in operands:
                    self.demand(operand, "boolean")
            case IsNull(operand=operand):
                self.visit(operand)
                if self.kind_of(operand) not in (None, "number"):
                    fail(operand.place, "is null takes a column or a number; say of each column whether it is null")
            case Comparison(left=left, right=right):
                self.compare([left, right], node)
            case Between(operand=operand, low=low, high=high):
                self.compare([operand, low, high], node)
            case In(operand=operand, items=items):
                self.compare([operand, *items], node)
            case _:
                pass

    def compare(self, nodes: Sequence[Node], whole: Comparison | Between | In) -> None:
        """Parts that are compared are of one kind."""
        values = [node for node in nodes if not isinstance(node, Column)]
        for node in values:
            self.visit(node)
            kinds = self.kind_of(values[0]), self.kind_of(node)
            if kinds[0] != kinds[1]:
                first, other = (_NAMES[kind or "any"] for kind in kinds)
                fail(node.place, f"{first} cannot be compared with {other}; compare what is of one kind")
        columns = [node for node in nodes if isinstance(node, Column)]
        for left, right in pairwise(columns):
            self.link(left, right)
        for column in columns:
            self.groups.setdefault(column.name, [column.name])
            if values:
                kind = self.kind_of(values[0]) or "any"
                self._check_declared(column, values[0], kind)
                self.use(column, kind)
        if isinstance(whole, In):
            if self.kind_of(whole.items[0]) == "boolean":
                fail(whole.items[0].place, "true and false do not stand in a list; write = true or = false")
        else:
            self.compared.append(whole)

    def _check_declared(self, column: Column, other: Node, kind: Kind) -> None:
        if kind == "text" and self.declared.get(column.name) == "time":
            is_date = isinstance(other, Text) and _LOOKS_LIKE_DATE.fullmatch(other.value)
            example = visible(other.value[:10]) if isinstance(other, Text) and is_date else "2013-06-01"
            fail(other.place, f"column {visible(column.name[:40])!r} holds times; write date '{example}'")


def _check_operator(node: Comparison | Between, kinds: _Kinds) -> None:
    """Text and conditions have no order, and whole conditions are compared with true and false alone."""
    if isinstance(node, Between):
        kind, operator = kinds.resolve(node.operand), "between"
    else:
        kind, operator = kinds.resolve(node.left), node.operator
    if kind == "text" and operator not in ("=", "<>"):
        texts = [part.value for part in walk(node) if isinstance(part, Text)]
        hint = "list them by in"
        if texts and _LOOKS_LIKE_DATE.fullmatch(texts[0]):
            hint = f"for a date write date '{visible(texts[0][:10])}'"
        fail(node.place, f"{operator} is not for text, whose order differs from engine to engine; {hint}")
    if kind == "boolean":
        if operator not in ("=", "<>"):
            fail(node.place, f"{operator} is not for conditions; write and, or, not, = true or = false")
        if isinstance(node, Comparison):
            parts = (node.left, node.right)
            plain = all(isinstance(part, Column) for part in parts)
            if not plain and not any(isinstance(part, Truth) for part in parts):
                fail(node.place, "a condition is compared with true or false alone; write it by and, or and not")
