"""The main job: a plan is checked, charged, read once, drawn, kept, and only then shown."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from inbounds.ledger import Account
from inbounds.plan.plan import Plan, PlanError
from inbounds.record.record import Releases as Releases
from inbounds.road.run import open_source, walk


def release(
    plan: Plan | str | Path,
    data: Any = None,
    ledger: str | Path | Account | None = None,
    *,
    new: bool = False,
    who: str | None = None,
    say: Callable[[str], None] | None = None,
) -> Releases:
    """claim:job. Release everything in a plan: charge the ledger, read the data once, draw, keep, and return.

    Parameters
    ----------
    plan
        A `Plan`, or the file of one.
    data
        A table of any kind, or a path or URL, in place of the plan's source; files are then read as the plan says.
    ledger
        A file in place of the plan's ledger, or an `inbounds.ledger.Account` of the plan's dataset.
    new
        Make a new charge and a new draw, where the same plan was released before.
    who
        Who asks for it, for the ledger; the user of the system if not given.
    say
        Is told what is being done.

    Returns
    -------
    Releases
        The releases by name. The same plan again gives what was released before, with ``stored`` set.

    Raises
    ------
    PlanError, DataError
        For mistakes. Nothing is spent then, unless the data themselves had to be read to find out (a missing value
        that the plan does not provide for): such a charge stands.
    BudgetRefused
        Beyond the limit; nothing is spent.
    """
    plan = plan if isinstance(plan, Plan) else Plan.load(plan)
    account = _account(plan, ledger)
    drafts = plan.drafts()
    place = find_place(plan, data)

    def source() -> Any:
        if place is None:
            raise PlanError(["data.source: must be given, or a table as data="])
        return open_source(place, list(drafts.values()))

    # A ledger in place of the plan's own may have another name for the dataset.
    dataset = plan.budget.dataset if account is None else account.dataset
    handed = None if data is None else "the plan"
    return walk(drafts, source, dataset=dataset, account=account, new=new, who=who, handed=handed, say=say)


def find_place(plan: Plan, data: Any) -> Any:
    """Where the table of a plan lives, or a table; None if nobody says."""
    return plan.place if data is None else plan.place_of(str(data)) if isinstance(data, str | Path) else data


def _account(plan: Plan, ledger: Any) -> Account | None:
    if ledger is None:
        return plan.account
    given = ledger if isinstance(ledger, Account) else None
    if given is None and not isinstance(ledger, str | Path):
        raise TypeError(f"ledger must be a file's name or an Account, got {type(ledger).__name__}")
    if given is not None and given.dataset != plan.budget.dataset:
        raise ValueError(
            f"ledger is an account of {given.dataset!r}, and the plan is for {plan.budget.dataset!r}: budget.dataset "
            "must be the same"
        )
    budget = plan.budget.model_copy(update={"ledger": str(ledger if given is None else given.ledger)})
    own = plan.model_copy(update={"budget": budget}).account
    return own if own is None or given is None or given.limit is None else replace(own, limit=given.limit)
