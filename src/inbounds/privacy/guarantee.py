"""Privacy guarantees as values: how they add up, and how a budget is shared.

A guarantee is also an amount of budget: limits of a ledger and charges are guarantees. The arithmetic is exact. There
is one kind so far, `Pure`. Another kind is a class with the interface of `Guarantee` that is registered with
`register_guarantee`.

>>> budget = Pure(1)
>>> first, second = split(budget, [1, 2])
>>> print(first, "and", second, "make", first.plus(second))
epsilon 1/3 and epsilon 2/3 make epsilon 1
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Literal, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

from inbounds import _check

Neighbours: TypeAlias = Literal["substitute", "add-remove"]
NEIGHBOURS = ("substitute", "add-remove")
# Where a true value may lie, seen from the bounds of its release.
LOCATIONS = ("inside", "anywhere")
# Ledgers count in billionths of ε.
UNIT = 10**9
# A number > 0 as `str(Fraction)` writes it, with no more digits than Python reads.
_NUMBER = re.compile(r"([1-9][0-9]{0,4299})(?:/([1-9][0-9]{0,4299}))?", re.ASCII)


@runtime_checkable
class Guarantee(Protocol):
    """A privacy guarantee, as a frozen, hashable value.

    An implementation is a frozen dataclass whose fields are exact numbers > 0, one for each entry of `to_dict`. There
    is no empty guarantee: if nothing is left, methods return None.

    Notes
    -----
    **Formal guarantees.**

    If ``budget.covers(a.plus(b))``, then releases with the guarantees ``a`` and ``b`` together have the guarantee
    ``budget``, even if ``b`` was chosen after the first release was seen.
    """

    kind: ClassVar[str]
    """The name of the kind, such as ``"pure"``. Different kinds do not add up."""

    @property
    def epsilon(self) -> Fraction:
        """The ε for which pure ε-differential privacy implies this guarantee. Noise is calibrated to it."""
        ...

    def plus(self, other: Self) -> Self:
        """The guarantee of two releases from the same records (sequential composition)."""
        ...

    def minus(self, other: Self) -> Self | None:
        """What is left of this budget after another guarantee was spent; None if nothing is."""
        ...

    def share(self, weight: Fraction) -> Self:
        """A share with a weight in (0, 1]. Shares whose weights add up to one add up to the whole."""
        ...

    def covers(self, other: Self) -> bool:
        """Whether it is at least as large a budget."""
        ...

    def round_up(self) -> Self:
        """What a ledger charges: the smallest guarantee in the ledger's units that covers this one.

        With units the sum of many charges has few digits.
        """
        ...

    def round_down(self) -> Self | None:
        """What a ledger takes as a limit: the largest guarantee in its units that this one covers; None if none is."""
        ...

    def to_dict(self) -> dict[str, str]:
        """Its numbers as text, such as ``{"epsilon": "1/2"}``, for `parse_guarantee`."""
        ...

    def __str__(self) -> str:
        """The guarantee for people, such as ``"epsilon 0.5"``."""
        ...


_Kind = TypeVar("_Kind", bound=type[Any])
_Any = TypeVar("_Any", bound=Guarantee)
_kinds: dict[str, type[Any]] = {}


def register_guarantee(kind: _Kind) -> _Kind:
    """Register a kind of guarantee for `parse_guarantee`, and so for ledgers. It is used as a class decorator.

    Raises
    ------
    ValueError
        If another kind has the same name or the same fields.
    """
    for other in _kinds.values():
        if other.kind == kind.kind or _names(other) == _names(kind):
            raise ValueError(f"the kind {kind.kind!r} has the name or fields of {other.kind!r}, which is registered")
    _kinds[kind.kind] = kind
    return kind


def parse_guarantee(body: Mapping[str, object]) -> Guarantee:
    """Read what `Guarantee.to_dict` wrote.

    Parameters
    ----------
    body
        The numbers of one kind, as text. A number must be written as a fraction of at most 4300 digits on each side, so
        that a forged file cannot fill the memory.

    Raises
    ------
    ValueError
        If the fields are not those of a registered kind, or one of them is not a number > 0.

    Examples
    --------
    >>> parse_guarantee({"epsilon": "1/2"})
    Pure(epsilon=Fraction(1, 2))
    >>> parse_guarantee({"epsilon": "1/2", "sigma": "3"})
    Traceback (most recent call last):
    ...
    ValueError: no kind of guarantee has the fields epsilon, sigma; the kinds are pure (epsilon)
    """
    kind = next((each for each in _kinds.values() if _names(each) == set(body)), None)
    if kind is None:
        names = ", ".join(sorted(str(name)[:40] for name in body)[:5]) or "of nothing"
        kinds = "; ".join(f"{name} ({', '.join(sorted(_names(each)))})" for name, each in _kinds.items())
        raise ValueError(f"no kind of guarantee has the fields {names}; the kinds are {kinds}")
    guarantee: Guarantee = kind(**{name: _parse_number(text, name) for name, text in body.items()})
    return guarantee


def _names(kind: type[Any]) -> set[str]:
    return {field.name for field in fields(kind)}


def _parse_number(text: object, name: str) -> Fraction:
    """Read a number > 0. `Fraction` would also read ``"1e-999999999"``, which fills the memory."""
    match = _NUMBER.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"{name} must be a number > 0, written as a fraction such as '1/2'")
    return Fraction(int(match[1]), int(match[2] or 1))


@register_guarantee
@dataclass(frozen=True, slots=True)
class Pure:
    """ε-differential privacy: P(R(x) ∈ Q) ≤ e^ε P(R(x') ∈ Q) for all neighbours x, x' and all Q.

    Parameters
    ----------
    epsilon
        The ε, > 0. It is kept as an exact fraction; a float is taken as its shortest decimal form.

    Raises
    ------
    ValueError
        If ε is not > 0.

    Examples
    --------
    >>> Pure(0.1).plus(Pure("1/5"))
    Pure(epsilon=Fraction(3, 10))
    >>> print(Pure(0.5), Pure(1).covers(Pure(0.5)), Pure(1).minus(Pure(1)))
    epsilon 0.5 True None
    """

    kind: ClassVar[str] = "pure"

    epsilon: Fraction

    def __init__(self, epsilon: Fraction | Decimal | float | str) -> None:
        exact = _check.fraction(epsilon, "epsilon")
        if not exact > 0:
            raise ValueError(f"epsilon must be > 0, got {_check.shown(epsilon)}")
        object.__setattr__(self, "epsilon", exact)

    # claim:compose-sequential
    def plus(self, other: Self) -> Self:
        """The ε of releases from the same records add up (McSherry 2009)."""
        return type(self)(self.epsilon + other.epsilon)

    def minus(self, other: Self) -> Self | None:
        """The ε that is left; None if nothing is."""
        return type(self)(self.epsilon - other.epsilon) if self.epsilon > other.epsilon else None

    def share(self, weight: Fraction) -> Self:
        """The exact share of ε for a weight in (0, 1]."""
        if not 0 < weight <= 1:
            raise ValueError(f"weight must lie in (0, 1], got {_check.shown(weight)}")
        return type(self)(self.epsilon * weight)

    def covers(self, other: Self) -> bool:
        """Whether its ε is at least as large."""
        return self.epsilon >= other.epsilon

    def round_up(self) -> Self:
        """ε in whole billionths, not less than it is."""
        return type(self)(Fraction(-(-self.epsilon * UNIT // 1), UNIT))

    def round_down(self) -> Self | None:
        """ε in whole billionths, not more than it is; None below one."""
        whole = self.epsilon * UNIT // 1
        return type(self)(Fraction(whole, UNIT)) if whole else None

    def to_dict(self) -> dict[str, str]:
        """``{"epsilon": "1/2"}``."""
        return {"epsilon": str(self.epsilon)}

    def __str__(self) -> str:
        return f"epsilon {spell_number(self.epsilon)}"


def spell_number(number: Fraction) -> str:
    """Write a number > 0 for people: as a decimal if it has at most nine decimals, else as a fraction.

    >>> spell_number(Fraction(5, 4)), spell_number(Fraction(1, 3)), spell_number(Fraction(20))
    ('1.25', '1/3', '20')
    """
    whole, rest = divmod(number * UNIT, UNIT)
    if rest.denominator != 1:
        return str(number)
    digits = f"{int(rest):09d}".rstrip("0")
    return f"{whole}{'.' if digits else ''}{digits}"


# claim:split
def split(budget: _Any, weights: Sequence[Fraction | float]) -> tuple[_Any, ...]:
    """Split a budget into shares in proportion to weights. The shares add up to the budget exactly.

    If the weights are sensitivities, this is the paper's w_j = δ_j / Σδ_j (Remark 2): all statistics then have noise of
    the same scale.

    Raises
    ------
    ValueError
        If there are no weights, or one of them is not greater than zero.

    Examples
    --------
    >>> [str(share) for share in split(Pure(1), [1, 1, 2])]
    ['epsilon 0.25', 'epsilon 0.25', 'epsilon 0.5']
    """
    exact = [_check.fraction(weight, f"weights[{i}]") for i, weight in enumerate(weights)]
    if not exact:
        raise ValueError("weights must not be empty")
    for i, weight in enumerate(exact):
        if not weight > 0:
            raise ValueError(f"weights[{i}] must be > 0, got {_check.shown(weights[i])}")
    total = sum(exact, start=Fraction(0))
    return tuple(budget.share(weight / total) for weight in exact)


# claim:compose-parallel
def compose_parallel(
    guarantees: Iterable[Pure],
    neighbours: Neighbours = "substitute",
    *,
    parts: Literal["free", "fixed"] = "free",
) -> Pure:
    """The guarantee of releases from disjoint parts of the records.

    ``neighbours="add-remove"``: a record that is added or removed is in one part, so it is the largest ε.

    ``neighbours="substitute"``, ``parts="free"``: a substituted record may leave one part and enter another, or change
    within one. Either is a removal and an addition. The guarantees of the parts must be for *add-remove* (their sizes
    change), and it is twice the largest ε.

    ``neighbours="substitute"``, ``parts="fixed"``: the part is public and no record can change it. The guarantees of
    the parts are for substitution, and it is the largest ε.

    Raises
    ------
    ValueError
        If there are no guarantees, or ``neighbours`` or ``parts`` is not valid.

    Examples
    --------
    >>> print(compose_parallel([Pure(0.5), Pure(0.25)], "add-remove"), compose_parallel([Pure(0.5), Pure(0.25)]))
    epsilon 0.5 epsilon 1
    """
    _check.choice(neighbours, "neighbours", NEIGHBOURS)
    _check.choice(parts, "parts", ("free", "fixed"))
    epsilons = [guarantee.epsilon for guarantee in guarantees]
    if not epsilons:
        raise ValueError("guarantees must not be empty")
    times = 1 if neighbours == "add-remove" or parts == "fixed" else 2
    return Pure(times * max(epsilons))
