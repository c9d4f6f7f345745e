"""The notes of a record, which follow from the rest of it."""

from typing import TYPE_CHECKING

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


# Of a lazy table or a query whose number of rows nobody stated.
PUBLIC_SIZE = (
    "the number of rows of this query is taken as public. If it was filtered, hand over the whole table and use "
    "where=, or protect the number with neighbours='add-remove'; rows= states that it is public"
)
_CLOCK = "times are by the clock of {}"


def list_own_notes(release: "Release") -> tuple[str, ...]:
    """Notes on what is not protected, on the clock of times, and on correlations that are not available."""
    public: tuple[str, ...] = (_PUBLIC_SIZES,) if release.keeps_groups else ()
    public += (PUBLIC_SIZE,) if release.terms.counted else ()
    zone = find_zone(release.statistic)
    public += (_CLOCK.format(zone),) if zone is not None else ()
    columns = release.undetermined()
    if columns is None:
        return public
    names = ", ".join(name for name, hidden in zip(release.axes[0], columns, strict=True) if hidden)
    return (*public, _UNDETERMINED.format(names))
