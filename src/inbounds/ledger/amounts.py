"""Amounts of budget as entries have them: what a limit is, what a charge costs, what is left.

An amount is a guarantee, or None for nothing. Pure ε is written as a whole number, billionths of it; any other kind by
its fields. There is one way to write each, so that no amount can be read in two.
"""

from fractions import Fraction
from typing import TypeAlias

from inbounds.privacy.guarantee import UNIT, Guarantee, Pure, parse_guarantee, spell_number

Plain: TypeAlias = int | dict[str, str]


def write_amount(amount: Guarantee | None) -> Plain:
    """An amount in plain values. It is in the units of ledgers, as `Guarantee.round_up` and `round_down` give it.

    >>> write_amount(Pure(0.25)), write_amount(None)
    (250000000, 0)
    """
    if amount is None:
        return 0
    if amount.round_up() != amount:
        raise ValueError(f"{amount} is not a whole number of the units that a ledger counts in")
    return int(amount.epsilon * UNIT) if isinstance(amount, Pure) else amount.to_dict()


def read_amount(plain: object) -> Guarantee:
    """The amount that `write_amount` wrote; `ValueError` for anything else, and for nothing.

    >>> read_amount(250_000_000)
    Pure(epsilon=Fraction(1, 4))
    """
    if type(plain) is int:
        return Pure(Fraction(plain, UNIT))
    if type(plain) is not dict:
        raise ValueError("an amount is a whole number or has fields")
    amount = parse_guarantee(plain)
    if write_amount(amount) != plain:
        raise ValueError("an amount is not written as amounts are")
    return amount


def spell_amount(amount: Guarantee | None) -> str:
    """An amount for a reader. A number alone is pure ε.

    >>> spell_amount(Pure(0.25)), spell_amount(None)
    ('0.25', '0')
    """
    if amount is None:
        return "0"
    return spell_number(amount.epsilon) if isinstance(amount, Pure) else str(amount)
