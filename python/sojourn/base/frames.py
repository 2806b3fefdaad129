"""Tables as arrays or frames: errors of their files; pandas without pyarrow, which Polars' `to_pandas` needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from sojourn.base.errors import MissingError, refuse_damaged
from sojourn.base.late import pl

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

Columns: TypeAlias = "Mapping[str, NDArray[Any]]"
"""Arrays of equal length by name."""


@contextmanager
def readable_table(path: Path) -> Iterator[None]:
    """Raise `InputError` if Polars cannot read the table of a result in the block."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        refuse_damaged(path.parent, f"{path.name} cannot be read ({(str(error).splitlines() or [''])[0]})")


def to_pandas(frame: pl.DataFrame) -> pd.DataFrame:
    """Convert a table to pandas: integers with nulls become Int64; enums (names of links, fates) become categories."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingError("pandas is missing; install it: pip install pandas") from None
    columns: dict[str, Any] = {}
    for column in frame.iter_columns():
        kind = column.dtype
        if isinstance(kind, pl.Enum):
            columns[column.name] = pd.Categorical(column.to_list(), categories=kind.categories.to_list())
        elif kind == pl.Null:
            columns[column.name] = [nan] * len(column)
        elif column.null_count() and (kind.is_integer() or kind == pl.Boolean):
            columns[column.name] = pd.array(column.to_list(), dtype="Int64" if kind.is_integer() else "boolean")
        elif kind.is_numeric() or kind == pl.Boolean:
            columns[column.name] = column.to_numpy()
        else:
            columns[column.name] = column.to_list()
    return pd.DataFrame(columns)
