"""From tokens to a tree, by recursive descent: one method for each level of the grammar.

::

    condition   either: both ("or" both)*           both: negation ("and" negation)*
    negation    "not" negation | comparison
    comparison  sum [operator sum | ["not"] "in" (literals) | ["not"] "between" sum "and" sum | "is" ["not"] "null"]
    sum         product (("+" | "-") product)*      product: signed (("*" | "/") signed)*
    signed      "-" signed | atom
    atom        number | 'text' | date '...' | timestamp '...' | true | false | function(sum) | column | (condition)

Whether a part is a number or a condition is found out afterwards (`kinds`), with words of its own.
"""

from dataclasses import dataclass, field
from typing import NoReturn, cast

from inbounds._mistakes import suggest
from inbounds._text import visible
from inbounds.tables.expressions.dates import read_moment
from inbounds.tables.expressions.spelling import KEYWORDS, write
from inbounds.tables.expressions.tokens import Token, fail, read_double, tokenize
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
    Literals,
    Moment,
    Negative,
    Node,
    Not,
    Number,
    Operator,
    Sign,
    Text,
    Truth,
)

DEEPEST, MOST_NODES = 50, 200
_OPERATORS = ("=", "<>", "<", "<=", ">", ">=")
_CALENDAR = {"date": "date '2013-06-01'", "timestamp": "timestamp '2013-06-01 12:30:00'"}
# What follows a value in SQL and is not here.
_UNKNOWN = {
    "like": "compare whole texts by =, <> or in",
    "ilike": "compare whole texts by =, <> or in",
    "similar": "compare whole texts by =, <> or in",
    "collate": "texts are compared by their bytes",
    "mod": "there is no remainder",
    "isnull": "write is null",
    "notnull": "write is not null",
}


def read_tree(text: str) -> Node:
    """The tree of an expression, whatever the kinds of its parts.

    Raises
    ------
    ExpressionError
        The text is no expression, or is beyond a limit.

    Examples
    --------
    >>> read_tree("not age < 18")
    Not(operand=Comparison(operator='<', left=Column(name='age'), right=Number(value=18.0)))
    """
    reader = _Reader(tokenize(text))
    if len(reader.tokens) == 1:
        fail(1, "an expression must not be empty; write a condition such as age >= 18")
    node = reader.read_either()
    if reader.token.kind != "end":
        reader.refuse("an operator or the end")
    return node


