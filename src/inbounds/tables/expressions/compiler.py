"""From an expression to one of Narwhals that means the same on every engine, bit for bit.

Where engines differ, and what is done about it:

- *Missing values.* What ``and``, ``or``, ``not`` and comparisons make of null differs, and of NaN in pandas. So there
  are no nulls within a compiled expression: a number is a pair, its value (0 where it is missing) and whether it is
  missing; a condition is a pair, whether it is true and whether it is false. Neither means that it is unknown, which
  gives SQL's three-valued logic: ``and`` is true where all are true, and false where any is false.
- *Numbers.* All are doubles, whose sums, products and quotients are the same everywhere. PostgreSQL raises an error at
  an overflow, an underflow and a division by zero, which would tell that a record holds such numbers. So numbers are
  *tamed*: beyond ±1e100 they count as ±1e100, and below 1e-100 in size as 0. A number is tamed where it comes from a
  column, before it is multiplied or divided, before it is compared, and when it is returned; what comes out of three
  factors in a row, and then of two more each, is tamed before the next. With at most 200 parts a sum of such products
  stays below 1e303, and a product above 1e-300, so that nothing overflows, underflows or is NaN. x / 0 is missing.
- *Literals.* To databases 0.1 is a decimal number, and those of 16 digits or more are rounded twice on the way to a
  double. So literals are made of whole numbers, by one division or by products with powers of two, which are exact.
- *Times* are seconds, and their parts are found by floor arithmetic (`dates`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inbounds.tables.expressions.dates import END_SECOND, FIRST_SECOND, PARTS
from inbounds.tables.expressions.expression import Expression, ExpressionError
from inbounds.tables.expressions.pairs import (
    Condition,
    Value,
    either,
    is_power,
    join,
    keep_known,
    make_double,
    tame,
    turn,
)
from inbounds.tables.expressions.tokens import HUGE, TINY
from inbounds.tables.expressions.tree import (
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
    Operator,
    Text,
    Truth,
)

if TYPE_CHECKING:
    import narwhals as nw


# claim:expressions
def to_narwhals(
    expression: Expression,
    values: "Mapping[str, nw.Expr]",
    write: Callable[[str], str] = str,
    *,
    tamed: "Mapping[str, nw.Expr] | None" = None,
) -> "nw.Expr":
    """An expression as one of Narwhals.

    Parameters
    ----------
    expression
        What was parsed.
    values
        Columns by their names, prepared by their kinds: numbers and times (in seconds) as Float64, text as String,
        conditions as Boolean, each with null for what is missing and without NaN. They are repeated in what is made, so
        hand over plain columns, and prepare them in a step before.
    write
        What becomes of literal texts, where columns hold text in another form, such as hexadecimal digits.
    tamed
        Columns of numbers once more, without null and within ±1e100 (`pairs.tame_column`). To be given on engines alone
        where what is computed from null or compared with it is null, without exception.

    Returns
    -------
    narwhals.Expr
        A tamed Float64 for a number, a Boolean for a condition, each with null where it is missing.

    Examples
    --------
    >>> import narwhals as nw, polars as pl
    >>> from inbounds.tables.expressions import parse
    >>> frame = nw.from_native(pl.DataFrame({"a": [1.0, 4.0, None], "b": [2.0, 0.0, 1.0]}))
    >>> columns = {"a": nw.col("a"), "b": nw.col("b")}
    >>> frame.select(r=to_narwhals(parse("a / b"), columns))["r"].to_list()
    [0.5, None, None]
    >>> frame.select(r=to_narwhals(parse("a > 3 or b > 1"), columns))["r"].to_list()
    [True, True, None]
    """
    import narwhals as nw

    compiler = _Compiler(values, expression.columns, write, tamed)
    if expression.kind == "number":
        value, missing = compiler.tamed(expression.tree)
        return value if missing is None else nw.when(~missing).then(value)
    holds, fails = _compile_condition(expression, values, write, tamed)
    # Without an otherwise: of a null that is cast to Boolean classic pandas makes False.
    return nw.when(holds | fails).then(holds if tamed is None else holds.fill_null(False))


def add_plainly(expression: Expression, tamed: "Mapping[str, nw.Expr]") -> "nw.Expr | None":
    """A sum of columns and numbers, NaN where one of them is missing, and not tamed; None for other expressions.

    ``tamed`` are columns as `to_narwhals` may have them. What is rounded to steps within bounds is the same, tamed or
    not.
    """
    node = expression.tree
    parts, signs = (node.operands, node.signs) if isinstance(node, Chain) and node.is_sum else ((node,), ())
    terms = []
    for part in parts:
        if isinstance(part, Number):
            terms.append(make_double(part.value))
        elif isinstance(part, Column) and part.name in tamed:
            terms.append(tamed[part.name])
        else:
            return None
    value = terms[0]
    for sign, term in zip(signs, terms[1:], strict=True):
        value = value + term if sign == "+" else value - term
    return value


# claim:expressions
def is_true(
    expression: Expression,
    values: "Mapping[str, nw.Expr]",
    write: Callable[[str], str] = str,
    *,
    tamed: "Mapping[str, nw.Expr] | None" = None,
) -> "nw.Expr":
    """Whether a condition is true of a record: what `where` keeps.

    Parameters are those of `to_narwhals`. The result is a Boolean that is false where the condition is unknown; with
    ``tamed`` it may be null there, which no arm of a condition takes for true.
    """
    return _compile_condition(expression, values, write, tamed).holds


def is_false(
    expression: Expression,
    values: "Mapping[str, nw.Expr]",
    write: Callable[[str], str] = str,
    *,
    tamed: "Mapping[str, nw.Expr] | None" = None,
) -> "nw.Expr":
    """Whether a condition is false of a record, as in `is_true`; where neither holds it is unknown."""
    return _compile_condition(expression, values, write, tamed).fails


def _compile_condition(
    expression: Expression,
    values: "Mapping[str, nw.Expr]",
    write: Callable[[str], str],
    tamed: "Mapping[str, nw.Expr] | None",
) -> Condition:
    if expression.kind != "boolean":
        raise ExpressionError("a condition is needed here, and this is a number; compare it, as in x > 0")
    return _Compiler(values, expression.columns, write, tamed).condition(expression.tree)


@dataclass(frozen=True, slots=True)
class _Compiler:
    values: "Mapping[str, nw.Expr]"
    kinds: Mapping[str, Kind]
    write: Callable[[str], str]
    # Columns of numbers without null and within ±1e100, where comparisons with null are null.
    ready: "Mapping[str, nw.Expr] | None"

    def raw(self, node: Node) -> Value:
        """A number or a time as it is: a column that is not tamed, or what arithmetic gives."""
        match node:
            case Number(value=number) | Moment(seconds=number):
                return Value(make_double(number), None)
            case Column(name=name):
                return self._read(name)
            case Negative(operand=operand):
                value, missing = self.number(operand)
                return Value(0.0 - value, missing)
            case Call(function="abs", argument=argument):
                value, missing = self.number(argument)
                return Value(value.abs(), missing)
            case Call(function=function, argument=argument):
                seconds, missing = self.raw(argument)
                return Value(PARTS[function](seconds.clip(FIRST_SECOND, END_SECOND - 1.0)), missing)
            case Chain() if node.is_sum:
                return self._add(node)
            case Chain():
                return self._multiply(node)
        raise AssertionError(node)

    def _read(self, name: str) -> Value:
        column = self.values[name]
        value, missing = column.fill_null(0.0), column.is_null()
        if self.kinds[name] == "time":
            missing = missing | (value < FIRST_SECOND) | (value >= END_SECOND)
        return Value(value, missing)

    def number(self, node: Node) -> Value:
        """A number that can be added: columns are tamed."""
        return self.tamed(node) if isinstance(node, Column) else self.raw(node)

    def tamed(self, node: Node) -> Value:
        """A number within ±1e100 that is 0 or at least 1e-100 in size."""
        import narwhals as nw

        if isinstance(node, Column) and self.ready is not None and node.name in self.ready:
            column = self.ready[node.name]
            gone = column.is_nan()
            return Value(nw.when(gone | (column.abs() < TINY)).then(nw.lit(0.0)).otherwise(column), gone)
        value, missing = self.raw(node)
        small = isinstance(node, Number | Moment) or (isinstance(node, Call) and node.function != "abs")
        return Value(value if small else tame(value), missing)

    def _add(self, node: Chain) -> Value:
        (value, missing), *others = map(self.number, node.operands)
        for sign, (other, absent) in zip(node.signs, others, strict=True):
            value = value + other if sign == "+" else value - other
            missing = either([missing, absent])
        return Value(value, missing)

    def _multiply(self, node: Chain) -> Value:
        value, missing = self.tamed(node.operands[0])
        for place, (sign, operand) in enumerate(zip(node.signs, node.operands[1:], strict=True)):
            # Three factors stay between 1e-300 and 1e300.
            value = tame(value) if place >= 2 and place % 2 == 0 else value
            if sign == "*":
                other, absent = self.tamed(operand)
                value, missing = value * other, either([missing, absent])
            elif isinstance(operand, Number) and is_power(operand.value):
                value = value * make_double(1.0 / operand.value)
            else:
                divisor, absent = self._divisor(operand)
                # Polars multiplies with the reciprocal of a constant: this makes it a column like any other.
                value, missing = value / (divisor + value * 0.0), either([missing, absent])
        return Value(value, missing)

    def _divisor(self, node: Node) -> Value:
        """A tamed number with 1 in place of 0, which is missing."""
        import narwhals as nw

        if isinstance(node, Number) and node.value != 0.0:
            return Value(make_double(node.value), None)
        value, missing = self.raw(node)
        zero = value.abs() < TINY
        return Value(nw.when(zero).then(make_double(1.0)).otherwise(value.clip(-HUGE, HUGE)), either([missing, zero]))

    def condition(self, node: Node) -> Condition:
        """Whether a condition is true, and whether it is false."""
        import narwhals as nw

        match node:
            case Truth(value=truth):
                return Condition(nw.lit(truth), nw.lit(not truth))
            case Column(name=name):
                column = self.values[name]
                return Condition(*((column == nw.lit(truth)).fill_null(False) for truth in (True, False)))
            case Not(operand=operand):
                return turn(self.condition(operand))
            case Junction(word=word, operands=operands):
                return join(word, [self.condition(operand) for operand in operands])
            case IsNull(operand=operand, negated=negated):
                return turn(self._is_null(operand), negated)
            case Between(operand=operand, low=low, high=high, negated=negated):
                ends = [self._compare(">=", operand, low), self._compare("<=", operand, high)]
                return turn(join("and", ends), negated)
            case In(operand=operand, negated=negated):
                return turn(self._is_in(node, operand), negated)
            case Comparison(operator=operator, left=left, right=right):
                return self._compare(operator, left, right)
        raise AssertionError(node)

    def _is_null(self, node: Node) -> Condition:
        import narwhals as nw

        if isinstance(node, Column) and self.kinds[node.name] not in ("number", "time"):
            missing: nw.Expr | None = self.values[node.name].is_null()
        else:
            missing = self.raw(node).missing
        missing = nw.lit(False) if missing is None else missing
        return Condition(missing, ~missing)

    def _kind(self, node: Node) -> Kind:
        """The kind of what is compared."""
        match node:
            case Column(name=name):
                return self.kinds[name]
            case Text():
                return "text"
            case Truth() | Comparison() | In() | Between() | IsNull() | Not() | Junction():
                return "boolean"
            case _:
                return "number"

    def _compare(self, operator: Operator, left: Node, right: Node) -> Condition:
        import narwhals as nw

        kind = self._kind(left)
        if kind == "boolean":
            return turn(self._equal_conditions(left, right), operator == "<>")
        if kind == "text":
            return turn(self._equal_texts(left, right), operator == "<>")
        if self.ready is not None and kind == "number" and isinstance(left, Column) and isinstance(right, Number):
            # Null stands for false then, which makes no difference to `and` and `or`.
            column, number = self.values[left.name], make_double(right.value)
            if not _is_plain(right):
                column = nw.when(column.abs() < TINY).then(number).otherwise(column)
            return Condition(_OPERATIONS[operator](column, number), _OPERATIONS[_OPPOSITE[operator]](column, number))
        # Whether it is tamed makes no difference where a column is compared with a number other than 0.
        plain = [isinstance(node, Number | Moment) and _is_plain(node) for node in (left, right)]
        read_side = self.raw if any(plain) and all(map(_is_simple, (left, right))) else self.tamed
        (node, absent), (other, also) = read_side(left), read_side(right)
        missing = either([absent, also])
        return keep_known(_OPERATIONS[operator](node, other), _OPERATIONS[_OPPOSITE[operator]](node, other), missing)

    def _equal_conditions(self, left: Node, right: Node) -> Condition:
        first, second = self.condition(left), self.condition(right)
        if isinstance(right, Truth):
            return first if right.value else turn(first)
        if isinstance(left, Truth):
            return second if left.value else turn(second)
        same = (first.holds & second.holds) | (first.fails & second.fails)
        return Condition(same, (first.holds & second.fails) | (first.fails & second.holds))

    def _equal_texts(self, left: Node, right: Node) -> Condition:
        import narwhals as nw

        def read(node: Node) -> nw.Expr:
            return self.values[node.name] if isinstance(node, Column) else nw.lit(self.write(_text(node)))

        if isinstance(left, Text) and isinstance(right, Text):
            return self.condition(Truth(left.value == right.value))
        missing = either([read(node).is_null() if isinstance(node, Column) else None for node in (left, right)])
        same = (read(left) == read(right)).fill_null(False)
        return keep_known(same, ~same, missing)

    def _is_in(self, node: In, operand: Node) -> Condition:
        if self._kind(operand) != "text":
            return join("or", [self._compare("=", operand, item) for item in node.items])
        if isinstance(operand, Text):
            return self.condition(Truth(operand.value in map(_text, node.items)))
        assert isinstance(operand, Column)
        column = self.values[operand.name]
        same = column.is_in([self.write(_text(item)) for item in node.items]).fill_null(False)
        return keep_known(same, ~same, column.is_null())


_OPPOSITE: dict[Operator, Operator] = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_OPERATIONS: "dict[Operator, Callable[[nw.Expr, nw.Expr], nw.Expr]]" = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def _text(node: Node) -> str:
    assert isinstance(node, Text)
    return node.value


def _is_plain(node: Number | Moment) -> bool:
    return isinstance(node, Moment) or node.value != 0.0


def _is_simple(node: Node) -> bool:
    return isinstance(node, Column | Number | Moment)
