"""From what the user gives as data to a source, where it is one."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from gevglm.data.sources.base import Source
from gevglm.data.sources.csv import CsvSource
from gevglm.data.sources.frames import FramesSource
from gevglm.data.sources.parquet import ParquetSource
from gevglm.exceptions import InvalidDataError

LARGE_FILE = 200 << 20  # bytes from which a single file is streamed
READERS = {".parquet": ParquetSource, ".pq": ParquetSource, ".csv": CsvSource}


def as_source(data: Any) -> Source | None:
    """Return a source for data that come in pieces, None for a table that is to be held in memory.

    Parameters
    ----------
    data : object
        A pattern of file names, a folder, a list of files, a large file; a function that returns an iterable of DataFrames, or a
        list of them; a Dask DataFrame.
    """
    if isinstance(data, (str, Path)):
        return _of_path(data)
    if isinstance(data, (list, tuple)) and data and all(isinstance(part, (str, Path)) for part in data):
        return _of_files([Path(part) for part in data], f"{len(data)} files")
    if isinstance(data, (list, tuple)) and data and all(isinstance(part, pd.DataFrame) for part in data):
        tables = list(data)
        source = FramesSource(lambda: tables)
        source.name = f"{len(data)} tables"
        return source
    if type(data).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(data, "npartitions"):
        from gevglm.data.sources.dask import DaskSource

        return DaskSource(data)
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
    if path.exists() and path.stat().st_size >= LARGE_FILE:
        return _of_files([path], repr(text))
    return None


def _is_data(path: Path) -> bool:
    return _suffix(path) in READERS and not any(part.startswith((".", "_")) for part in path.parts)


def _of_files(files: list[Path], name: str) -> Source:
    absent = [file for file in files if not file.exists()]
    if absent:
        raise InvalidDataError(f"there is no file {str(absent[0])!r}.")
    odd = [file for file in files if _suffix(file) not in READERS]
    if odd:
        raise InvalidDataError(f"{str(odd[0])!r} is neither a csv nor a parquet file by its name.")
    readers = {READERS[_suffix(file)] for file in files}
    if len(readers) > 1:
        raise InvalidDataError(f"{name} holds both csv and parquet files; give a pattern that matches one kind.")
    return readers.pop()(files, name)


def _suffix(path: Path) -> str:
    return next((suffix.lower() for suffix in path.suffixes if suffix.lower() in READERS), "")
