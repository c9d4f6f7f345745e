"""Accounts: the ledger to which a dataset is charged, and the name of the dataset in it."""

from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from inbounds import _check
from inbounds.errors import LedgerError
from inbounds.ledger.access import is_begun, read_chain
from inbounds.ledger.names import clean_name
from inbounds.privacy.guarantee import Guarantee, Pure


@dataclass(frozen=True, slots=True)
class Account:
    """The ledger and the name under which a dataset is charged.

    Parameters
    ----------
    ledger
        The file of the ledger. It is created by the first charge.
    dataset
        The name of the dataset. It is normalised (NFC), and spaces around it are removed. Invisible characters are
        refused. A name that is already in the ledger is not changed.
    limit
        What may be spent on the dataset in total: a guarantee, or a number, which is pure ε. A dataset that is new to
        the ledger gets this limit, and after that only `raise_limit` changes it. Another limit that is stated later
        gives a warning, `OtherLimit`, and binds these charges if it is smaller. A limit that the dataset had before it
        was raised is ignored.
    binding
        Whether the limit was stated; False for a limit that is only meant for a new dataset.

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
    binding: bool = field(default=True, repr=False, compare=False)

    def __init__(
        self,
        ledger: str | Path,
        dataset: str,
        limit: Guarantee | Fraction | Decimal | float | str | None = None,
        *,
        binding: bool = True,
    ) -> None:
        object.__setattr__(self, "ledger", Path(ledger))
        if "\0" in str(ledger):
            raise ValueError("ledger must be a path")
        object.__setattr__(self, "dataset", name_in(self.ledger, dataset))
        object.__setattr__(self, "limit", None if limit is None else _read_limit(limit))
        object.__setattr__(self, "binding", binding)


def _read_limit(limit: Guarantee | Fraction | Decimal | float | str) -> Guarantee:
    if isinstance(limit, Guarantee):
        return limit
    exact = _check.fraction(limit, "limit")
    if not exact > 0:
        raise ValueError(f"limit must be > 0, got {_check.shown(limit)}")
    return Pure(exact)


def find_account(place: str | Path | Account) -> Account:
    """The account to charge.

    Parameters
    ----------
    place
        An `Account`, or the file of a ledger that has exactly one dataset.

    Returns
    -------
    Account
        The account.

    Raises
    ------
    TypeError
        If ``place`` is neither.
    LedgerError
        If the ledger does not have exactly one dataset.
    """
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
            f"the ledger {str(place)!r} does not have exactly one dataset ({', '.join(map(repr, names)) or 'none'}); "
            "name the one to charge, and the limit of a new one, with inbounds.ledger.Account(ledger, dataset, limit)"
        )
    return Account(place, names[0])


def name_in(ledger: Path | None, dataset: object) -> str:
    """The name under which a dataset is charged: normalised, or as it already is in the ledger.

    Parameters
    ----------
    ledger
        The file of the ledger. It is only read if the name is not normalised.
    dataset
        The name.

    Returns
    -------
    str
        The name to charge.

    Raises
    ------
    ValueError
        If the name is empty or has invisible characters.
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
