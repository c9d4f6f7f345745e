"""A record of several releases: those of a plan, with the charge for them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inbounds._text import visible
from inbounds.ledger import Entry
from inbounds.privacy.guarantee import Guarantee, require_pure
from inbounds.privacy.terms import Terms
from inbounds.record import charges, codec
from inbounds.record.asked import Asked
from inbounds.record.release import Release

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


@dataclass(frozen=True, slots=True, eq=False)
class Releases(Mapping[str, Release]):
    """The releases of a plan: a mapping from names to `Release`.

    Attributes
    ----------
    records
        The releases by name.
    dataset
        The name of the dataset.
    entry
        The entry of the ledger that has the charge; None without a ledger.
    left
        What was left of the dataset's limit after the charge, as text.
    stored
        Whether this is the stored result of an earlier release.
    asked
        The intervals that the plan asks for, by name. The record has those that are not the default.
    """

    records: Mapping[str, Release]
    dataset: str | None = None
    entry: Entry | None = None
    left: str | None = None
    stored: bool = False
    asked: Mapping[str, Asked] = field(default_factory=dict, compare=False, repr=False)
    # The content of a report, whose intervals take time. Computed on first use, by `inbounds.report.rows`.
    _sections: Any = field(default=None, init=False, repr=False)

    def __getitem__(self, name: str) -> Release:
        if name not in self.records:
            raise KeyError(f"no release {name!r}; there are {', '.join(map(repr, self.records))}")
        return self.records[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    def __repr__(self) -> str:
        again = ", released before" if self.stored else ""
        return f"<Releases: {', '.join(map(visible, self.records))}; {self.guarantee.calibrated.shorten()}{again}>"

    def __str__(self) -> str:
        return "\n".join(f"{visible(name)}\n{release}" for name, release in self.records.items())

    def _repr_html_(self) -> str:
        parts = (f"<h4>{escape(visible(name))}</h4>{release._repr_html_()}" for name, release in self.records.items())
        return f"<section>{''.join(parts)}</section>"

    @property
    def dataset_name(self) -> str:
        """The name of the dataset, for a heading."""
        return self.dataset or "a table"

    @property
    def terms(self) -> Terms:
        """The terms of the first release. All have the same unit of privacy and number of rows."""
        return next(iter(self.records.values())).terms

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of all releases together."""
        return charges.total(self.records)

    @property
    def epsilon(self) -> Fraction:
        """The ε of all releases together, which is the sum over draws.

        Raises a `ValueError` for another guarantee, which is in `guarantee`.
        """
        return require_pure(self.guarantee)

    @property
    def digest(self) -> str:
        """A hash of what was asked for. It is the same for the same releases of the same dataset."""
        return charges.digest_of(self.dataset, self.records)

    def write(self, folder: str | Path) -> None:
        """Write release.json, values.csv, report.html and report.md to a folder.

        Parameters
        ----------
        folder
            The folder, which is created if it does not exist.

        Raises
        ------
        ValueError
            If the folder cannot be written to.
        """
        # Templates are slow to load, so the report is imported only here.
        from inbounds.report.files import prepare_folder, write_files

        with prepare_folder(Path(folder), "folder"):
            write_files(self, Path(folder))

    def to_polars(self) -> "pl.DataFrame":
        """All numbers in one Polars table, with the columns of ``values.csv``.

        Each number has a row with its ``release``, ``cell``, ``value``, the limits ``lower`` and ``upper`` of its
        interval, its ``rmse`` and how good it is. Dates and times are days or seconds since 1970, as their errors are;
        ``rounded`` has them as text.

        Returns
        -------
        polars.DataFrame
            The table. What is not known is null.

        Examples
        --------
        >>> import inbounds as ib
        >>> table = {"age": [23.0, 35.0, 62.0, 41.0] * 500}
        >>> releases = ib.Releases({"mean age": ib.mean(table, "age", bounds=(0, 100), epsilon=1)})
        >>> releases.to_polars().select("release", "interval", "quality").rows()
        [('mean age', '0.95 population', 'reliable')]
        """
        import polars as pl

        from inbounds.report.files import NUMBERS, to_columns

        types: dict[str, type[pl.DataType]] = dict.fromkeys(NUMBERS, pl.Float64)
        return pl.DataFrame(to_columns(self), schema_overrides=types)

    def to_pandas(self) -> "pd.DataFrame":
        """All numbers in one pandas table, as `to_polars` has them.

        Returns
        -------
        pandas.DataFrame
            The table. What is not known is NaN.
        """
        import pandas as pd

        from inbounds.report.files import NUMBERS, to_columns

        return pd.DataFrame(to_columns(self)).astype(dict.fromkeys(NUMBERS, float))

    def is_same(self, other: "Releases") -> bool:
        """Whether both have the same draws of the same request, and the same charge."""
        return (self.dataset, dict(self), self.entry) == (other.dataset, dict(other), other.entry)

    def to_json(self) -> str:
        """The record as text, in the format ``inbounds-record/1``."""
        return "".join(self.json_pieces())

    def json_pieces(self) -> Iterator[str]:
        """The text of `to_json` in pieces."""
        return codec.record_pieces(self.records, self.dataset, self.entry, self.asked)

    @classmethod
    def from_json(cls, text: str) -> "Releases":
        """Read a record, of one release or many, and verify everything in it.

        Parameters
        ----------
        text
            The text that `to_json` wrote.

        Returns
        -------
        Releases
            The releases.

        Raises
        ------
        RecordError
            If the parts of the record do not agree.
        CertificateError
            If a certificate does not prove what it says.
        """
        proved = codec.read_record(text)
        return cls(proved.releases, proved.dataset, proved.entry, asked=proved.asked)
