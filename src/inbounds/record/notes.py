"""The notes of a record, which follow from the rest of it."""

from typing import TYPE_CHECKING

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


def list_own_notes(release: "Release") -> tuple[str, ...]:
    """Notes that groups are not protected, or that correlations are not available and what would help."""
    public = (_PUBLIC_SIZES,) if release.keeps_groups else ()
    columns = release.undetermined()
    if columns is None:
        return public
    names = ", ".join(name for name, hidden in zip(release.axes[0], columns, strict=True) if hidden)
    return (*public, _UNDETERMINED.format(names))
