"""Tables in files: reading any kind that pandas knows, with errors that say what was seen; writing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = {".csv": ",", ".txt": ",", ".tsv": "\t", ".tab": "\t"}
NAMED = {"\t": "tabs", ";": "';'", ",": "','", "|": "'|'", " ": "blanks"}
PACKING = {".gz": "gzip", ".bz2": "bz2", ".zip": "zip", ".xz": "xz", ".zst": "zstd"}  # in pandas' words
WRITTEN = {
    ".parquet": lambda frame, file: frame.to_parquet(file),
    ".feather": lambda frame, file: frame.to_feather(file),
    ".dta": lambda frame, file: frame.to_stata(file, write_index=False),
}
READERS = {
    ".parquet": "read_parquet", ".pq": "read_parquet", ".feather": "read_feather", ".arrow": "read_feather",
    ".dta": "read_stata", ".sas7bdat": "read_sas", ".xpt": "read_sas", ".sav": "read_spss", ".zsav": "read_spss",
}  # fmt: skip
SAS_ENCODINGS = {".sas7bdat": "infer", ".xpt": "latin-1"}
NEEDS = {"read_parquet": "pyarrow", "read_feather": "pyarrow", "read_spss": "pyreadstat"}


def read_table(name: str, *, sep: str | None = None, encoding: str | None = None) -> pd.DataFrame:
    """Read a table from a file of any kind, by its name; `sep` and `encoding` are those of csv files, the latter also of SAS files."""
    import pandas as pd

    from gevglm.exceptions import InvalidDataError

    path = Path(name)
    if not path.exists():
        raise InvalidDataError(f"there is no file {name!r}.{_nearest_file(path)}")
    if path.is_dir():
        raise InvalidDataError(f"{name!r} is a folder; give a file.")
    kind = _kind(path)
    if kind in SEPARATORS:
        return _read_csv(path, _unescaped(sep) or SEPARATORS[kind], encoding)
    if kind not in READERS:
        known = ", ".join([*SEPARATORS, *READERS])
        raise InvalidDataError(f"{name!r} is not a table by its name ({kind or 'no'} ending); known are {known}.")
    try:
        return getattr(pd, READERS[kind])(path, **_read_options(kind, encoding))
    except ImportError:  # the optional packages of pandas
        needed = NEEDS[READERS[kind]]
        raise InvalidDataError(f"reading {kind} needs {needed}: pip install {needed}.") from None
    except Exception as error:
        raise InvalidDataError(f"{name!r} could not be read as {kind}: {error}") from error


def reading_code(name: str, sep: str | None, encoding: str | None) -> str:
    r"""Return the Python that reads a table as :func:`read_table` does.

    Examples
    --------
    >>> reading_code("a.tsv", None, "latin-1")
    "pd.read_csv('a.tsv', sep='\\t', encoding='latin-1')"
    """
    kind = _kind(Path(name))
    if kind in SEPARATORS:
        reader, mark = "read_csv", _unescaped(sep) or SEPARATORS[kind]
        options = ({} if mark == "," else {"sep": mark}) | ({"encoding": encoding} if encoding else {})
    else:
        reader, options = READERS[kind], _read_options(kind, encoding)
    return f"pd.{reader}({', '.join([repr(name), *(f'{key}={value!r}' for key, value in options.items())])})"


def _read_options(kind: str, encoding: str | None) -> dict[str, str]:
    return {"encoding": encoding or SAS_ENCODINGS[kind]} if kind in SAS_ENCODINGS else {}


def comes_in_pieces(name: str) -> bool:
    """Tell whether data are too large for memory, or several files: :func:`gevglm.fit` reads them piece by piece."""
    from gevglm.data.sources import as_source

    return as_source(name) is not None


def files_of(name: str) -> list[str]:
    """Return the files that data consist of: one, or those of a folder or pattern."""
    from gevglm.data.sources import as_source

    source = as_source(name)
    return [name] if source is None else list(source.paths)


def check_output(name: str) -> None:
    """Refuse a name that no table can be written to, before anything is computed; "-" is stdout."""
    from gevglm._files import check_target
    from gevglm.exceptions import InvalidOptionError

    if name == "-":
        return
    if _kind(Path(name)) not in (*WRITTEN, *SEPARATORS):
        known = ", ".join([*WRITTEN, *SEPARATORS])
        raise InvalidOptionError(f"{name!r} has an ending that cannot be written; use one of {known}.")
    check_target(name)


def write_table(frame: pd.DataFrame, name: str) -> None:
    """Write a table to a file, its kind by its name; to stdout as csv for "-"."""
    import sys

    from gevglm._files import writing

    if name == "-":
        frame.to_csv(sys.stdout, index=False)
        return
    path = Path(name)
    kind = _kind(path)
    with writing(path) as file:
        if kind in WRITTEN:
            WRITTEN[kind](frame.reset_index(drop=True), file)
        else:
            frame.to_csv(file, index=False, sep=SEPARATORS[kind], compression=_packing(path))


def _read_csv(path: Path, sep: str, encoding: str | None) -> pd.DataFrame:
    import pandas as pd

    from gevglm.data.csv_dialect import read_csv
    from gevglm.exceptions import InvalidDataError, InvalidOptionError

    try:
        frame = read_csv(path, sep=sep, encoding=encoding or "utf-8")
    except UnicodeDecodeError as error:
        seen = error.object[max(error.start - 20, 0) : error.end + 10]
        raise InvalidDataError(
            f"{str(path)!r} is not {error.encoding}: byte 0x{error.object[error.start]:02x} in {seen!r}; "
            "give its encoding, as in --encoding latin-1."
        ) from None
    except LookupError:
        raise InvalidOptionError(
            f"--encoding {encoding!r} is not known; common ones are utf-8, latin-1, cp1252, utf-16."
        ) from None
    except pd.errors.EmptyDataError:
        raise InvalidDataError(f"{str(path)!r} is empty.") from None
    except (pd.errors.ParserError, OSError) as error:
        raise InvalidDataError(
            f"{str(path)!r} could not be read with the separator {NAMED.get(sep, repr(sep))}: {error}".rstrip()
        ) from None
    if len(frame.columns) == 1:
        header = str(frame.columns[0])
        other = max((mark for mark in NAMED if mark != sep), key=header.count)
        if header.count(other):
            given = "\\t" if other == "\t" else other
            raise InvalidDataError(
                f"{str(path)!r} was read with the separator {NAMED.get(sep, repr(sep))} and has one column, {header[:60]!r}: it looks separated by "
                f"{NAMED[other]}. Give --sep '{given}'."
            )
    return frame


def _kind(path: Path) -> str:
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] in PACKING:
        endings.pop()
    return endings[-1] if endings else ""


def _packing(path: Path) -> dict[str, str] | None:
    """Return how a file is compressed, by its name."""
    method = PACKING.get(path.suffix.lower())
    if method is None:
        return None
    return {"method": method, "archive_name": path.stem} if method == "zip" else {"method": method}


def _unescaped(sep: str | None) -> str | None:
    return "\t" if sep in ("\\t", "tab") else sep


def _nearest_file(path: Path) -> str:
    from gevglm.exceptions import nearest

    folder = path.parent
    if not folder.is_dir():
        return f" There is no folder {str(folder)!r} either."
    return nearest(path.name, [file.name for file in folder.iterdir() if file.is_file()])
