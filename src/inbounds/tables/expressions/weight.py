"""How much an engine is asked for: how many values the compiled form of an expression has.

An expression of Narwhals has no names for what it uses twice, so that a product of products of products is written out
many times over in a database's SQL. The limit is a public number, checked when the expression is read.
"""

from inbounds.tables.expressions.tokens import fail
from inbounds.tables.expressions.tree import Call, Chain, Column, In, Node, Number, list_parts

MOST_VALUES = 5_000
# A factor is looked at three times: whether it is tiny, whether it is huge, and for its value.
_LOOKS = 3
_CALENDAR = 10


def check_weight(tree: Node) -> None:
    """Refuse an expression that would be too long in SQL."""
    if weigh(tree) > MOST_VALUES:
        fail(
            tree.place, "too many multiplications and divisions are nested in each other; write it as a simpler formula"
        )


def weigh(node: Node) -> int:
    """About how many values the compiled form has."""
    match node:
        case Call(function=function) if function != "abs":
            return _CALENDAR
        case Chain(operands=operands) if not node.is_sum:
            first, *others = map(_weigh_factor, operands)
            total = first
            for number, other in enumerate(others):
                # What came out of two factors is a factor of the next.
                total = (total if number == 0 else _LOOKS * total) + other
            return total
        case In(operand=operand, items=items):
            return len(items) * _weigh_factor(operand)
        case _:
            return 1 + sum(map(weigh, list_parts(node)))


def _weigh_factor(node: Node) -> int:
    return weigh(node) * (1 if isinstance(node, Column | Number) else _LOOKS)
