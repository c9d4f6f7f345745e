"""Certificates: what a release claims, and an exact computation that the claim holds.

A certificate is plain data. `certify` makes one, or raises if the loss exceeds ε. `verify` recomputes it from its own
text alone, in exact arithmetic, and refuses one whose numbers do not agree. The digest reveals an edit, but it is no
signature: whoever can rewrite the whole text can rewrite the digest, too, but not the arithmetic.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, Literal

from inbounds import _check
from inbounds.errors import CertificateError as CertificateError
from inbounds.grid.law import GridMechanism
from inbounds.grid.scale import Scale
from inbounds.grid.staircase import Stairs
from inbounds.privacy.exact import exact_loss
from inbounds.privacy.guarantee import LOCATIONS, NEIGHBOURS, Neighbours
from inbounds.privacy.norms import count_coordinates, list_ranges, norm_rounding

FORMAT = "inbounds-certificate/1"
COMPOSITION = "inbounds-composition/1"
# For one coordinate, without or with levels; for several with one radius, in a cube or in a norm of blocks; for cells
# whose noise adds up to zero; for a point that is chosen by its score.
NOISES = ("laplace", "staircase", "sup-norm", "polyhedral", "zero-sum", "exponential")
# Losses are shown rounded up to this many significant bits, or one more.
_LOSS_BITS = 64


@dataclass(frozen=True, slots=True)
class Certificate:
    """An exact statement about one release.

    ``loss`` is a rational no smaller than the largest |log ratio| over all outputs and all neighbours, and ``loss ≤
    epsilon``. ``sensitivity`` is in the units of the statistic, ``move`` the same in steps of the grid; for a vector
    with joint ``"sup-norm"`` noise (``dimension > 1``) both are the largest over its coordinates.

    ``draws`` says how many independent draws of this law a neighbour changes, each by at most ``move``: one for a
    scalar, two for a table of counts under substitution (one cell loses the record, another gains it). Their losses
    add up, and ``loss`` is the sum. With ``"zero-sum"`` noise (P ∝ e^(-‖z‖₁/T) on vectors that add up to nothing) they
    are changes of single cells by ``move``, in pairs, and cost the same.

    ``"polyhedral"`` noise has the norm of its ``blocks`` (see `inbounds.privacy.norms`), in which the unit moves a
    vector by at most ``sensitivity``; ``ranges`` lists what that rests on: the forms of moments and their extremes.

    ``"staircase"`` noise is for one number. Its levels are ``width`` steps wide, and the first starts ``core`` steps
    from 0; its scale is in levels. Other noise has neither.

    ``"exponential"`` is a point of the grid from ``first`` to ``last``, with probability ∝ e^(-score/T), or the point
    whose -score with exponential noise of scale T is the largest. T is the scale, in units of the score. In each of
    ``draws`` draws, the unit moves the scores of points by amounts that differ by at most twice the ``sensitivity``, as
    when each score moves up or down by that much. The loss is 2 · sensitivity · draws / T, and ``move`` is the whole
    grid.
    """

    statistic: str
    neighbours: Neighbours
    bounding: str
    first: int | None
    last: int | None
    step: Fraction
    origin: Fraction
    exponent: int
    divisor: int
    dimension: int
    draws: int
    noise: str
    width: int | None
    core: int | None
    location: Literal["inside", "anywhere"]
    sensitivity: Fraction
    move: int
    epsilon: Fraction
    loss: Fraction
    blocks: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()

    @property
    def mechanism(self) -> GridMechanism:
        """The law that a scalar release was drawn from."""
        if self.dimension > 1:
            raise ValueError("a joint release has no law coordinate by coordinate")
        return self.grid

    @property
    def spread(self) -> Fraction:
        """Scale of the noise, in the units of the coordinates that it was added to."""
        return self.grid.spread * self.step

    @property
    def grid(self) -> GridMechanism:
        """The grid and scale. A joint release has these in each coordinate, but its law is another one."""
        scale = Scale(self.exponent, self.divisor)
        stairs = None if self.width is None or self.core is None else Stairs(self.width, self.core)
        return GridMechanism(self.bounding, scale, self.first, self.last, self.step, self.origin, stairs)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, fractions as text, with the format's version and a digest."""
        values = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        body = {"format": FORMAT} | values
        return body | {"digest": _digest(body)}


