"""Accounts: which ledger a dataset's spending is written down in, and by which name."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from inbounds import _check
from inbounds.ledger.access import is_begun, read_chain
from inbounds.ledger.chain import LedgerError
from inbounds.ledger.names import clean_name
from inbounds.privacy.guarantee import Guarantee, Pure


@dataclass(frozen=True, slots=True)
class Account:
    """Where a dataset's spending is written down.

    Parameters
    ----------
    ledger
        The file of the ledger. It is made by the first charge.
    dataset
        The name of the dataset. It is composed (NFC) and without spaces around it; characters that are not seen are
        refused. A name that the ledger has from before, written otherwise, stays as it is.
    limit
        What may be spent on the dataset in all: a guarantee, or a number, which is pure ε. It counts for a dataset that
        the ledger has not heard of; later it changes by `raise_limit` alone.

    Raises
    ------
    ValueError
        If the name cannot be used, or the limit is not greater than zero.

    Examples
    --------
    >>> account = Account("survey.ledger", " survey ", limit=2)
    >>> account.dataset, account.limit
    ('survey', Pure(epsilon=Fraction(2, 1)))
    """

    ledger: Path
    dataset: str
    limit: Guarantee | None

    def __init__(
        self, ledger: str | Path, dataset: str, limit: Guarantee | Fraction | Decimal | float | str | None = None
    ) -> None:
        object.__setattr__(self, "ledger", Path(ledger))
        if "\0" in str(ledger):
            raise ValueError("ledger must be the name of a file")
        object.__setattr__(self, "dataset", name_in(self.ledger, dataset))
        object.__setattr__(self, "limit", None if limit is None else _read_limit(limit))


def _read_limit(limit: Guarantee | Fraction | Decimal | float | str) -> Guarantee:
    if isinstance(limit, Guarantee):
        return limit
    exact = _check.fraction(limit, "limit")
    if not exact > 0:
        raise ValueError(f"limit must be > 0, got {_check.shown(limit)}")
    return Pure(exact)


def find_account(place: Any) -> Account:
    """The account that a user names: an `Account`, or the file of a ledger that has one dataset."""
    if isinstance(place, Account):
        return place
    if not isinstance(place, str | Path):
        raise TypeError(f"ledger must be a file or an Account, got {_check.shown(place)}")
    names: list[str] = []
    if is_begun(Path(place)):
        with read_chain(Path(place)) as (_, chain):
            names = list(chain.datasets)
    if len(names) != 1:
        raise LedgerError(
            f"the ledger {str(place)!r} does not hold exactly one dataset ({', '.join(map(repr, names)) or 'none'}); "
            "name the one to charge, and for a new one its limit, with inbounds.ledger.Account(ledger, dataset, limit)"
        )
    return Account(place, names[0])


def name_in(ledger: Path | None, dataset: object) -> str:
    """The name of a dataset as it is charged: clean, or as the ledger has it from before.

    The ledger is read for names that are not clean alone.
    """
    try:
        clean = clean_name(dataset)
    except ValueError:
        if not isinstance(dataset, str) or not _has(ledger, dataset):
            raise
        return dataset
    return clean if clean == dataset or not _has(ledger, str(dataset)) else str(dataset)


def _has(ledger: Path | None, dataset: str) -> bool:
    if ledger is None or not is_begun(ledger):
        return False
    with read_chain(ledger) as (_, chain):
        return dataset in chain.datasets
