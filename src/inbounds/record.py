"""The public record of a release: the only thing that passes the wall.

Everything in it is public. The value follows from the noisy coordinates by the method named, the noise from the
certificate; `Release.from_json` does both again and refuses a record in which they do not agree.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from html import escape
from itertools import chain, product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds import _check, derive, soundness
from inbounds._check import Array
from inbounds._text import visible
from inbounds.after.tree import Groups, count_nodes, grow
from inbounds.expected import Error, expected_error, simulated_errors
from inbounds.grid.law import GridMechanism
from inbounds.privacy.certificate import Certificate, CertificateError, Composition, without_repeats
from inbounds.privacy.guarantee import Neighbours
from inbounds.record_text import SHARED, parsed, shortened, written
from inbounds.record_text import Bound as Bound
from inbounds.record_text import ColumnRule as ColumnRule
from inbounds.record_text import RecordError as RecordError
from inbounds.record_text import same_rows as same_rows

if TYPE_CHECKING:
    from inbounds.inference.result import Interval

FORMAT = "inbounds-release/1"


@dataclass(frozen=True, slots=True, repr=False)
class Release:
    """A published statistic with what it cost and how far off it can be.

    ``noisy`` are the coordinates as they were drawn, ``units`` what one of each is worth, ``bounds`` those of the
    coordinates (after units). `value` is what to publish.
    """

    statistic: str
    method: str
    columns: tuple[ColumnRule, ...]
    rows: int | None
    unit: str
    contributions: int
    axes: tuple[tuple[str, ...], ...]
    noisy: tuple[Fraction, ...]
    units: tuple[Fraction, ...]
    bounds: tuple[Bound, ...]
    certificate: Certificate | Composition
    denominator: int | None = None
    derived: str | None = None
    repair: str | None = None
    tree: Groups | None = None
    notes: tuple[str, ...] = ()

    @property
    def epsilon(self) -> float:
        """ε that was spent."""
        return float(self.certificate.epsilon)

    @property
    def neighbours(self) -> Neighbours:
        """The neighbour relation that ε is for."""
        return self.certificate.neighbours

    @property
    def bounding(self) -> str:
        """What keeps the value inside: ``"bit"`` or ``"truncated"``."""
        part = self.certificate if isinstance(self.certificate, Certificate) else self.certificate.parts[0]
        return "truncated" if part.bounding == "truncated" else "bit"

    @property
    def mechanism(self) -> GridMechanism:
        """The law that a single number was drawn from."""
        if not isinstance(self.certificate, Certificate) or len(self.noisy) > 1:
            raise ValueError("a release of several numbers has no single law; see its certificate")
        return self.certificate.mechanism

    @property
    def value(self) -> Any:
        """What is published: a number, or an array with the shape of its `axes`."""
        flat = self._derived()
        if not self.axes:
            return flat[0]
        return np.array(flat).reshape([len(axis) for axis in self.axes])

    @property
    def released(self) -> bool:
        """Whether there are numbers in it; the record of a preview has none."""
        return bool(self.noisy)

    def _derived(self) -> list[int] | list[float]:
        if not self.released:
            raise ValueError("nothing has been released: this is the record of a preview")
        if self.method == derive.DIRECT:
            kind = int if self.statistic in _WHOLE else float
            return _each(lambda x, unit, bound: kind(_clip(x * unit, bound)), self.noisy, self.units, self.bounds)
        noisy = np.array(_each(lambda x, unit: float(x * unit), self.noisy, self.units))
        values = derive.derive(self.method, noisy, *self._limits(), self.recipe)
        return [int(x) for x in values] if self.method == derive.WHOLE else values.tolist()

    def own_notes(self) -> tuple[str, ...]:
        """What it has to say of itself: that groups are not protected, that a correlation of 0 is not determined."""
        public = (_PUBLIC_SIZES,) if self.keeps_groups else ()
        as_covariances = {derive.CORRELATION: derive.MATRIX, derive.CORRELATION_OF_SUMS: derive.MATRIX_OF_SUMS}
        if self.method not in as_covariances or not self.released:
            return public
        # No repair changes variances; this one takes no time.
        method = as_covariances[self.method]
        covariances = replace(self, method=method, statistic="covariance", repair="clip").value
        return (*public, _UNDETERMINED) if (covariances.diagonal() <= 0).any() else public

    @property
    def keeps_groups(self) -> bool:
        """Whether ε is for neighbours who keep their group alone, since sizes of groups were declared public."""
        return any(rule.sizes for rule in self.columns)

    @property
    def recipe(self) -> derive.Recipe:
        """What its method needs besides numbers."""
        place = None if self.derived is None else self.axes[0].index(self.derived)
        return derive.Recipe(place, self.repair, None if self.tree is None else grow(self.tree, self.axes[0]))

    def _limits(self) -> tuple[Array, Array, Array]:
        lower = np.array(_each(lambda bound: -np.inf if bound[0] is None else float(bound[0]), self.bounds))
        upper = np.array(_each(lambda bound: np.inf if bound[1] is None else float(bound[1]), self.bounds))
        numeric = [(float(rule.lower or 0), float(rule.upper or 0)) for rule in self.columns if rule.step is not None]
        return lower, upper, np.array(numeric).reshape(-1, 2)

    @property
    def error(self) -> Error:
        """How far off the value is expected to be: at worst over the bounds, and where it was released."""
        if not self.released:
            raise ValueError("nothing has been released: this is the record of a preview; see its forecast")
        error = expected_error(*self._numbers())
        return error.shaped([len(axis) for axis in self.axes]) if self.axes else error

    def simulated_errors(self) -> tuple[Array, tuple[Array, Array]]:
        """Draws of the value's error if the truth were what was released (see `inbounds.expected`), and worst cases."""
        return simulated_errors(*self._numbers())

    def _numbers(self) -> tuple[Any, ...]:
        return self.method, self.noisy, self.units, self.certificate, self._limits(), self.recipe

    def limits_of_coordinates(self) -> list[tuple[float, float]]:
        """Bounds of the noisy coordinates as numbers, infinite on an open side."""
        lower, upper, _ = self._limits()
        return list(zip(lower.tolist(), upper.tolist(), strict=True))

    def interval(
        self, level: float = 0.95, *, kind: str = "population", variance: "Release | None" = None
    ) -> "Interval":
        """Where the truth lies, with noise taken into account.

        ``kind="population"``: what the table is a sample of; sampling error and noise together. ``kind="noise"``: the
        statistic of the table itself. ``variance``, one released from the same column and table, shortens the interval
        of a mean. The result says how it was made and what it assumes, and unpacks as ``lower, upper``.

        It is made of the record alone: free of budget, and the same for everyone.
        """
        # Loaded when asked for: it sees records, and brings SciPy's root finding with it.
        from inbounds.inference.intervals import interval

        return interval(self, level, kind=kind, variance=variance)

    def plot(self, level: float = 0.95, *, kind: str = "population") -> Any:
        """Values with their intervals, or a map of values for matrices and tables, as an Altair chart."""
        from inbounds.inference.picture import plot

        return plot(self, level, kind)

    def _repr_html_(self) -> str:
        from inbounds.inference.picture import to_html

        return to_html(self) if self.released else f"<p>{escape(str(self))}</p>"

    def __repr__(self) -> str:
        if not self.released:
            return f"<Release: {visible(self.title)}: not released, epsilon {self.epsilon:g}>"
        value = "x".join(str(len(axis)) for axis in self.axes) + " values" if self.axes else self._shown().strip()
        return f"<Release: {visible(self.title)}: {value}, epsilon {self.epsilon:g}>"

    def __str__(self) -> str:
        if not self.released:
            return f"{visible(self.title)}: not released"
        unit = self.unit if self.contributions == 1 else f"{self.unit} with up to {self.contributions} records"
        how = self.bounding if self.method in (derive.DIRECT, derive.MATRIX) else f"{self.bounding}, {self.method}"
        cost = f"  epsilon {self.epsilon:g} per {unit}, {self.neighbours}; {how}; {self.error}"
        return "\n".join(
            [f"{visible(self.title)}:{self._shown()}", *map(visible, [cost, *(f"  {x}" for x in self.notes)])]
        )

    @property
    def title(self) -> str:
        """What was released, of which columns, by which groups."""
        numbers = list(dict.fromkeys(rule.name for rule in self.columns if rule.step is not None))
        keys = [rule for rule in self.columns if rule.cells]
        if self.statistic in ("count", "proportion") and keys and not self.axes:
            return f"{self.statistic} of {keys[0].name} = {keys[0].cells[-1]}"
        if not numbers:
            return f"{self.statistic} of {', '.join(key.name for key in keys) or 'all records'}"
        groups = f" by {', '.join(key.name for key in keys)}" if keys else ""
        return f"{self.statistic} of {', '.join(numbers)}{groups}"

    def _shown(self) -> str:
        """The value as text: a number, a line for each cell, or a table."""
        texts = [str(x) if isinstance(x, int) else f"{x:.6g}" for x in self._derived()]
        return laid_out(texts, self.axes)

    def to_json(self) -> str:
        """The record as text; fractions are written as such."""
        return "".join(self.json_pieces())

    def json_pieces(self) -> Iterator[str]:
        """The text of `to_json` in pieces, so that a large record is written without being held twice."""
        body = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "certificate"}
        start = "{"
        for name, value in ({"format": FORMAT, "value": self.value} | body).items():
            yield f"{start}\n {json.dumps(name)}: "
            yield from written(shortened(value) if name in SHARED else value)
            start = ","
        certificate = json.dumps(self.certificate.to_dict(), indent=1, ensure_ascii=False).replace("\n", "\n ")
        yield f'{start}\n "certificate": {certificate}\n}}'

    def longest_text(self) -> int:
        """Bytes that `to_json` of a release of this draft has at most, and some to spare."""
        names = [field.name for field in fields(self) if field.name not in ("noisy", "certificate")]
        pieces = (written(shortened(getattr(self, name)) if name in SHARED else getattr(self, name)) for name in names)
        proof = len(json.dumps(self.certificate.to_dict(), indent=1))
        laws = 1 if isinstance(self.certificate, Certificate) else len(self.certificate.parts)
        numbers = max(len(self.units), prod(len(axis) for axis in self.axes))
        # A number has no more digits than the law that it is drawn from; a character has up to four bytes.
        return 10_000 + 4 * (sum(map(len, chain.from_iterable(pieces))) + proof + numbers * (100 + proof // laws))

    def request_digest(self) -> str:
        """SHA-256 of all that was asked for: the same for the same release of any data, before and after it."""
        hashed = hashlib.sha256()
        for field in fields(self):
            if field.name not in ("noisy", "bounds", "certificate", "notes"):
                for piece in (field.name, *written(getattr(self, field.name)), ";"):
                    hashed.update(piece.encode())
        asked = self.certificate.epsilon, self.neighbours, self.bounding
        hashed.update(repr((*map(str, asked), isinstance(self.certificate, Certificate))).encode())
        return hashed.hexdigest()

    @classmethod
    def from_json(cls, text: str) -> "Release":
        """The record that `to_json` wrote; `RecordError` for one whose parts do not agree."""
        with _malformed():
            body = json.loads(text, object_pairs_hook=without_repeats)
        return cls.from_dict(body)

    @classmethod
    def from_dict(cls, body: Any, draft: "Callable[[Release], Release] | None" = None) -> "Release":
        """The like, from what JSON was read as. ``draft`` makes what it is compared with: by default the draft of its
        own statistic, for one of a plan that of the plan."""
        with _malformed():
            if not isinstance(body, dict) or body.get("format") != FORMAT:
                plan = isinstance(body, dict) and isinstance(body.get("releases"), dict)
                hint = (
                    "; this is one of a plan, with several: inbounds.app.job.Releases.from_json reads it"
                    if plan
                    else ""
                )
                raise RecordError(f"the record's format is not {FORMAT}{hint}")
            release = cls(**parsed(body, [field.name for field in fields(cls)]))
            release._check()
            # Loaded when asked for: drafts are made by the release functions, which make records.
            from inbounds.releases.proof import prove

            prove(release, draft)
            release._check_grid()
            again = json.loads(release.to_json())
        for name in body.keys() | again.keys():
            both = name in body and name in again
            rounded = both and name == "value" and release._rounds_elsewhere(again[name], body[name])
            if not both or not (again[name] == body[name] or rounded):
                raise RecordError(f"the record's {name} does not follow from the rest of it")
        return release

    def _rounds_elsewhere(self, own: Any, written: Any) -> bool:
        """Whether a value is this one but for last digits: sums and eigenvalues are rounded by processor and version.

        Values of one noisy number are not: they are correctly rounded everywhere. Each element of the others has a room
        of its own. A billionth of itself is far beyond what rounding does to sums. Where elements are what is left when
        others are taken away, rounding is measured by those: one, for shares, and for elements of a matrix the root of
        their two variances. Clipped eigenvalues have twelve digits of that; a repair by steps, six. A variance
        has no room but its own, and next to a variance of 0 all is 0.
        """
        if self.method in (derive.DIRECT, derive.WHOLE, derive.ROOT):
            return False
        values = np.array(own, dtype=np.float64)
        room = 1e-9 * np.abs(values)
        if self.method in derive.SIMPLEX:
            room = room + 1e-12
        elif values.ndim == 2:
            roots = np.sqrt(np.diagonal(values))
            beside = (1e-12 if self.repair == "clip" else 1e-6) * roots[:, None] * roots
            room = room + np.where(np.eye(len(roots), dtype=bool), 0.0, beside)
        return _near(own, written, room.tolist())

    def _facts(self) -> soundness.Facts:
        numeric = [rule for rule in self.columns if rule.step is not None]
        keys = [rule for rule in self.columns if rule.cells]
        ends = [(rule.lower or Fraction(0), rule.upper or Fraction(0)) for rule in numeric]
        sizes = keys[-1].sizes if keys else ()
        if sizes and sum(_check.integer(size, "sizes", least=0) for size in sizes) != self.rows:
            raise RecordError("the record's sizes do not add up to its rows")
        statistic = "counts" if self.statistic == "count" and self.axes else self.statistic
        return soundness.Facts(
            statistic=statistic,
            method=self.method,
            changes=self.contributions * (2 if self.neighbours == "substitute" else 1),
            contributions=self.contributions,
            rows=self.rows,
            denominator=self.denominator,
            widths=tuple(upper - lower for lower, upper in ends),
            reach=max((abs(end) for pair in ends for end in pair), default=Fraction(0)),
            cells=len(keys[-1].cells) if keys else 0,
            largest=max(sizes) if sizes else None,
            levels=1 if self.tree is None else grow(self.tree, self.axes[0]).depth,
        )

    def _numbers_drawn(self) -> int:
        """How many numbers are drawn for the statistic, by the sizes of its columns: known before any law is made."""
        size, cells = len([rule for rule in self.columns if rule.step is not None]), 1
        for rule in self.columns:
            cells *= len(rule.cells) or 1
        if self.method in derive.OF_SUMS:
            groups = 1 if self.statistic == "proportion" else cells
            return groups * derive.dimension(self.method, size)
        if self.method in (derive.MATRIX, derive.CORRELATION):
            return size * (size + 1) // 2
        if self.method == derive.TREE and self.tree is not None:
            return count_nodes(self.tree)
        table = self.statistic in ("histogram", "crosstab", "proportions") or (self.statistic == "count" and self.axes)
        return cells - (self.derived is not None) if table else 1

    @property
    def _parts(self) -> list[Certificate]:
        return [self.certificate] if isinstance(self.certificate, Certificate) else list(self.certificate.parts)

    def _check(self) -> None:
        """The statistic and its unit are those that were certified, and all is there as often as it should be."""
        if len(self.columns) > _MOST_COLUMNS or len(self.noisy) != self._numbers_drawn():
            raise RecordError("the record's numbers are not as many as its columns ask for")
        contributions = _check.integer(self.contributions, "contributions", least=1)
        if self.unit != ("record" if contributions == 1 else "person"):
            raise RecordError("the record's unit does not fit its contributions")
        if (self.rows is None) != (self.neighbours == "add-remove"):
            raise RecordError("the record's rows do not fit its neighbour relation")
        for name in ("rows", "denominator"):
            if getattr(self, name) is not None:
                _check.integer(getattr(self, name), name, least=1)
        parts = self._parts
        if {part.statistic for part in parts} != {_DRAWN.get(self.method, self.statistic)}:
            raise RecordError("the record's statistic is not the one that its certificate is for")
        if not soundness.demanded(self._facts(), self.units, parts):
            raise RecordError("the certificate's sensitivity is not that of the statistic that the record is of")
        if len(self.noisy) != len(self.units):
            raise RecordError("the record's numbers and units are not as many")
        if self.notes != self.own_notes():
            raise RecordError("the record's notes do not follow from the rest of it")
        if len(self.bounds) not in (len(self.noisy), prod(len(axis) for axis in self.axes)):
            raise RecordError("the record's bounds are not as many as its numbers")
        if self.statistic in (*_WHOLE, "proportion", "proportions"):
            rows = None if self.rows is None else Fraction(self.rows)
            own = (Fraction(0), rows if self.statistic in _WHOLE else Fraction(1))
            if any(bound != own for bound in dict.fromkeys(self.bounds)):
                raise RecordError("the record's bounds are not those of its statistic")
        in_turn = isinstance(self.certificate, Composition) and self.bounding == "truncated"
        if in_turn and not soundness.truncated_in_turn(self.noisy, self.bounds, parts):
            raise RecordError("the record's bounds are not those that its laws end at, or its variances allow")

    def _check_grid(self) -> None:
        """Noisy numbers lie on the grids of their laws."""
        parts = self._parts
        laws = parts * len(self.noisy) if len(parts) == 1 else parts
        if not all(_each(_on_the_grid, self.noisy, laws)):
            raise RecordError("the record's noisy values are not on the grid of its certificate")


@contextmanager
def _malformed() -> Iterator[None]:
    """Whatever goes wrong with a record that somebody else wrote is the record's fault."""
    try:
        yield
    except (RecordError, CertificateError):
        raise
    except (ArithmeticError, AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise RecordError(f"the record is malformed ({type(error).__name__})") from None


def _on_the_grid(noisy: Fraction, law: Certificate) -> bool:
    index = (noisy - law.origin) / law.step
    low, high = (None, None) if law.bounding == "unbounded" else (law.first, law.last)
    return index.denominator == 1 and (low is None or index >= low) and (high is None or index <= high)


def laid_out(texts: list[str], axes: tuple[tuple[str, ...], ...]) -> str:
    """Texts of cells: one by itself, a line for each, or a table with its labels."""
    if not axes:
        return f" {texts[0]}"
    *outer, last = [[visible(label) for label in axis] for axis in axes]
    if not outer:
        wide = max(map(len, last))
        return "".join(f"\n  {label:{wide}s}  {text}" for label, text in zip(last, texts, strict=True))
    heads = [", ".join(labels) for labels in product(*outer)]
    wide, cell = max(map(len, heads)), max(map(len, [*last, *texts]))
    lines = [[" " * wide, *last]] + [[h, *texts[i * len(last) : (i + 1) * len(last)]] for i, h in enumerate(heads)]
    return "".join(f"\n  {head:{wide}s}" + "".join(f"  {x:>{cell}s}" for x in row) for head, *row in lines)


# Those of the largest matrix, and one for groups.
_MOST_COLUMNS = 201
# What the noise was added to, where it is not what is published.
_DRAWN = {derive.ROOT: "variance", derive.CORRELATION: "covariance"}
_WHOLE = ("count", "histogram", "crosstab")
_PUBLIC_SIZES = (
    "the sizes of groups were declared public: epsilon is for a record whose values change, not for one that changes "
    "its group"
)
_UNDETERMINED = "next to a released variance of 0 a correlation is given as 0"


def _near(own: Any, written: Any, room: Any) -> bool:
    """Whether numbers, in lists of lists of the same shape, are no farther apart than each may be."""
    if isinstance(own, list):
        same = isinstance(written, list) and len(written) == len(own)
        return same and all(_near(a, b, c) for a, b, c in zip(own, written, room, strict=True))
    number = isinstance(written, int | float) and not isinstance(written, bool)
    return bool(number and abs(own - written) <= room)


def _clip(x: Fraction, bound: Bound) -> Fraction:
    lower, upper = bound
    x = x if lower is None else max(x, lower)
    return x if upper is None else min(x, upper)


def _each(make: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
    """``make`` of each row of some columns, worked out once for rows of the same objects: of a million, few differ."""
    made: dict[tuple[int, ...], Any] = {}
    result = []
    for row in zip(*columns, strict=True):
        # Objects of the columns outlive this function, so that an id belongs to one of them.
        same = tuple(map(id, row))
        if same not in made:
            made[same] = make(*row)
        result.append(made[same])
    return result
