"""Certificates: what a release claims, and an exact computation that the claim holds.

A certificate is plain data. `certify` makes one, or raises if the loss exceeds ε. `verify` recomputes it from its own
text alone, in exact arithmetic, and refuses one whose numbers do not agree. The digest reveals an edit, but it is no
signature: whoever can rewrite the whole text can rewrite the digest, too, but not the arithmetic.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, Literal

from inbounds import _check
from inbounds.errors import CertificateError as CertificateError
from inbounds.grid.base import GridLaw
from inbounds.grid.gaussian import GaussianMechanism
from inbounds.grid.law import GridMechanism
from inbounds.grid.scale import Scale
from inbounds.grid.staircase import Stairs
from inbounds.privacy.guarantee import (
    LOCATIONS,
    NEIGHBOURS,
    ZCDP,
    Guarantee,
    Neighbours,
    Pure,
    parse_guarantee,
    require_pure,
)
from inbounds.privacy.norms import count_coordinates, list_ranges, norm_rounding

FORMAT = "inbounds-certificate/1"
# For noise and guarantees that the first format has no fields for.
SECOND_FORMAT = "inbounds-certificate/2"
COMPOSITION = "inbounds-composition/1"
# For one coordinate, without or with levels; for several with one radius, in a cube or in a norm of blocks; for cells
# whose noise adds up to zero; for a point that is chosen by its score.
NOISES = ("laplace", "staircase", "sup-norm", "polyhedral", "zero-sum", "exponential")
# Laws of the second format, by name, each with the names of its numbers.
_LAWS: dict[str, tuple[Callable[..., GridLaw], tuple[str, ...]]] = {
    GaussianMechanism.name: (GaussianMechanism, ("variance",)),
}


@dataclass(frozen=True, slots=True)
class Certificate:
    """An exact statement about one release: its guarantee, its law, and how far a neighbour moves it.

    ``loss`` is a rational no smaller than what is lost, and at most the number of the guarantee. For a pure ε, the
    largest |log ratio| over all outputs and all neighbours is lost; ρ bounds their Rényi divergences. ``sensitivity``
    is in the units of the statistic, ``move`` the same in steps of the grid; for a vector with joint ``"sup-norm"``
    noise (``dimension > 1``) both are the largest over its coordinates.

    ``draws`` says how many independent draws of this law a neighbour changes, each by at most ``move``: one for a
    scalar, two for a table of counts under substitution (one cell loses the record, another gains it). Their losses
    add up, and ``loss`` is the sum. With ``"zero-sum"`` noise (P ∝ e^(-‖z‖₁/T) on vectors that add up to nothing) they
    are changes of single cells by ``move``, in pairs, and cost the same.

    ``"polyhedral"`` noise has the norm of its ``blocks`` (see `inbounds.privacy.norms`), in which the unit moves a
    vector by at most ``sensitivity``; ``ranges`` lists what that rests on: the forms of moments and their extremes.

    ``"staircase"`` noise is for one number. Its levels are ``width`` steps wide, and the first starts ``core`` steps
    from 0; its scale is in levels. ``"gaussian"`` noise is for one number, under ρ.

    ``"exponential"`` is a point of the grid from ``first`` to ``last``, with probability ∝ e^(-score/T), or the point
    whose -score with exponential noise of scale T is the largest. T is the scale, in units of the score. In each of
    ``draws`` draws, the unit moves the scores of points by amounts that differ by at most twice the ``sensitivity``, as
    when each score moves up or down by that much. The loss is 2 · sensitivity · draws / T, and ``move`` is the whole
    grid.
    """

    statistic: str
    neighbours: Neighbours
    guarantee: Pure | ZCDP
    law: GridLaw
    dimension: int
    draws: int
    noise: str
    location: Literal["inside", "anywhere"]
    sensitivity: Fraction
    move: int
    loss: Fraction
    blocks: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()

    @property
    def epsilon(self) -> Fraction:
        """The pure ε that it proves. Raises a `ValueError` under a guarantee that has none."""
        return require_pure(self.guarantee)

    @property
    def bounding(self) -> str:
        """What keeps the noisy value within the grid."""
        return self.law.bounding

    @property
    def first(self) -> int | None:
        """The index of the lower bound."""
        return self.law.first

    @property
    def last(self) -> int | None:
        """The index of the upper bound."""
        return self.law.last

    @property
    def step(self) -> Fraction:
        """The step of the grid."""
        return self.law.step

    @property
    def origin(self) -> Fraction:
        """The value of index 0."""
        return self.law.origin

    @property
    def exponent(self) -> int:
        """That of the scale 2^exponent/divisor of Laplace noise, in steps."""
        return self.grid.scale.exponent

    @property
    def divisor(self) -> int:
        """That of the scale 2^exponent/divisor of Laplace noise, in steps."""
        return self.grid.scale.divisor

    @property
    def width(self) -> int | None:
        """The steps of a level of staircase noise."""
        return None if self.grid.stairs is None else self.grid.stairs.width

    @property
    def core(self) -> int | None:
        """The steps from 0 to the first level of staircase noise."""
        return None if self.grid.stairs is None else self.grid.stairs.core

    @property
    def mechanism(self) -> GridLaw:
        """The law that a scalar release was drawn from."""
        if self.dimension > 1:
            raise ValueError("a joint release has no law coordinate by coordinate")
        return self.law

    @property
    def spread(self) -> Fraction:
        """Scale of the noise, in the units of the coordinates that it was added to."""
        return self.law.spread * self.step

    @property
    def grid(self) -> GridMechanism:
        """The grid and scale of Laplace noise. A joint release has these in each coordinate, but its law is another
        one."""
        if not isinstance(self.law, GridMechanism):
            raise ValueError("this noise has no scale like that of Laplace noise")
        return self.law

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, fractions as text, with the format's version and a digest."""
        body = _write(self)
        return body | {"digest": _digest(body)}


