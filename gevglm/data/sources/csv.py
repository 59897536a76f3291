"""Csv files, through the streaming reader of pyarrow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gevglm.data.csv_dialect import EXACT, FALSE_WORDS, MISSING_WORDS, TRUE_WORDS, WHOLE, unpacked
from gevglm.data.sources.arrow import need_pyarrow, refuse_differences, table_of
from gevglm.data.sources.base import Batches, ReadSource
from gevglm.exceptions import InvalidDataError

BLOCK_BYTES = 1 << 24
KNOWN = (
    "null",
    "int64",
    "uint64",
    "double",
    "bool",
    "string",
)  # other types that pyarrow sees, such as dates, are text
WIDER = {"null": "int64", "int64": "double", "bool": "string", "double": "string"}  # the next type to try


class CsvSource(ReadSource):
    """One or more csv files with a header; a piece is what pyarrow reads at a time; `name` is what the user gave.

    Types are settled by a pass over the columns needed, by the rules of :mod:`gevglm.data.csv_dialect`.
    """

    def __init__(self, paths: Sequence[Path], name: str):
        need_pyarrow()
        self.name = name
        self.paths = [str(path) for path in paths]
        self._types: dict[str, Any] = {}
        self._nullable: set[str] = (
            set()
        )  # whole numbers, some missing, with more digits than floating-point numbers have
        self._headers = []
        for path in self.paths:
            with self._reader(path, None) as reader:
                self._headers.append(dict.fromkeys(reader.schema.names, "text"))
        self.columns = list(dict.fromkeys(column for header in self._headers for column in header))

    def check(self, columns: Sequence[str]) -> None:
        super().check(columns)
        refuse_differences(columns, self._headers, self.paths)
        new = [column for column in columns if column not in self._types]
        if new:
            self._settle(new)

    def batches(self, columns: Sequence[str], every: int = 1) -> Batches:
        piece = 0
        for path in self.paths:
            for batch in self._read(path, list(columns)):
                if piece % every == 0:
                    yield (piece, 0), partial(table_of, batch, repr(path), frozenset(self._nullable))
                piece += 1

    def _settle(self, columns: list[str]) -> None:
        """Find the types of columns: the narrowest that all values have."""
        import pyarrow as pa

        while (sizes := self._sizes(columns)) is None:
            pass
        types = {name: str(self._types[name]) for name in columns}
        whole = [name for name in columns if types[name] == "int64"]
        long = [name for name in columns if types[name] == "double" and sizes[name] >= 2.0**63]
        hexadecimal = whole if whole and any(map(_may_have_hexadecimals, self.paths)) else []
        for name in hexadecimal:
            if self._any_text(name, "0[xX]"):
                self._types[name] = pa.string()
        for name in long:
            if not self._any_text(name, WHOLE, invert=True):
                fits = not self._any_text(name, r"^\s*-|[0-9]{21}") and self._fits(name, pa.uint64())
                self._types[name] = pa.uint64() if fits else pa.string()
        self._nullable |= {
            name for name in (*whole, *long) if sizes[name] >= EXACT and str(self._types[name])[-5:] == "int64"
        }

    def _sizes(self, columns: list[str]) -> dict[str, float] | None:
        """Read columns in the types known so far, and return the largest absolute values; None where a type had to be widened."""
        import pyarrow as pa
        from pyarrow import compute

        sizes = dict.fromkeys(columns, 0.0)
        for path in self.paths:
            try:
                with self._reader(path, columns) as reader:
                    for name in columns:
                        seen = reader.schema.field(name).type
                        self._types.setdefault(name, seen if str(seen) in KNOWN else pa.string())
                with self._reader(path, columns) as reader:
                    for batch in reader:
                        for name in columns:
                            if str(self._types[name]) in ("int64", "double"):
                                ends = compute.min_max(batch.column(name)).as_py().values()
                                sizes[name] = max(
                                    sizes[name], *(abs(float(end)) for end in ends if _is_finite(end)), 0.0
                                )
            except pa.ArrowInvalid as error:
                self._widen(path, str(error))
                return None
        return sizes

    def _any_text(self, column: str, pattern: str, invert: bool = False) -> bool:
        """Whether the text of some value of a column has a pattern, or has not."""
        from pyarrow import compute

        for path in self.paths:
            for batch in self._read(path, [column], as_text=True):
                found = compute.match_substring_regex(batch.column(column), pattern)
                if compute.any(compute.invert(found) if invert else found).as_py():
                    return True
        return False

    def _fits(self, column: str, kind: Any) -> bool:
        """Whether a column can be read as a type."""
        import pyarrow as pa

        before, self._types[column] = self._types[column], kind
        try:
            return all(True for path in self.paths for _ in self._read(path, [column]))
        except (InvalidDataError, pa.ArrowInvalid):
            return False
        finally:
            self._types[column] = before

    def _widen(self, path: str, message: str) -> None:
        import pyarrow as pa

        found = re.search(r"In CSV column #(\d+)", message)
        names = list(self._headers[self.paths.index(path)])
        column = names[int(found[1])] if found else None
        if column is None or str(self._types.get(column)) == "string":
            raise InvalidDataError(f"{path!r} could not be read: {message}")
        self._types[column] = pa.type_for_alias(WIDER.get(str(self._types.get(column)), "string"))

    def _read(self, path: str, columns: list[str], as_text: bool = False) -> Iterator[Any]:
        """Yield the batches of a file."""
        try:
            with self._reader(path, columns, as_text) as reader:
                yield from reader
        except (GeneratorExit, InvalidDataError):
            raise
        except Exception as error:
            raise InvalidDataError(f"{path!r} could not be read: {error}") from error

    @contextmanager
    def _reader(self, path: str, columns: list[str] | None, as_text: bool = False) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import csv

        if not Path(path).exists():
            raise InvalidDataError(f"there is no file {path!r}.")
        types = {name: pa.string() if as_text else self._types.get(name) for name in columns or ()}
        convert = csv.ConvertOptions(
            include_columns=columns,
            column_types={name: kind for name, kind in types.items() if kind is not None},
            null_values=MISSING_WORDS,
            true_values=TRUE_WORDS,
            false_values=FALSE_WORDS,
            strings_can_be_null=True,
        )
        with unpacked(path) as file:
            try:
                reader = csv.open_csv(
                    file, read_options=csv.ReadOptions(block_size=BLOCK_BYTES), convert_options=convert
                )
            except pa.ArrowInvalid as error:
                if columns is not None and "In CSV column" in str(error):
                    raise
                raise InvalidDataError(f"{path!r} could not be read: {error}") from error
            with reader:
                yield reader


def _is_finite(value: Any) -> bool:
    return value is not None and bool(np.isfinite(float(value)))


def _may_have_hexadecimals(path: str) -> bool:
    """Whether a file has 0x somewhere."""
    import pyarrow as pa

    with unpacked(path) as file, pa.input_stream(file) as stream:
        last = b""
        while chunk := stream.read(BLOCK_BYTES):
            if (b"x" in chunk or b"X" in chunk) and re.search(rb"0[xX]", last + chunk):
                return True
            last = chunk[-1:]
    return False
