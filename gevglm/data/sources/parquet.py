"""Parquet files, row group by row group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from gevglm._files import writing
from gevglm.data.sources.arrow import kind_of, need_pyarrow, refuse_differences, table_of
from gevglm.data.sources.base import BATCH_ROWS, Batches, ReadSource
from gevglm.exceptions import InvalidDataError


class ParquetSource(ReadSource):
    """One or more parquet files; a piece is a row group; `name` is what the user gave."""

    def __init__(self, paths: Sequence[Path], name: str):
        need_pyarrow()
        self.name = name
        self.paths = [str(path) for path in paths]
        self._kinds: list[dict[str, str]] = []
        self._groups: list[tuple[int, int]] = []
        self._rows: list[int] = []
        for i, path in enumerate(self.paths):
            file = _open(path)
            with file:
                self._kinds.append({field.name: kind_of(field.type) for field in file.schema_arrow})
                for group in range(file.metadata.num_row_groups):
                    self._groups.append((i, group))
                    self._rows.append(file.metadata.row_group(group).num_rows)
        self.columns = list(dict.fromkeys(column for kinds in self._kinds for column in kinds))
        self.n_rows = sum(self._rows)

    def check(self, columns: Sequence[str]) -> None:
        super().check(columns)
        refuse_differences(columns, self._kinds, self.paths)

    def batches(self, columns: Sequence[str], every: int = 1) -> Batches:
        opened, file = -1, None
        try:
            for piece in range(0, len(self._groups), every):
                i, group = self._groups[piece]
                if file is None or opened != i:
                    if file is not None:
                        file.close()
                    opened, file = i, _open(self.paths[i])
                where = f"row group {group} of {self.paths[i]!r}"
                batches = file.iter_batches(batch_size=BATCH_ROWS, row_groups=[group], columns=list(columns))
                for j, batch in enumerate(_readable(batches, where)):
                    yield (piece, j), partial(table_of, batch, where)
        finally:
            if file is not None:
                file.close()


def _open(path: str) -> Any:
    from pyarrow import parquet

    if not Path(path).exists():
        raise InvalidDataError(f"there is no file {path!r}.")
    try:
        return parquet.ParquetFile(path)
    except Exception as error:
        raise InvalidDataError(f"{path!r} is not a parquet file that can be read: {error}") from error


def _readable(batches: Iterator, where: str) -> Iterator:
    while True:
        try:
            batch = next(batches, None)
        except Exception as error:
            raise InvalidDataError(f"{where} could not be read: {error}") from error
        if batch is None:
            return
        yield batch


def write_parquet(path: Path, frames: Iterator[pd.DataFrame]) -> int:
    """Write tables, one after the other, to a parquet file, which appears when it is complete; return the number of rows."""
    need_pyarrow()
    import pyarrow as pa
    from pyarrow import parquet

    rows = 0
    with writing(path) as file, ExitStack() as opened:
        writer = None
        for frame in frames:
            table = pa.Table.from_pandas(frame, preserve_index=False)
            if writer is None:
                writer = opened.enter_context(parquet.ParquetWriter(file, table.schema))
            writer.write_table(table.cast(writer.schema))
            rows += len(frame)
        if writer is None:
            raise InvalidDataError("there are no rows to write.")
    return rows
