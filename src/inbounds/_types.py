"""Types of public arguments, as a user may write them."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union

from inbounds.privacy.guarantee import Neighbours as Neighbours
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
Edges: TypeAlias = Sequence[Number]
# Names of libraries that are loaded when they are needed stay in quotes.
Table: TypeAlias = Union[Mapping[str, Sequence[Any]], "np.ndarray[Any, Any]", "IntoFrame"]
Data: TypeAlias = Union[Table, Sequence[Any], "IntoSeries"]
Ledger: TypeAlias = Union[str, "PathLike[str]", "Account"]
Method: TypeAlias = Literal["joint", "split"]
MatrixRepair: TypeAlias = Literal["clip", "nearest", "newton"]
CountRepair: TypeAlias = Literal["project", "none"]
HistogramRepair: TypeAlias = Literal["project", "none", "tree"]
ShareRepair: TypeAlias = Literal["project", "rescale", "all-but-one", "tree"]
