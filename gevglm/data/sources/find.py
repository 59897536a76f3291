"""From what the user gives as data to a source, where it is one."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

import pandas as pd
from patsy import PatsyError

from gevglm.data import formula as formulas
from gevglm.data.columns import as_numbers, is_number
from gevglm.data.csv_dialect import kind_of_file
from gevglm.data.expressions import expression
from gevglm.data.formula_engines import read, terms_of
from gevglm.data.lazy_tables import LARGE, lazy_table
from gevglm.data.sources.base import Source
from gevglm.data.sources.csv import CsvSource
from gevglm.data.sources.frames import FramesSource, WideSource
from gevglm.data.sources.lazy import LazySource
from gevglm.data.sources.parquet import ParquetSource
from gevglm.data.suspicions import warn_of_versions
from gevglm.data.tables import owned
from gevglm.exceptions import InvalidDataError

LARGE_FILE = LARGE  # bytes from which a single file is streamed
WIDE_BYTES = 2 << 30  # of a dense design that is not built
SAMPLE = 10_000  # rows that tell whether all need be looked at
READERS = {".parquet": ParquetSource, ".pq": ParquetSource, ".csv": CsvSource}


def as_source(data: Any) -> Source | None:
    """Return a source for data that come in pieces, None for a table that is to be held in memory.

    Parameters
    ----------
    data : object
        A pattern of file names, a folder, a list of files, a large file; a function that returns an iterable of DataFrames, or a
        list of them; a Dask DataFrame; a large lazy frame of polars, dataset of pyarrow or relation of DuckDB; a source, unchanged.
    """
    if isinstance(data, Source):
        return data
    if isinstance(data, (str, Path)):
        return _of_path(data)
    if isinstance(data, (list, tuple)) and data and all(isinstance(part, (str, Path)) for part in data):
        return _of_files([Path(part) for part in data], f"{len(data)} files")
    if isinstance(data, (list, tuple)) and data and all(isinstance(part, pd.DataFrame) for part in data):
        warn_of_versions(data)
        tables = [owned(part) for part in data]
        source = FramesSource(lambda: tables)
        source.name = f"{len(data)} tables"
        return source
    if type(data).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(data, "npartitions"):
        from gevglm.data.sources.dask import DaskSource

        return DaskSource(data)
    lazy = lazy_table(data)
    if lazy is not None:
        return LazySource(lazy) if lazy.is_large else None
    if hasattr(data, "__arrow_c_stream__"):  # a stream that can be read once, or a table
        return None
    if isinstance(data, Iterator):
        raise InvalidDataError(
            f"data is a {type(data).__name__}, which can be read once, but a fit reads the data several times; give a function that "
            "returns a new one each time, as in fit(formula, lambda: pd.read_csv(path, chunksize=100_000))."
        )
    if callable(data) and not hasattr(data, "columns"):
        return FramesSource(data)
    return None


def _of_path(data: str | Path) -> Source | None:
    text, path = str(data), Path(data)
    if path.is_dir():
        files = [file for file in sorted(path.rglob("*")) if _is_data(file.relative_to(path))]
        if not files:
            raise InvalidDataError(f"there is no csv or parquet file in {text!r}.")
        return _of_files(files, repr(text))
    if not path.exists() and glob.has_magic(text):
        files = [Path(name) for name in sorted(glob.glob(text, recursive=True)) if Path(name).is_file()]
        if not files:
            raise InvalidDataError(f"no file matches {text!r}.")
        return _of_files(files, repr(text))
    if path.exists() and path.stat().st_size >= LARGE_FILE and kind_of_file(path) in READERS:
        return _of_files([path], repr(text))
    return None


def _is_data(path: Path) -> bool:
    return kind_of_file(path) in READERS and not any(part.startswith((".", "_")) for part in path.parts)


def _of_files(files: list[Path], name: str) -> Source:
    absent = [file for file in files if not file.exists()]
    if absent:
        raise InvalidDataError(f"there is no file {str(absent[0])!r}.")
    odd = [file for file in files if kind_of_file(file) not in READERS]
    if odd:
        raise InvalidDataError(f"{str(odd[0])!r} is neither a csv nor a parquet file by its name.")
    readers = {READERS[kind_of_file(file)] for file in files}
    if len(readers) > 1:
        raise InvalidDataError(f"{name} holds both csv and parquet files; give a pattern that matches one kind.")
    return readers.pop()(files, name)


def wide_source(formula: str, table: pd.DataFrame, engine: str | None = None) -> WideSource | None:
    """Return a source for a table whose dense design would be too large because of the levels of its factors, else None.

    Parameters
    ----------
    formula : str
    table : DataFrame
    engine : {"formulaic", "patsy"}, optional
        patsy knows no sparse designs.
    """
    most_columns = WIDE_BYTES / 8 / max(len(table), 1)
    if engine == "patsy" or most_columns > len(table):
        return None
    sample = table.iloc[:: max(len(table) // SAMPLE, 1)]
    wide = all(_columns(formula, rows) > share * most_columns for rows, share in ((sample, 0.5), (table, 1.0)))
    return WideSource(owned(table)) if wide else None


def _columns(formula: str, table: pd.DataFrame) -> int:
    """Return about how many columns a formula has, from the levels that rows have."""
    try:
        terms = terms_of(read(formulas.split(formula)[1]))
    except PatsyError:  # which is explained elsewhere
        return 0
    return sum(prod(_levels(factor, table) for factor in term) for term in terms)


def _levels(factor: str, table: pd.DataFrame) -> int:
    name = expression(factor).variable
    if name not in table.columns or (is_number(as_numbers(table[name]).dtype) and not factor.startswith("C(")):
        return 1
    return int(table[name].nunique())
