"""formulaic with the columns of patsy: the order of its terms, its codings of factors, its names.

formulaic evaluates the factors, remembers what stateful transforms need and can be pickled; patsy, the older one, says which
columns a formula has. So both engines give the same design, and a formula means what it means in statsmodels.
"""

from __future__ import annotations

import ast
import functools
import itertools
import operator
import re
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import patsy
from formulaic import Formula, ModelSpec
from formulaic.materializers import PandasMaterializer
from formulaic.materializers.types import EvaluatedFactor, ScopedFactor, ScopedTerm
from formulaic.parser.types import Factor, Term
from interface_meta import override
from numpy.typing import NDArray
from patsy.categorical import _CategoricalBox
from patsy.contrasts import _get_level, _name_levels, code_contrast_matrix
from patsy.redundancy import pick_contrasts_for_term
from patsy.util import SortAnythingKey

from gevglm.engine.linalg import Matrix
from gevglm.engine.sparse import SPARSE, SparseColumn, indicators, matrix_of, row_numbers

MANY_LEVELS = 20  # of a factor whose columns are kept sparse while the matrix is built


def design(
    formula: patsy.ModelDesc | ModelSpec,
    frame: pd.DataFrame,
    scope: dict[str, Any],
    memory: Memory | None = None,
    sparse: bool = False,
) -> tuple[Matrix, ModelSpec]:
    """Return the matrix of a formula, or of the specification of an earlier one, and its specification.

    Parameters
    ----------
    formula : ModelDesc or ModelSpec
        The right-hand side, as patsy reads it.
    frame : DataFrame
        Complete rows.
    scope : dict
        What the formula may name besides the columns.
    memory : Memory, optional
        What was learned from other data, for a formula; by default it is learned from `frame`.
    sparse : bool
        Whether the matrix of a formula, and of its specification, may be sparse.
    """
    known = isinstance(formula, ModelSpec)
    if known:
        spec = formula
    else:
        learned = {} if memory is None else {"transform_state": memory.states, "encoder_state": memory.encoders}
        spec = ModelSpec(Formula(terms(formula), _ordering="none"), output="sparse" if sparse else "numpy", **learned)
    matrix = Materializer(frame, context={"Q": frame.__getitem__} | scope).get_model_matrix(spec, na_action="ignore")
    spec = matrix.model_spec
    if not known:
        spec = spec.update(formula=Formula([row.term for row in spec.structure], _ordering="none"))
    return matrix.__wrapped__, spec


def terms(formula: patsy.ModelDesc) -> list[Term]:
    """Return the terms of a formula in the words of formulaic."""
    return [
        Term([Factor(f.code, eval_method="lookup" if f.code.isidentifier() else "python") for f in term.factors])
        if term.factors
        else Intercept([Factor("1", eval_method="literal")])
        for term in formula.rhs_termlist
    ]


class Intercept(Term):
    """The constant, under the name it has in patsy."""

    def __repr__(self) -> str:
        return "Intercept"


