"""How far one record can move the moments of several columns together: linear forms of them, and their ranges.

With u in [-1, 1] a record adds φ(u) = (u_j, 2u_j² - 1, u_j u_k) to the sums of moments. It does not move all of them by
their most at once: u_1² + u_2² - u_1 u_2 + u_1 + u_2 has a range of 4, where its terms by themselves add up to 8. Each
such form g with the range r(g) = max g - min g over the cube bounds a joint move,

    a substituted record    |g·z| ≤ r(g)                 z the change of the sums without g's constant
    an added or removed one |g·z - m(g) z_0| ≤ r(g)/2    z_0 the change of the count, m(g) = (max g + min g)/2
    a substituted record,   |g·z - max g z_0| ≤ r(g)     where some records are selected: it may take another value,
    of a selection          |g·z - min g z_0| ≤ r(g)     come into the selection, or leave it

and noise with mass ∝ e^(-N/T), N the largest of these ratios, loses 1/T for the whole vector (Hardt & Talwar 2010,
with any norm whose unit ball holds all moves). The narrower that ball, the less noise.

Ranges are exact: a quadratic form on a cube has its extremes where its gradient along a face vanishes, or at corners.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement, permutations, product
from math import gcd, lcm
from typing import Literal, TypeAlias

# How records can move moments; see above.
Moves: TypeAlias = Literal["moments", "mean moments", "counted moments", "selected moments", "selected sums"]
# Forms are used up to this many columns. Beyond that, almost every proposal would be rejected.
MOST_COLUMNS = 6
_MOST: dict[Moves, int] = {
    "moments": MOST_COLUMNS,
    "mean moments": 1,
    "counted moments": 5,
    "selected moments": 4,
    "selected sums": 12,
}
# The divisor of a column's square when it is drawn with a mean, so that the mean has no more noise than alone.
SQUARE_OF_MEAN = 8


@dataclass(frozen=True, slots=True)
class Form:
    """A quadratic polynomial Σ a_j u_j + Σ_{j≤k} b_jk u_j u_k of one to three columns, with whole coefficients.

    ``products`` are the b_jk, row by row from the diagonal.
    """

    linear: tuple[int, ...]
    products: tuple[int, ...]

    @property
    def columns(self) -> int:
        """The columns that it uses."""
        return len(self.linear)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The columns of each product."""
        return list(combinations_with_replacement(range(self.columns), 2))

    @property
    def is_single(self) -> bool:
        """Whether it is one moment by itself."""
        return sum(map(bool, (*self.linear, *self.products))) == 1

    def __str__(self) -> str:
        names = [f"u{j + 1}" for j in range(self.columns)]
        products = [f"{names[j]}^2" if j == k else names[j] + names[k] for j, k in self.pairs]
        terms = [(c, name) for c, name in zip((*self.linear, *self.products), (*names, *products), strict=True) if c]
        text = " ".join(f"{'-' if c < 0 else '+'} {'' if abs(c) == 1 else abs(c)}{name}" for c, name in terms)
        return text.removeprefix("+ ")


# One form of each kind; the others have other columns or signs. Forms that bound the most come first.
FORMS = (
    Form((1,), (1,)),
    Form((1, 1), (1, -1, 1)),
    Form((1, 1), (1, -1, 0)),
    Form((0, 0), (2, 2, -1)),
    Form((0, 0), (1, 2, 1)),
    Form((0, 0, 0), (1, 1, 1, 1, -1, 0)),
    Form((0, 0, 0), (1, 1, 1, 1, -1, 1)),
    Form((0, 0, 0), (1, 1, 1, 0, -1, 0)),
    Form((2,), (1,)),
    Form((0, 0), (1, 1, -1)),
    Form((0, 0), (1, 1, 0)),
    Form((0, 0), (1, 2, -1)),
    Form((1, 1), (0, 1, 0)),
    Form((2, 2), (1, 2, 1)),
    Form((0, 0, 0), (0, 1, 1, 0, 1, 0)),
    # Each moment by itself.
    Form((1,), (0,)),
    Form((0,), (1,)),
    Form((0, 0), (0, 1, 0)),
)


# claim:form-range
@lru_cache(maxsize=256)
def find_range(form: Form) -> tuple[Fraction, Fraction]:
    """The least and the largest value of a form on the cube [-1, 1]^d, exactly.

    On each of the 3^d faces the free columns solve a linear system. Where that has no unique solution, the extreme
    value is also taken on a smaller face.
    """
    values = [_value(form, point) for point in _critical_points(form)]
    return min(values), max(values)


def _critical_points(form: Form) -> Iterator[tuple[Fraction, ...]]:
    for face in product((-1, 0, 1), repeat=form.columns):
        point = [Fraction(side) for side in face]
        free = [j for j, side in enumerate(face) if side == 0]
        system = []
        for j in free:
            slope = _slope(form, j)
            fixed = sum((s * x for s, x in zip(slope, point, strict=True)), start=Fraction(form.linear[j]))
            system.append([*(slope[k] for k in free), -fixed])
        solution = _solve(system)
        if solution is None or any(abs(x) >= 1 for x in solution):
            continue
        for j, x in zip(free, solution, strict=True):
            point[j] = x
        yield tuple(point)


