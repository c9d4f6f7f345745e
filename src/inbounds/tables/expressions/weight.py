"""How much an engine is asked for: how often the compiled form of an expression reads a column.

An expression of Narwhals has no names for what it uses twice, so that a product of products of products is written out
many times over in a database's SQL. The limit is a public number, checked when the expression is read.
"""

from inbounds.tables.expressions.tokens import fail
from inbounds.tables.expressions.tree import Call, Chain, Column, Comparison, In, Moment, Node, Number, list_parts

MOST_READS = 1_500
# To tame a number is to look at it three times: whether it is tiny, whether it is null, and for its value.
_LOOKS = 3
_COLUMN, _CALENDAR = 4, 12


def check_weight(tree: Node) -> None:
    """Refuse an expression that would be too long in SQL."""
    if weigh(tree) > MOST_READS:
        fail(tree.place, "too many products and quotients of long formulas; write it in a simpler way, or split it")


def weigh(node: Node) -> int:
    """About how often the compiled form of a part reads a column."""
    match node:
        case Column():
            return _COLUMN
        case Call(function=function) if function != "abs":
            return _CALENDAR
        case Chain() if not node.is_sum:
            return _weigh_product(node)
        case Comparison(left=left, right=right):
            return _weigh_tamed(left) + _weigh_tamed(right)
        case In(operand=operand, items=items):
            return len(items) * (1 if isinstance(operand, Column) else _weigh_tamed(operand))
        case _:
            return 1 + sum(map(weigh, list_parts(node)))


def _weigh_product(node: Chain) -> int:
    total = _weigh_tamed(node.operands[0])
    for place, (sign, operand) in enumerate(zip(node.signs, node.operands[1:], strict=True)):
        total *= _LOOKS if place >= 2 and place % 2 == 0 else 1
        total = total * (1 if sign == "*" else 2) + _weigh_tamed(operand)
    return total


def _weigh_tamed(node: Node) -> int:
    return weigh(node) * (1 if isinstance(node, Column | Number | Moment) else _LOOKS)
