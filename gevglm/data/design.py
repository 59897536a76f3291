"""A design: the numbers of a regression and their names, wherever the rows are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, Self, cast

import pandas as pd
from numpy.typing import NDArray

from gevglm.data.formula import Recipe
from gevglm.data.grouping import Grouping
from gevglm.data.new_rows import Layout
from gevglm.engine import Engine
from gevglm.exceptions import InvalidDataError


class Design(Protocol):
    """The numbers of a regression: in memory (``MemoryDesign``), or read in pieces (``StreamedDesign``).

    Attributes
    ----------
    X : array of shape (n, k)
    y : array of shape (n,)
        Outcomes in [0, 1]; shares of successes for grouped rows.
    layout : Layout
        How the columns are made; its attributes (`names`, `recipe` and more) are also those of the design.
    outcome : str
        Name of the outcome.
    event : object
        The level of the outcome that counts as the event.
    freq, var, trials, offset : array of shape (n,) or None
    counts : array of shape (n,) or None
        Observations behind each row, by frequency weight and trials, or None where each row is one.
    rows : ndarray of int or None
        Positions of the rows used in the data given; None if all were.
    index : Index or None
        Labels of the rows used; None if the data given have none.
    frame : DataFrame or None
        The rows used of the table given.
    constant : int or None
        The first column of ones.
    n_given, n_missing, n_rows : int
        Rows of the data given, those dropped because of missing values, and those used.
    n_events, n_total, sum_freq : float
        Events and observations, counted by frequency weights and trials; sum of the frequency weights.
    n_non_integer : int
        Frequency weights that are not whole numbers.
    has_rows : bool
        Whether the rows are in memory (no more, after they were removed).
    """

    # fmt: off
    @property
    def X(self) -> NDArray: ...
    @property
    def y(self) -> NDArray: ...
    @property
    def layout(self) -> Layout: ...
    @property
    def recipe(self) -> Recipe | None: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def offset_name(self) -> str | None: ...
    @property
    def exposure_name(self) -> str | None: ...
    @property
    def array_offset(self) -> bool: ...
    @property
    def array_exposure(self) -> bool: ...
    @property
    def outcome(self) -> str: ...
    @property
    def event(self) -> Any: ...
    @property
    def freq(self) -> NDArray | None: ...
    @property
    def var(self) -> NDArray | None: ...
    @property
    def trials(self) -> NDArray | None: ...
    @property
    def offset(self) -> NDArray | None: ...
    @property
    def counts(self) -> NDArray | None: ...
    @property
    def rows(self) -> NDArray | None: ...
    @property
    def index(self) -> pd.Index | None: ...
    @property
    def frame(self) -> pd.DataFrame | None: ...
    @property
    def constant(self) -> int | None: ...
    @property
    def n_given(self) -> int: ...
    @property
    def n_missing(self) -> int: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_events(self) -> float: ...
    @property
    def n_total(self) -> float: ...
    @property
    def sum_freq(self) -> float: ...
    @property
    def n_non_integer(self) -> int: ...
    @property
    def has_rows(self) -> bool: ...
    # fmt: on

    def need_rows(self, what: str, instead: str = "") -> None:
        """Refuse, where the rows are not in memory, what needs them, and say what to do instead."""

    def engine(self, exog: NDArray | None = None) -> Engine:
        """Return the rows, as the solver sees them; with another design matrix, if one is given."""

    def labelled(self) -> tuple[Any, Any]:
        """Return outcome and design matrix with the labels that statsmodels shows."""

    def reweighted(self, weights: Callable[[NDArray], NDArray | None]) -> Self:
        """Return the design with weights that depend on the outcome."""

    def unweighted(self) -> Self:
        """Return the design without variance weights."""

    def grouping(self, groups: Any) -> Grouping:
        """Return the clusters of the rows, from arrays or from one or two column names."""

    def same_outcomes(self, other: Design) -> bool:
        """Whether another design has the same rows, as far as their outcomes tell."""

    def column_variances(self) -> NDArray:
        """Return the variance of each column."""

    def rows_of(self, values: Any, role: str) -> NDArray:
        """Return per-row values (cluster codes, say), given as arrays or as one or two column names, for the rows used."""

    def labels_of(self, positions: list[int]) -> list[str]:
        """Return how the user knows the rows at these positions: by label, or by position in the data given."""

    def on_rows(self, rows: NDArray) -> Self:
        """Return the design of some of the rows, or of some of them more than once, without formula and table."""

    def without_rows(self) -> Self:
        """Return the design without anything of the length of the data."""


class RowsNotLoadedError(InvalidDataError, AttributeError):
    """Something asks for the numbers of rows that are not in memory."""


def rows_needed(what: str, instead: str = "") -> str:
    """Return the one sentence about rows that are not in memory."""
    where = "which are not in memory (removed, as from a saved model, or read in pieces)"
    return f"{what} needs the rows of the fit, {where}{'; ' if instead else ''}{instead}."


@dataclass(frozen=True)
class UnloadedArray:
    """Stands for an array of the length of the data where that is not in memory: it has a shape, and no numbers.

    Attributes
    ----------
    shape : tuple of int
    """

    shape: tuple[int, ...]
    __array_ufunc__ = None

    @classmethod
    def of(cls, *shape: int) -> NDArray:
        """Return a stand-in for an array of some shape, to be used where an array is."""
        return cast(NDArray, cls(shape))

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __mul__(self, other: Any) -> UnloadedArray:
        return self

    __rmul__ = __mul__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._refuse()

    def _refuse(self, *args: Any, **options: Any) -> NoReturn:
        raise RowsNotLoadedError(rows_needed("this", "give data, or fit a table that is held in memory"))

    __array__ = __getitem__ = __iter__ = __matmul__ = __rmatmul__ = __add__ = __radd__ = __sub__ = __rsub__ = _refuse
    __lt__ = __gt__ = __le__ = __ge__ = __truediv__ = __rtruediv__ = __pow__ = _refuse
