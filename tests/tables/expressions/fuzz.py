"""Hostile texts, by the thousand: each is refused as an expression, or has the reference's value on Polars.

    python -m tests.tables.expressions.fuzz [count] [seed]

Texts are valid ones, mutations of them (characters and pieces taken away, put in, doubled, exchanged), deep nesting,
huge numbers, quotes, Unicode, NUL, other languages and attempts at injection. Nothing but `ExpressionError` may be
raised, in one printable line. What is accepted must read the same again from its own spelling. No file may be opened
and nothing run or loaded meanwhile: an audit hook of the interpreter listens.
"""

import random
import sys
import time
from collections import Counter

import narwhals as nw
import polars as pl

from inbounds.errors import ExpressionError
from inbounds.tables.expressions import check_columns, parse
from inbounds.tables.expressions.compiler import to_narwhals
from tests.tables.expressions.reference import evaluate
from tests.tables.expressions.samples import KINDS, Writer, make_rows, show

HOSTILE = [
    "1; drop table t; --",
    "' or 1=1 --",
    "x' union select * from users --",
    "x = 1 or (select 1)",
    "x in (select y from t)",
    "t = 'a' || pg_sleep(10)",
    "read_csv('/etc/passwd') is null",
    "x::text = '1'",
    "cast(x as varchar) = '1'",
    "t = E'\\x41'",
    "$1 = x",
    "x = ?",
    "x = :name",
    "@@version = 1",
    "x = 0x1F",
    "x /*!50000 or 1 */ = 1",
    "__import__('os').system('id')",
    "open('/etc/passwd').read()",
    "eval('1+1') > 0",
    "(lambda: x)() > 1",
    "[y for y in x]",
    "x.__class__.__mro__ > 1",
    "f'{x}' = 't'",
    "x if b else y",
    "{{ x }}",
    "${jndi:ldap://x}",
    "exec(t)",
    "nan > x",
    "x = infinity",
    "x > -inf",
    "x = 1e999",
    "x = 1e-999",
    "t = '\u202eabc'",
    "ｘ > 1",
    "x ＝ 1",
    "x > ٣",
    "İn > 1",
    "t = '😀' or t = 'e\u0301'",
    "\ufeffx > 1",
    "x\u00a0> 1",
    " 1'x\xa0> \xa0> 1'",
    "x > 1\x00",
    "t = '\x00'",
    "t = '\ud800'",
    "date '9999-12-31' > when",
    "when > date '0000-01-01'",
    "when > date '10000-01-01'",
    "when > timestamp '2013-06-01 23:59:60'",
]
CHARACTERS = " ()'\"=<>!+-*/,.;&|0159eExyntbcé\u202e\x00\n\t_%\\`[]{}:#@$?^~'‘’😀\ud800İ٣"
PIECES = [
    " and ",
    " or ",
    "not ",
    " in (",
    ")",
    "(",
    " between ",
    " is null",
    " = ",
    "''",
    "'",
    '"',
    "--",
    "null",
    "1e59",
]
PIECES += ["x", "t", "b", "when", "abs(", "date '2013-06-01'", "-", "true", "1e-300", "1" * 80, ", ", " is not null"]


def mutate(rng, text):
    """One to four changes."""
    for _ in range(rng.randint(1, 4)):
        at, length = rng.randint(0, len(text)), rng.randint(1, 6)
        piece = rng.choice(CHARACTERS) if rng.random() < 0.5 else rng.choice(PIECES)
        match rng.randrange(5):
            case 0:
                text = text[:at] + text[at + length :]
            case 1:
                text = text[:at] + piece + text[at:]
            case 2:
                text = text[:at] + piece + text[at + length :]
            case 3:
                text = text[:at] + text[at : at + length] + text[at:]
            case _:
                other = rng.randint(0, len(text))
                text = text[:at] + text[other : other + length] + text[at:]
    return text


def nest(rng):
    depth = rng.choice([3, 30, 49, 50, 51, 100, 900, 1900])
    before, after = rng.choice(
        [("(", ")"), ("not ", ""), ("-", ""), ("- ", ""), ("abs(", ")"), ("(x + ", ")"), ("not (", ")")]
    )
    inner = rng.choice(["x", "b", "x > 1", "t = 'a'", "1"])
    return before * depth + inner + after * rng.choice([depth, depth, depth - 1]) + rng.choice(["", " > 0", " is null"])


