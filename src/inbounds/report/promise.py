"""What a report says was promised, in words and in symbols."""

import math
from collections.abc import Sequence
from fractions import Fraction

from inbounds.privacy.guarantee import Guarantee, Pure
from inbounds.privacy.terms import Unit
from inbounds.record import Releases
from inbounds.record.shared import list_draws
from inbounds.report.figures import format_exact, format_figure

# A report calls the promise weak if ε is above this.
_WEAK = 5
# A sum of more draws than this is written with the rest as one number, and a fraction of more signs than this rounded.
_MOST_ADDED, _LONGEST = 12, 40
# The most releases of a draw that a sentence names.
_MOST_NAMED = 10
# Where a guarantee allows any factor with a small probability, the factor is given for this one.
_DELTA = 1e-6


def state_promise(unit: Unit, guarantee: Guarantee, what: str) -> str:
    """State in one sentence what is promised to everybody in the data.

    Parameters
    ----------
    unit
        What is protected: a record, or a person with all of their records.
    guarantee
        That of all releases together.
    what
        What is released, such as ``"everything on this page"``.

    Returns
    -------
    str
        By which factor its probability would change.

    Examples
    --------
    >>> print(state_promise(Unit(), Pure(0.5), "this page"))
    If one record held anything else, the probability of this page would change by a factor of at most 1.65 (ε = 0.5).
    >>> from inbounds.privacy.guarantee import ZCDP
    >>> print(state_promise(Unit(), ZCDP("0.01"), "this page"))
    If one record held anything else, the probability of this page would change by a factor of at most 2.12, plus one in
    a million (ρ = 0.01).
    """
    change = "held anything else" if unit.neighbours == "substitute" else "were taken out or put in"
    epsilon, delta = find_factor(guarantee)
    # A larger factor is easier to read as a power of e.
    odds = f"{math.exp(epsilon):.3g}" if epsilon < 13 else f"e^{epsilon:.6g}"
    odds += ", plus one in a million" if delta else ""
    return (
        f"If {name_protected(unit)} {change}, the probability of {what} would change by a factor of at most {odds} "
        f"({write_amount(guarantee)})."
    )


def write_amount(guarantee: Guarantee) -> str:
    """A guarantee with its symbol, rounded.

    >>> write_amount(Pure("1/3"))
    'ε = 0.33333'
    """
    calibrated = guarantee.calibrated
    return calibrated.describe(format_figure(float(calibrated.amount)))


# claim:rho-factor
def find_factor(guarantee: Guarantee) -> tuple[float, float]:
    """The ε and δ with which probabilities may change: P ≤ e^ε P' + δ, with δ = 0 or one in a million.

    ρ implies ε = ρ + 2 √(ρ log(1/δ)) for every δ (Bun and Steinke 2016, Proposition 1.3).
    """
    calibrated = guarantee.calibrated
    amount = float(calibrated.amount)
    if isinstance(calibrated, Pure):
        return amount, 0.0
    return amount + 2 * math.sqrt(amount * -math.log(_DELTA)), _DELTA


def name_protected(unit: Unit) -> str:
    """What may change without anybody noticing much, in words."""
    if unit.persons is not None:
        return f"all rows of one person (column {unit.persons.column})"
    return "one record" if unit.contributions == 1 else f"all records of one person (at most {unit.contributions:,})"


def explain_promise(releases: Releases) -> list[str]:
    """Explain what is promised to everybody in the data."""
    data, guarantee = releases.terms, releases.guarantee
    sentences = [
        f"{state_promise(data.unit, guarantee, 'everything on this page')} {_weigh(find_factor(guarantee)[0])}",
        f"The privacy losses of all draws add up to {format_figure(float(guarantee.calibrated.amount))}. Other "
        "releases from the same data add to it"
        + ("." if releases.entry is None else "; the ledger has those that were charged to it."),
    ]
    sentences += [
        f"One draw of noise serves {name_releases(names)}: its privacy loss, "
        f"{format_figure(float(releases[names[0]].certificate.guarantee.amount))}, is paid once for all of them."
        for names in list_draws(releases)
        if len(names) > 1
    ]
    if data.neighbours == "substitute":
        records = "rows" if data.unit.persons is None else "persons"
        sentences.append(f"The number of {records} is public and is not protected.")
    names = [name for name, release in releases.items() if release.keeps_groups]
    if names:
        sentences.append(
            f"The sizes of groups were declared public for {', '.join(names)}. The promise then covers the values of a "
            "record, but not the group that it is in."
        )
    return sentences


def name_releases(names: Sequence[str]) -> str:
    """Name some releases, the first of them if there are many.

    >>> name_releases(["age", "income", "height"])
    'age, income and height'
    """
    if len(names) > _MOST_NAMED:
        return f"{', '.join(names[:_MOST_NAMED])} and {len(names) - _MOST_NAMED:,} more"
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _weigh(epsilon: float) -> str:
    """Say how strong a promise with that ε is."""
    if epsilon <= 1:
        return (
            "Whatever somebody concludes about a person, they could have concluded nearly as well without their data."
        )
    if epsilon <= _WEAK:
        return "The nearer this factor is to one, the less anybody learns about a person from their data being here."
    return "That is a weak promise: somebody may learn a good deal about a person from their data being here."


def write_symbols(releases: Releases) -> str:
    """Write the promise in symbols."""
    data = releases.terms
    change = "d(x, x') ≤ {} substituted" if data.neighbours == "substitute" else "d(x, x') ≤ {} added or removed"
    rows = "row" if data.contributions == 1 else "rows"
    if data.unit.persons is not None:
        rows = f"{'row' if data.contributions == 1 else 'rows'} of one person"
    rows += ", each in its group" if any(release.keeps_groups for release in releases.values()) else ""
    pure = isinstance(releases.guarantee.calibrated, Pure)
    rule = "P(R(x) ∈ Q) ≤ e^ε P(R(x') ∈ Q) for all Q" if pure else "D_α(R(x) ‖ R(x')) ≤ ρα for all α > 1"
    return f"{rule} and all x, x' with {change.format(data.contributions)} {rows}; {_write_sum(releases)}."


def _write_sum(releases: Releases) -> str:
    """Write the loss of each draw and their sum: exactly, or with a sign that says that numbers are rounded."""
    draws = list_draws(releases)
    losses = [releases[names[0]].certificate.guarantee.amount for names in draws]
    whole = releases.guarantee.calibrated
    exact = all(len(str(loss)) <= _LONGEST for loss in (*losses, whole.amount))
    write = str if exact else format_exact
    parts = [
        write(loss) + (f" (one draw of {name_releases(names)})" if len(names) > 1 else "")
        for loss, names in zip(losses[:_MOST_ADDED], draws, strict=False)
    ]
    if more := losses[_MOST_ADDED:]:
        parts.append(f"{write(sum(more, start=Fraction(0)))} (of {len(more):,} other draws)")
    shown = whole.describe(" + ".join(parts))
    return shown if len(draws) == 1 else f"{shown} {'=' if exact else '≈'} {write(whole.amount)}"
