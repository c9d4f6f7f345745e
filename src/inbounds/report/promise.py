"""What a report says was promised, in words and in symbols."""

import math

from inbounds.privacy.terms import Unit
from inbounds.record import Releases
from inbounds.report.figures import format_exact, format_figure

# A report calls the promise weak if ε is above this.
_WEAK = 5


def state_promise(unit: Unit, epsilon: float, what: str) -> str:
    """State in one sentence what is promised to everybody in the data.

    Parameters
    ----------
    unit
        What is protected: a record, or a person with all of their records.
    epsilon
        The ε of all releases together.
    what
        What is released, such as ``"everything on this page"``.

    Returns
    -------
    str
        By which factor its probability would change.

    Examples
    --------
    >>> print(state_promise(Unit(), 0.5, "this page"))
    If one record held anything else, the probability of this page would change by a factor of at most 1.65 (ε = 0.5).
    """
    change = "held anything else" if unit.neighbours == "substitute" else "were taken out or put in"
    # A larger factor is easier to read as a power of e.
    odds = f"{math.exp(epsilon):.3g}" if epsilon < 13 else f"e^{epsilon:g}"
    return (
        f"If {name_protected(unit)} {change}, the probability of {what} would change by a factor of at most {odds} "
        f"(ε = {format_figure(epsilon)})."
    )


def name_protected(unit: Unit) -> str:
    """What may change without anybody noticing much, in words."""
    if unit.persons is not None:
        return f"all rows of one person (column {unit.persons.column})"
    return "one record" if unit.contributions == 1 else f"all records of one person (at most {unit.contributions:,})"


def explain_promise(releases: Releases) -> list[str]:
    """Explain what is promised to everybody in the data."""
    data, epsilon = releases.terms, float(releases.epsilon)
    sentences = [
        f"{state_promise(data.unit, epsilon, 'everything on this page')} {_weigh(epsilon)}",
        f"The privacy losses of the releases add up to {format_figure(epsilon)}. Other releases from the same data add "
        "to it" + ("." if releases.entry is None else "; the ledger has those that were charged to it."),
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
    parts = " + ".join(format_exact(release.certificate.epsilon) for release in list(releases.values())[:12])
    more = " + …" if len(releases) > 12 else ""
    return (
        f"P(R(x) ∈ Q) ≤ e^ε P(R(x') ∈ Q) for all Q and all x, x' with {change.format(data.contributions)} {rows}; "
        f"ε = {parts}{more} = {format_exact(releases.epsilon)}."
    )