# claim:certificate
def certify(
    law: GridLaw,
    *,
    statistic: str,
    neighbours: Neighbours,
    sensitivity: Fraction,
    epsilon: Fraction | None = None,
    guarantee: Guarantee | None = None,
    location: Literal["inside", "anywhere"] = "inside",
    dimension: int = 1,
    draws: int = 1,
    noise: str | None = None,
    blocks: tuple[str, ...] = (),
) -> Certificate:
    """The certificate of a release from a mechanism, or `CertificateError` if it would be false."""
    if not isinstance(statistic, str):
        raise TypeError(f"statistic must be a string, got {type(statistic).__name__}")
    _check.choice(neighbours, "neighbours", NEIGHBOURS)
    _check.choice(location, "location", LOCATIONS)
    sensitivity = _check.rational(sensitivity, "sensitivity")
    if not sensitivity > 0:
        raise ValueError(f"sensitivity must be > 0, got {sensitivity}")
    promise = _read_promise(epsilon, guarantee)
    dimension, draws = _check.integer(dimension, "dimension", least=1), _check.integer(draws, "draws", least=1)
    if dimension > 1 and law.bounding == "truncated":
        raise CertificateError("a joint release is unbounded or BIT: truncating coordinates is not post-processing")
    several = "polyhedral" if blocks else "sup-norm"
    noise = noise or (law.name if dimension == 1 else several)
    if not isinstance(law, GridMechanism):
        if (noise, dimension, blocks) != (law.name, 1, ()):
            raise CertificateError(f"{law.name} noise is for single numbers")
        move = _steps(sensitivity, law, location, Fraction(0))
        loss = promise.loss(law, move, draws)
    elif _check.choice(noise, "noise", NOISES) == "exponential":
        dimension, location, blocks = 1, "inside", ()
        move, loss = _lose_by_choice(law, sensitivity, draws)
    else:
        _check_noise(law, neighbours, dimension, draws, noise, blocks)
        move = _steps(sensitivity, law, location, norm_rounding(blocks) if blocks else Fraction(0))
        loss = promise.loss(law, move, draws)
    if loss > promise.amount:
        raise CertificateError(
            f"the loss, {_decimal(loss)}, exceeds the {promise.parameter} claimed, {_decimal(promise.amount)}"
        )
    ranges = list_ranges(blocks)
    return Certificate(
        statistic, neighbours, promise, law, dimension, draws, noise, location, sensitivity, move, loss, blocks, ranges
    )


