"""Csv files, through the streaming reader of pyarrow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from gevglm.data.sources.arrow import need_pyarrow, refuse_differences, table_of
from gevglm.data.sources.base import Batches, ReadSource
from gevglm.exceptions import InvalidDataError

BLOCK_BYTES = 1 << 24
WIDER = {"null": "int64", "int64": "double", "bool": "string", "double": "string"}  # the next type to try


class CsvSource(ReadSource):
    """One or more csv files with a header; a piece is what pyarrow reads at a time; `name` is what the user gave.

    Types are settled by a pass over the columns needed: a column is of whole numbers, of numbers or of text if all its values are.
    """

    def __init__(self, paths: Sequence[Path], name: str):
        need_pyarrow()
        self.name = name
        self.paths = [str(path) for path in paths]
        self._types: dict[str, Any] = {}
        self._headers = [dict.fromkeys(self._reader(path, None).schema.names, "text") for path in self.paths]
        self.columns = list(dict.fromkeys(column for header in self._headers for column in header))

    def check(self, columns: Sequence[str]) -> None:
        super().check(columns)
        refuse_differences(columns, self._headers, self.paths)
        new = [column for column in columns if column not in self._types]
        while new and not self._settled(new):
            pass

    def batches(self, columns: Sequence[str], every: int = 1) -> Batches:
        piece = 0
        for path in self.paths:
            reader = self._reader(path, list(columns))
            batches = iter(reader)
            while True:
                try:
                    batch = next(batches, None)
                except Exception as error:
                    raise InvalidDataError(f"{path!r} could not be read: {error}") from error
                if batch is None:
                    break
                if piece % every == 0:
                    yield (piece, 0), partial(table_of, batch, repr(path))
                piece += 1

    def _settled(self, columns: list[str]) -> bool:
        """Read columns in the types known so far; where that fails, widen a type."""
        import pyarrow as pa

        for path in self.paths:
            reader = self._reader(path, columns)
            for column in columns:
                self._types.setdefault(column, reader.schema.field(column).type)
            try:
                for _ in reader:
                    pass
            except pa.ArrowInvalid as error:
                self._widen(path, str(error))
                return False
        return True

    def _widen(self, path: str, message: str) -> None:
        import pyarrow as pa

        found = re.search(r"In CSV column #(\d+)", message)
        names = list(self._headers[self.paths.index(path)])
        column = names[int(found[1])] if found else None
        if column is None or str(self._types.get(column)) == "string":
            raise InvalidDataError(f"{path!r} could not be read: {message}")
        self._types[column] = pa.type_for_alias(WIDER.get(str(self._types[column]), "string"))

    def _reader(self, path: str, columns: list[str] | None):
        from pyarrow import csv

        if not Path(path).exists():
            raise InvalidDataError(f"there is no file {path!r}.")
        convert = csv.ConvertOptions(
            include_columns=columns,
            column_types={name: kind for name, kind in self._types.items() if columns and name in columns},
            strings_can_be_null=True,
        )
        try:
            return csv.open_csv(path, read_options=csv.ReadOptions(block_size=BLOCK_BYTES), convert_options=convert)
        except Exception as error:
            if columns is not None and "In CSV column" in str(error):
                self._widen(path, str(error))
                return self._reader(path, columns)
            raise InvalidDataError(f"{path!r} could not be read: {error}") from error
