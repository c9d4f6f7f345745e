"""Every exception and warning of the library, in one tree.

All of them are `ValueError`: something that was handed over is not what it should be. Mistakes in types of arguments
are plain `TypeError`. No message holds a value of the data.

::

    ValueError
    └── InboundsError
        ├── DataError              a table that its rules refuse
        │   └── TooManyRows        more rows than were allowed for
        ├── ExpressionError        a condition or formula that cannot be read
        ├── FileError              a file with mistakes, all of them at once
        │   ├── PlanError          a plan
        │   └── StudyError         a study
        ├── LedgerError            a ledger that cannot be used
        │   ├── BudgetRefused      a charge beyond the limit; nothing was spent
        │   └── Unfinished         a request that was charged and has no result
        ├── RecordError            a record whose parts do not agree
        ├── CertificateError       a certificate that does not prove what it says
        └── Contradiction          constraints that no numbers obey
    UserWarning
    └── LookAlike                  a new dataset whose name looks like one that is there
"""

from collections.abc import Iterable

from inbounds._text import visible

__all__ = [
    "BudgetRefused",
    "CertificateError",
    "Contradiction",
    "DataError",
    "ExpressionError",
    "FileError",
    "InboundsError",
    "LedgerError",
    "LookAlike",
    "PlanError",
    "RecordError",
    "StudyError",
    "TooManyRows",
    "Unfinished",
]


class InboundsError(ValueError):
    """Whatever the library refuses by a rule of its own."""


class DataError(InboundsError):
    """A table that cannot be used, by a rule of its schema. The text holds no data."""


class TooManyRows(DataError):
    """A table with more rows than were allowed for."""


class ExpressionError(InboundsError):
    """A condition or formula over columns that cannot be read. One line: the place, the rule, and what to write."""


class FileError(InboundsError):
    """A file with mistakes; ``problems`` has them all, a line each.

    Parameters
    ----------
    problems
        The mistakes.
    name
        What is wrong: a file's name.
    """

    def __init__(self, problems: Iterable[str], name: str) -> None:
        self.problems = tuple(visible(problem) for problem in problems)
        name = visible(name)
        lines = [f"{name}: {len(self.problems)} mistakes:", *(f"  {problem}" for problem in self.problems)]
        super().__init__(f"{name}: {self.problems[0]}" if len(self.problems) == 1 else "\n".join(lines))


class PlanError(FileError):
    """A plan with mistakes; ``problems`` has them all."""

    def __init__(self, problems: Iterable[str], name: str = "the plan") -> None:
        super().__init__(problems, name)


class StudyError(FileError):
    """A study with mistakes; ``problems`` has them all."""


class LedgerError(InboundsError):
    """A ledger that cannot be used: not one, not writable, or not what it was."""


class BudgetRefused(LedgerError):
    """A charge beyond the limit of its dataset. Nothing was spent."""


class Unfinished(LedgerError):
    """A request that was charged and has no result."""


class RecordError(InboundsError):
    """A record whose parts do not agree."""


class CertificateError(InboundsError):
    """A certificate that does not prove what it says."""


class Contradiction(InboundsError):
    """Constraints that no numbers obey."""


class LookAlike(UserWarning):
    """A dataset that is new to its ledger and looks like one that is there."""
