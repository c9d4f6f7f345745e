"""What is spent and left, and what a release would cost."""

import warnings
from dataclasses import replace
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
        ``fits``, ``cost``, ``left`` before and ``after``, and ``said``, one sentence. Amounts are None without a
        ledger.
    """
    cost = _parse(epsilon) if epsilon is not None else Fraction(plan.budget.epsilon)
    account = plan.account
    spelled = ledgers.spell_amount(ledgers.Pure(cost).round_up())
    if account is None:
        sentence = "The plan names no ledger: nothing keeps count of what is spent, and a second release draws again."
        return {"fits": True, "cost": spelled, "left": None, "after": None, "said": sentence}
    real = request_of(plan.drafts(), account.dataset)
    imagined = replace(real, digest="imagined", guarantee=ledgers.Pure(cost))
    left = find_left(account)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ledgers.LookAlike)
            warnings.simplefilter("always", OtherLimit)
            after = ledgers.spell_amount(ledgers.affordable(account, imagined))
    except ledgers.LedgerError as error:
        return {"fits": False, "cost": spelled, "left": left, "after": None, "said": visible(str(error))}
    sentence = f"It would cost {spelled} of the {left} left, and leave {after}."
    sentence = " ".join([sentence, *(visible(str(warning.message)) for warning in caught)])
    return {"fits": True, "cost": spelled, "left": left, "after": after, "said": sentence}


def _parse(epsilon: str) -> Fraction:
    try:
        cost = Fraction(epsilon) if len(epsilon) <= 30 else Fraction(0)
    except (ValueError, ZeroDivisionError):
        cost = Fraction(0)
    if not 0 < cost <= 1000:
        raise ValueError("epsilon must be a number > 0 and at most 1000")
    return cost


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
            cost, left = (
                ledgers.spell_amount(ledgers.Pure(Fraction(plan.budget.epsilon)).round_up()),
                find_left(account),
            )
            return {
                "kind": "refused",
                "fits": False,
                "cost": cost,
                "left": left,
                "after": None,
                "said": visible(str(error)),
            }
        if before is not None:
            when, left = str(before.entry.body["when"]), find_left(account)
            kind, sentence = "paid", f"This was charged on {when[:10]} and did not finish. To finish it costs nothing."
            if before.stored is not None:
                kind = "stored"
                sentence = f"This was released on {when[:10]}. The stored result is shown again, and costs nothing."
            return {"kind": kind, "fits": True, "cost": "0", "left": left, "after": left, "said": sentence}
    imagined = imagine_charge(plan)
    return {"kind": "new" if imagined["fits"] else "refused", **imagined}