@dataclass(slots=True)
class _Reader:
    """The tokens, and how far they have been read."""

    tokens: list[Token]
    at: int = 0
    depth: int = 0
    nodes: int = field(default=0)

    @property
    def token(self) -> Token:
        """The next token."""
        return self.tokens[self.at]

    def take(self) -> Token:
        """The next token, which is then behind us."""
        token = self.token
        self.at += token.kind != "end"
        return token

    def accept(self, *values: str) -> Token | None:
        """The next token if it is one of some keywords or symbols."""
        token = self.token
        spelling = token.value if token.kind == "symbol" else token.word
        return self.take() if spelling and spelling in values else None

    def expect(self, value: str, where: str) -> None:
        """Take a token that has to be there."""
        if self.accept(value) is None:
            self.refuse(f"{value} {where}")

    def refuse(self, expected: str) -> NoReturn:
        """Say what should stand here in place of what does."""
        token, hint = self.token, ""
        if token.kind == "symbol" and token.value in _OPERATORS:
            hint = "; comparisons are joined by and, as in a < b and b < c"
        elif token.word in _UNKNOWN:
            hint = f"; {_UNKNOWN[token.word]}"
        elif token.kind == "symbol" and token.value == "(":
            hint = "; a function is a name right before its parenthesis"
        elif token.kind in ("text", "quoted") and expected.startswith(")"):
            hint = "; a quote within a text is written twice"
        fail(token.place, f"expected {expected}, found {token}{hint}")

    def count(self, place: int) -> int:
        """Count a node; the place is handed back."""
        self.nodes += 1
        if self.nodes > MOST_NODES:
            fail(place, f"an expression must have at most {MOST_NODES} parts; split it")
        return place

    def enter(self, place: int) -> None:
        """Go one level deeper."""
        self.depth += 1
        if self.depth > DEEPEST:
            fail(place, f"an expression must be nested at most {DEEPEST} deep; write it with fewer parentheses")

    def read_either(self) -> Node:
        return self._read_junction("or")

    def _read_junction(self, word: str) -> Node:
        operands, place = [], self.token.place
        while True:
            operands.append(self._read_junction("and") if word == "or" else self._read_negation())
            if self.accept(word) is None:
                break
        if len(operands) == 1:
            return operands[0]
        return Junction("or" if word == "or" else "and", tuple(operands), self.count(place))

    def _read_negation(self) -> Node:
        token = self.accept("not")
        if token is None:
            return self._read_comparison()
        self.enter(token.place)
        node = Not(self._read_negation(), self.count(token.place))
        self.depth -= 1
        return node

    def _read_comparison(self) -> Node:
        left = self._read_chain("sum")
        token = self.token
        if self.accept(*_OPERATORS):
            self._refuse_null(left, token)
            right = self._read_chain("sum")
            return Comparison(cast(Operator, token.value), left, right, self.count(token.place))
        if self.accept("is"):
            negated = self.accept("not") is not None
            if self.token.word in ("true", "false"):
                fail(self.token.place, f"is goes with null alone; write = {self.token.word}")
            self.expect("null", "after is")
            return IsNull(left, negated, self.count(token.place))
        negated = self.accept("not") is not None
        if self.accept("in"):
            return In(left, self._read_items(), negated, self.count(token.place))
        if self.accept("between"):
            low = self._read_chain("sum")
            self.expect("and", "between the two ends")
            return Between(left, low, self._read_chain("sum"), negated, self.count(token.place))
        if negated:
            self.refuse("in or between after not")
        return left

    def _refuse_null(self, left: Node, token: Token) -> None:
        if self.token.word == "null":
            how = "is null" if token.value == "=" else "is not null"
            text = write(left)
            remedy = f"{text} {how}" if len(text) <= 40 else how
            fail(self.token.place, f"nothing is equal to null, not even null; write {visible(remedy)}")

    def _read_items(self) -> tuple[Literals, ...]:
        self.expect("(", "after in")
        items = [self._read_item()]
        while self.accept(","):
            items.append(self._read_item())
        self.expect(")", "or , after an entry of the list")
        return tuple(items)

    def _read_item(self) -> Literals:
        token = self.token
        if token.word == "null":
            fail(token.place, "null is equal to nothing; write or x is null beside the list")
        if token.kind == "quoted":
            fail(token.place, f"text is written in single quotes; write '{visible(token.value[:40])}'")
        node = self._read_signed()
        if not isinstance(node, Number | Text | Truth | Moment):
            fail(token.place, "a list holds numbers, texts in single quotes or dates, and nothing else")
        return node

    def _read_chain(self, level: str) -> Node:
        place = self.token.place
        symbols = ("+", "-") if level == "sum" else ("*", "/")
        signs: list[Sign] = []
        operands: list[Node] = []
        while True:
            operands.append(self._read_chain("product") if level == "sum" else self._read_signed())
            token = self.accept(*symbols)
            if token is None:
                break
            signs.append(cast(Sign, token.value))
        return Chain(tuple(signs), tuple(operands), self.count(place)) if signs else operands[0]

    def _read_signed(self) -> Node:
        token = self.accept("-")
        if token is None:
            return self._read_atom()
        self.enter(token.place)
        node = self._read_signed()
        self.depth -= 1
        if isinstance(node, Number):
            # There is one zero.
            return Number(0.0 - node.value, token.place)
        return Negative(node, self.count(token.place))

    def _read_atom(self) -> Node:
        token = self.token
        if token.kind == "number":
            return Number(read_double(self.take()), self.count(token.place))
        if token.kind == "text":
            return Text(self.take().value, self.count(token.place))
        if token.kind == "quoted":
            return Column(self.take().value, self.count(token.place), quoted=True)
        if self.accept("("):
            self.enter(token.place)
            node = self.read_either()
            self.depth -= 1
            self.expect(")", "to close the parenthesis")
            return node
        if self.accept("true", "false"):
            return Truth(token.word == "true", self.count(token.place))
        if token.word == "null":
            fail(token.place, "null stands in is null and is not null alone")
        if token.kind != "name" or token.word in KEYWORDS:
            self.refuse("a column, a number, a text or (")
        return self._read_name(self.take())

    def _read_name(self, name: Token) -> Node:
        after = self.token
        if after.kind == "text":
            return self._read_moment(name, self.take())
        if not (after.kind == "symbol" and after.value == "("):
            return Column(name.value, self.count(name.place))
        if name.word not in FUNCTIONS:
            hint = suggest(name.word, list(FUNCTIONS), otherwise="there are")
            if "date" in name.word or "days" in name.word:
                hint = "; the days between two dates are days(later) - days(earlier)"
            fail(name.place, f"{visible(name.value[:40])} is not a function of expressions{hint}")
        self.take()
        self.enter(name.place)
        argument = self._read_chain("sum")
        self.depth -= 1
        self.expect(")", f"after the one argument of {name.word}")
        return Call(name.word, argument, self.count(name.place))

    def _read_moment(self, name: Token, text: Token) -> Node:
        if name.word not in _CALENDAR:
            hint = "" if name.word not in ("time", "datetime") else "; write timestamp '2013-06-01 12:30:00'"
            fail(text.place, f"expected an operator after {name}, found {text}{hint}")
        moment = read_moment(name.word, text.value)
        if moment is None:
            example = _CALENDAR[name.word]
            fail(text.place, f"a {name.word} must be one of the years 1 to 9999, without a zone, as in {example}")
        return Moment(*moment, self.count(name.place))