# claim:certificate
def certify(
    mechanism: GridMechanism,
    *,
    statistic: str,
    neighbours: Neighbours,
    sensitivity: Fraction,
    epsilon: Fraction,
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
    sensitivity, epsilon = _check.rational(sensitivity, "sensitivity"), _check.rational(epsilon, "epsilon")
    if not sensitivity > 0:
        raise ValueError(f"sensitivity must be > 0, got {sensitivity}")
    if not epsilon > 0:
        raise ValueError(f"epsilon must be > 0, got {epsilon}")
    dimension, draws = _check.integer(dimension, "dimension", least=1), _check.integer(draws, "draws", least=1)
    if dimension > 1 and mechanism.bounding == "truncated":
        raise CertificateError("a joint release is unbounded or BIT: truncating coordinates is not post-processing")
    single = "laplace" if mechanism.stairs is None else "staircase"
    several = "polyhedral" if blocks else "sup-norm"
    noise = _check.choice(noise or (single if dimension == 1 else several), "noise", NOISES)
    if noise == "exponential":
        dimension, location, blocks = 1, "inside", ()
        move, loss = _lose_by_choice(mechanism, sensitivity, draws)
    else:
        _check_noise(mechanism, neighbours, dimension, draws, noise, blocks)
        move = _steps(sensitivity, mechanism, location, norm_rounding(blocks) if blocks else Fraction(0))
        loss = _rounded_loss(mechanism, move, draws, epsilon)
    if loss > epsilon:
        raise CertificateError(f"the loss, {_decimal(loss)}, exceeds the epsilon claimed, {_decimal(epsilon)}")
    return Certificate(
        statistic=statistic,
        neighbours=neighbours,
        bounding=mechanism.bounding,
        first=mechanism.first,
        last=mechanism.last,
        step=mechanism.step,
        origin=mechanism.origin,
        exponent=mechanism.scale.exponent,
        divisor=mechanism.scale.divisor,
        dimension=dimension,
        draws=draws,
        noise=noise,
        width=None if mechanism.stairs is None else mechanism.stairs.width,
        core=None if mechanism.stairs is None else mechanism.stairs.core,
        location=location,
        sensitivity=sensitivity,
        move=move,
        epsilon=epsilon,
        loss=loss,
        blocks=blocks,
        ranges=list_ranges(blocks),
    )


def _check_noise(
    mechanism: GridMechanism, neighbours: Neighbours, dimension: int, draws: int, noise: str, blocks: tuple[str, ...]
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
    if (noise == "staircase") != (mechanism.stairs is not None):
        raise CertificateError(f"{noise} noise does not have this shape: levels belong to staircase noise alone")
    if noise in ("sup-norm", "polyhedral") and dimension > 4 * mechanism.scale.steps:
        raise CertificateError("no joint noise of so many dimensions is drawn at so small a scale")
    if noise == "zero-sum" and (neighbours != "substitute" or draws % 2 or mechanism.bounding != "unbounded"):
        raise CertificateError("zero-sum noise is for substituted records, each of which leaves a cell and enters one")


# claim:exponential-loss
def _lose_by_choice(mechanism: GridMechanism, sensitivity: Fraction, draws: int) -> tuple[int, Fraction]:
    """The move and the loss of points that are chosen by the exponential mechanism.

    If every score moves by at least a and at most b, every weight changes by a factor from e^(-b/T) to e^(-a/T), and so
    does their sum: a probability changes by a factor of at most e^((b-a)/T), and b - a is at most 2s. With exponential
    noise on each -score, a point is the largest if its noise exceeds some number, which depends on the others and moves
    by at most b - a: the chance of that is e^(-that/T), or 1 below 0, and changes by a factor of at most e^((b-a)/T).
    """
    if mechanism.bounding != "bit" or mechanism.stairs is not None or mechanism.span is None:
        raise CertificateError("a point is chosen from a grid with two ends, and has no other noise")
    return mechanism.span, 2 * sensitivity * draws / mechanism.scale.steps


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
        if not isinstance(record, dict) or record.get("format") not in (FORMAT, COMPOSITION):
            raise CertificateError(f"the certificate's format is not {FORMAT} or {COMPOSITION}")
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
        claimed.grid,
        statistic=claimed.statistic,
        neighbours=claimed.neighbours,
        sensitivity=claimed.sensitivity,
        epsilon=claimed.epsilon,
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


def _steps(sensitivity: Fraction, mechanism: GridMechanism, location: str, rounding: Fraction) -> int:
    """The sensitivity in steps, rounded up; at most the span if the true value lies within the bounds.

    ``rounding`` is what rounding a vector to the grid can add to its norm; for one number, or a cube, it is zero.
    """
    move = -(-(sensitivity / mechanism.step + rounding) // 1)
    return min(move, mechanism.span) if location == "inside" and mechanism.span is not None else move


def _rounded_loss(mechanism: GridMechanism, move: int, draws: int, epsilon: Fraction) -> Fraction:
    """The loss: a rational for BIT; otherwise rounded up to 64 significant bits, but not beyond an ε that it keeps."""
    width = 1 if mechanism.stairs is None else mechanism.stairs.width
    upper = draws * exact_loss(mechanism.bounding, mechanism.scale, move, mechanism.span, width=width).upper
    if mechanism.bounding != "truncated":
        return upper
    shift = _LOSS_BITS - upper.numerator.bit_length() + upper.denominator.bit_length()
    rounded = Fraction(-((-upper.numerator << shift) // upper.denominator), 1 << shift)
    return min(rounded, epsilon) if upper <= epsilon else rounded


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
_FRACTIONS = ("step", "origin", "sensitivity", "epsilon", "loss")


def _parse(body: dict[str, Any]) -> Certificate:
    names = {field.name for field in fields(Certificate)}
    if set(body) != names | {"format"}:
        raise CertificateError("the certificate has missing or unknown fields")
    values = {name: body[name] for name in names}
    for name in _FRACTIONS:
        values[name] = parse_fraction(values[name], name)
    for name in ("blocks", "ranges"):
        if not isinstance(values[name], list) or len(values[name]) > _MOST_BLOCKS:
            raise CertificateError(f"the certificate's {name} are no list, or too long")
        values[name] = tuple(values[name])
    return Certificate(**values)


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