def _read_promise(epsilon: Fraction | None, guarantee: Guarantee | None) -> Pure | ZCDP:
    if guarantee is not None:
        return guarantee.calibrated
    assert epsilon is not None
    return Pure(_check.rational(epsilon, "epsilon"))


def _check_noise(
    law: GridMechanism, neighbours: Neighbours, dimension: int, draws: int, noise: str, blocks: tuple[str, ...]
) -> None:
    """Refuse noise that does not have this form."""
    if (noise == "polyhedral") != bool(blocks):
        raise CertificateError("polyhedral noise, and no other, has the norm of its blocks")
    if blocks and count_coordinates(blocks) != dimension:
        raise CertificateError("the blocks of the norm do not have as many coordinates as the vector")
    if neighbours == "add-remove" and any(text.startswith(("moments", "mean", "selected")) for text in blocks):
        raise CertificateError("moments without a count, and those of a selection, are for substituted records")
    if (noise in ("laplace", "staircase")) != (dimension == 1):
        raise CertificateError(f"{noise} noise does not have {dimension} dimensions")
    if (noise == "staircase") != (law.stairs is not None):
        raise CertificateError(f"{noise} noise does not have this shape: levels belong to staircase noise alone")
    if noise in ("sup-norm", "polyhedral") and dimension > 4 * law.scale.steps:
        raise CertificateError("no joint noise of so many dimensions is drawn at so small a scale")
    if noise == "zero-sum" and (neighbours != "substitute" or draws % 2 or law.bounding != "unbounded"):
        raise CertificateError("zero-sum noise is for substituted records, each of which leaves a cell and enters one")


# claim:exponential-loss
def _lose_by_choice(law: GridMechanism, sensitivity: Fraction, draws: int) -> tuple[int, Fraction]:
    """The move and the loss of points that are chosen by the exponential law.

    If every score moves by at least a and at most b, every weight changes by a factor from e^(-b/T) to e^(-a/T), and so
    does their sum: a probability changes by a factor of at most e^((b-a)/T), and b - a is at most 2s. With exponential
    noise on each -score, a point is the largest if its noise exceeds some number, which depends on the others and moves
    by at most b - a: the chance of that is e^(-that/T), or 1 below 0, and changes by a factor of at most e^((b-a)/T).
    """
    if law.bounding != "bit" or law.stairs is not None or law.span is None:
        raise CertificateError("a point is chosen from a grid with two ends, and has no other noise")
    return law.span, 2 * sensitivity * draws / law.scale.steps


