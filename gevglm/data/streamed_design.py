"""The design of data that are never in memory at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.data import formula as formulas
from gevglm.data.design import FIT_AGAIN, Design, weight_names
from gevglm.data.expressions import names_in
from gevglm.data.formula import Recipe
from gevglm.data.grouping import Grouping, check_ways, refuse_missing
from gevglm.data.outcome import Coding
from gevglm.data.reader import Reader, refuse_dependence_on_other_rows
from gevglm.data.selection import ROLES, WEIGHTS, Selection, check_rows
from gevglm.data.sources.base import Number, Source
from gevglm.data.survey import STRATUM, UNIT, SampleUnits, Survey, refuse_missing_facts, units_of
from gevglm.data.survey import keys_of as _keys_of
from gevglm.data.unloaded import UnloadedArray, rows_needed
from gevglm.engine.arrow_cholesky import LOW
from gevglm.engine.base import ArraySum, Block, Engine, without_columns
from gevglm.engine.cholesky import LARGE_MATRIX
from gevglm.engine.memory import physical_memory
from gevglm.engine.monitor import NULL_MONITOR, Monitor
from gevglm.engine.streamed import StreamedEngine
from gevglm.exceptions import InvalidDataError, InvalidOptionError

BYTES_PER_PAIR = 50.0  # of coefficients: second derivatives, their factor and inverse, and the covariance


@dataclass(frozen=True, kw_only=True)
class StreamedDesign(Design):
    """A design whose rows are read in pieces; all arrays of their length are :class:`~gevglm.data.unloaded.UnloadedArray`."""

    source: Source | None  # None after the data were removed
    reader: Reader
    kept: dict[Number, int] = field(repr=False)  # complete rows of every batch of rows
    n_events: float = 0.0
    n_total: float = 0.0
    sum_freq: float = 0.0
    n_non_integer: int = 0

    @property
    def readable(self) -> bool:
        return self.source is not None

    def engine(self, exog: NDArray | None = None) -> Engine:
        if exog is not None:
            self.need_rows("another design matrix", FIT_AGAIN)
        return self._engine

    @cached_property
    def _engine(self) -> Engine:
        engine = StreamedEngine(self._source, self.reader, self.kept)
        return without_columns(engine, [j for j, others in self.omitted.items() if others])

    @property
    def _source(self) -> Source:
        if self.source is None:
            raise InvalidDataError(
                rows_needed("a pass over the data", "give data where there is a place for them, or fit the model again")
            )
        return self.source

    def labelled(self) -> tuple[Any, Any]:
        X = pd.DataFrame(np.zeros((0, len(self.names))), columns=self.names)
        return pd.Series(np.zeros(0), name=self.outcome), X

    def reweighted(self, weights: Callable[[NDArray], NDArray | None]) -> StreamedDesign:
        if weights(np.array([0.0, 1.0])) is None:
            return self
        return replace(self, var=UnloadedArray.of(self.n_rows), reader=replace(self.reader, weights=weights))

    def unweighted(self) -> StreamedDesign:
        selection = replace(self.reader.selection, var_weights=None, sampling_weights=None)
        reader = replace(self.reader, selection=selection, weights=None)
        return replace(self, var=None, represents=None, reader=reader)

    def grouping(self, groups: Any) -> Grouping:
        names = _names(groups)
        if names is None:
            raise InvalidOptionError("the data are read in pieces: give groups as the name of a column, or two names.")
        check_ways(names)
        self._source.check(names)
        columns = list(dict.fromkeys([*self.reader.columns, *names]))
        keys, missing = [], 0
        with closing(self._source.map(partial(_distinct, self.reader.selection, names), columns)) as answers:
            for _, (rows, absent) in answers:
                keys.append(rows)
                missing += absent
                if len(keys) > 64:
                    keys = [pd.concat(keys).drop_duplicates()]
        refuse_missing(missing, self.n_rows)
        return Grouping(pd.concat(keys, ignore_index=True).drop_duplicates(ignore_index=True))

    def same_outcomes(self, other: Design) -> bool:
        if not isinstance(other, StreamedDesign):
            return False
        roles = [[getattr(design.reader.selection, role) for role in ROLES] for design in (self, other)]
        same = (self.kept, self.n_events, self.outcome) == (other.kept, other.n_events, other.outcome)
        return same and roles[0] == roles[1]

    def without_rows(self) -> StreamedDesign:
        return replace(self, source=None)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_engine"}


def from_source(
    formula: str,
    source: Source,
    *,
    scope: dict[str, Any],
    event: Any = None,
    subset: Any = None,
    missing: str = "drop",
    clusters: Any = None,
    design: Survey | None = None,
    engine: str | None = None,
    monitor: Monitor = NULL_MONITOR,
    **roles: Any,
) -> StreamedDesign:
    """Build a design from a formula and a table in pieces, by one look at the table, which `monitor` follows.

    Offset, exposure and weights (`roles`) are names of columns; for other options see :meth:`gevglm.BinaryGLM.from_formula`.
    """
    _refuse_arrays(roles, subset)
    if engine not in (None, "formulaic"):
        raise InvalidOptionError("data in pieces need formula_engine='formulaic'.")
    from gevglm.data.scan import scan

    scope = {name: value for name, value in scope.items() if name not in source.columns}  # not what columns hide
    selection = Selection(formula, scope, **roles, subset=subset, missing=missing, clusters=_names(clusters))
    columns = _columns(selection, source)
    source.check(columns)
    found, state = scan(source, selection, columns, monitor)
    weights = {role: getattr(selection, role) for role in WEIGHTS}
    _check_found(found, missing, weights)
    outcome = formulas.outcome_name(selection.left.text, source.columns)
    recipe = Recipe(selection.right, found.example, selection.scope, "formulaic", state, sparse=True)
    recipe.take_first()
    if not recipe.names:
        raise InvalidDataError("the design has no columns; a model with a constant only is 'y ~ 1'.")
    _refuse_too_many_columns(recipe)
    coding, events, total = _outcome(found, event, outcome, selection)
    reader = Reader(selection, recipe, coding, tuple(columns), outcome)
    refuse_dependence_on_other_rows(reader, found.example)
    n_rows = sum(found.kept.values())
    streamed = StreamedDesign(
        X=UnloadedArray.of(n_rows, len(recipe.names)),
        y=UnloadedArray.of(n_rows),
        **_vectors(selection, coding, n_rows),
        names=recipe.names,
        recipe=recipe,
        outcome=outcome,
        event=coding.event,
        source=source,
        reader=reader,
        kept=found.kept,
        n_given=found.n_given,
        n_missing=found.n_missing,
        n_events=events,
        n_total=total,
        sum_freq=float(n_rows if coding.shares else found.sums[0]),
        n_non_integer=found.non_integer,
        population=None if selection.sampling_weights is None else float(found.sums[3]),
        weight_names=weight_names(weights),
        offset_name=selection.offset,
        exposure_name=selection.exposure,
        sample=None if design is None else _sample(source, design),
    )
    return replace(streamed, constant=_constant(streamed))


def _sample(source: Source, given: Survey) -> SampleUnits:
    """Return the strata and units of a table in pieces, by one look at all of its rows."""
    arrays = [
        value for value in (given.strata, given.psu, given.fpc) if value is not None and not isinstance(value, str)
    ]
    if given.psu is None or given.replicates is not None or arrays:
        raise InvalidOptionError(
            "a survey design of data in pieces is described by names of columns, psu among them, and not by replicate weights; for rows that "
            "were drawn one by one give sampling_weights= instead of design=."
        )
    source.check(given.names)
    roles = {STRATUM: given.strata, UNIT: given.psu, "fpc": given.fpc}
    roles = {role: name for role, name in roles.items() if name is not None}
    found: list[pd.DataFrame] = []
    with closing(source.map(partial(_distinct_units, roles), given.names)) as answers:
        for _, rows in answers:
            found = [pd.concat([*found, rows]).drop_duplicates()] if len(found) > 64 else [*found, rows]
    units = pd.concat(found, ignore_index=True).drop_duplicates(ignore_index=True)
    names = [str(roles[role]) for role in (STRATUM, UNIT) if role in roles]
    return units_of(given, _keys_of(units)[0], None, names)


def _distinct_units(roles: dict[str, Any], table: pd.DataFrame, number: Number) -> pd.DataFrame:
    rows = table[list(roles.values())].set_axis(list(roles), axis=1)
    for role in roles:
        refuse_missing_facts(rows[role], role)
    return rows.drop_duplicates()


def _check_found(found: Any, missing: str, weights: dict[str, Any]) -> None:
    """Refuse a table in which the first look found nothing to fit, or values that cannot be used."""
    if not found.n_given:
        raise InvalidDataError("the data have no rows.")
    check_rows(found.n_given, found.n_asked, found.n_selected, found.n_missing, missing, weights)
    for problem, count in found.problems.items():
        raise InvalidDataError(f"{problem}; {count} rows are not.")


def _vectors(selection: Selection, coding: Coding, n_rows: int) -> dict[str, Any]:
    """Return stand-ins for the weights, trials and offset that the rows have."""
    vectors = {
        "freq": selection.freq_weights is not None and not coding.shares,
        "var": selection.var_weights is not None or selection.sampling_weights is not None,
        "represents": selection.var_weights is not None or selection.sampling_weights is not None,
        "trials": coding.counts or coding.shares,
        "offset": selection.offset is not None or selection.exposure is not None or bool(selection.offsets),
    }
    return {name: UnloadedArray.of(n_rows) for name, there in vectors.items() if there}


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
    named = [*(getattr(selection, role) for role in ROLES), *(selection.clusters or ())]
    subset = names_in(selection.subset) if selection.subset is not None else []
    for name in named:
        if name is not None and name not in source.columns:
            source.check([name])
    roles = [name for name in named if name is not None]
    in_subset = [name for name in subset if name in source.columns]
    return list(dict.fromkeys([*selection.used(source.columns), *roles, *in_subset]))


def _names(groups: Any) -> list[str] | None:
    """Return the names of the columns of clusters; None if they are not given by name, or not at all."""
    names: Any = [groups] if isinstance(groups, str) else groups if isinstance(groups, (list, tuple)) else [None]
    return list(names) if all(isinstance(name, str) for name in names) else None


def _refuse_too_many_columns(recipe: Recipe) -> None:
    """Refuse designs whose second derivatives do not fit in memory: those with the levels of one factor, and few columns beside them, are arrows."""
    number = len(recipe.names)
    beside = number - max((len(coding.levels) for coding in recipe.codings().values()), default=0) + 1
    pairs = number * beside if number >= LARGE_MATRIX and LOW * beside <= number else number**2
    needed, there = BYTES_PER_PAIR * pairs, physical_memory()
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


def _constant(design: StreamedDesign) -> int | None:
    """Return the first column of ones, if there is one."""
    if "Intercept" in design.names:
        return design.names.index("Intercept")
    ones = design.engine().reduce(ArraySum(_not_one)) == 0
    return int(np.flatnonzero(ones)[0]) if ones.any() else None


def _not_one(block: Block) -> NDArray:
    return len(block.y) - (block.X == 1.0).sum(axis=0)
