"""Privacy guarantees as values: how they add up, and how a budget is shared.

A guarantee is also an amount of budget: limits of a ledger and charges are guarantees. The arithmetic is exact. The
kinds are `Pure` and `ZCDP`. Another kind is a class with the interface of `Guarantee` that is registered with
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
# Losses that are no simple fractions are rounded up to this many significant bits, or one more.
_LOSS_BITS = 64
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
    def calibrated(self) -> "Pure | ZCDP":
        """The guarantee that noise is calibrated to and that certificates prove: this one, or one that implies it."""
        ...

    @property
    def amount(self) -> Fraction:
        """Its number: how much budget it is."""
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

    def split(self, weights: Sequence[Fraction | float]) -> tuple[Self, ...]:
        """Shares in proportion to weights, which add up to the whole."""
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

    def describe(self, number: str | None = None) -> str:
        """The guarantee with its symbol, such as ``"ε = 0.5"``; with ``number`` in place of its own."""
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
    ValueError: no kind of guarantee has the fields epsilon, sigma; the kinds are pure (epsilon); zcdp (rho)
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


class _Amount:
    """A guarantee of one number. The numbers of two releases add up."""

    __slots__ = ()

    kind: ClassVar[str]
    parameter: ClassVar[str]
    symbol: ClassVar[str]

    @property
    def amount(self) -> Fraction:
        """Its number."""
        number: Fraction = getattr(self, self.parameter)
        return number

    def _of(self, number: Fraction) -> Self:
        make: Any = type(self)
        made: Self = make(number)
        return made

    def _same(self, other: Self) -> Fraction:
        """The number of another guarantee of this kind."""
        if type(other) is not type(self):
            raise TypeError(f"guarantees of different kinds do not add up: {self} and {other}")
        return other.amount

    # claim:compose-sequential
    def plus(self, other: Self) -> Self:
        """The sum of both."""
        return self._of(self.amount + self._same(other))

    def minus(self, other: Self) -> Self | None:
        """What is left; None if nothing is."""
        spent = self._same(other)
        return self._of(self.amount - spent) if self.amount > spent else None

    def share(self, weight: Fraction) -> Self:
        """The exact share for a weight in (0, 1]."""
        if not 0 < weight <= 1:
            raise ValueError(f"weight must lie in (0, 1], got {_check.shown(weight)}")
        return self._of(self.amount * weight)

    def split(self, weights: Sequence[Fraction | float]) -> tuple[Self, ...]:
        """Shares in proportion to weights, which add up to the whole."""
        return split(self, weights)  # type: ignore[type-var]

    def covers(self, other: Self) -> bool:
        """Whether its number is at least as large."""
        return self.amount >= self._same(other)

    def round_up(self) -> Self:
        """The number in whole billionths, not less than it is."""
        return self._of(Fraction(-(-self.amount * UNIT // 1), UNIT))

    def round_down(self) -> Self | None:
        """The number in whole billionths, not more than it is; None below one."""
        whole = self.amount * UNIT // 1
        return self._of(Fraction(whole, UNIT)) if whole else None

    def to_dict(self) -> dict[str, str]:
        """The name of its number, and the number, such as ``{"epsilon": "1/2"}``."""
        return {self.parameter: str(self.amount)}

    def describe(self, number: str | None = None) -> str:
        """The guarantee with its symbol, such as ``"ε = 0.5"``."""
        return f"{self.symbol} = {spell_number(self.amount) if number is None else number}"

    def shorten(self) -> str:
        """The guarantee with about six digits, such as ``"epsilon 0.333333"``."""
        return f"{self.parameter} {float(self.amount):g}"

    def __str__(self) -> str:
        return f"{self.parameter} {spell_number(self.amount)}"


def _read_amount(number: Fraction | Decimal | float | str, name: str) -> Fraction:
    exact = _check.fraction(number, name)
    if not exact > 0:
        raise ValueError(f"{name} must be > 0, got {_check.shown(number)}")
    return exact


@register_guarantee
@dataclass(frozen=True, slots=True)
class Pure(_Amount):
    """ε-differential privacy: P(R(x) ∈ Q) ≤ e^ε P(R(x') ∈ Q) for all neighbours x, x' and all Q.

    The ε of releases from the same records add up (McSherry 2009).

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
    parameter: ClassVar[str] = "epsilon"
    symbol: ClassVar[str] = "ε"

    epsilon: Fraction

    def __init__(self, epsilon: Fraction | Decimal | float | str) -> None:
        object.__setattr__(self, "epsilon", _read_amount(epsilon, "epsilon"))

    @property
    def calibrated(self) -> "Pure":
        """This guarantee."""
        return self

    def calibrate(self, family: Any, move: int) -> Any:
        """The law of a family (see `inbounds.privacy.families`) with the least noise that keeps ε for a move."""
        return family.keep_epsilon(self.epsilon, move)

    def loss(self, law: Any, move: int, draws: int = 1) -> Fraction:
        """The ε that is lost if so many draws of a law move by so many steps.

        It is exact unless the law is truncated. Then it is rounded up to 64 significant bits, but not beyond an ε that
        it keeps.
        """
        upper: Fraction = draws * law.epsilon_of(move).upper
        if law.bounding != "truncated":
            return upper
        shift = _LOSS_BITS - upper.numerator.bit_length() + upper.denominator.bit_length()
        rounded = Fraction(-((-upper.numerator << shift) // upper.denominator), 1 << shift)
        return min(rounded, self.epsilon) if upper <= self.epsilon else rounded

    def worst_moves(self, records: int, places: int) -> tuple[int, int]:
        """The moves of counts that cost the most if up to ``records`` records each change ``places`` counts by one: the
        move of a count, and how many counts move so far. Losses add up like moves, so all ways cost the same."""
        return 1, records * places


# claim:compose-rho
@register_guarantee
@dataclass(frozen=True, slots=True)
class ZCDP(_Amount):
    """ρ-zero-concentrated differential privacy: D_α(R(x) ‖ R(x')) ≤ ρα for all neighbours x, x' and all orders α > 1.

    D_α is the Rényi divergence. The ρ of releases from the same records add up (Bun and Steinke 2016).

    Parameters
    ----------
    rho
        The ρ, > 0. It is kept as an exact fraction; a float is taken as its shortest decimal form.

    Raises
    ------
    ValueError
        If ρ is not > 0.

    Examples
    --------
    >>> print(ZCDP(0.5), ZCDP(0.5).plus(ZCDP("1/4")), ZCDP(0.5).describe())
    rho 0.5 rho 0.75 ρ = 0.5
    """

    kind: ClassVar[str] = "zcdp"
    parameter: ClassVar[str] = "rho"
    symbol: ClassVar[str] = "ρ"

    rho: Fraction

    def __init__(self, rho: Fraction | Decimal | float | str) -> None:
        object.__setattr__(self, "rho", _read_amount(rho, "rho"))

    @property
    def calibrated(self) -> "ZCDP":
        """This guarantee."""
        return self

    def calibrate(self, family: Any, move: int) -> Any:
        """The law of a family (see `inbounds.privacy.families`) with the least noise that keeps ρ for a move."""
        return family.keep_rho(self.rho, move)

    def loss(self, law: Any, move: int, draws: int = 1) -> Fraction:
        """The ρ that is lost if so many draws of a law move by so many steps."""
        lost: Fraction = draws * law.rho_of(move)
        return lost

    def worst_moves(self, records: int, places: int) -> tuple[int, int]:
        """The moves of counts that cost the most if up to ``records`` records each change ``places`` counts by one: the
        move of a count, and how many counts move so far. Losses add up like squares of moves, so they are largest if
        all records change the same counts."""
        return records, places


def require_pure(guarantee: Guarantee) -> Fraction:
    """The pure ε that noise is calibrated to. Raises a `ValueError` if the guarantee has noise of another kind."""
    calibrated = guarantee.calibrated
    if not isinstance(calibrated, Pure):
        raise ValueError(
            f"{calibrated.parameter}= is offered so far for inbounds.count, and for inbounds.proportion without by= "
            "and of a public number of records; use epsilon= here"
        )
    return calibrated.epsilon


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
    guarantees = list(guarantees)
    if not all(isinstance(guarantee, Pure) for guarantee in guarantees):
        raise TypeError("guarantees must be pure, as in Pure(0.5)")
    epsilons = [guarantee.epsilon for guarantee in guarantees]
    if not epsilons:
        raise ValueError("guarantees must not be empty")
    times = 1 if neighbours == "add-remove" or parts == "fixed" else 2
    return Pure(times * max(epsilons))