@dataclass(frozen=True, slots=True)
class Composition:
    """Several certified draws from the same records: their losses add up to at most ``epsilon``."""

    parts: tuple[Certificate, ...]
    epsilon: Fraction

    @property
    def loss(self) -> Fraction:
        """Sum of the parts' losses."""
        return sum((part.loss for part in self.parts), start=Fraction(0))

    @property
    def guarantee(self) -> Pure:
        """What all parts together prove."""
        return Pure(self.epsilon)

    @property
    def neighbours(self) -> Neighbours:
        """The relation of all parts."""
        return self.parts[0].neighbours

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, like `Certificate.to_dict`."""
        parts = [part.to_dict() for part in self.parts]
        body = {"format": COMPOSITION, "epsilon": str(self.epsilon), "parts": parts}
        return body | {"digest": _digest(body)}


# claim:certificate-composition
def compose(parts: Iterable[Certificate], epsilon: Fraction) -> Composition:
    """The certificate of several draws, or `CertificateError` if they cost more."""
    composition = Composition(tuple(parts), _check.rational(epsilon, "epsilon"))
    if not composition.parts or len({part.neighbours for part in composition.parts}) > 1:
        raise CertificateError("a composition has parts, all for one and the same neighbour relation")
    if composition.loss > composition.epsilon:
        raise CertificateError(
            f"the losses add up to {_decimal(composition.loss)}, which exceeds the epsilon claimed, "
            f"{_decimal(composition.epsilon)}"
        )
    return composition


def verify(record: dict[str, Any] | str) -> Certificate | Composition:
    """The certificate, if every field of it follows from the others; `CertificateError` otherwise."""
    try:
        if isinstance(record, str):
            record = json.loads(record, object_pairs_hook=without_repeats)
        if not isinstance(record, dict) or record.get("format") not in (FORMAT, SECOND_FORMAT, COMPOSITION):
            raise CertificateError(f"the certificate's format is not {FORMAT}, {SECOND_FORMAT} or {COMPOSITION}")
        body = {name: value for name, value in record.items() if name != "digest"}
        if record.get("digest") != _digest(body):
            raise CertificateError("the certificate's digest does not fit its text: it was edited")
        certificate = _verify_composition(body) if body["format"] == COMPOSITION else _certify_again(_parse(body))
    except CertificateError:
        raise
    except (ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise CertificateError(f"the certificate is malformed ({type(error).__name__})") from None
    for name, value in certificate.to_dict().items():
        if type(record[name]) is not type(value) or record[name] != value:
            raise CertificateError(f"the certificate's {name} does not follow from the rest of it")
    return certificate


def _certify_again(claimed: Certificate) -> Certificate:
    return certify(
        claimed.law,
        statistic=claimed.statistic,
        neighbours=claimed.neighbours,
        sensitivity=claimed.sensitivity,
        guarantee=claimed.guarantee,
        location=claimed.location,
        dimension=claimed.dimension,
        draws=claimed.draws,
        noise=claimed.noise,
        blocks=claimed.blocks,
    )


def _verify_composition(body: dict[str, Any]) -> Composition:
    if set(body) != {"format", "epsilon", "parts"} or not isinstance(body["parts"], list):
        raise CertificateError("the certificate has missing or unknown fields")
    # Losses are added up, and may have as many digits as the epsilons that they are compared with.
    epsilons = {str(part["epsilon"]) for part in body["parts"]}
    if sum(map(len, epsilons)) > _MOST_DIGITS:
        raise CertificateError(f"the epsilons of the parts have more than {_MOST_DIGITS} digits in all")
    parts = [verify(part) for part in body["parts"]]
    whole = [part for part in parts if isinstance(part, Certificate)]
    if len(whole) < len(parts):
        raise CertificateError("a composition is made of certificates, not of compositions")
    return compose(whole, parse_fraction(body["epsilon"], "epsilon"))


def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object without repeated names, because readers differ in which of two values they take."""
    if len({name for name, _ in pairs}) < len(pairs):
        raise CertificateError("the certificate names a field twice")
    return dict(pairs)


def _steps(sensitivity: Fraction, law: GridLaw, location: str, rounding: Fraction) -> int:
    """The sensitivity in steps, rounded up; at most the span if the true value lies within the bounds.

    ``rounding`` is what rounding a vector to the grid can add to its norm; for one number, or a cube, it is zero.
    """
    move = -(-(sensitivity / law.step + rounding) // 1)
    return min(move, law.span) if location == "inside" and law.span is not None else move


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, Fraction) else value


