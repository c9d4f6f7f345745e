"""What an expression means, once more: one row, Python's own values, None for what is missing.

Written from the page that users read (docs/tables.md), without anything of what is compiled for engines.
"""

import datetime
import math

from inbounds.tables.expressions import tree as nodes

EPOCH = datetime.datetime(1970, 1, 1)


def tame(value):
    if abs(value) < 1e-100:
        return 0.0
    return max(-1e100, min(1e100, value))


def moment(seconds):
    """A time by Python's calendar; None outside of it."""
    whole = math.floor(seconds)
    if not -62135596800 <= whole < 253402300800:
        return None
    return EPOCH + datetime.timedelta(days=whole // 86400, seconds=whole % 86400)


PARTS = {
    "year": lambda time: time.year,
    "month": lambda time: time.month,
    "day": lambda time: time.day,
    "weekday": lambda time: time.isoweekday(),
    "hour": lambda time: time.hour,
    "days": lambda time: (time - EPOCH).days,
}


def evaluate(expression, row):
    """The value of an expression for a row: a tamed float, True, False or None."""
    found = value(expression.tree, row, expression.columns)
    if found is None or expression.kind == "boolean":
        return found
    return tame(found)


def column(node, row, kinds):
    """What a column holds, as its kind has it."""
    found = row[node.name]
    if found is None or (isinstance(found, float) and math.isnan(found)):
        return None
    if kinds[node.name] == "number":
        return tame(float(found))
    if kinds[node.name] == "time":
        return None if moment(found) is None else found
    return found


def value(node, row, kinds):
    def of(part):
        return value(part, row, kinds)

    match node:
        case nodes.Number() | nodes.Text() | nodes.Truth():
            return node.value
        case nodes.Moment():
            return node.seconds
        case nodes.Column():
            return column(node, row, kinds)
        case nodes.Negative():
            # Each operand once: twice would be 2^50 times below fifty signs.
            operand = of(node.operand)
            return None if operand is None else -operand
        case nodes.Call(function="abs"):
            argument = of(node.argument)
            return None if argument is None else abs(argument)
        case nodes.Call():
            seconds = of(node.argument)
            return None if seconds is None else float(PARTS[node.function](moment(seconds)))
        case nodes.Chain():
            return chain(node.signs, [of(part) for part in node.operands])
        case nodes.Not():
            return negate(of(node.operand))
        case nodes.Junction():
            decisive = node.word == "or"
            found = [of(part) for part in node.operands]
            return decisive if decisive in found else None if None in found else not decisive
        case nodes.IsNull():
            return (of(node.operand) is None) != node.negated
        case nodes.Comparison():
            return compare(node.operator, of(node.left), of(node.right))
        case nodes.Between():
            operand = of(node.operand)
            low, high = compare(">=", operand, of(node.low)), compare("<=", operand, of(node.high))
            found = False if False in (low, high) else None if None in (low, high) else True
            return negate(found) if node.negated else found
        case nodes.In():
            one = of(node.operand)
            if one is None:
                return None
            return any(compare("=", one, of(item)) for item in node.items) != node.negated
    raise AssertionError(node)


def chain(signs, operands):
    if None in operands:
        return None
    if signs[0] in "*/":
        operands = [tame(operand) for operand in operands]
    total, *others = operands
    for factors, (sign, other) in enumerate(zip(signs, others, strict=True), 1):
        if sign in "*/" and factors in range(3, 200, 2):
            total = tame(total)
        if sign == "+":
            total += other
        elif sign == "-":
            total -= other
        elif sign == "*":
            total = total * other
        elif other == 0:
            return None
        else:
            total = total / other
    return total


def negate(truth):
    return None if truth is None else not truth


def compare(operator, left, right):
    if left is None or right is None:
        return None
    if isinstance(left, float):
        left, right = tame(left), tame(right)
    match operator:
        case "=":
            return left == right
        case "<>":
            return left != right
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case ">=":
            return left >= right
    raise AssertionError(operator)
