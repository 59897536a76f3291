"""The columns of a formula: factors are evaluated, coded and multiplied, with the columns and names of patsy."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import patsy
from numpy.typing import NDArray

from gevglm.data.expressions import Call, Expression, expression, names_in
from gevglm.data.formula_engines import (
    Categorical,
    Coding,
    Structure,
    TermCoding,
    categorical,
    codings,
    contrast_columns,
    in_order,
    specification,
    treatment_columns,
    unwrapped,
)
from gevglm.data.tables import real
from gevglm.data.transforms import WORDS, apply_stateful, is_stateful
from gevglm.engine.linalg import Matrix
from gevglm.engine.sparse import SPARSE, SparseColumn, indicators, matrix_of, row_numbers
from gevglm.exceptions import GevglmError, listed

MANY_LEVELS = 20  # of a factor whose columns are kept sparse while the matrix is built
Column = NDArray | SparseColumn


@dataclass
class TransformState:
    """What a formula keeps of its first data."""

    # the states of stateful functions, by the text of their call
    functions: dict[str, dict[str, Any]] = field(default_factory=dict)
    # how a factor is coded, None for numbers, by its text
    factors: dict[str, Coding | None] = field(default_factory=dict)


class ModelMatrix:
    """The right-hand side of a formula, which becomes fixed with the first table that it is given.

    It is given as the factors of each term; `state` was learned from more data than the first table.
    """

    def __init__(self, terms: list[tuple[str, ...]], state: TransformState | None = None, sparse: bool = False):
        self.terms = terms
        self.state = TransformState() if state is None else state
        self.sparse = sparse
        self.expressions: dict[str, Expression] = {name: expression(name) for term in terms for name in term}
        self.structure: Structure = ()
        self.columns: list[list[str]] | None = None

    def build(self, frame: pd.DataFrame, scope: Mapping[str, Any]) -> Matrix:
        """Return the matrix of complete rows; `scope` is what the formula may name besides their columns."""
        table = _Table(self, frame, scope)
        if self.columns is None:
            numbers = frozenset(name for name, coding in self.state.factors.items() if coding is None)
            self.structure = codings(tuple(self.terms), numbers)
        columns = [table.columns_of(coded) for _, coded in self.structure]
        names = [list(group) for group in columns]
        if self.columns is None:
            self.columns = names
        for (term, _), expected, found in zip(self.structure, self.columns, names, strict=True):
            if len(expected) != len(found):
                raise ValueError(
                    f"{':'.join(term)} has {len(found)} columns, but {len(expected)} in the data of the model"
                )
        return self._joined([column for group in columns for column in group.values()], len(frame))

    def _joined(self, columns: Sequence[Column], n_rows: int) -> Matrix:
        if self.sparse and SPARSE * row_numbers(columns) <= len(columns):
            return matrix_of(columns, n_rows)
        matrix = np.empty((n_rows, len(columns)), order="F")
        for j, column in enumerate(columns):
            matrix[:, j] = column.toarray(n_rows) if isinstance(column, SparseColumn) else column
        return matrix

    def part(self, variables: Collection[str]) -> tuple[ModelMatrix, NDArray]:
        """Return the terms that any of the variables is in, and the places of their columns, after the first table."""
        assert self.columns is not None
        part = copy(self)
        part.__dict__.pop("specification", None)
        uses = {name: not set(names_in(name, called=False)).isdisjoint(variables) for name in self.expressions}
        kept = [any(uses[name] for name in term) for term, _ in self.structure]
        part.terms = [term for (term, _), used in zip(self.structure, kept, strict=True) if used]
        part.structure = tuple(itertools.compress(self.structure, kept))
        part.columns = list(itertools.compress(self.columns, kept))
        part.expressions = {name: self.expressions[name] for term in part.terms for name in term}
        return part, np.flatnonzero(np.repeat(kept, [len(group) for group in self.columns]))

    @property
    def text(self) -> str:
        """The terms as they are written in a formula."""
        return " + ".join(":".join(term) or "1" for term in self.terms)

    @property
    def used(self) -> set[str]:
        """What the terms name, besides functions."""
        return {name for factor in self.expressions for name in names_in(factor, called=False)}

    @property
    def names(self) -> list[str]:
        """Of the columns."""
        return [name for group in self.columns or () for name in group]

    @cached_property
    def specification(self) -> Any:
        """The design in the words of formulaic, for statsmodels."""
        return specification(self.structure, self.columns or (), self.state)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "specification"}


class _Table:
    """The factors of a formula in the rows of a table, each evaluated and coded once."""

    def __init__(self, matrix: ModelMatrix, frame: pd.DataFrame, scope: Mapping[str, Any]):
        self._state = matrix.state
        self._n_rows = len(frame)
        self._numbers: dict[str, Any] = {}
        self._factors: dict[str, Categorical] = {}
        self._codes: dict[str, NDArray] = {}
        self._coded: dict[tuple[str, bool], dict[str, Column]] = {}
        context = context_of(matrix.expressions.values(), frame, scope)
        for name, factor in matrix.expressions.items():
            try:
                self._take(name, factor.evaluate(context, self._stateful))
            except GevglmError:
                raise
            except Exception as error:
                kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
                raise ValueError(f"{name}: {kind}{error}") from None

    def _stateful(self, function: Any, call: Call) -> Any:
        if not is_stateful(function):
            return function
        return functools.partial(apply_stateful, function, self._state.functions.setdefault(call.text, {}))

    def _take(self, name: str, values: Any) -> None:
        """Keep the values of a factor; the first that are seen say whether it is one, and its levels."""
        factor, coding = categorical(values), self._state.factors.get(name)
        if factor is None and coding is None:
            self._numbers[name], self._state.factors[name] = unwrapped(values), None
            return
        if coding is None and name in self._state.factors:
            raise ValueError("it is not a number")
        self._factors[name] = factor = factor or Categorical(values)
        self._check_rows(name, factor.values)
        levels = coding.levels if factor.levels is None and coding is not None else factor.levels
        levels, self._codes[name] = coded(pd.Series(factor.values), levels)
        self._state.factors[name] = coding or Coding(levels)

    def columns_of(self, codings: tuple[TermCoding, ...]) -> dict[str, Column]:
        """Return the columns of a term, by their names."""
        columns: dict[str, Column] = {}
        for coding in codings:
            if not coding:
                columns["Intercept"] = np.ones(self._n_rows)
            factors = [self._columns(name, reduced) for name, reduced in coding]
            for product in itertools.product(*(factor.items() for factor in reversed(factors))) if factors else ():
                names, parts = zip(*reversed(product), strict=True)
                columns[":".join(names)] = functools.reduce(operator.mul, parts)
        return columns

    def _columns(self, name: str, reduced: bool) -> dict[str, Column]:
        key = (name, reduced)
        if key not in self._coded:
            try:
                columns = self._dummies(name, reduced) if name in self._factors else self._columns_of_numbers(name)
                self._coded[key] = {f"{name}{suffix}": column for suffix, column in columns}
            except patsy.PatsyError as error:
                coding = self._state.factors[name]
                levels = "" if coding is None else f"; the levels are {listed(map(str, coding.levels))}"
                raise ValueError(f"{name}: {error.message}{levels}") from None
        return self._coded[key]

    def _columns_of_numbers(self, name: str) -> Iterator[tuple[str, NDArray]]:
        values = self._numbers[name]
        if isinstance(values, dict):
            values = np.column_stack([column for key, column in values.items() if not str(key).startswith("__")])
        array = np.asarray(real(values, name), dtype=float)
        self._check_rows(name, array)
        if array.ndim == 1:
            yield "", array
            return
        for j, column in enumerate(array.T):
            yield f"[{j}]" if array.shape[1] > 1 else "", column

    def _dummies(self, name: str, reduced: bool) -> Iterator[tuple[str, Column]]:
        """Yield the coded columns of a factor with the endings of their names."""
        contrast, coding, codes = self._factors[name].contrast, self._state.factors[name], self._codes[name]
        assert coding is not None
        if contrast is None or isinstance(contrast, patsy.Treatment):
            treatment = contrast or patsy.Treatment()
            places, suffixes, coding.reference = treatment_columns(coding.levels, treatment, reduced)
            columns: Iterable[Column] = ((codes == place).astype(float) for place in places)
            if len(coding.levels) >= MANY_LEVELS:
                columns = indicators(codes, len(coding.levels), places)
        else:
            matrix, suffixes = contrast_columns(coding.levels, contrast, reduced)
            coding.matrices = {**(coding.matrices or {}), reduced: matrix}
            columns = (codes_of_levels.take(codes) for codes_of_levels in matrix.T)
        if len(set(suffixes)) < len(suffixes):
            raise ValueError(f"levels of {name} have the same name: {', '.join(suffixes)}")
        yield from zip(suffixes, columns, strict=True)

    def _check_rows(self, name: str, values: Any) -> None:
        if np.ndim(values) == 0 or len(values) != self._n_rows:
            raise ValueError(f"{name} has {np.size(values)} values, but the data have {self._n_rows} rows")


def context_of(expressions: Collection[Expression], frame: pd.DataFrame, scope: Mapping[str, Any]) -> dict[str, Any]:
    """Return what expressions may name: the columns of a table, a scope, and the words of formulas.

    Columns hide variables of the scope, and both hide words; but only functions hide a function that is called.
    """
    words = {"Q": frame.__getitem__, **WORDS}
    used = dict.fromkeys(name for factor in expressions for name in factor.names)
    columns = {name: frame[name] for name in used if name in frame.columns}
    return {**words, **scope, **columns, **called_functions(expressions, words, scope)}


def called_functions(
    expressions: Iterable[Expression], words: Mapping[str, Any], scope: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the functions that expressions call, by ``"name()"``: those of the scope, and words that none of these hides."""
    functions = {**words, **{name: value for name, value in scope.items() if callable(value)}}
    called = {call.name for factor in expressions for call in factor.calls}
    return {f"{name}()": functions[name] for name in called if name in functions}


def coded(values: pd.Series, levels: list[Any] | None) -> tuple[list[Any], NDArray]:
    """Return the levels of a factor (those given, or its own) and the place of each row's level among them."""
    codes, unique = pd.factorize(values)
    found = unique.tolist()
    if levels is None:
        levels = ordered_levels(values.dtype, found)
    places = {level: i for i, level in enumerate(levels)}
    unknown = [level for level in found if level not in places]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not among the levels {', '.join(map(repr, levels[:8]))}")
    if (codes < 0).any():
        raise ValueError("a factor has missing values")
    return levels, np.array([places[level] for level in found], dtype=np.intp).take(codes)


def ordered_levels(dtype: Any, found: list[Any]) -> list[Any]:
    """Return the levels of a factor in the order of its columns."""
    if isinstance(dtype, pd.CategoricalDtype):
        return dtype.categories.tolist()
    booleans = [False, True] if any(isinstance(level, bool) for level in found) else []
    return in_order({*found, *booleans})
