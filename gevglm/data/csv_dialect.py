"""One dialect of csv, which pandas reads whole and pyarrow in pieces: the words for missing values, and which texts are numbers.

A column is of whole numbers, of numbers, of truth values or of text, if all its values are; dates are text, and so are hexadecimal numbers. Whole
numbers keep all their digits: those that do not fit into 64 bits are text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

MISSING_WORDS = [
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a",
    "nan", "null",
]  # fmt: skip
TRUE_WORDS, FALSE_WORDS = ["True", "TRUE", "true"], ["False", "FALSE", "false"]
PACKED = (".gz", ".bz2", ".xz", ".zip", ".zst")
WHOLE, LONG = r"^\s*-?[0-9]+\s*$", r"^\s*-?[0-9]{16,}\s*$"
ROUNDS_EXACTLY = tuple(int(part) for part in pd.__version__.split(".")[:2]) >= (3, 1)
EXACT = 2.0**53  # below it, every whole number is a floating-point number


def kind_of_file(path: Path) -> str:
    """Return the ending of a file's name, that of a compression left out.

    Examples
    --------
    >>> kind_of_file(Path("a.csv.gz")), kind_of_file(Path("a.csv.bak"))
    ('.csv', '.bak')
    """
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] in PACKED:
        endings.pop()
    return endings[-1] if endings else ""


@contextmanager
def unpacked(path: str | Path) -> Iterator[Any]:
    """Open a file that may be compressed, where pyarrow and pandas do not agree on how; its path otherwise."""
    if str(path).lower().endswith(".zst"):
        import pyarrow as pa

        with pa.input_stream(str(path), compression="zstd") as file:
            yield file
    elif str(path).lower().endswith(".xz"):
        import lzma

        with lzma.open(path) as file:
            yield file
    elif str(path).lower().endswith(".zip"):
        import zipfile

        with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as file:
            yield file
    else:
        yield str(path)


def read_csv(path: str | Path, *, sep: str = ",", encoding: str = "utf-8", decimal: str = ".") -> pd.DataFrame:
    """Read a whole csv file."""
    frame = _read(path, sep, encoding, decimal=decimal)
    doubtful = [place for place in range(frame.shape[1]) if _may_be_long(frame.iloc[:, place])]
    if doubtful:
        texts = _read(path, sep, encoding, usecols=doubtful, dtype=str)
        for column, place in enumerate(doubtful):
            frame.isetitem(place, _exactly(texts.iloc[:, column]))
    return frame


def _read(path: str | Path, sep: str, encoding: str, **options: Any) -> pd.DataFrame:
    words: dict[str, Any] = {"na_values": MISSING_WORDS, "keep_default_na": False}
    words |= {"true_values": TRUE_WORDS, "false_values": FALSE_WORDS}
    if len(sep) == 1 or sep == r"\s+":  # the fast reader of pandas: numbers to the last digit, types by all rows
        words |= {"low_memory": False} | ({} if ROUNDS_EXACTLY else {"float_precision": "round_trip"})
    with unpacked(path) as file:
        return pd.read_csv(file, sep=sep, encoding=encoding, **words, **options)


def _may_be_long(column: pd.Series) -> bool:
    """Whether a column may have whole numbers of more digits than floating-point numbers have, which pandas does not always read as such."""
    if column.dtype.kind == "f":
        return bool((column.abs() >= EXACT).any()) and column.hasnans
    if pd.api.types.is_numeric_dtype(column.dtype) or not len(column):
        return False
    return bool(re.match(WHOLE, str(column.iloc[0]))) and any(re.match(LONG, str(value)) for value in column)


def _exactly(texts: pd.Series) -> pd.Series:
    """Return texts as whole numbers, if they are such numbers and fit into 64 bits; as numbers, if some have a fraction; unchanged otherwise."""
    given = texts.dropna()
    if all(re.match(WHOLE, text) for text in given):
        numbers = [None if pd.isna(text) else int(text) for text in texts]
        low, high = (end((number for number in numbers if number is not None), default=0) for end in (min, max))
        for dtype, first, last in (("Int64", -(2**63), 2**63), ("UInt64", 0, 2**64)):
            if first <= low and high < last:
                exact = pd.Series(pd.array(numbers, dtype=dtype), index=texts.index)
                return exact if texts.hasnans else exact.astype(dtype.lower())
        return texts
    try:
        return texts.astype(float)
    except ValueError:
        return texts
