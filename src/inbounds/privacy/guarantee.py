"""Guarantees as values: what a release promises, how promises add up, and how a budget is shared.

A guarantee is also an amount of budget: a ledger has limits of it, and a release is charged for it. Its arithmetic is
exact. There is one kind so far, `Pure`; another one is a class that has what `Guarantee` asks for, registered by
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
    """What a release promises, as a frozen, hashable value.

    An implementation is a frozen dataclass whose fields are exact numbers greater than zero, one for each entry of
    `to_dict`. There is no guarantee of nothing: where nothing is left, the answer is None.

    Notes
    -----
    **Formal guarantees.**

    All that one budget covers holds together: if ``budget.covers(a.plus(b))``, then releases that keep ``a`` and ``b``
    keep ``budget`` between them, also if ``b`` was chosen after the first release was seen.
    """

    kind: ClassVar[str]
    """The name of the kind, such as ``"pure"``. Different kinds do not add up."""

    @property
    def epsilon(self) -> Fraction:
        """The ε whose pure promise implies it: what noise that is calibrated for ε has to keep."""
        ...

    def plus(self, other: Self) -> Self:
        """What holds of two releases from the same records: sequential composition."""
        ...

    def minus(self, other: Self) -> Self | None:
        """What may still be spent of it after another was; None where that is nothing."""
        ...

    def share(self, weight: Fraction) -> Self:
        """The part of it that a weight in (0, 1] buys. Shares whose weights add up to one add up to the whole."""
        ...

    def covers(self, other: Self) -> bool:
        """Whether it is at least as large a budget."""
        ...

    def round_up(self) -> Self:
        """What a ledger charges for it: the least one in the ledger's own units that covers it.

        Units keep the sum of many charges short, whatever their fractions.
        """
        ...

    def round_down(self) -> Self | None:
        """What a ledger takes for a limit: the largest one in its own units that it covers; None where none is."""
        ...

    def to_dict(self) -> dict[str, str]:
        """Its numbers as text, such as ``{"epsilon": "1/2"}``; `parse_guarantee` reads it back."""
        ...

    def __str__(self) -> str:
        """For a reader: ``"epsilon 0.5"``."""
        ...


_Kind = TypeVar("_Kind", bound=type[Any])
_Any = TypeVar("_Any", bound=Guarantee)
_kinds: dict[str, type[Any]] = {}


def register_guarantee(kind: _Kind) -> _Kind:
    """Make a kind of guarantee known to `parse_guarantee`, and so to ledgers. Used as a decorator of its class.

    Raises
    ------
    ValueError
        If another class has the name of the kind, or has the same fields: they could not be told apart.
    """
    for other in _kinds.values():
        if other.kind == kind.kind or _names(other) == _names(kind):
            raise ValueError(f"the kind {kind.kind!r} cannot be told from {other.kind!r}, which is registered already")
    _kinds[kind.kind] = kind
    return kind


def parse_guarantee(body: Mapping[str, object]) -> Guarantee:
    """Read what `Guarantee.to_dict` wrote.

    Parameters
    ----------
    body
        The numbers of one kind, as text. They may come from a file that somebody else wrote: a number is read only if
        it is written as a fraction of at most 4300 digits on each side, so that none can fill the memory.

    Raises
    ------
    ValueError
        If the fields are not those of one registered kind, or one of them is no number greater than zero.

    Examples
    --------
    >>> parse_guarantee({"epsilon": "1/2"})
    Pure(epsilon=Fraction(1, 2))
    >>> parse_guarantee({"epsilon": "1/2", "sigma": "3"})
    Traceback (most recent call last):
    ...
    ValueError: no kind of guarantee has the fields epsilon, sigma; the kinds are pure (epsilon)
    """
    found = next((kind for kind in _kinds.values() if _names(kind) == set(body)), None)
    if found is None:
        named = ", ".join(sorted(str(name)[:40] for name in body)[:5]) or "of nothing"
        known = "; ".join(f"{name} ({', '.join(sorted(_names(kind)))})" for name, kind in _kinds.items())
        raise ValueError(f"no kind of guarantee has the fields {named}; the kinds are {known}")
    made: Guarantee = found(**{name: _parse_number(text, name) for name, text in body.items()})
    return made


def _names(kind: type[Any]) -> set[str]:
    return {field.name for field in fields(kind)}


def _parse_number(text: object, name: str) -> Fraction:
    """A number > 0. It is not given to `Fraction` as text, which would take ``"1e-999999999"`` and fill the memory."""
    found = _NUMBER.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise ValueError(f"{name} must be a number > 0, written as a fraction such as '1/2'")
    return Fraction(int(found[1]), int(found[2] or 1))


@register_guarantee
@dataclass(frozen=True, slots=True)
class Pure:
    """ε-differential privacy: P(R(x) ∈ Q) ≤ e^ε P(R(x') ∈ Q) for all neighbours x, x' and all Q.

    Parameters
    ----------
    epsilon
        Greater than zero. Kept as an exact fraction; a float is the fraction that its shortest decimal form says.

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

    def plus(self, other: Self) -> Self:
        """claim:compose-sequential. Of releases from the same records the ε add up (McSherry 2009)."""
        return type(self)(self.epsilon + other.epsilon)

    def minus(self, other: Self) -> Self | None:
        """The ε that is left; None where that is nothing."""
        return type(self)(self.epsilon - other.epsilon) if self.epsilon > other.epsilon else None

    def share(self, weight: Fraction) -> Self:
        """The part of ε that a weight in (0, 1] buys, exactly."""
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
    """A number > 0 for a reader: as a decimal if it has at most nine of them, else as a fraction.

    >>> spell_number(Fraction(5, 4)), spell_number(Fraction(1, 3)), spell_number(Fraction(20))
    ('1.25', '1/3', '20')
    """
    whole, rest = divmod(number * UNIT, UNIT)
    if rest.denominator != 1:
        return str(number)
    digits = f"{int(rest):09d}".rstrip("0")
    return f"{whole}{'.' if digits else ''}{digits}"


def split(budget: _Any, weights: Sequence[Fraction | float]) -> tuple[_Any, ...]:
    """claim:split. A budget in shares that are proportional to positive weights; together they are the budget, exactly.

    With sensitivities for weights it is the paper's w_j = δ_j / Σδ_j (Remark 2): all statistics then get noise of one
    and the same scale.

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


def compose_parallel(
    guarantees: Iterable[Pure],
    neighbours: Neighbours = "substitute",
    *,
    parts: Literal["free", "fixed"] = "free",
) -> Pure:
    """claim:compose-parallel. Each of them computed on its own part of the records, the parts disjoint.

    ``neighbours="add-remove"``: a record that comes or goes touches one part: the largest ε.

    ``neighbours="substitute"``, ``parts="free"``: a substituted record may leave one part and enter another, or change
    within one; either is a removal and an addition. The parts' guarantees must hold under *add-remove* (their sizes
    change), and twice the largest ε is spent.

    ``neighbours="substitute"``, ``parts="fixed"``: something public that no record can change decides the part, and the
    parts' guarantees hold under substitution: the largest ε.

    Raises
    ------
    ValueError
        If there are no guarantees, or ``neighbours`` or ``parts`` is none of these words.

    Examples
    --------
    >>> print(compose_parallel([Pure(0.5), Pure(0.25)], "add-remove"), compose_parallel([Pure(0.5), Pure(0.25)]))
    epsilon 0.5 epsilon 1
    """
    _check.choice(neighbours, "neighbours", NEIGHBOURS)
    _check.choice(parts, "parts", ("free", "fixed"))
    epsilons = [one.epsilon for one in guarantees]
    if not epsilons:
        raise ValueError("guarantees must not be empty")
    touched = 1 if neighbours == "add-remove" or parts == "fixed" else 2
    return Pure(touched * max(epsilons))
