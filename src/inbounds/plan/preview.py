"""Preview a statistic, or a plan: its cost, and the errors to expect."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from inbounds import _check
from inbounds._keywords import explain_use
from inbounds.forecasts.preview import Preview, preview_wanted
from inbounds.forecasts.wanted import Wanted
from inbounds.record.statistic import registered

if TYPE_CHECKING:
    from inbounds.forecasts.outlook import Outlook
    from inbounds.plan.plan import Plan

_CONFIDENCE = 0.95


@explain_use("preview('mean', column='age', bounds=(0, 100), epsilon=1, rows=1000)")
def preview(
    statistic: "str | Path | Plan",
    *,
    plausible: Any = None,
    expected_rows: int | None = None,
    confidence: float = _CONFIDENCE,
    plausible_rows: Any = None,
    plausible_shift: Any = None,
    **keywords: Any,
) -> "Preview | Outlook":
    """Show the cost and the expected error of a statistic, or of a whole plan. Reads no data and spends nothing.

    Parameters
    ----------
    statistic
        The name of a release function, such as ``"mean"``. Or a plan, or the file of one, without further arguments.
    plausible
        A guess of the true values. It only changes the expected errors. It is one of:

        - ``{"sd": (5, 20), "mean": (40, 60), "size": (50, 5000)}`` for the values of a column and the size of a group.
          Each is a number or a range, and any of them can be left out. For several columns, give one such dictionary
          for all, or one for each column by name.
        - The value of the statistic: a number or a pair (low, high), shares for several cells, a covariance matrix, or
          a matrix of Kendall's taus.

        If errors depend on something that is not given, they are a range over what `inbounds.derivations.truths`
        assumes.
    expected_rows
        About how many records there are, if that is protected (``neighbours="add-remove"``).
    confidence
        The confidence of half-widths: 0.95 for the error that 95% of releases stay below.
    plausible_rows
        How many rows persons plausibly have, with ``person``: shares of persons by numbers of rows, as in
        ``{1: 0.5, 2: 0.3, 5: 0.2}``, or numbers of persons. The preview then says how errors change with
        ``contributions``. The size of a group in ``plausible`` is then that before rows are left out.
    plausible_shift
        What persons with many rows plausibly differ by from those with few, in standard deviations of what is averaged:
        a number or a pair (low, high), as in ``(0, 0.1)``. Up to half of one if nothing is stated.
    **keywords
        The keywords of the release function without its data: ``bounds``, ``epsilon``, ``rows`` (needed with
        ``neighbours="substitute"``), ``levels``, ``bounding`` and so on.

    Returns
    -------
    Preview or Outlook
        For a statistic, the option that was asked for and the others that there are. For a plan, the cost and the
        error of each release, as of `inbounds.Plan.preview`. Print it for a table.

    Raises
    ------
    TypeError, ValueError
        If the release would raise this error.

    Examples
    --------
    >>> print(preview("proportion", epsilon=0.5, rows=200, plausible=(0.05, 0.3)))
    proportion of x = 1: epsilon 0.5 per record, substitute, 200 rows
        bounding         RMSE       bias      95% ± worst RMSE    worst ±
      * bit             0.014    <0.0001       0.03      0.014       0.03
        truncated      0.0219    <0.0001     0.0449     0.0221      0.045
      * smallest typical error
    """
    rows = {"plausible_rows": plausible_rows, "plausible_shift": plausible_shift}
    if not names_plan(statistic):
        return preview_wanted(Wanted(cast(str, statistic), keywords, plausible, expected_rows, confidence, **rows))
    given = {"plausible": plausible, "expected_rows": expected_rows, **rows}
    given |= {} if confidence == _CONFIDENCE else {"confidence": confidence}
    require_alone({name: value for name, value in given.items() if value is not None} | keywords)
    return preview_plan(statistic)


def names_plan(statistic: Any) -> bool:
    """Whether this is a plan or the file of one, and not the name of a statistic."""
    if not isinstance(statistic, str):
        return statistic is not None
    is_file = statistic.endswith(".toml") or os.sep in statistic or Path(statistic).is_file()
    return is_file and statistic not in registered()


def require_alone(arguments: Mapping[str, Any]) -> None:
    """Refuse arguments beside a plan, which has everything in it."""
    if arguments:
        raise TypeError(
            f"a plan is previewed without further arguments; write {next(iter(arguments))} into the plan, or name a "
            "statistic, as in preview('mean', ...)"
        )


def preview_plan(plan: Any) -> "Outlook":
    """Preview a plan, or the file of one."""
    from inbounds.plan.plan import Plan

    if not isinstance(plan, Plan | str | os.PathLike):
        raise TypeError(f"preview needs the name of a statistic or a plan, got {_check.shown(plan)}")
    return (plan if isinstance(plan, Plan) else Plan.load(Path(plan))).preview()