class Materializer(PandasMaterializer):
    """formulaic's builder of matrices, with columns as in patsy."""

    REGISTER_NAME = "gevglm"
    REGISTER_INPUTS = ()

    @override
    def _evaluate(self, expr: str, metadata: Any, spec: ModelSpec) -> tuple[Any, set[Any]]:
        """Evaluate a factor; functions that remember their first data do so by the text of the call."""

        def with_memory(function: Any, text: str, inner: list[str]) -> Any:
            state = spec.transform_state.setdefault(text, {})
            if hasattr(function, "__patsy_stateful_transform__"):
                return functools.partial(remember, function.__patsy_stateful_transform__, state)
            return functools.partial(function, _state=state, _spec=spec, _context=self.layered_context)

        return evaluated(expr, self.layered_context, with_memory), set()

    @override
    def _encode_constant(
        self, value: Any, metadata: Any, encoder_state: dict[str, Any], spec: ModelSpec, drop_rows: Sequence[int]
    ) -> NDArray:
        return np.full(self.nrows, float(value))

    @override
    def _is_categorical(self, values: Any) -> bool:
        return is_categorical(getattr(values, "__wrapped__", values))

    @override
    def _get_scoped_terms(
        self, terms: Sequence[Term], ensure_full_rank: bool = True
    ) -> Iterator[tuple[Term, list[ScopedTerm]]]:
        """Order and code the terms: first those without numbers, then by their numbers; in each group by degree."""
        groups: dict[frozenset[str], list[Term]] = {frozenset(): []}
        for term in terms:
            numbers = frozenset(f.expr for f in term.factors if self._kind(f) is Factor.Kind.NUMERICAL)
            groups.setdefault(numbers, []).append(term)
        for numbers, group in groups.items():
            used: set[Any] = set()
            for term in sorted(group, key=lambda term: term.degree):
                names = [f.expr for f in term.factors if self._kind(f) is not Factor.Kind.CONSTANT]
                codings = pick_contrasts_for_term(patsy.Term(names), numbers, used)
                yield term, [self._scoped(names, numbers, coding) for coding in codings]

    def _kind(self, factor: Factor) -> Factor.Kind:
        return self.factor_cache[factor.expr].metadata.kind

    def _scoped(self, names: list[str], numbers: frozenset[str], coding: dict[str, bool]) -> ScopedTerm:
        """Return the columns of a term in which the factors of `coding` are coded in full (True) or not."""
        return ScopedTerm(
            ScopedFactor(self.factor_cache[name], reduced=not coding.get(name, True))
            for name in names
            if name in numbers or name in coding
        )

    @override
    def _encode_evaled_factor(
        self, factor: EvaluatedFactor, spec: ModelSpec, drop_rows: Sequence[int], reduced_rank: bool = False
    ) -> dict[str, Any]:
        if factor.metadata.encoder is not None:  # hashed() of formulaic
            return super()._encode_evaled_factor(factor, spec, drop_rows, reduced_rank)
        key = (factor.expr, reduced_rank)
        if key not in self.encoded_cache:
            values = factor.values.__wrapped__
            kind, memory = spec.encoder_state.setdefault(factor.expr, (factor.metadata.kind, {}))
            columns = (
                self._dummies(factor.expr, values, memory, reduced_rank)
                if kind is Factor.Kind.CATEGORICAL
                else self._numbers(factor.expr, values)
            )
            self.encoded_cache[key] = {f"{factor.expr}{suffix}": column for suffix, column in columns.items()}
        return self.encoded_cache[key]

    def _numbers(self, name: str, values: Any) -> dict[str, NDArray]:
        if isinstance(values, dict):
            values = np.column_stack([column for key, column in values.items() if not str(key).startswith("__")])
        elif self._is_categorical(values):
            raise ValueError(f"{name} is not a number")
        array = np.asarray(values, dtype=float)
        self._check_rows(name, array)
        if array.ndim == 1:
            return {"": array}
        return {f"[{j}]" if array.shape[1] > 1 else "": column for j, column in enumerate(array.T)}

    def _dummies(self, name: str, values: Any, memory: dict[str, Any], reduced: bool) -> dict[str, NDArray]:
        """Return the coded columns of a factor by the endings of their names; `memory` keeps its levels."""
        contrast, levels = None, memory.get("categories")
        if isinstance(values, _CategoricalBox):
            contrast, levels = values.contrast, levels if values.levels is None else list(values.levels)
            values = values.data
        contrast = contrast() if isinstance(contrast, type) else contrast
        if name not in self.encoded_cache:
            self._check_rows(name, values)
            self.encoded_cache[name] = _coded(pd.Series(values), levels)
        memory["categories"], codes = self.encoded_cache[name]
        if len(memory["categories"]) >= MANY_LEVELS and (contrast is None or isinstance(contrast, patsy.Treatment)):
            return self._indicators(codes, memory, contrast or patsy.Treatment(), reduced)
        coding = code_contrast_matrix(not reduced, memory["categories"], contrast, default=patsy.Treatment)
        memory.setdefault("contrasts", Coding(memory["categories"])).keep(coding.matrix, reduced, contrast)
        columns = {s: coding.matrix[:, j].take(codes) for j, s in enumerate(coding.column_suffixes)}
        if len(columns) < len(coding.column_suffixes):
            raise ValueError(f"levels of {name} have the same name: {', '.join(coding.column_suffixes)}")
        return columns

    def _indicators(
        self, codes: NDArray, memory: dict[str, Any], contrast: patsy.Treatment, reduced: bool
    ) -> dict[str, SparseColumn]:
        """Return the columns of a factor with many levels, without the matrix of its coding."""
        levels = memory["categories"]
        reference = 0 if contrast.reference is None else _get_level(levels, contrast.reference)
        memory.setdefault("contrasts", Coding(levels, reference=levels[reference]))
        places = [place for place in range(len(levels)) if not (reduced and place == reference)]
        suffixes = _name_levels("T." if reduced else "", [levels[place] for place in places])
        return dict(zip(suffixes, indicators(codes, len(levels), places), strict=True))

    def _check_rows(self, name: str, values: Any) -> None:
        if np.ndim(values) == 0 or len(values) != self.nrows:
            raise ValueError(f"{name} has {np.size(values)} values, but the data have {self.nrows} rows")

    @override
    def _get_columns_for_term(
        self, factors: list[dict[str, Any]], spec: ModelSpec, scale: float = 1
    ) -> dict[str, NDArray]:
        products = (product[::-1] for product in itertools.product(*(factor.items() for factor in reversed(factors))))
        return {
            ":".join(name for name, _ in product): functools.reduce(operator.mul, (column for _, column in product))
            for product in products
        }

    @override
    def _combine_columns(self, cols: Sequence[tuple[str, Any]], spec: ModelSpec, drop_rows: Sequence[int]) -> Matrix:
        columns = [column for _, column in cols]
        if spec.output == "sparse" and SPARSE * row_numbers(columns) <= len(columns):
            return matrix_of(columns, self.nrows)
        matrix = np.empty((self.nrows, len(columns)), order="F")
        for j, column in enumerate(columns):
            matrix[:, j] = column.toarray(self.nrows) if isinstance(column, SparseColumn) else column
        return matrix


