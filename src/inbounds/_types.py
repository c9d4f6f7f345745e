"""Types of public arguments, as a user may write them."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union

from inbounds.privacy.guarantee import Neighbours as Neighbours
from inbounds.privacy.persons import Fold as Fold
from inbounds.privacy.persons import Keep as Keep
from inbounds.privacy.persons import MissingPerson as MissingPerson
from inbounds.privacy.terms import Bounding as Bounding
from inbounds.tables.schema import Level as Level

if TYPE_CHECKING:
    import numpy as np
    from narwhals.typing import IntoFrame, IntoSeries

    from inbounds.ledger import Account

# A number: decimals are taken as written.
Number: TypeAlias = int | float | str | Fraction | Decimal
Bounds: TypeAlias = Sequence[Number]
Levels: TypeAlias = Sequence[Level]
# Groups by one column or several: names of columns, and their rules for each where there are several.
By: TypeAlias = str | Sequence[str]
GroupLevels: TypeAlias = Levels | Mapping[str, Levels]
GroupPlace: TypeAlias = Level | Mapping[str, Level]
# What a missing value counts as: a number, or left out.
Missing: TypeAlias = Number | Literal["skip"]
# The same of several columns: by column, or that of all of them.
MissingOfAll: TypeAlias = Mapping[str, Missing] | Literal["skip"]
# Levels in nested groups: (("a", "b"), ("c", "d")).
Tree: TypeAlias = Sequence[Union[Level, "Tree"]]
Edges: TypeAlias = Sequence[Number]
# These libraries are loaded only when they are needed, so their names are in quotes.
Table: TypeAlias = Union[
    Mapping[str, "Sequence[object] | np.ndarray[Any, Any]"], "np.ndarray[Any, Any]", "IntoFrame", str, Path
]
Data: TypeAlias = Union[Table, Sequence[object], "IntoSeries"]
Ledger: TypeAlias = Union[str, "PathLike[str]", "Account"]
Method: TypeAlias = Literal["joint", "elements", "split"]
PooledMethod: TypeAlias = Literal["joint", "split"]
MeanMethod: TypeAlias = Literal["moments", "direct"]
SpreadMethod: TypeAlias = Literal["centred", "robust", "moments", "direct"]
QuantileMethod: TypeAlias = Literal["together", "halving", "counts"]
# Guesses of the mean and the standard deviation of a column: a number or a range for each.
PlausibleSpread: TypeAlias = Mapping[Literal["mean", "sd"], Union[float, Sequence[float]]]
Side: TypeAlias = Literal["both", "upper", "lower"]
MatrixRepair: TypeAlias = Literal["clip", "nearest", "newton"]
CountRepair: TypeAlias = Literal["project", "none"]
HistogramRepair: TypeAlias = Literal["project", "none", "tree"]
ShareRepair: TypeAlias = Literal["project", "rescale", "all-but-one", "tree"]
