"""A mapping that cannot be changed, so that it can be hashed and kept in frozen dataclasses."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

_Value = TypeVar("_Value")


class FrozenMap(Mapping[str, _Value]):
    """Names and values, in order.

    >>> FrozenMap({"age": 1}) == {"age": 1}, hash(FrozenMap({"age": 1})) == hash(FrozenMap({"age": 1}))
    (True, True)
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, _Value]) -> None:
        self._items = dict(items)

    def __getitem__(self, name: str) -> _Value:
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(tuple(self._items.items()))

    def __eq__(self, other: Any) -> bool:
        """Whether names, values and order are the same. The order matters, because it is that of a matrix."""
        return isinstance(other, Mapping) and list(self._items.items()) == list(other.items())

    def __repr__(self) -> str:
        return repr(self._items)
