"""Tables that are computed when they are asked for (lazy frames of polars, datasets of pyarrow, relations of DuckDB), and Arrow streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gevglm.exceptions import InvalidDataError

LARGE = 200 << 20  # bytes from which a table is read in pieces
BATCH_ROWS = 1 << 18  # rows of a piece, however the rows come: a multiple of the rows of most blocks


def need_pyarrow() -> None:
    """Say how to install pyarrow where it is missing."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise InvalidDataError("reading such data needs pyarrow: pip install 'gevglm[parquet]'.") from None


@dataclass(frozen=True)
class LazyTable:
    """A table that can be computed again and again, some of its columns at a time."""

    name: str  # what the user knows it by
    columns: list[str]
    n_rows: int
    batches: Callable[[Sequence[str]], Iterable[Any]]  # record batches of pyarrow with the columns asked for
    whole: Callable[[], Any]  # all of it, as a table of polars or pyarrow
    sorted_levels: bool = True  # whether levels of factors that come with an order have it by chance, and are sorted

    @property
    def is_large(self) -> bool:
        """Whether it is better not held in memory."""
        return 8 * self.n_rows * len(self.columns) >= LARGE

    def pieces(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the rows as tables of pyarrow, all but the last of the same length."""
        import pyarrow as pa

        held: list[Any] = []
        waiting = 0
        for batch in self.batches(columns):
            held.append(batch)
            waiting += batch.num_rows
            while waiting >= BATCH_ROWS:
                table = pa.Table.from_batches(held)
                yield table.slice(0, BATCH_ROWS)
                rest = table.slice(BATCH_ROWS)
                held, waiting = rest.to_batches(), rest.num_rows
        if waiting:
            yield pa.Table.from_batches(held)


def lazy_table(data: Any) -> LazyTable | None:
    """Return a lazy frame, dataset or relation as a lazy table, None for other objects."""
    kind, home = type(data).__name__, type(data).__module__.partition(".")[0]
    reader: Callable[[Any], LazyTable] | None = None
    if home == "polars" and kind == "LazyFrame":
        reader = _of_polars
    elif home == "pyarrow" and hasattr(data, "scanner") and hasattr(data, "count_rows"):
        reader = _of_dataset
    elif home in ("duckdb", "_duckdb") and hasattr(data, "project"):
        reader = _of_duckdb
    if reader is None:
        return None
    need_pyarrow()
    try:
        return reader(data)
    except Exception as error:
        raise _unreadable(data, error) from None


def _unreadable(data: Any, error: Exception) -> InvalidDataError:
    return InvalidDataError(f"the {type(data).__name__} could not be read: {error}")


def _of_polars(frame: Any) -> LazyTable:
    import polars as pl

    schema = frame.collect_schema()

    def batches(columns: Sequence[str]) -> Iterator[Any]:  # with texts for levels in the order in which they were met
        chosen = frame.select(
            pl.col(name).cast(pl.String) if schema[name] == pl.Categorical else pl.col(name) for name in columns
        )
        if hasattr(chosen, "collect_batches"):
            for part in chosen.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True):
                yield from part.to_arrow().to_batches()
        else:
            yield from chosen.collect().to_arrow().to_batches()

    rows = int(frame.select(pl.len()).collect().item())
    return LazyTable("the lazy frame", schema.names(), rows, batches, frame.collect, sorted_levels=False)


def _of_dataset(dataset: Any) -> LazyTable:
    def batches(columns: Sequence[str]) -> Iterable[Any]:
        return dataset.scanner(columns=list(columns)).to_batches()

    return LazyTable("the dataset", list(dataset.schema.names), int(dataset.count_rows()), batches, dataset.to_table)


def _of_duckdb(relation: Any) -> LazyTable:
    def batches(columns: Sequence[str]) -> Any:
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        chosen = relation.project(quoted)  # a new relation, computed anew
        reader = getattr(chosen, "to_arrow_reader", None) or chosen.fetch_arrow_reader
        return reader(BATCH_ROWS)

    columns = list(relation.columns)
    return LazyTable("the relation", columns, int(relation.shape[0]), batches, lambda: batches(columns).read_all())


def arrow_table(data: Any) -> Any | None:
    """Return a lazy table, an Arrow stream, or any other object that hands one out, as a table of polars or pyarrow; None for other objects.

    A stream can be read once: it is taken into memory whole.
    """
    lazy = lazy_table(data)
    if lazy is None and not hasattr(data, "__arrow_c_stream__"):
        return None
    need_pyarrow()
    import pyarrow as pa

    try:
        if lazy is not None:
            return lazy.whole()
        table = data.read_all() if isinstance(data, pa.RecordBatchReader) else pa.table(data)
    except Exception as error:
        raise _unreadable(data, error) from None
    if isinstance(data, pa.RecordBatchReader) and not table.num_rows:
        raise InvalidDataError(
            "the stream has no rows (left): a RecordBatchReader can be read once; open it again, or give reader.read_all(), a table."
        )
    return table