def widen(rng):
    piece, joint = rng.choice(
        [("x", "+"), ("x", "*"), ("x", "/"), ("b", " and "), ("1", ", "), ("x > 1", " or "), ("''", "")]
    )
    wide = joint.join([piece] * rng.choice([5, 40, 99, 100, 199, 201, 1000]))
    return rng.choice([wide, f"x in ({wide})", f"t = '{wide}'", f"{wide} > 0"])


def write(rng):
    """A text to try."""
    writer = Writer(rng)
    chosen = rng.random()
    if chosen < 0.08:
        return writer.condition(1) if rng.random() < 0.7 else writer.number(1)
    if chosen < 0.78:
        return mutate(rng, writer.condition(1) if rng.random() < 0.7 else writer.number(1))
    if chosen < 0.86:
        return mutate(rng, rng.choice(HOSTILE)) if rng.random() < 0.8 else rng.choice(HOSTILE)
    if chosen < 0.89:
        return nest(rng)
    if chosen < 0.91:
        return widen(rng)
    if chosen < 0.96:
        return "".join(rng.choice(PIECES) for _ in range(rng.randint(1, 12)))
    return "".join(chr(rng.randrange(0x110000)) if rng.random() < 0.1 else rng.choice(CHARACTERS) for _ in range(40))


TABLE = make_rows(random.Random(1), 12)
ROWS = TABLE.rows(named=True)
READY = TABLE.with_columns(pl.col("x", "y", "n", "when", "until").cast(pl.Float64).fill_nan(None))
VALUES = {name: nw.col(name) for name in KINDS}


def attack(texts):
    """How many of some texts are refused and accepted, and what is wrong."""
    counts, faults, accepted = Counter(), [], []
    for text in texts:
        try:
            made = parse(text, KINDS)
            if parse(made.text, made.columns) != made:
                faults.append(f"{text!r}: reads otherwise from its own spelling, {made.text!r}")
            check_columns(made, KINDS)
        except ExpressionError as error:
            counts["refused"] += 1
            if not str(error).isprintable() or len(str(error)) > 400:
                faults.append(f"{text!r}: {str(error)!r} is not one short line")
        except Exception as error:
            faults.append(f"{text!r}: {type(error).__name__}: {error}")
        else:
            fits = all(kind in ("any", KINDS[name]) for name, kind in made.columns.items())
            counts["accepted" if fits else "of other kinds"] += 1
            accepted += [(text, made)] if fits else []
    return counts, faults + _compare(accepted)


def _compare(accepted):
    """Texts whose values are not the reference's."""
    found = nw.from_native(READY).select(**{f"r{i}": to_narwhals(made, VALUES) for i, (_, made) in enumerate(accepted)})
    return [
        f"{text!r}: another value than the reference's"
        for i, (text, made) in enumerate(accepted)
        if [show(one) for one in found[f"r{i}"].to_list()] != [show(evaluate(made, row)) for row in ROWS]
    ]


WATCHED = (
    "open",
    "exec",
    "compile",
    "import",
    "socket.",
    "subprocess.",
    "os.",
    "ctypes.",
    "shutil.",
    "urllib.",
    "pickle.",
)
_EVENTS: list[str] = []
_LISTENING = [False]


def _hear(event, arguments):
    if _LISTENING[0] and event.startswith(WATCHED):
        _EVENTS.append(f"{event} {str(arguments)[:200]}")


_HOOKED = []


def listen():
    """Listen to the interpreter; a hook cannot be taken away, but it can be deaf. What was heard is handed back."""
    if not _HOOKED:
        sys.addaudithook(_hear)
        _HOOKED.append(True)
    _LISTENING[0] = True
    return _EVENTS


def stop_listening():
    _LISTENING[0] = False


def main(count=100_000, seed=1):
    rng, total, faults, start = random.Random(seed), Counter(), [], time.monotonic()
    # Whatever is loaded late is loaded now.
    attack(
        [
            "x / y > 0.1",
            "month(when) + abs(x)",
            "t in ('a') or b is null",
            "when < date '2013-06-01'",
            "yaer(x)",
            '"\u202e" > 1',
            "\x00",
        ]
    )
    for done in range(0, count, 100):
        texts = [write(rng) for _ in range(min(100, count - done))]
        listen()
        counts, found = attack(texts)
        stop_listening()
        total.update(counts)
        faults += found
    print("\n".join([*faults[:50], *sorted(set(_EVENTS))]))
    kinds = ", ".join(f"{number} {name}" for name, number in sorted(total.items()))
    print(
        f"{count} texts in {time.monotonic() - start:.0f} s: {kinds}; {len(faults)} faults, {len(_EVENTS)} side effects"
    )
    return 1 if faults or _EVENTS else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
