"""Amounts of budget in the entries of a ledger: limits, costs, and what is left.

An amount is a guarantee, or None for nothing. Pure ε is written as a whole number of billionths, any other kind by its
fields. There is only one way to write each amount.
"""

from fractions import Fraction
from typing import TypeAlias

from inbounds.privacy.guarantee import UNIT, Guarantee, Pure, parse_guarantee, spell_number

Plain: TypeAlias = int | dict[str, str]


def write_amount(amount: Guarantee | None) -> Plain:
    """Write an amount as plain values. It must be rounded by `Guarantee.round_up` or `round_down`.

    >>> write_amount(Pure(0.25)), write_amount(None)
    (250000000, 0)
    """
    if amount is None:
        return 0
    if amount.round_up() != amount:
        raise ValueError(f"{amount} is not a whole number of the units that a ledger counts in")
    return int(amount.epsilon * UNIT) if isinstance(amount, Pure) else amount.to_dict()


def read_amount(plain: object) -> Guarantee:
    """Read an amount that `write_amount` wrote. Raises a `ValueError` for anything else, and for nothing.

    >>> read_amount(250_000_000)
    Pure(epsilon=Fraction(1, 4))
    """
    if type(plain) is int:
        return Pure(Fraction(plain, UNIT))
    if type(plain) is not dict:
        raise ValueError("an amount must be a whole number or have fields")
    amount = parse_guarantee(plain)
    if write_amount(amount) != plain:
        raise ValueError("an amount is not in the form that inbounds writes")
    return amount


def spell_amount(amount: Guarantee | None) -> str:
    """Write an amount for people. A plain number is pure ε.

    Parameters
    ----------
    amount
        The amount; None is nothing.

    Returns
    -------
    str
        The amount as text.

    Examples
    --------
    >>> spell_amount(Pure(0.25)), spell_amount(None)
    ('0.25', '0')
    """
    if amount is None:
        return "0"
    return spell_number(amount.epsilon) if isinstance(amount, Pure) else str(amount)
