"""What is spent and left, and what a release would cost."""

import warnings
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from inbounds import ledger as ledgers
from inbounds._text import visible
from inbounds.errors import OtherLimit
from inbounds.ledger.access import is_begun
from inbounds.ledger.history import find_standing
from inbounds.ledger.reports import CSV_HEADS, to_cells
from inbounds.plan.plan import Plan
from inbounds.road.run import request_of

_UNFINISHED = (
    "This was charged before and did not finish, unless it is still running elsewhere. That charge stands, and nothing "
    "is drawn twice for one charge: it can be charged again. If the table was refused, state the rules that it lacks "
    "first."
)


def show_ledger(path: Path | str) -> dict[str, Any]:
    """A ledger with amounts in words: its datasets, and its entries from the first to the last. It is verified first.

    Parameters
    ----------
    path
        The file of the ledger.

    Returns
    -------
    dict
        With ``datasets``, ``entries`` and ``warnings``; empty lists if there is no ledger yet.

    Raises
    ------
    LedgerError
        If it was changed.
    """
    if not is_begun(Path(path)):
        return {"datasets": [], "entries": [], "warnings": []}
    entries = ledgers.verify(path)
    return {
        "datasets": [_describe_dataset(standing) for standing in ledgers.standings(entries)],
        "entries": [_describe_entry(standing) for standing in entries],
        "warnings": ledgers.similar(entries),
    }


def _describe_dataset(standing: ledgers.Standing) -> dict[str, Any]:
    amounts = {"limit": standing.limit, "spent": standing.spent, "left": standing.left}
    whole, part = (_size(amount) for amount in (standing.limit, standing.spent))
    return {
        "dataset": standing.dataset,
        **{name: ledgers.spell_amount(amount) for name, amount in amounts.items()},
        "part": float(part / whole) if whole else 1.0,
        "neighbours": standing.neighbours,
        "contributions": standing.contributions,
        "charges": standing.charges,
    }


def _size(amount: ledgers.Guarantee | None) -> Fraction:
    return amount.epsilon if isinstance(amount, ledgers.Pure) else Fraction(0)


def _describe_entry(entry: ledgers.Entry) -> dict[str, Any]:
    row = dict(zip(CSV_HEADS, to_cells(entry), strict=True))
    return {name: visible(str(value)) for name, value in row.items()}


def imagine_charge(plan: Plan, epsilon: str | None = None) -> dict[str, Any]:
    """What the ledger would say to a plan with this ε. Nothing is written, and no table is read.

    Parameters
    ----------
    plan
        The plan.
    epsilon
        The ε of the whole plan; its own if None.

    Returns
    -------
    dict
        ``fits``, ``cost``, ``left`` before and ``after``, and ``said``, one sentence. A plan that was released with
        this ε costs nothing. Amounts are None without a ledger.
    """
    asked = plan if epsilon is None else plan.with_epsilon(parse_epsilon(epsilon, plan.budget.epsilon))
    spelled, account = _spell_cost(asked), plan.account
    if account is None:
        sentence = "The plan names no ledger: nothing keeps count of what is spent, and a second release draws again."
        return {"fits": True, "cost": spelled, "left": None, "after": None, "said": sentence}
    imagined, left = request_of(asked.drafts(), account.dataset), find_left(account)
    try:
        if (stored := _find_stored(account, imagined)) is not None:
            return stored
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ledgers.LookAlike)
            warnings.simplefilter("always", OtherLimit)
            after = ledgers.spell_amount(ledgers.affordable(account, imagined))
    except ledgers.LedgerError as error:
        return {"fits": False, "cost": spelled, "left": left, "after": None, "said": visible(str(error))}
    sentence = f"It would cost {spelled} of the {left} left, and leave {after}."
    sentence = " ".join([sentence, *(visible(str(warning.message)) for warning in caught)])
    return {"fits": True, "cost": spelled, "left": left, "after": after, "said": sentence}


def _find_stored(account: ledgers.Account, request: ledgers.Request) -> dict[str, Any] | None:
    """The answer for a request that was released before; None if it was not, or if its charge has no result."""
    try:
        before = ledgers.find_stored(account, request)
    except ledgers.Unfinished:
        return None
    return None if before is None else _describe_stored(account, before)


def _describe_stored(account: ledgers.Account, before: ledgers.Receipt) -> dict[str, Any]:
    when, left = str(before.entry.body["when"]), find_left(account)
    sentence = f"This was charged on {when[:10]} and did not finish. To finish it costs nothing."
    if before.stored is not None:
        sentence = f"This was released on {when[:10]}. The stored result is shown again, and costs nothing."
    return {"fits": True, "cost": "0", "left": left, "after": left, "said": sentence}


def _spell_cost(plan: Plan) -> str:
    return ledgers.spell_amount(ledgers.Pure(Fraction(plan.budget.epsilon)).round_up())


# The smallest and the largest ε that can be asked about. With a smaller one no noise can be drawn.
_LEAST, _MOST = Decimal("0.000001"), Decimal(1000)
_LONGEST, _ALL_DIGITS = 100, Context(prec=100)


def parse_epsilon(text: str, own: Decimal) -> Decimal:
    """Read an ε of a whole plan that somebody asks about.

    Parameters
    ----------
    text
        The ε as it was written.
    own
        The ε of the plan, which is never out of range.

    Returns
    -------
    Decimal
        The ε, without zeros at its end.

    Raises
    ------
    ValueError
        If the text is not a decimal number, or the number is out of range.

    Examples
    --------
    >>> parse_epsilon("0.50", Decimal(1))
    Decimal('0.5')
    """
    try:
        exact = Decimal(text) if len(text) <= _LONGEST else Decimal("nan")
    except ArithmeticError:
        exact = Decimal("nan")
    # Its size is checked first: arithmetic with an exponent of millions takes all of the memory.
    if not (exact.is_finite() and (_LEAST <= exact <= _MOST or exact == own)):
        raise ValueError(f"epsilon must be a decimal number from {_LEAST:f} to {_MOST}, such as 0.5")
    return exact.normalize(_ALL_DIGITS)


def find_left(account: ledgers.Account) -> str:
    """Find what is left of the limit of a dataset; the limit that it would have if it is new."""
    standing = find_standing(account)
    return ledgers.spell_amount(account.limit if standing is None else standing.left)


def offer_release(plan: Plan) -> dict[str, Any]:
    """What releasing a plan now would do. No table is read, and nothing is written.

    Parameters
    ----------
    plan
        The plan.

    Returns
    -------
    dict
        ``kind`` is ``"stored"`` if the same was released before, with the date; ``"paid"`` if it was charged,
        interrupted, and goes on without another charge; ``"unfinished"`` if it was charged and cannot have a result;
        ``"refused"`` if the ledger would refuse it, with the reason; ``"new"`` otherwise. The rest is that of
        `imagine_charge`.
    """
    account = plan.account
    if account is not None:
        try:
            before = ledgers.find_stored(account, request_of(plan.drafts(), account.dataset))
        except ledgers.Unfinished:
            imagined = imagine_charge(plan)
            return {"kind": "unfinished", **imagined, "said": f"{_UNFINISHED} {imagined['said']}"}
        except ledgers.LedgerError as error:
            cost, left = _spell_cost(plan), find_left(account)
            return {
                "kind": "refused",
                "fits": False,
                "cost": cost,
                "left": left,
                "after": None,
                "said": visible(str(error)),
            }
        if before is not None:
            return {"kind": "paid" if before.stored is None else "stored", **_describe_stored(account, before)}
    imagined = imagine_charge(plan)
    return {"kind": "new" if imagined["fits"] else "refused", **imagined}
