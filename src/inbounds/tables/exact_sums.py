"""Sums that are exact on every engine: numbers and products of a record, in digits where their sums would be too large.

A sum of whole numbers is exact in doubles below 2^53, and in 64-bit integers below 2^62. A number whose sum could pass
the limit is added up digit by digit, and Python puts the sums of its digits together. A product k_i k_j is k_i times
each digit of k_j, since only columns are then split: as many as there are columns, not as many as pairs of columns,
which would be gigabytes for sixty of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inbounds.tables.answers import integer
from inbounds.tables.arithmetic import floor
from inbounds.tables.request import EXACT, Product, Request
from inbounds.tables.schema import Quantised

if TYPE_CHECKING:
    import narwhals as nw

    from inbounds.tables.sources import Frame

# What integers of 64 and 128 bits hold, with bits to spare.
INTEGERS, HUGE = 1 << 62, 1 << 120
# A product is not multiplied by more digits of a factor than these: then it is itself split.
_MOST_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Term:
    """A whole number of each record that is added up, as ``digits`` digits of ``bits`` bits each.

    ``wide``: the sums of its digits need 64-bit integers. ``factor``: the digits belong to this factor of a product.
    """

    name: str
    digits: int
    bits: int
    wide: bool = False
    factor: Quantised | None = None

    @property
    def names(self) -> list[str]:
        """Names of its digits, lowest first."""
        return [f"{self.name}_{digit}" for digit in range(self.digits)]

    def compose(self, row: Mapping[str, Any]) -> int:
        """The sum of the numbers, from the sums of their digits."""
        return sum(integer(row[name]) << (self.bits * place) for place, name in enumerate(self.names))


def list_terms(request: Request, most: int, limit: int) -> list[Term]:
    """What is added up for a request, sums of columns first, in a table of at most ``most`` rows.

    The engine's sums are exact up to ``limit``, beyond 2^53 as integers.
    """
    sums = [_split(f"k{i}", quantised.count, most, limit) for i, quantised in enumerate(request.sums)]
    return sums + [_split_product(f"p{i}", pair, most, limit) for i, pair in enumerate(request.pairs)]


def _split(name: str, largest: int, most: int, limit: int) -> Term:
    """A number in digits: one where its sum is exact as it is. Sums of several digits are exact in doubles."""
    if largest * most <= limit:
        return Term(name, 1, largest.bit_length(), wide=largest * most > EXACT)
    bits = (EXACT // most).bit_length() - 1
    return Term(name, -(-largest.bit_length() // bits), bits)


def _split_product(name: str, pair: Product, most: int, limit: int) -> Term:
    """A product, in digits of its finer factor where these are few, on engines with integers that can be relied on.

    A product that is rounded has digits of its own.
    """
    coarser, finer = coarser_first(pair)
    bits = (limit // (coarser.count * most)).bit_length() - 1
    few = limit > EXACT and finer.count.bit_length() <= _MOST_DIGITS * bits
    if pair.unit > 1 or pair.largest * most <= limit or not few:
        return _split(name, pair.largest, most, limit)
    return Term(name, -(-finer.count.bit_length() // bits), bits, (coarser.count << bits) * most > EXACT, finer)


def coarser_first(pair: Product) -> tuple[Quantised, Quantised]:
    """The factors of a product, that of fewer steps first."""
    swap = pair.second.count < pair.first.count
    return (pair.second, pair.first) if swap else (pair.first, pair.second)


def write_terms(frame: "Frame", request: Request, terms: Sequence[Term]) -> "tuple[Frame, dict[str, nw.Expr]]":
    """The digits of all terms as expressions, and the frame with the columns that they name.

    Names of its columns: ``k`` a record's integer, ``d`` a digit of it, ``u`` its share of the largest one, ``p`` a
    product.
    """
    import narwhals as nw

    place = {quantised: i for i, quantised in enumerate(request.sums)}
    sums, products = terms[: len(place)], list(zip(request.pairs, terms[len(place) :], strict=True))
    frame = _add(frame, _shares(request, place) | _factor_digits(terms, place))
    whole = {term.name: _multiply(pair, place) for pair, term in products if term.factor is None}
    # Others are expressions inside of their sums, which no engine holds as columns.
    frame = _add(
        frame, {term.name: whole[term.name] for _, term in products if term.factor is None and term.digits > 1}
    )
    written: dict[str, nw.Expr] = {}
    for term in sums:
        written |= _digits_of(nw.col(term.name), term)
    for pair, term in products:
        if term.factor is None:
            written |= _digits_of(nw.col(term.name) if term.digits > 1 else whole[term.name], term)
        else:
            written |= _times_digits(pair, term, place)
    return frame, written


def _add(frame: "Frame", columns: "Mapping[str, nw.Expr]") -> "Frame":
    return frame.with_columns(**columns) if columns else frame


def _shares(request: Request, place: Mapping[Quantised, int]) -> "dict[str, nw.Expr]":
    """Columns k/M, for products that are rounded."""
    import narwhals as nw

    coarser = {coarser_first(pair)[0] for pair in request.pairs if pair.unit > 1}
    return {f"u{i}": nw.col(f"k{i}") * (1 / column.count) for column, i in place.items() if column in coarser}


def _factor_digits(terms: Sequence[Term], place: Mapping[Quantised, int]) -> "dict[str, nw.Expr]":
    """Columns of the digits of factors."""
    import narwhals as nw

    return {
        _factor_name(place[term.factor], term, digit): _pick_digit(nw.col(f"k{place[term.factor]}"), term, digit)
        for term in terms
        if term.factor is not None
        for digit in range(term.digits)
    }


def _factor_name(place: int, term: Term, digit: int) -> str:
    return f"d{place}_{term.bits}_{digit}"


def _multiply(pair: Product, place: Mapping[Quantised, int]) -> "nw.Expr":
    """A product, rounded where it is too large for a double."""
    import narwhals as nw

    coarser, finer = (place[column] for column in coarser_first(pair))
    k = nw.col(f"k{finer}")
    return floor(k * nw.col(f"u{coarser}") + 0.5) if pair.unit > 1 else k * nw.col(f"k{coarser}")


def _digits_of(number: "nw.Expr", term: Term) -> "dict[str, nw.Expr]":
    import narwhals as nw

    if term.digits == 1:
        return {term.names[0]: number.cast(nw.Int64) if term.wide else number}
    return {name: _pick_digit(number, term, digit) for digit, name in enumerate(term.names)}


def _times_digits(pair: Product, term: Term, place: Mapping[Quantised, int]) -> "dict[str, nw.Expr]":
    """A factor times each digit of the other."""
    import narwhals as nw

    coarser, finer = (place[column] for column in coarser_first(pair))
    products = {
        name: nw.col(f"k{coarser}") * nw.col(_factor_name(finer, term, digit)) for digit, name in enumerate(term.names)
    }
    return {name: product.cast(nw.Int64) for name, product in products.items()} if term.wide else products


def _pick_digit(number: "nw.Expr", term: Term, digit: int) -> "nw.Expr":
    """A digit of a whole number in doubles: every step is exact, as it multiplies by powers of two."""

    def above(places: int) -> "nw.Expr":
        return floor(number * 2.0 ** (-term.bits * places)) if places else number

    return above(digit) - above(digit + 1) * 2.0**term.bits if digit < term.digits - 1 else above(digit)
