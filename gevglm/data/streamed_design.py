"""The design of data that are never in memory at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.data import formula as formulas
from gevglm.data.formula import Recipe
from gevglm.data.grouping import Grouping, check_ways, refuse_missing
from gevglm.data.outcome import Coding
from gevglm.data.reader import Reader, refuse_dependence_on_other_rows
from gevglm.data.row_masks import judge_rows
from gevglm.data.selection import ROLES, Selection
from gevglm.data.sources.base import Number, Source
from gevglm.engine.base import ArraySum, Block
from gevglm.engine.linalg import squared_deviations
from gevglm.engine.memory import physical_memory
from gevglm.engine.monitor import NULL_MONITOR, Monitor
from gevglm.engine.streamed import StreamedEngine
from gevglm.exceptions import InvalidDataError, InvalidOptionError

BYTES_PER_PAIR = 50.0  # of coefficients: second derivatives, their factor and inverse, and the covariance


class RowsNotHeldError(InvalidDataError, AttributeError):
    """Something needs all rows in memory, but they are read in pieces."""


class NotHeld:
    """Stands for an array of the length of the data where they are read in pieces: it has a shape, and no numbers.

    Parameters
    ----------
    shape : tuple of int
    """

    __array_ufunc__ = None

    def __init__(self, *shape: int):
        self.shape = shape
        self.ndim = len(shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __mul__(self, other: Any) -> NotHeld:
        return self

    __rmul__ = __mul__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._refuse()

    def _refuse(self, *args: Any, **options: Any) -> Any:
        raise RowsNotHeldError(
            "this needs all rows in memory, but the data are read in pieces; give data to predict() or calibration(), "
            "or fit a table that is held in memory."
        )

    __array__ = __getitem__ = __iter__ = __matmul__ = __rmatmul__ = __add__ = __radd__ = __sub__ = __rsub__ = _refuse
    __lt__ = __gt__ = __le__ = __ge__ = __truediv__ = __rtruediv__ = __pow__ = _refuse

    def __getstate__(self) -> tuple[int, ...]:
        return self.shape

    def __setstate__(self, shape: tuple[int, ...]) -> None:
        self.__init__(*shape)


@dataclass
class StreamedDesign:
    """The design of a table in pieces; answers to what is asked of a :class:`gevglm.data.design.Design`.

    Attributes
    ----------
    source : Source or None
        None after the data were dropped.
    reader : Reader
    kept : dict
        Complete rows of every batch of rows.
    n_given, n_missing : int
        Rows of the data, and those dropped as incomplete.
    n_events, n_total, sum_freq : float
        Events and observations, counted by frequency weights and trials; sum of the frequency weights.
    n_broken_frequencies : int
    """

    source: Source | None
    reader: Reader
    kept: dict[Number, int] = field(repr=False)
    n_given: int
    n_missing: int
    n_events: float
    n_total: float
    sum_freq: float
    n_broken_frequencies: int = 0
    has_rows = False
    array_offset = array_exposure = False
    rows = index = frame = None

    @property
    def recipe(self) -> Recipe:
        """The right-hand side of the formula."""
        return self.reader.recipe

    @property
    def names(self) -> list[str]:
        """Of the columns."""
        return self.recipe.names

    @property
    def outcome(self) -> str:
        """Name of the outcome."""
        return self.reader.outcome

    @property
    def event(self) -> Any:
        """The level of the outcome that counts as the event."""
        return self.reader.coding.event

    @property
    def offset_name(self) -> str | None:
        """Column of the offset."""
        return self.reader.selection.offset

    @property
    def exposure_name(self) -> str | None:
        """Column of the exposure."""
        return self.reader.selection.exposure

    @property
    def n_rows(self) -> int:
        """Rows used."""
        return sum(self.kept.values())

    @property
    def X(self) -> NotHeld:
        """The design matrix, not held."""
        return NotHeld(self.n_rows, len(self.names))

    @property
    def y(self) -> NotHeld:
        """The outcomes, not held."""
        return NotHeld(self.n_rows)

    @property
    def freq(self) -> NotHeld | None:
        """Frequency weights, not held; None if there are none."""
        return self._vector(self.reader.selection.freq_weights is not None and not self.reader.coding.shares)

    @property
    def trials(self) -> NotHeld | None:
        """Trials behind the rows, not held; None if there are none."""
        return self._vector(self.reader.coding.counts or self.reader.coding.shares)

    @property
    def var(self) -> NotHeld | None:
        """Variance weights, not held; None if there are none."""
        return self._vector(self.reader.selection.var_weights is not None or self.reader.weights is not None)

    @property
    def offset(self) -> NotHeld | None:
        """The offset, not held; None if there is none."""
        return self._vector(self.offset_name is not None or self.exposure_name is not None)

    @property
    def counts(self) -> NotHeld | None:
        """Observations behind each row, not held; None where each row is one."""
        return self._vector(self.freq is not None or self.trials is not None)

    @cached_property
    def constant(self) -> int | None:
        """The first column of ones, if there is one."""
        if "Intercept" in self.names:
            return self.names.index("Intercept")
        ones = self.engine().reduce(ArraySum(_not_one)) == 0
        return int(np.flatnonzero(ones)[0]) if ones.any() else None

    def engine(self, exog: Any = None) -> StreamedEngine:
        """Return the rows, as the solver sees them."""
        if exog is not None:
            self.y._refuse()
        if self.source is None:
            raise InvalidDataError("the data are gone: the results were saved without them.")
        return self._engine

    @cached_property
    def _engine(self) -> StreamedEngine:
        return StreamedEngine(self.source, self.reader, self.kept)

    def labelled(self) -> tuple[pd.Series, pd.DataFrame]:
        """Return no rows, with the names that statsmodels shows."""
        return pd.Series(np.zeros(0), name=self.outcome), pd.DataFrame(
            np.zeros((0, len(self.names))), columns=self.names
        )

    def labels_of(self, positions: list[int]) -> list[str]:
        """Return the positions among the rows used."""
        return [str(position) for position in positions]

    def reweighted(self, weights: Callable[[NDArray], NDArray | None]) -> StreamedDesign:
        """Return the design with weights that depend on the outcome."""
        if weights(np.array([0.0, 1.0])) is None:
            return self
        return replace(self, reader=replace(self.reader, weights=weights))

    def unweighted(self) -> StreamedDesign:
        """Return the design without variance weights."""
        selection = replace(self.reader.selection, var_weights=None)
        return replace(self, reader=replace(self.reader, selection=selection, weights=None))

    def grouping(self, groups: Any) -> Grouping:
        """Return the clusters of the rows, from one or two column names; a pass over the data finds them."""
        names = [groups] if isinstance(groups, str) else list(groups)
        if not all(isinstance(name, str) for name in names):
            raise InvalidOptionError("the data are read in pieces: give groups as the name of a column, or two names.")
        check_ways(len(names))
        self.source.check(names)
        columns = list(dict.fromkeys([*self.reader.columns, *names]))
        keys, missing = [], 0
        with closing(self.source.map(partial(_distinct, self.reader.selection, names), columns)) as answers:
            for _, (rows, absent) in answers:
                keys.append(rows)
                missing += absent
                if len(keys) > 64:
                    keys = [pd.concat(keys).drop_duplicates()]
        refuse_missing(missing)
        return Grouping(pd.concat(keys, ignore_index=True).drop_duplicates(ignore_index=True))

    def same_outcomes(self, other: Any) -> bool:
        """Whether another design has the same rows, as far as the counts of pieces and events tell."""
        mine, others = ((d.kept, d.n_events, d.outcome) if not d.has_rows else None for d in (self, other))
        return mine == others

    def column_variances(self) -> NDArray:
        """Return the variance of each column, by two passes."""
        engine = self.engine()
        mean = engine.reduce(ArraySum(lambda block: block.X.sum(axis=0))) / engine.n_rows
        return engine.reduce(ArraySum(lambda block: squared_deviations(block.X, mean))) / engine.n_rows

    def rows_of(self, values: Any, role: str) -> Any:
        """Refuse arrays of the length of the data."""
        return self.y._refuse()

    on_rows = rows_of

    def without_rows(self) -> StreamedDesign:
        """Return the design without knowing where the data are."""
        _ = self.constant  # looked for in the data
        bare = copy(self)
        bare.source = None
        return bare

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_engine"}

    def _vector(self, there: bool) -> NotHeld | None:
        return NotHeld(self.n_rows) if there else None


def from_source(
    formula: str,
    source: Source,
    *,
    scope: dict[str, Any],
    event: Any = None,
    subset: Any = None,
    missing: str = "drop",
    engine: str | None = None,
    monitor: Monitor = NULL_MONITOR,
    **roles: Any,
) -> StreamedDesign:
    """Build a design from a formula and a table in pieces, by one look at the table.

    Parameters
    ----------
    formula : str
    source : Source
    scope : dict
        Objects of the user's scope that the formula names.
    event, subset, missing, engine
        See :meth:`gevglm.BinaryGLM.from_formula`.
    monitor : Monitor
        Follows the look.
    **roles
        Offset, exposure and weights, as names of columns.
    """
    _refuse_arrays(roles, subset)
    if (engine or formulas.default_engine()) != "formulaic":
        raise InvalidOptionError("data in pieces need formula_engine='formulaic': pip install formulaic.")
    from gevglm.data.scan import scan

    selection = Selection(formula, scope, **roles, subset=subset, missing=missing)
    columns = _columns(selection, source)
    source.check(columns)
    found, memory = scan(source, selection, columns, monitor)
    if not found.n_given:
        raise InvalidDataError("the data have no rows.")
    judge_rows(found.n_given, found.n_selected, found.n_missing, missing)
    for problem, count in found.problems.items():
        raise InvalidDataError(f"{problem}; {count} rows are not.")
    if not found.sums[0] > 0:
        raise InvalidDataError(f"freq_weights are zero in all {sum(found.kept.values())} rows.")
    outcome = formulas.outcome_name(selection.left, source.columns)
    recipe = Recipe(
        selection.right, found.example, selection.scope_beside(source.columns), "formulaic", memory, sparse=True
    )
    recipe.take_first()
    if not recipe.names:
        raise InvalidDataError("the design has no columns; a model with a constant only is 'y ~ 1'.")
    _refuse_too_many_columns(len(recipe.names))
    coding, events, total = _outcome(found, event, outcome, selection)
    reader = Reader(selection, recipe, coding, tuple(columns), outcome)
    refuse_dependence_on_other_rows(reader, found.example)
    rows = sum(found.kept.values())
    return StreamedDesign(
        source,
        reader,
        found.kept,
        found.n_given,
        found.n_missing,
        events,
        total,
        float(rows) if coding.shares else float(found.sums[0]),
        found.broken,
    )


def _outcome(found: Any, event: Any, name: str, selection: Selection) -> tuple[Coding, float, float]:
    """Return how the outcome is read, the events and the observations."""
    rows = sum(found.kept.values())
    if found.counts:
        if event is not None:
            raise InvalidDataError("event= does not go with counts: the first column counts the events.")
        if not 0 < found.sums[2] < found.sums[1]:
            raise InvalidDataError(
                f"the outcome {name!r} has one outcome only in {rows} rows; a binary regression needs both."
            )
        return Coding("successes", counts=True), float(found.sums[2]), float(found.sums[1])
    coding = Coding.learn(list(found.outcomes), event, name, rows, selection.freq_weights is not None)
    events = found.sums[2] if coding.numbers else found.outcomes[coding.event]
    return coding, float(events), float(found.sums[1])


def _columns(selection: Selection, source: Source) -> list[str]:
    """Return the columns to read."""
    named = [getattr(selection, role) for role in ROLES]
    subset = formulas.names_in(selection.subset) if selection.subset is not None else []
    for name in named:
        if name is not None and name not in source.columns:
            source.check([name])
    return list(
        dict.fromkeys(
            [
                *selection.used(source.columns),
                *(name for name in named if name is not None),
                *(name for name in subset if name in source.columns),
            ]
        )
    )


def _refuse_too_many_columns(number: int) -> None:
    """Refuse designs whose second derivatives do not fit in memory."""
    needed, there = BYTES_PER_PAIR * number**2, physical_memory()
    if needed > there:
        raise InvalidDataError(
            f"the design has {number} columns, whose k x k matrices need about {needed / 1e9:.0f} GB, but this machine has {there / 1e9:.0f} GB; "
            "join rare levels of factors, or leave some out."
        )


def _refuse_arrays(roles: dict[str, Any], subset: Any) -> None:
    for role, value in {**roles, "subset": subset}.items():
        if value is not None and not isinstance(value, str):
            what = "a condition, such as 'age > 40'" if role == "subset" else "the name of a column"
            raise InvalidOptionError(f"the data are read in pieces: give {role} as {what}.")


def _distinct(selection: Selection, names: list[str], table: pd.DataFrame, number: Number) -> tuple[pd.DataFrame, int]:
    rows = selection.of(table).frame[names]
    return rows.drop_duplicates(), int(rows.isna().any(axis=1).sum())


def _not_one(block: Block) -> NDArray:
    return len(block.y) - (block.X == 1.0).sum(axis=0)