# Digits without an exponent, so that a few characters cannot stand for a number that fills the memory.
_FRACTION = re.compile(r"-?[0-9]{1,1000}(/[0-9]{1,1000})?")
# Digits of all different epsilons of a composition together; equal parts have the same epsilon, which counts once.
_MOST_DIGITS = 20_000
# Blocks of one norm, and kinds of forms.
_MOST_BLOCKS = 1000
_FRACTIONS = ("step", "origin", "sensitivity", "epsilon", "loss", "variance")
_POINTS = ("bounding", "first", "last", "step", "origin")
# The fields of the first format, and those of the second that do not depend on the law and the guarantee.
_FIELDS = (
    *("statistic", "neighbours", *_POINTS, "exponent", "divisor", "dimension", "draws", "noise", "width", "core"),
    *("location", "sensitivity", "move", "epsilon", "loss", "blocks", "ranges"),
)
_SECOND_FIELDS = ("statistic", "neighbours", *_POINTS, "noise", "draws", "location", "sensitivity", "move", "loss")


def _write(certificate: Certificate) -> dict[str, Any]:
    """The certificate without its digest."""
    law = certificate.law
    if isinstance(law, GridMechanism):
        return {"format": FORMAT} | {name: _plain(getattr(certificate, name)) for name in _FIELDS}
    values = {name: _plain(getattr(certificate, name)) for name in _SECOND_FIELDS}
    numbers = {name: str(getattr(law, name)) for name in _LAWS[law.name][1]}
    return {"format": SECOND_FORMAT} | values | numbers | certificate.guarantee.to_dict()


def _parse(body: dict[str, Any]) -> Certificate:
    """The certificate as its text claims it."""
    return _parse_second(body) if body["format"] == SECOND_FORMAT else _parse_first(body)


def _parse_first(body: dict[str, Any]) -> Certificate:
    if set(body) != {*_FIELDS, "format"}:
        raise CertificateError("the certificate has missing or unknown fields")
    values = _parse_fractions(body)
    for name in ("blocks", "ranges"):
        if not isinstance(values[name], list) or len(values[name]) > _MOST_BLOCKS:
            raise CertificateError(f"the certificate's {name} are no list, or too long")
        values[name] = tuple(values[name])
    width, core = values.pop("width"), values.pop("core")
    stairs = None if width is None or core is None else Stairs(width, core)
    bounding, first, last, step, origin = (values.pop(name) for name in _POINTS)
    scale = Scale(values.pop("exponent"), values.pop("divisor"))
    law = GridMechanism(bounding, scale, first, last, step, origin, stairs)
    return Certificate(guarantee=Pure(values.pop("epsilon")), law=law, **values)


def _parse_second(body: dict[str, Any]) -> Certificate:
    make, numbers = _LAWS.get(str(body["noise"]), (None, ()))
    known = {*_SECOND_FIELDS, *numbers, "format"}
    if make is None or not known <= set(body):
        raise CertificateError("the certificate has missing or unknown fields, or an unknown noise")
    promise = parse_guarantee({name: value for name, value in body.items() if name not in known})
    values = _parse_fractions({name: body[name] for name in known})
    bounding, *points = (values.pop(name) for name in _POINTS)
    law = make(bounding, *(values.pop(name) for name in numbers), *points)
    return Certificate(guarantee=promise.calibrated, law=law, dimension=1, **values)


def _parse_fractions(body: dict[str, Any]) -> dict[str, Any]:
    """The fields, those of fractions as numbers."""
    values = {name: value for name, value in body.items() if name != "format"}
    return {name: parse_fraction(value, name) if name in _FRACTIONS else value for name, value in values.items()}


def parse_fraction(text: object, name: str) -> Fraction:
    if not isinstance(text, str) or not _FRACTION.fullmatch(text):
        raise CertificateError(f"the certificate's {name} is not a fraction written as text")
    return Fraction(text)


def _digest(body: dict[str, Any]) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _decimal(value: Fraction) -> str:
    """Nine significant digits."""
    return str(Context(prec=9).divide(Decimal(value.numerator), Decimal(value.denominator)))
