"""Predictions for tables in pieces: one batch of rows after the other, to a file or to a Series."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.data.formula import names_in
from gevglm.data.new_rows import read_table
from gevglm.data.sources.base import Number, Source
from gevglm.data.sources.parquet import write_parquet
from gevglm.exceptions import InvalidDataError, InvalidOptionError, SupportWarning, warn
from gevglm.links.base import BinaryLink

if TYPE_CHECKING:
    from gevglm.results.core import BinaryGLMResults

COLUMN = "prediction"


class Scorer:
    """What turns tables into predictions: coefficients and design of a fit, without its data.

    Parameters
    ----------
    results : BinaryGLMResults
    which : str
        See :meth:`gevglm.BinaryGLMResults.predict`.
    """

    def __init__(self, results: BinaryGLMResults, which: str = "mean"):
        model = results.model
        self.layout = model.design.layout
        self.params = np.asarray(results.params)
        self.outside: Callable[[NDArray], NDArray] = model.link.outside
        self.links: dict[str, BinaryLink] = {"mean": model.population_link, "fitted": model.link}
        self.which = which

    def linear(self, table: pd.DataFrame) -> NDArray:
        """Return the linear predictor of the rows of a table."""
        rows = read_table(self.layout, table, sparse=True)
        return rows.X @ self.params + (0.0 if rows.offset is None else rows.offset)

    def __call__(self, table: pd.DataFrame, number: Number) -> tuple[NDArray, int]:
        """Return the predictions, and how many lie outside the support of the link."""
        linear = self.linear(table)
        outside = int((self.outside(linear) & np.isfinite(linear)).sum())
        if self.which == "linear":
            return linear, outside
        mean = self.links["fitted" if self.which == "fitted" else "mean"].inverse(linear)
        return mean * (1.0 - mean) if self.which == "var_unscaled" else mean, outside


def columns_to_predict(results: BinaryGLMResults, source: Source) -> list[str]:
    """Return the columns of a source that predictions need."""
    design = results.model.design
    used = [name for name in names_in(design.recipe.formula) if name in source.columns or name in design.recipe.dtypes]
    columns = [*used, *(name for name in (design.offset_name, design.exposure_name) if name is not None)]
    source.check(columns)
    return columns


def predict_in_pieces(results: BinaryGLMResults, source: Source, which: str, to: Any = None) -> pd.Series | Path:
    """Predict for a table in pieces.

    Parameters
    ----------
    results : BinaryGLMResults
    source : Source
    which : str
    to : path, optional
        A parquet file for the columns of the source and the predictions; without it they are returned.
    """
    needed = columns_to_predict(results, source)
    columns = needed if to is None else source.columns
    source.check(columns)
    if to is None:
        pieces = list(_scored(results, source, columns, Scorer(results, which)))
        return pd.Series(np.concatenate(pieces) if pieces else np.zeros(0))
    path = Path(to)
    if path.suffix.lower() not in (".parquet", ".pq"):
        raise InvalidOptionError(f"to={str(to)!r} is not the name of a parquet file, such as 'scored.parquet'.")
    if COLUMN in columns:
        raise InvalidDataError(
            f"the data have a column {COLUMN!r} already, the name under which predictions are written."
        )
    write_parquet(path, _scored(results, source, columns, partial(_with_predictions, Scorer(results, which))))
    return path


def _scored(results: BinaryGLMResults, source: Source, columns: list[str], function: Any) -> Iterator[Any]:
    n_outside = n_rows = 0
    with closing(source.map(function, columns)) as answers:
        for _, (answer, outside) in answers:
            n_outside += outside
            n_rows += len(answer)
            yield answer
    if n_outside:
        warn(
            f"{n_outside} of {n_rows} rows lie outside the support of {results.link.population!r}; their probability is exactly 0 or 1.",
            SupportWarning,
        )


def _with_predictions(scorer: Scorer, table: pd.DataFrame, number: Number) -> tuple[pd.DataFrame, int]:
    values, outside = scorer(table, number)
    return table.assign(**{COLUMN: values}), outside