@dataclass
class Coding:
    """How a factor was coded, in the words of formulaic; statsmodels asks for it."""

    levels: list[Any]
    matrices: dict[bool, NDArray] | None = None
    reference: Any = None

    def keep(self, matrix: NDArray, reduced: bool, contrast: Any) -> None:
        """Keep a matrix, unless it is the usual one."""
        if contrast is not None:
            self.matrices = {**(self.matrices or {}), reduced: matrix}

    def get_coding_matrix(self, reduced_rank: bool = True) -> NDArray:
        """Return the codes, a row for each level."""
        if self.matrices is None:
            return code_contrast_matrix(not reduced_rank, self.levels, patsy.Treatment(self.reference)).matrix
        return self.matrices[reduced_rank]


def _coded(values: pd.Series, levels: list[Any] | None) -> tuple[list[Any], NDArray]:
    """Return the levels of a factor (those given, or its own) and the place of each row's level among them."""
    codes, found = pd.factorize(values)
    found = found.tolist()
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
    return sorted({*found, *booleans}, key=SortAnythingKey)


@dataclass
class Memory:
    """What a formula remembers of its first data.

    Attributes
    ----------
    states : dict
        Of functions, by the text of their call.
    encoders : dict
        Kind and levels of factors, by their text.
    """

    states: dict[str, dict[str, Any]]
    encoders: dict[str, tuple[Factor.Kind, dict[str, Any]]]

    def levels_of(self, columns: set[str]) -> dict[str, set[Any]]:
        """Return the levels of columns that are factors by themselves or in ``C()``."""
        return {
            name: set(encoder["categories"])
            for name in columns
            for expr, (kind, encoder) in self.encoders.items()
            if kind is Factor.Kind.CATEGORICAL
            and (expr == name or re.match(rf"C\(\s*(Q\(.)?{re.escape(name)}\b", expr))
        }


def evaluated(expr: str, context: Mapping[str, Any], with_memory: Callable[[Any, str, list[str]], Any]) -> Any:
    """Evaluate a factor.

    Parameters
    ----------
    expr : str
    context : mapping
        Columns and functions by name.
    with_memory : callable
        What to call instead of a function that remembers its first data, from the function, the text of its call, and the texts of
        such calls within it.
    """
    tree = ast.parse(expr, mode="eval")
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and remembers(context.get(node.func.id))
    ]
    texts = {id(call): ast.unparse(call) for call in calls}
    inner = {id(call): [texts[id(n)] for n in ast.walk(call) if n is not call and id(n) in texts] for call in calls}
    remembering: dict[str, Any] = {}
    for call in calls:
        function = with_memory(context.get(call.func.id), texts[id(call)], inner[id(call)])
        call.func.id = f"_remembering_{len(remembering)}"
        remembering[call.func.id] = function
    return eval(compile(tree, expr, "eval"), {}, ChainMap(remembering, context))


def remembers(function: Any) -> bool:
    """Whether a function remembers its first data."""
    return hasattr(function, "__patsy_stateful_transform__") or getattr(function, "__is_stateful_transform__", False)


def is_categorical(values: Any) -> bool:
    """Whether values make dummies."""
    if isinstance(values, (_CategoricalBox, dict)):
        return isinstance(values, _CategoricalBox)
    dtype = values.dtype if hasattr(values, "dtype") else np.asarray(values).dtype
    if pd.api.types.is_timedelta64_dtype(dtype):
        raise ValueError("lengths of time are no numbers; divide them by pd.Timedelta('1 day')")
    return pd.api.types.is_bool_dtype(dtype) or not pd.api.types.is_numeric_dtype(dtype)


def remember(kind: type, state: dict[str, Any], *args: Any, **options: Any) -> Any:
    """Call a function of patsy that remembers its first data, in `state`."""
    memory = kind()
    if state:
        vars(memory).update(state)
    else:
        memory.memorize_chunk(*args, **options)
        memory.memorize_finish()
        state.update(vars(memory))
    return memory.transform(*args, **options)
