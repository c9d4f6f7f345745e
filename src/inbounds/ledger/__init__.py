"""The ledger: an append-only file of what was spent, with a limit for each dataset that cannot be exceeded.

- Amounts are exact: whole billionths of ε. Costs are rounded up and limits down.
- A charge is on the disk before any data are read, what was drawn before it is used, and a result before it is
  returned. A run that was interrupted before or after its draw is finished without a second charge. After an
  interruption in the moment of the draw, and after a refusal of the table, the charge stands.
- Asking again for the same request returns the stored result, never a second draw. A new draw is a new charge.
- A charge and a stored answer check the last entries, from a checkpoint on, and what they find. `verify` checks all.
- The hash of every entry includes the hash of the one before it, so an entry that was edited, removed or inserted is
  detected. The length of the chain is also written to a file beside the ledger and to every record, so a ledger that
  was set back to an earlier state is detected, too. If that file is missing, nothing is charged before the owner has
  accepted the ledger; see `accept`. There is no secret key: somebody who rewrites the ledger, the file
  and all records consistently is not detected.

Refusals depend on public numbers only.

`Account` is what most users need: it names the ledger and the dataset for ``ledger=`` of a release. The other functions
are for code that makes its own releases, and for checks.

Examples
--------
>>> import tempfile
>>> from inbounds.ledger import Account, BudgetRefused, Pure, Request, charge, keep, show, verify
>>> folder = tempfile.TemporaryDirectory()
>>> account = Account(f"{folder.name}/survey.ledger", "survey", limit=1)

A request is charged first, and then its result is stored:

>>> request = Request("mean of age, first wave", Pure(0.25), "substitute", 1, what=("age: mean",))
>>> receipt = charge(account, request, who="Ada")
>>> print(receipt.left)
epsilon 0.75
>>> entry = keep(account, receipt, "the mean is 49")

The same request again costs nothing:

>>> charge(account, request).stored
'the mean is 49'

A charge beyond the limit is refused:

>>> try:
...     charge(account, Request("all the rest", Pure(2), "substitute", 1))
... except BudgetRefused as refused:
...     print(str(refused)[:79])
'survey' has 0.75 of its limit 1 left, and this costs 2; nothing was spent. Use

Anyone who has the file can read and check it:

>>> print(show(account.ledger)[0])
survey: 0.25 of 1 spent, 0.75 left (1 charge; substitute)
>>> [entry.kind for entry in verify(account.ledger)]
['ledger', 'dataset', 'charge', 'result']
>>> folder.cleanup()
"""

from inbounds.errors import BudgetRefused, LedgerError, LookAlike, Unfinished
from inbounds.ledger.account import Account, find_account, name_in
from inbounds.ledger.amounts import spell_amount
from inbounds.ledger.draws import fail, keep, standing_charge
from inbounds.ledger.entry import Entry
from inbounds.ledger.history import read, read_result, read_results, similar, standings, verify
from inbounds.ledger.reports import export, show, summarize
from inbounds.ledger.request import Receipt, Request
from inbounds.ledger.spending import accept, affordable, charge, find_stored, raise_limit
from inbounds.ledger.standing import Standing
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
    "accept",
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
