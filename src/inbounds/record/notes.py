"""The notes of a record, which follow from the rest of it."""

from typing import TYPE_CHECKING

from inbounds.privacy.terms import Unit
from inbounds.record.selection import find_zone

if TYPE_CHECKING:
    from inbounds.record.release import Release

_PUBLIC_SIZES = (
    "the sizes of groups were declared public: epsilon is for a record whose values change, not for one that changes "
    "its group"
)
_UNDETERMINED = (
    "correlations with {} are not available: noise left a variance of 0, next to which there is none; a larger "
    "epsilon, closer bounds or more rows would give them"
)


# For a lazy table or a query whose number of rows nobody stated.
PUBLIC_SIZE = (
    "the number of rows of this query is taken as public. If it was filtered, hand over the whole table and use "
    "where=, or protect the number with neighbours='add-remove'; rows= states that it is public"
)
_CLOCK = "times are by the clock of {}"
# A chosen point says nothing about how many records lie next to it.
_KEPT = (
    "{}; further rows are left out. So counts are too small for the table where a person has more rows, sums lack "
    "those rows, and means and all others are of the rows that were kept. Intervals and errors do not include what was "
    "left out"
)
_MADE = "{}. Every number is of these records, one for each person, and not of rows"
_CHOSEN = {"random": "chosen at random", "first": "the first by {}", "last": "the last by {}"}
_UNKNOWN = {
    "skip": "rows without a person are left out",
    "own": "each row without a person is a person of its own",
}
# What each way of folding takes from the rows.
_WAYS = {
    "count": "the number of rows",
    "sum": "the sum",
    "mean": "the mean",
    "min": "the smallest",
    "max": "the largest",
    "any": "whether any is",
    "all": "whether all are",
    "first": "the first by {}",
    "last": "the last by {}",
}


def describe_kept(unit: Unit) -> str:
    """Say which records of each person a number is about, for a title. Empty if rows are not grouped by person.

    Parameters
    ----------
    unit
        The unit of privacy, with the public rule for persons.

    Returns
    -------
    str
        Such as ``"at most 3 rows of each person"``.

    Examples
    --------
    >>> from inbounds.privacy.persons import Persons
    >>> describe_kept(Unit(contributions=3, persons=Persons("id")))
    'at most 3 rows of each person'
    """
    persons = unit.persons
    if persons is None:
        return ""
    if persons.fold is not None:
        return "one record of each person"
    groups = "" if persons.groups is None else f" in each of at most {_count(persons.groups[1], 'group')}"
    rows = unit.contributions // (1 if persons.groups is None else persons.groups[1])
    return f"at most {_count(rows, 'row')} of each person{groups}"


def keeps_rows(release: "Release") -> bool:
    """Whether a rule keeps some rows of each person and leaves out the others."""
    persons = release.terms.unit.persons
    return persons is not None and persons.fold is None


def explain_kept(unit: Unit) -> str:
    """Say what became of the rows of a person, and what a number is about. Empty if rows are not grouped by person.

    It follows from the public rule alone, and never from how many rows were left out.

    Parameters
    ----------
    unit
        The unit of privacy, with the public rule for persons.

    Returns
    -------
    str
        Sentences without a period at the end.
    """
    persons = unit.persons
    if persons is None:
        return ""
    who = f"person (column {persons.column}, {_UNKNOWN[persons.missing]})"
    if persons.fold is not None:
        ways = ", ".join(f"{name} {_WAYS[how].format(persons.order)}" for name, how in persons.fold.items())
        return _MADE.format(f"all rows of each {who} were folded into one record: {ways}")
    where = "" if persons.groups is None else f" in each of at most {_count(persons.groups[1], 'group')}"
    where += "" if persons.groups is None else f" of {persons.groups[0]}"
    rows = unit.contributions // (1 if persons.groups is None else persons.groups[1])
    verb, order = "was" if rows == 1 else "were", _CHOSEN[persons.keep].format(persons.order)
    return _KEPT.format(f"at most {_count(rows, 'row')} of each {who}{where} {verb} counted, {order}")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


def list_own_notes(release: "Release") -> tuple[str, ...]:
    """Notes on rows of persons, on what is not protected, on the clock of times, and on what is not available."""
    sentence = explain_kept(release.terms.unit)
    public: tuple[str, ...] = (sentence,) if sentence else ()
    public += (_PUBLIC_SIZES,) if release.keeps_groups else ()
    public += (PUBLIC_SIZE,) if release.terms.counted else ()
    zone = find_zone(release.statistic)
    public += (_CLOCK.format(zone),) if zone is not None else ()
    public += release.derivation.list_notes()
    columns = release.undetermined()
    if columns is None:
        return public
    names = ", ".join(name for name, hidden in zip(release.axes[0], columns, strict=True) if hidden)
    return (*public, _UNDETERMINED.format(names))
