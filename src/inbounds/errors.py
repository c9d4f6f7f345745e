"""Every exception and warning of the library, in one tree.

All exceptions are a `ValueError`: an argument, a file or a table is not what it should be. An argument of the wrong
type raises a plain `TypeError`. No message shows a value of the data.

::

    ValueError
    └── InboundsError
        ├── DataError              a table that breaks the rules of its columns
        │   ├── EngineError        an engine that failed while it ran a query
        │   └── TooManyRows        more rows than the rules allow
        ├── ExpressionError        a condition or formula that cannot be read
        ├── FileError              a file with mistakes; lists all of them
        │   ├── PlanError          a plan
        │   └── StudyError         a study
        ├── LedgerError            a ledger that cannot be used
        │   ├── BudgetRefused      a charge beyond the limit; nothing was spent
        │   └── Unfinished         a request that was charged and has no result
        ├── RecordError            a record whose parts do not agree
        ├── CertificateError       a certificate that does not prove what it says
        └── Contradiction          constraints that cannot all be met
    UserWarning
    ├── LookAlike                  a new dataset whose name looks like an existing one
    ├── OtherLimit                 a limit that is stated, but is not that of the dataset in the ledger
    ├── PublicSize                 a query whose number of rows is taken as public
    └── UnlistedLevel              a level that is counted, of a column whose levels are not listed
"""

from collections.abc import Iterable

from inbounds._text import shorten, visible

__all__ = [
    "BudgetRefused",
    "CertificateError",
    "Contradiction",
    "DataError",
    "EngineError",
    "ExpressionError",
    "FileError",
    "InboundsError",
    "LedgerError",
    "LookAlike",
    "OtherLimit",
    "PlanError",
    "PublicSize",
    "RecordError",
    "StudyError",
    "TooManyRows",
    "Unfinished",
    "UnlistedLevel",
]


# No message is longer than a reader can take in, however long the names and lists are that it has to show.
LONGEST, _LONGEST_PROBLEM, _MOST_PROBLEMS = 2_000, 400, 20


class InboundsError(ValueError):
    """The base class of all exceptions of the library. A message that is too long is shortened in its middle."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(shorten(each, LONGEST) if isinstance(each, str) else each for each in arguments))


class DataError(InboundsError):
    """A table that breaks the rules of its columns, so that it cannot be used. The message shows no data."""


class EngineError(DataError):
    """An engine that failed while it ran a query. Only the name of its error is shown: its message might quote data."""

    def __init__(self, message: str, failure: str = "") -> None:
        super().__init__(message)
        self.failure = failure


class TooManyRows(DataError):
    """A table with more rows than the statistic was planned for."""


class ExpressionError(InboundsError):
    """A condition or formula over columns that cannot be read. One line: the place, the rule, and what to write."""


class FileError(InboundsError):
    """A file with mistakes. The message shows the first twenty.

    Parameters
    ----------
    problems
        The mistakes, each in one line.
    name
        The name of the file, for the message.

    Attributes
    ----------
    problems : tuple of str
        All mistakes, in the order of the file.

    Examples
    --------
    >>> print(FileError(["epsilon: must be given", "rows: must be given"], "plan.toml"))
    plan.toml: 2 mistakes:
      epsilon: must be given
      rows: must be given
    """

    def __init__(self, problems: Iterable[str], name: str) -> None:
        self.problems = tuple(shorten(visible(problem), _LONGEST_PROBLEM) for problem in problems)
        name, count = shorten(visible(name), _LONGEST_PROBLEM), len(self.problems)
        lines = [f"{name}: {count:,} mistakes:", *(f"  {problem}" for problem in self.problems[:_MOST_PROBLEMS])]
        if count > _MOST_PROBLEMS:
            lines.append(f"  and {count - _MOST_PROBLEMS:,} more; correct these first")
        # Each line is short, and so the whole is.
        ValueError.__init__(self, f"{name}: {self.problems[0]}" if count == 1 else "\n".join(lines))


class PlanError(FileError):
    """A plan with mistakes.

    Parameters
    ----------
    problems
        The mistakes, each in one line.
    name
        The name of the plan's file, for the message.

    Attributes
    ----------
    problems : tuple of str
        All mistakes, in the order of the plan.
    """

    def __init__(self, problems: Iterable[str], name: str = "the plan") -> None:
        super().__init__(problems, name)


class StudyError(FileError):
    """A study with mistakes; see `FileError`."""


class LedgerError(InboundsError):
    """A ledger that cannot be used: the file is not a ledger, cannot be written, or was changed."""


class BudgetRefused(LedgerError):
    """A charge that would exceed the limit of its dataset. Nothing was spent."""


class Unfinished(LedgerError):
    """A request that was charged but has no result, because the run was interrupted."""


class RecordError(InboundsError):
    """A record whose parts do not agree."""


class CertificateError(InboundsError):
    """A certificate that does not prove what it says."""


class Contradiction(InboundsError):
    """Constraints that cannot all be met."""


class LookAlike(UserWarning):
    """A dataset that is new to its ledger, with a name that looks like one that the ledger has."""


class OtherLimit(UserWarning):
    """A plan or an account states another limit than the ledger has for its dataset.

    Only `inbounds.ledger.raise_limit` changes that one. A smaller limit that is stated binds the charges that state it.
    """


class PublicSize(UserWarning):
    """The number of rows of a lazy table or a query was not given, and is taken as public.

    If the table was filtered, its size says how many records passed the filter. Give the whole table with ``where=``,
    or protect the number with ``neighbours="add-remove"``. ``rows=`` states that the number is public.
    """


class UnlistedLevel(UserWarning):
    """A level is counted of a column whose levels are not listed.

    If the level is misspelt, its count is 0 plus noise, and the budget is spent. ``levels=`` lists the values that the
    column may have, and `inbounds.category` declares them for all statistics of an `inbounds.Table`.
    """
