"""What sources read by pyarrow share."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pandas as pd

from gevglm.data.lazy_tables import need_pyarrow as need_pyarrow
from gevglm.exceptions import InvalidDataError


def table_of(batch: Any, where: str, nullable: Collection[str] = ()) -> pd.DataFrame:
    """Return a record batch, or a table of pyarrow, as a DataFrame; columns of whole numbers may be `nullable`, which keeps their digits where some are missing."""
    import pyarrow as pa

    try:
        table = batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch])
        frame = _signed(table).to_pandas(ignore_metadata=True, split_blocks=True)
        for name in nullable:
            if name in frame.columns:
                values = batch.column(name)
                frame[name] = pd.array(values.to_pylist(), dtype="Int64" if values.type == pa.int64() else "UInt64")
        return frame
    except Exception as error:
        raise InvalidDataError(f"{where} could not be read: {error}") from error


def _signed(table: Any) -> Any:
    """Return a table whose levels are numbered by signed numbers, as pandas wants them."""
    import pyarrow as pa

    for i, field in enumerate(table.schema):
        kind = field.type
        if pa.types.is_dictionary(kind) and pa.types.is_unsigned_integer(kind.index_type):
            signed = pa.dictionary(pa.int64(), kind.value_type, kind.ordered)
            arrays = [
                pa.DictionaryArray.from_arrays(part.indices.cast(pa.int64()), part.dictionary, ordered=kind.ordered)
                for part in table.column(i).chunks
            ]
            table = table.set_column(i, field.name, pa.chunked_array(arrays, type=signed))
    return table


def kind_of(arrow_type: Any) -> str:
    """Return what kind of values a column has; numbers are one kind, whatever their precision."""
    from pyarrow import types

    if types.is_dictionary(arrow_type):
        return kind_of(arrow_type.value_type)
    if types.is_integer(arrow_type) or types.is_floating(arrow_type) or types.is_decimal(arrow_type):
        return "numbers"
    if types.is_string(arrow_type) or types.is_large_string(arrow_type) or str(arrow_type) == "string_view":
        return "text"
    if types.is_boolean(arrow_type):
        return "true or false"
    if types.is_temporal(arrow_type):
        return "times"
    return str(arrow_type)


def refuse_differences(columns: Sequence[str], kinds: Sequence[dict[str, str]], paths: Sequence[str]) -> None:
    """Refuse columns that some file does not have, or has as something else; a column without values may be anything."""
    for column in columns:
        first: tuple[str, str] | None = None
        for path, kind in zip(paths, kinds, strict=True):
            if column not in kind:
                there = next(other for other, known in zip(paths, kinds, strict=True) if column in known)
                raise InvalidDataError(
                    f"{column!r} is not in {path!r}, though it is in {there!r}; every file needs the columns of the model."
                )
            if kind[column] == "null":
                continue
            if first is not None and first[0] != kind[column]:
                raise InvalidDataError(
                    f"{column!r} holds {first[0]} in {first[1]!r} but {kind[column]} in {path!r}; make them the same in all files."
                )
            first = first or (kind[column], path)
