"""Release a plan: check it, charge the ledger, read the data once, draw, store the result, and return it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from inbounds._types import Table
from inbounds.ledger import Account
from inbounds.plan.plan import Plan, PlanError
from inbounds.record.record import Releases as Releases
from inbounds.record.release import Release
from inbounds.road.run import open_source, walk


# claim:job
def release(
    plan: Plan | str | Path,
    data: Table | None = None,
    ledger: str | Path | Account | None = None,
    *,
    new: bool = False,
    who: str | None = None,
    say: Callable[[str], None] | None = None,
) -> Releases:
    """Release everything in a plan: charge the ledger, read the data once, and add noise.

    Parameters
    ----------
    plan
        A `Plan`, or the file of one.
    data
        A table of any kind, or a path or URL, to use instead of the plan's source. Files are read as the plan says.
    ledger
        A file to use instead of the plan's ledger, or an `inbounds.ledger.Account` of the plan's dataset.
    new
        Charge and draw again, even if the same plan was released before.
    who
        Who asks for the release, for the ledger. By default the user name.
    say
        A function that is called with a short text at each step.

    Returns
    -------
    Releases
        The releases by name. If the same plan was released before, that result is returned, with ``stored`` set.

    Raises
    ------
    PlanError
        If the plan has mistakes. Nothing is spent.
    DataError
        If the table breaks the rules of its columns. Nothing is spent if this can be seen without reading the data.
        Otherwise (for a missing value without a rule, for instance) the charge stands.
    BudgetRefused
        If the charge would exceed the limit. Nothing is spent.

    Examples
    --------
    >>> import inbounds as ib
    >>> plan = ib.Plan.of({
    ...     "data": {"rows": 4},
    ...     "budget": {"epsilon": 1},
    ...     "columns": {"age": {"bounds": [0, 100]}},
    ...     "release": [{"name": "age", "statistic": "mean", "columns": ["age"]}],
    ... })
    >>> releases = ib.release(plan, {"age": [23, 35, 62, 41]})
    >>> 0 <= releases["age"].value <= 100
    True
    """
    plan = plan if isinstance(plan, Plan) else Plan.load(plan)
    account = _account(plan, ledger)
    drafts = plan.drafts()
    place = find_place(plan, data)

    def source() -> Any:
        if place is None:
            raise PlanError(["data.source: must be given in the plan, or a table as data="])
        return open_source(place, list(drafts.values()))

    # A ledger that is given here may have another name for the dataset.
    dataset = plan.budget.dataset if account is None else account.dataset
    title = None if data is None else "the plan"
    releases = walk(drafts, source, dataset=dataset, account=account, new=new, who=who, title=title, say=say)
    # Readers have to know of bounds that were released before.
    return replace(
        releases,
        asked={
            item.name: replace(item.ask(releases[item.name]), released=_list_released(plan, releases[item.name]))
            for item in plan.release
        },
    )


def _list_released(plan: Plan, release: Release) -> tuple[str, ...]:
    """The columns of a release whose bounds are those of an earlier one."""
    names = [rule.name for rule in release.columns if rule.step is not None]
    return tuple(name for name in names if name in plan.columns and plan.columns[name].released)


def find_place(plan: Plan, data: Any) -> Any:
    """Where the table of a plan is, or the table itself; None if neither is given."""
    return plan.place if data is None else plan.place_of(str(data)) if isinstance(data, str | Path) else data


def _account(plan: Plan, ledger: Any) -> Account | None:
    if ledger is None:
        return plan.account
    account = ledger if isinstance(ledger, Account) else None
    if account is None and not isinstance(ledger, str | Path):
        raise TypeError(f"ledger must be a path or an Account, got {type(ledger).__name__}")
    if account is not None and account.dataset != plan.budget.dataset:
        raise ValueError(
            f"ledger is an account of {account.dataset!r}, but budget.dataset of the plan is {plan.budget.dataset!r}: "
            "they must be the same"
        )
    budget = plan.budget.model_copy(update={"ledger": str(ledger if account is None else account.ledger)})
    plan_account = plan.model_copy(update={"budget": budget}).account
    return (
        plan_account
        if plan_account is None or account is None or account.limit is None
        else replace(plan_account, limit=account.limit, binding=account.binding)
    )
