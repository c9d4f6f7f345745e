"""What has been spent: an append-only account in one file, which cannot be overspent.

- Amounts are exact: whole billionths of ε, costs rounded up and limits down.
- A charge is on the disk before any data are read, and a result before anybody sees it. A crash in between leaves the
  charge standing.
- The same request gets its stored result, never a second draw; a new draw is a new charge.
- The hash of every entry covers the one before it, so that an entry that was edited, removed or slipped in is found.
  How far the chain had come is also noted in a file beside the ledger and in every record that was released: a ledger
  that was put back to an earlier state is found by them. Nothing is keyed: who rewrites ledger, file and records alike
  is not found out.

Refusals depend on public numbers alone.

`Account` is what most users need: it names the ledger and the dataset for ``ledger=`` of a release. The other functions
are for those who make releases of their own, and for those who check.

Examples
--------
>>> import tempfile
>>> from inbounds.ledger import Account, BudgetRefused, Pure, Request, charge, keep, show, verify
>>> folder = tempfile.TemporaryDirectory()
>>> account = Account(f"{folder.name}/survey.ledger", "survey", limit=1)

A request is charged first, and its result is kept:

>>> request = Request("mean of age, first wave", Pure(0.25), "substitute", 1, what=("age: mean",))
>>> receipt = charge(account, request, who="Ada")
>>> print(receipt.left)
epsilon 0.75
>>> entry = keep(account, receipt, "the mean is 49")

The same request again costs nothing:

>>> charge(account, request).stored
'the mean is 49'

Beyond the limit there is nothing:

>>> try:
...     charge(account, Request("all the rest", Pure(2), "substitute", 1))
... except BudgetRefused as refused:
...     print(str(refused)[:79])
'survey' has 0.75 of its limit 1 left, and this costs 2; nothing was spent. Ask

Whoever has the file can see and check it:

>>> print(show(account.ledger)[0])
survey: 0.25 of 1 spent, 0.75 left (1 charge; substitute)
>>> [entry.kind for entry in verify(account.ledger)]
['ledger', 'dataset', 'charge', 'result']
>>> folder.cleanup()
"""

from inbounds.ledger.account import Account, find_account, name_in
from inbounds.ledger.amounts import spell_amount
from inbounds.ledger.chain import Entry, LedgerError, Standing
from inbounds.ledger.history import read, read_result, read_results, similar, standings, verify
from inbounds.ledger.reports import export, show, summarize
from inbounds.ledger.spending import (
    BudgetRefused,
    LookAlike,
    Receipt,
    Request,
    Unfinished,
    affordable,
    charge,
    fail,
    find_stored,
    keep,
    raise_limit,
    standing_charge,
)
from inbounds.privacy.guarantee import Guarantee, Pure

__all__ = [
    "Account",
    "BudgetRefused",
    "Entry",
    "Guarantee",
    "LedgerError",
    "LookAlike",
    "Pure",
    "Receipt",
    "Request",
    "Standing",
    "Unfinished",
    "affordable",
    "charge",
    "export",
    "fail",
    "find_account",
    "find_stored",
    "keep",
    "name_in",
    "raise_limit",
    "read",
    "read_result",
    "read_results",
    "show",
    "similar",
    "spell_amount",
    "standing_charge",
    "standings",
    "summarize",
    "verify",
]
