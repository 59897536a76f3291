"""Tables in files, as the command line reads and writes them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    import pandas as pd

PACKING = {".gz": "gzip", ".bz2": "bz2", ".zip": "zip", ".xz": "xz", ".zst": "zstd"}  # in pandas' words
WRITTEN = {
    ".parquet": lambda frame, file: frame.to_parquet(file),
    ".feather": lambda frame, file: frame.to_feather(file),
    ".dta": lambda frame, file: frame.to_stata(file, write_index=False),
}
ADVICE = {"sep": "Give --sep '{value}'.", "encoding": "give its encoding, as in --encoding latin-1."}


def read_table(name: str, options: argparse.Namespace) -> pd.DataFrame:
    """Read a table from a file of any kind, by its name and the options for reading; see :func:`gevglm.data.files.read_table`."""
    from gevglm.data import files
    from gevglm.exceptions import IncompatibleOptionsError, InvalidOptionError

    sep, decimal = _unescaped(options.sep), options.decimal
    if decimal == "," and sep in (None, ",") and Path(name).suffix not in (".tsv", ".tab"):
        raise IncompatibleOptionsError("--decimal , needs another separator than the comma; give it, as in --sep ';'.")
    try:
        return files.read_table(name, sep=sep, encoding=options.encoding, decimal=decimal, advice=ADVICE)
    except LookupError:
        raise InvalidOptionError(
            f"--encoding {options.encoding!r} is not known; common ones are utf-8, latin-1, cp1252, utf-16."
        ) from None


def reading_code(name: str, sep: str | None, encoding: str | None, decimal: str = ".") -> str:
    r"""Return the Python that reads a table as :func:`read_table` does.

    Examples
    --------
    >>> reading_code("a.tsv", None, "latin-1")
    "pd.read_csv('a.tsv', sep='\\t', encoding='latin-1')"
    """
    from gevglm.data.csv_dialect import kind_of_file
    from gevglm.data.files import READERS, SEPARATORS, read_options

    kind = kind_of_file(Path(name))
    if kind in SEPARATORS:
        reader, mark = "read_csv", _unescaped(sep) or SEPARATORS[kind]
        options = ({} if mark == "," else {"sep": mark}) | ({"encoding": encoding} if encoding else {})
        options |= {} if decimal == "." else {"decimal": decimal}
    else:
        reader, options = READERS[kind], read_options(kind, encoding)
    return f"pd.{reader}({', '.join([repr(name), *(f'{key}={value!r}' for key, value in options.items())])})"


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
    from gevglm.data.csv_dialect import kind_of_file
    from gevglm.data.files import SEPARATORS
    from gevglm.exceptions import InvalidOptionError

    if name == "-":
        return
    if kind_of_file(Path(name)) not in (*WRITTEN, *SEPARATORS):
        known = ", ".join([*WRITTEN, *SEPARATORS])
        raise InvalidOptionError(f"{name!r} has an ending that cannot be written; use one of {known}.")
    check_target(name)


def write_table(frame: pd.DataFrame, name: str) -> None:
    """Write a table to a file, its kind by its name; to stdout as csv for "-"."""
    import sys

    from gevglm._files import writing
    from gevglm.data.csv_dialect import kind_of_file
    from gevglm.data.files import SEPARATORS

    if name == "-":
        frame.to_csv(sys.stdout, index=False)
        return
    path = Path(name)
    kind = kind_of_file(path)
    with writing(path) as file:
        if kind in WRITTEN:
            WRITTEN[kind](frame.reset_index(drop=True), file)
        else:
            frame.to_csv(file, index=False, sep=SEPARATORS[kind], compression=_packing(path))


def _packing(path: Path) -> dict[str, str] | None:
    """Return how a file is compressed, by its name."""
    method = PACKING.get(path.suffix.lower())
    if method is None:
        return None
    return {"method": method, "archive_name": path.stem} if method == "zip" else {"method": method}


def _unescaped(sep: str | None) -> str | None:
    return "\t" if sep in ("\\t", "tab") else sep
