"""Tables in files: reading any kind that pandas knows, by the ending of its name, with errors that say what was seen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from gevglm.data.csv_dialect import kind_of_file, read_csv
from gevglm.exceptions import InvalidDataError, nearest

SEPARATORS = {".csv": ",", ".txt": ",", ".tsv": "\t", ".tab": "\t"}
NAMED = {"\t": "tabs", ";": "';'", ",": "','", "|": "'|'", " ": "blanks"}
READERS = {
    ".parquet": "read_parquet", ".pq": "read_parquet", ".feather": "read_feather", ".arrow": "read_feather",
    ".dta": "read_stata", ".sas7bdat": "read_sas", ".xpt": "read_sas", ".sav": "read_spss", ".zsav": "read_spss",
    ".xlsx": "read_excel",
}  # fmt: skip
SAS_ENCODINGS = {".sas7bdat": "infer", ".xpt": "latin-1"}
NEEDS = {
    "read_parquet": ("pyarrow", "parquet"),
    "read_feather": ("pyarrow", "parquet"),
    "read_spss": ("pyreadstat", "spss"),
    "read_excel": ("openpyxl", "excel"),
}  # packages, and the extras that install them
# how a file is read that is not as its name says
IN_PYTHON = {
    "sep": "Read it yourself, as in pd.read_csv({name!r}, sep={value!r}), and give the table.",
    "encoding": "read it yourself, as in pd.read_csv({name!r}, encoding='latin-1'), and give the table.",
}


def read_table(
    path: str | Path,
    *,
    sep: str | None = None,
    encoding: str | None = None,
    decimal: str = ".",
    advice: Mapping[str, str] = IN_PYTHON,
) -> pd.DataFrame:
    """Read a table from a file of any kind, by its name.

    Values with labels (Stata, SPSS) become levels of factors, under their labels. Of a workbook the first sheet is read.

    Parameters
    ----------
    path : path
    sep, encoding : str, optional
        Those of csv files, the latter also of SAS files.
    decimal : str
        The decimal point of csv files, "." or ",".
    advice : mapping
        What to do where the separator or the encoding is another: sentences with ``{name}`` and ``{value}`` to be filled in.
    """
    path, name = Path(path), str(path)
    if not path.exists():
        raise InvalidDataError(f"there is no file {name!r}.{_nearest_file(path)}")
    if path.is_dir():
        raise InvalidDataError(f"{name!r} is a folder; give a file.")
    kind = kind_of_file(path)
    if kind in SEPARATORS:
        return _read_csv(path, sep or SEPARATORS[kind], encoding, decimal, advice)
    if kind not in READERS:
        known = ", ".join([*SEPARATORS, *READERS])
        raise InvalidDataError(f"{name!r} is not a table by its name ({kind or 'no'} ending); known are {known}.")
    try:
        return getattr(pd, READERS[kind])(path, **read_options(kind, encoding))
    except ImportError:  # the optional packages of pandas
        package, extra = NEEDS[READERS[kind]]
        raise InvalidDataError(f"reading {kind} needs {package}: pip install 'gevglm[{extra}]'.") from None
    except Exception as error:
        raise InvalidDataError(f"{name!r} could not be read as {kind}: {error}") from error


def read_options(kind: str, encoding: str | None) -> dict[str, str]:
    """Return the options of the function of pandas that reads files of a kind."""
    return {"encoding": encoding or SAS_ENCODINGS[kind]} if kind in SAS_ENCODINGS else {}


def _read_csv(path: Path, sep: str, encoding: str | None, decimal: str, advice: Mapping[str, str]) -> pd.DataFrame:
    name = str(path)
    try:
        frame = read_csv(path, sep=sep, encoding=encoding or "utf-8", decimal=decimal)
    except UnicodeDecodeError as error:
        seen = error.object[max(error.start - 20, 0) : error.end + 10]
        what_to_do = advice["encoding"].format(name=name, value="latin-1")
        raise InvalidDataError(
            f"{name!r} is not {error.encoding}: byte 0x{error.object[error.start]:02x} in {seen!r}; {what_to_do}"
        ) from None
    except pd.errors.EmptyDataError:
        raise InvalidDataError(f"{name!r} is empty.") from None
    except (pd.errors.ParserError, OSError) as error:
        with_what = NAMED.get(sep, repr(sep))
        raise InvalidDataError(f"{name!r} could not be read with the separator {with_what}: {error}".rstrip()) from None
    if len(frame.columns) == 1:
        header = str(frame.columns[0])
        other = max((mark for mark in NAMED if mark != sep), key=header.count)
        if header.count(other):
            given = "\\t" if other == "\t" else other
            raise InvalidDataError(
                f"{name!r} was read with the separator {NAMED.get(sep, repr(sep))} and has one column, {header[:60]!r}: it looks separated by "
                f"{NAMED[other]}. {advice['sep'].format(name=name, value=given)}"
            )
    return frame


def _nearest_file(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f" There is no folder {str(folder)!r} either."
    return nearest(path.name, [file.name for file in folder.iterdir() if file.is_file()])
