"""Columns to be tested, wherever they are: read a few at a time, as numbers of the rows of a model, or with the reason why they are none."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse

from gevglm.data.design import Design
from gevglm.data.tables import aligned, suggestion, unmasked
from gevglm.exceptions import InvalidDataError, InvalidOptionError, listed

CHUNK_NUMBERS = 1 << 22  # of a chunk of columns, as floats in memory
INDEX = re.compile(r"__index_level_\d+__$")  # of a DataFrame, among the columns of a file that it was saved to
PARQUET = (".parquet", ".pq")
NUMBERS = ("boolean", "integer", "floating", "mixed-integer-float", "decimal")  # what pandas calls objects that are


@dataclass(frozen=True)
class Columns:
    """Columns of a table of any kind, in their order."""

    names: list[str]
    read: Callable[[slice], Any]  # some of them: as a DataFrame, an array with a row for each, or a list of values

    @classmethod
    def of(cls, given: Any, data: pd.DataFrame | None) -> Columns:
        """Find the columns that are given: by name or pattern in the data, as an array or table, sparse, or in a parquet file."""
        if isinstance(given, Path) or (isinstance(given, str) and given.endswith(PARQUET)):
            given = _opened(Path(given))
        elif isinstance(given, str) or (isinstance(given, (list, tuple)) and all(isinstance(n, str) for n in given)):
            given = matching(given, data, "columns")
        if isinstance(given, Mapping):
            values = list(given.values())
            return cls([str(name) for name in given], lambda part: values[part])
        if isinstance(given, pd.DataFrame):
            table = given if data is None or len(given) != len(data) else aligned(given, data.index, "columns")
            return cls([str(name) for name in table.columns], lambda part: table.iloc[:, part])
        if hasattr(given, "schema") and hasattr(given, "to_table"):  # a dataset of pyarrow
            names = [name for name in given.schema.names if not INDEX.match(name)]
            return cls(names, lambda part: given.to_table(columns=names[part]).to_pandas(ignore_metadata=True))
        if hasattr(given, "column_names"):  # a table of pyarrow
            names = [name for name in given.column_names if not INDEX.match(name)]
            return cls(names, lambda part: given.select(names[part]).to_pandas(ignore_metadata=True))
        if hasattr(given, "to_pandas") and hasattr(given, "columns"):  # polars
            names = list(given.columns)
            return cls(names, lambda part: given.select(names[part]).to_pandas())
        if issparse(given):
            by_column = given.tocsc()
            return cls(_numbered(given), lambda part: by_column[:, part].T.toarray())
        try:
            array = np.asarray(unmasked(given))
        except ValueError as error:  # of rows of different lengths
            raise InvalidOptionError(f"columns is no table ({error}); columns one by one are a dict of them.") from None
        array = array[:, None] if array.ndim == 1 else array
        if array.ndim != 2:
            raise InvalidOptionError(f"columns has shape {array.shape}; give an array of shape (n, m).")
        return cls(_numbered(array), lambda part: array[:, part].T)

    def __len__(self) -> int:
        return len(self.names)

    def chunks(self, n_rows: int) -> list[slice]:
        """Return which columns are read together."""
        size = max(8, CHUNK_NUMBERS // max(n_rows, 1))
        return [slice(first, min(first + size, len(self))) for first in range(0, len(self), size)]

    def numbers(self, part: slice, design: Design) -> tuple[NDArray, list[str]]:
        """Return some columns in the rows of a design, of shape (m, n), and for each of them why it is not numbers, or nothing."""
        given = self.read(part)
        n_read = given.shape[1] if isinstance(given, np.ndarray) else len(given) if hasattr(given, "iloc") else None
        if n_read not in (None, design.n_given, design.n_rows):
            raise InvalidDataError(
                f"columns has {n_read} rows, but the data have {design.n_given}; give a value for each."
            )
        m = len(self.names[part])
        reasons = [""] * m
        if isinstance(given, np.ndarray) and given.dtype.kind in "fiub":
            return np.ascontiguousarray(_used(given.T, design).T, dtype=float), reasons
        found = np.full((m, design.n_rows), np.nan)
        for j in range(m):
            values = _as_numbers(given.iloc[:, j] if hasattr(given, "iloc") else given[j])
            if isinstance(values, str):
                reasons[j] = values
            elif len(values) not in (design.n_given, design.n_rows):
                reasons[j] = f"has {len(values)} rows, but the data have {design.n_given}"
            else:
                found[j] = _used(values, design)
        return found, reasons


def matching(given: str | Sequence[str], data: pd.DataFrame | None, role: str) -> pd.DataFrame:
    """Return the columns of the data that names or patterns such as ``"snp*"`` stand for, each once."""
    if data is None:
        raise InvalidOptionError(f"{role}={given!r} names columns, but the data are arrays; give an array.")
    names = [str(name) for name in data.columns]
    at = {name: j for j, name in reversed(list(enumerate(names)))}
    found: dict[int, None] = {}
    absent = []
    for word in [given] if isinstance(given, str) else given:
        places = [at[word]] if word in at else [j for j, name in enumerate(names) if fnmatchcase(name, word)]
        found |= dict.fromkeys(places)
        absent += [] if places else [word]
    if absent:
        raise InvalidDataError(
            f"{role} names {listed(map(repr, absent))}, not in the data.{suggestion(absent[0], data.columns)}"
        )
    return data.iloc[:, list(found)]


def _used(values: NDArray, design: Design) -> NDArray:
    """Return the values in the rows that a model uses, of those in the rows of its data or in the same ones."""
    return values if design.rows is None or len(values) == design.n_rows else values[design.rows]


def _as_numbers(values: Any) -> NDArray | str:
    """Return one column as floats, or why it is not numbers."""
    series = pd.Series(values if np.ndim(values) == 1 else np.ravel(values), copy=False)
    if series.dtype == object and pd.api.types.infer_dtype(series, skipna=True) in NUMBERS:
        series = pd.to_numeric(series)
    if not pd.api.types.is_numeric_dtype(series.dtype) or series.dtype.kind == "c":
        return f"is not numbers but {series.dtype}"
    return series.to_numpy(dtype=float, na_value=np.nan)


def _numbered(array: Any) -> list[str]:
    return [f"x{j}" for j in range(1, array.shape[1] + 1)]


def _opened(path: Path) -> Any:
    """Return a parquet file, or a folder of them, as a dataset of which only the columns are read that are asked for."""
    if not path.exists():
        raise InvalidDataError(f"there is no file {str(path)!r}.")
    try:
        from pyarrow.dataset import dataset
    except ImportError:
        raise InvalidDataError(f"reading {str(path)!r} needs pyarrow: pip install 'gevglm[parquet]'.") from None
    try:
        return dataset(path, format="parquet")
    except Exception as error:
        raise InvalidDataError(f"{str(path)!r} could not be read: {error}") from error