def _slope(form: Form, column: int) -> list[Fraction]:
    """Coefficients of the derivative along a column, without its constant."""
    slope = [Fraction(0)] * form.columns
    for (j, k), c in zip(form.pairs, form.products, strict=True):
        if j == column:
            slope[k] += c
        if k == column:
            slope[j] += c
    return slope


def _solve(system: list[list[Fraction]]) -> list[Fraction] | None:
    """The solution of a square system with its right side in the last column; None if it is not unique."""
    rows, size = [list(row) for row in system], len(system)
    for i in range(size):
        pivot = next((r for r in range(i, size) if rows[r][i]), None)
        if pivot is None:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for r in range(size):
            if r != i and rows[r][i]:
                rows[r] = [x - rows[r][i] * y for x, y in zip(rows[r], rows[i], strict=True)]
    return [row[-1] for row in rows]


def _value(form: Form, point: Sequence[Fraction]) -> Fraction:
    linear = sum((c * x for c, x in zip(form.linear, point, strict=True)), start=Fraction(0))
    return linear + sum(c * point[j] * point[k] for (j, k), c in zip(form.pairs, form.products, strict=True))


# The form of a mean and its square, with the range 4: |Δ(2u + u²)| and |Δ(2u - u²)| are at most 4. So the changes s of
# Σu/2 and q of Σ(2u² - 1)/8 have |s + q| ≤ 1 and |s - q| ≤ 1, which is |s| + |q| ≤ 1.
_OF_MEAN = Form((2,), (1,))

# |weights · z| ≤ limit, all of them whole numbers.
Row: TypeAlias = tuple[tuple[int, ...], int]


# claim:moment-rows
@lru_cache(maxsize=64)
def moment_rows(columns: int, moves: Moves) -> tuple[Row, ...]:
    """What bounds the move of all moments of some columns, as rows of whole numbers.

    Coordinates are the changes of Σu_j, then of Σ(2u_j² - 1) or Σu_j u_k for each pair from the diagonal (but for
    sums alone); a count, if there is one, comes before them. Where a record is substituted, all but the count are in
    halves. Each coordinate by itself is at most 1, which needs no row. Beside a mean the square is in eighths: the norm
    is then |s| + |q|, and both have independent Laplace noise, the sum as much as if it were drawn alone.
    """
    if moves == "mean moments":
        low, high = find_range(_OF_MEAN)
        # With s in halves and q in eighths, 2Δu ± Δu² is 4s ± 4q.
        return tuple(_whole_row(None, (4, sign), high - low) for sign in (4, -4))
    rows: list[Row] = []
    for form in list_forms(columns, moves):
        # A moment by itself is limited together with the count only where a record can move the count by itself.
        if form.is_single and (columns > _MOST[moves] or not moves.startswith("selected")):
            continue
        low, high = find_range(form)
        squares = sum(c for c, (j, k) in zip(form.products, form.pairs, strict=True) if j == k)
        # Σu² is half of Σ(2u² - 1) and the count, so that all weights are doubled. Other columns and signs of them
        # change neither the extremes of a form nor its squares.
        images, limit = _images(form, columns, products=moves != "selected sums"), high - low
        if moves == "moments":
            rows += [_whole_row(None, image, limit) for image in images]
        elif moves == "counted moments":
            rows += [_whole_row(squares - (low + high), image, limit) for image in images]
        else:
            # With the others in halves, their weights are doubled once more.
            doubled = [tuple(2 * c for c in image) for image in images]
            rows += [_whole_row(squares - 2 * end, image, 2 * limit) for image in doubled for end in (low, high)]
    return tuple(dict.fromkeys(rows))


def _whole_row(count: Fraction | None, image: tuple[int, ...], limit: Fraction) -> Row:
    """A row in whole numbers without a common divisor; ``count`` is the weight of the count, if there is one."""
    first = () if count is None else (count,)
    times = lcm(limit.denominator, *(c.denominator for c in first))
    weights = (*(int(c * times) for c in first), *(c * times for c in image))
    common = gcd(int(limit * times), *weights)
    return tuple(c // common for c in weights), int(limit * times) // common


def list_forms(columns: int, moves: Moves) -> list[Form]:
    """The kinds of forms that are used for this number of columns: all of them, or each moment by itself."""
    if moves == "mean moments":
        return [_OF_MEAN]
    every = columns <= _MOST[moves]
    forms = [form for form in FORMS if form.columns <= columns and (every or form.is_single)]
    return [form for form in forms if not any(form.products)] if moves == "selected sums" else forms


def _images(form: Form, columns: int, *, products: bool = True) -> list[tuple[int, ...]]:
    """The form for other columns and signs, as weights of all coordinates. Of two opposite forms only one is listed."""
    place = {pair: columns + i for i, pair in enumerate(combinations_with_replacement(range(columns), 2))}
    images: dict[tuple[int, ...], None] = {}
    for order in permutations(range(columns), form.columns):
        for signs in product((1, -1), repeat=form.columns):
            weights = [0] * (columns + len(place))
            for c, j, sign in zip(form.linear, order, signs, strict=True):
                weights[j] = 2 * c * sign
            for (j, k), c in zip(form.pairs, form.products, strict=True):
                pair = place[min(order[j], order[k]), max(order[j], order[k])]
                weights[pair] = c if j == k else 2 * c * signs[j] * signs[k]
            image = tuple(weights if products else weights[:columns])
            if tuple(-c for c in image) not in images:
                images[image] = None
    return list(images)
