"""The one door to patsy and formulaic: everything of theirs that is private, undocumented or differs between versions.

patsy says which columns a formula has (its terms, the coding of factors, names); formulaic's model specification is what statsmodels asks for the
terms of a model. The rest of the package uses the functions of this module, the splines in :mod:`gevglm.data.patsy_splines`, and the public names of both.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import patsy
from formulaic import Formula, ModelSpec
from formulaic.materializers.base import EncodedTermStructure
from formulaic.materializers.types import EvaluatedFactor, FactorValues, ScopedFactor, ScopedTerm
from formulaic.parser.types import Factor, Term
from formulaic.transforms import hashed as hash_of_formulaic
from numpy.typing import NDArray
from patsy.categorical import _CategoricalBox
from patsy.contrasts import _get_level, _name_levels, _obj_to_readable_str, code_contrast_matrix
from patsy.eval import VarLookupDict
from patsy.infix_parser import Operator
from patsy.parse_formula import parse_formula
from patsy.redundancy import pick_contrasts_for_term
from patsy.util import SortAnythingKey

from gevglm.data.expressions import Expression, argument_of, expression, with_quotes
from gevglm.data.operators import OPERATORS, Guard
from gevglm.exceptions import InvalidDataError

TermCoding = tuple[tuple[str, bool], ...]  # factors of some columns of a term; whether each is coded less one level
Structure = tuple[tuple[tuple[str, ...], tuple[TermCoding, ...]], ...]  # the terms of a design, and the codings of each


# -- reading a formula -----------------------------------------------------------------------


@lru_cache(256)
def read(formula: str) -> patsy.ModelDesc:
    """Return the terms of a formula, as patsy reads it; names in backticks are quoted, ``^`` is ``**``, and offsets are left out."""
    every = _read(formula)
    terms = [term for term in every.rhs_termlist if _offset_of(term) is None]
    return every if len(terms) == len(every.rhs_termlist) else patsy.ModelDesc(every.lhs_termlist, terms)


def offsets_of(right: str) -> list[Expression]:
    """Return what stands in ``offset()`` on the right-hand side of a formula, none if it cannot be read, which is explained elsewhere."""
    if "offset" not in right:
        return []
    try:
        terms = _read(right).rhs_termlist
        return [expression(inside) for term in terms if (inside := _offset_of(term)) is not None]
    except patsy.PatsyError:
        return []


def _read(formula: str) -> patsy.ModelDesc:
    tree = parse_formula(with_quotes(formula), extra_operators=[Operator("^", 2, 500)])
    nodes = [tree]
    for node in nodes:
        nodes.extend(node.args)
        node.type = "**" if node.type == "^" else node.type
    return patsy.ModelDesc.from_formula(tree)


def _offset_of(term: patsy.Term) -> str | None:
    """Return what is inside a term that is an offset, None for other terms."""
    insides = [argument_of(factor.code, "offset") for factor in term.factors if factor.code.startswith("offset")]
    if not any(insides):
        return None
    if len(term.factors) > 1:
        raise InvalidDataError(
            f"{term.name()}: an offset has no coefficient, and stands by itself: + {term.factors[0].code}."
        )
    return insides[0]


def terms_of(formula: patsy.ModelDesc) -> list[tuple[str, ...]]:
    """Return the factors of each term of a right-hand side; none for the constant."""
    return [tuple(factor.code for factor in term.factors) for term in formula.rhs_termlist]


@lru_cache(256)
def codings(terms: tuple[tuple[str, ...], ...], numbers: frozenset[str]) -> Structure:
    """Order the terms and say how their factors are coded, as patsy does.

    First come terms without numbers (factors that are not categorical), then those of each set of numbers, in each group by degree.
    """
    groups: dict[frozenset[str], list[tuple[str, ...]]] = {frozenset(): []}
    for term in terms:
        groups.setdefault(frozenset(numbers.intersection(term)), []).append(term)
    coded = []
    for inside, group in groups.items():
        used: set[Any] = set()
        for term in sorted(group, key=len):
            picked = pick_contrasts_for_term(patsy.Term(list(term)), inside, used)
            columns = (
                tuple((name, not full.get(name, True)) for name in term if name in inside or name in full)
                for full in picked
            )
            coded.append((term, tuple(columns)))
    return tuple(coded)


# -- factors ---------------------------------------------------------------------------------


class Categorical(NamedTuple):
    """Values that make dummies, with the contrast and the levels that ``C()`` was given."""

    values: Any
    contrast: Any = None
    levels: list[Any] | None = None


def categorical(values: Any) -> Categorical | None:
    """Return values that make dummies as such; None for numbers."""
    if isinstance(values, _CategoricalBox):
        contrast = values.contrast() if isinstance(values.contrast, type) else values.contrast
        return Categorical(values.data, contrast, None if values.levels is None else list(values.levels))
    if isinstance(values, FactorValues) and values.__formulaic_metadata__.encoder is not None:
        raise ValueError("functions of formulaic that code factors are not known; use C()")
    values = unwrapped(values)
    if isinstance(values, dict):
        return None
    dtype = values.dtype if hasattr(values, "dtype") else np.asarray(values).dtype
    if pd.api.types.is_timedelta64_dtype(dtype):
        raise ValueError("lengths of time are not numbers; divide them by pd.Timedelta('1 day')")
    if _are_dates(values, dtype):
        raise ValueError(
            "dates are not numbers; I((date - pd.Timestamp('2020-01-01')) / pd.Timedelta('1 day')) counts days, date.dt.year is the year, "
            "and C(date) makes a factor of them"
        )
    if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype):
        return None
    return Categorical(values)


def _are_dates(values: Any, dtype: Any) -> bool:
    if pd.api.types.is_object_dtype(dtype):
        return pd.api.types.infer_dtype(values, skipna=True) in ("date", "datetime", "datetime64", "period")
    return pd.api.types.is_datetime64_any_dtype(dtype) or isinstance(dtype, pd.PeriodDtype)


def unwrapped(values: Any) -> Any:
    """Return the values that a function of formulaic returned."""
    return values.__wrapped__ if isinstance(values, FactorValues) else values


def hashed(data: Any, levels: int, contrasts: Any = None, **options: Any) -> Any:
    """Hash the values of a factor into so many levels, as formulaic does."""
    return patsy.builtins.C(hash_of_formulaic(data, levels, **options).__wrapped__, contrasts, levels=range(levels))


def in_order(levels: Iterable[Any]) -> list[Any]:
    """Sort levels of any kind."""
    return sorted(levels, key=SortAnythingKey)


def contrast_columns(levels: list[Any], contrast: Any, reduced: bool) -> tuple[NDArray, list[str]]:
    """Return the codes of a factor, one row per level, and the endings of the names of its columns."""
    coding = code_contrast_matrix(not reduced, levels, contrast, default=patsy.Treatment)
    return coding.matrix, coding.column_suffixes


def treatment_columns(levels: list[Any], contrast: patsy.Treatment, reduced: bool) -> tuple[list[int], list[str], Any]:
    """Return the levels that have a column, the endings of the names of these, and the reference, without a matrix of codes."""
    contrast = contrast.among(levels) if isinstance(contrast, Reference) else contrast
    reference = 0 if contrast.reference is None else _get_level(levels, contrast.reference)
    places = [place for place in range(len(levels)) if not (reduced and place == reference)]
    return places, _name_levels("T." if reduced else "", [levels[place] for place in places]), levels[reference]


def names_by_level(names: Sequence[str], codings: Iterable[Coding]) -> list[str]:
    """Return the names of columns with levels as people write them: g[T.(0.3, 0.4]], where patsy has its Python code."""
    written = {
        _obj_to_readable_str(level): str(level)
        for coding in codings
        for level in coding.levels
        if _obj_to_readable_str(level) != str(level)
    }
    if not written:
        return list(names)
    longest_first = sorted(written, key=len, reverse=True)
    level = re.compile(rf"(?<=[\[.])({'|'.join(map(re.escape, longest_first))})(?=\])")
    return [level.sub(lambda match: written[match[1]], name) for name in names]


class Reference(patsy.Treatment):
    """Treatment coding whose reference is given by the text of a level, whatever the level is: '2' is also the number 2."""

    def among(self, levels: Sequence[Any]) -> patsy.Treatment:
        """Return the coding of these levels."""
        found = [level for level in levels if str(level) == self.reference]
        if not found:
            raise patsy.PatsyError(f"there is no level {self.reference!r}")
        return patsy.Treatment(found[0])

    def code_with_intercept(self, levels: Sequence[Any]) -> Any:
        return self.among(levels).code_with_intercept(levels)

    def code_without_intercept(self, levels: Sequence[Any]) -> Any:
        return self.among(levels).code_without_intercept(levels)


@dataclass
class Coding:
    """How a factor was coded, in the words of formulaic; statsmodels asks for it."""

    levels: list[Any]
    # the codes, by whether they are those less one level; None for the usual ones
    matrices: dict[bool, NDArray] | None = None
    reference: Any = None  # the level that is left out by treatment coding; by default the first

    @property
    def left_out(self) -> Any:
        """The level whose codes are all zero, None if there is none."""
        if self.matrices is None:
            return self.levels[0] if self.reference is None else self.reference
        return left_out(self.levels, self.matrices[True]) if True in self.matrices else None

    def get_coding_matrix(self, reduced_rank: bool = True) -> NDArray:
        """Return the codes, one row per level."""
        if self.matrices is None:
            return contrast_columns(self.levels, patsy.Treatment(self.reference), reduced_rank)[0]
        return self.matrices[reduced_rank]


# -- patsy as an engine ----------------------------------------------------------------------


def patsy_design(formula: Any, frame: pd.DataFrame, scope: dict[str, Any]) -> tuple[NDArray, patsy.DesignInfo]:
    """Return the matrix that patsy makes of a formula or of an earlier design, and the design."""
    matrix = patsy.dmatrix(formula, frame, eval_env=_Environment([scope]), NA_action=_NoMissingLevels("raise"))
    for info in matrix.design_info.factor_infos.values():
        if not isinstance(info.state["eval_env"], _CompiledEnvironment):
            info.state["eval_env"] = _CompiledEnvironment(info.state["eval_env"], info.state["eval_code"])
    return matrix, matrix.design_info


def patsy_codings(design: patsy.DesignInfo) -> dict[str, Coding]:
    """Return how each factor of a design of patsy is coded."""
    found: dict[str, Coding] = {}
    for coding in (coding for term in design.term_codings.values() for coding in term):
        for factor, contrast in coding.contrast_matrices.items():
            levels = list(design.factor_infos[factor].categories)
            known = found.setdefault(factor.code, Coding(levels, {}))
            known.matrices = {**(known.matrices or {}), contrast.matrix.shape[1] < len(levels): contrast.matrix}
    return found


def left_out(levels: list[Any], codes: NDArray) -> Any:
    """Return the level whose codes are all zero, None if there is none."""
    return next((level for level, row in zip(levels, codes, strict=True) if not np.any(row)), None)


class _Environment(patsy.EvalEnvironment):
    """Where patsy evaluates a factor: as in its own environment, but with the operators of formulas."""

    def subset(self, names: Iterable[str]) -> _Environment:
        return _Environment(super().subset(names)._namespaces, self.flags)

    def eval(self, expr: str, source_name: str = "<string>", inner_namespace: Any = None) -> Any:
        return eval(_guarded(expr), {}, VarLookupDict([inner_namespace or {}, OPERATORS, *self._namespaces]))


class _CompiledEnvironment:
    """The same for a factor of new data: what is evaluated is compiled before."""

    def __init__(self, environment: patsy.EvalEnvironment, text: str):
        self.text = text
        self.code = _guarded(text)
        self.namespace = environment.namespace

    def eval(self, expr: str, source_name: str = "<string>", inner_namespace: Any = None) -> Any:
        assert expr == self.text
        return eval(self.code, {}, VarLookupDict([inner_namespace or {}, OPERATORS, self.namespace]))


def _guarded(text: str) -> CodeType:
    return compile(ast.fix_missing_locations(Guard().visit(ast.parse(text, mode="eval"))), "<string>", "eval")


class _NoMissingLevels(patsy.NAAction):
    """Refuse missing values of factors, let those of numbers pass."""

    def is_categorical_NA(self, obj: Any) -> bool:
        return obj is None or obj != obj

    def is_numerical_NA(self, arr: Any) -> NDArray:
        return np.zeros(len(arr), dtype=bool)


# -- formulaic's description of a design -----------------------------------------------------


class Intercept(Term):
    """The constant, under the name it has in patsy."""

    def __repr__(self) -> str:
        return "Intercept"


def specification(structure: Structure, columns: Sequence[list[str]], state: Any) -> ModelSpec:
    """Return a design in the words of formulaic, from terms and codings (see :func:`codings`) and the names of each term's columns."""
    formula, terms = _in_formulaic(structure)
    return ModelSpec(
        formula,
        materializer="gevglm",  # which formulaic does not know: it describes matrices, and does not build them
        structure=[EncodedTermStructure(*term, names) for term, names in zip(terms, columns, strict=True)],
        transform_state=state.functions,
        encoder_state={
            name: (Factor.Kind.NUMERICAL, {})
            if coding is None
            else (Factor.Kind.CATEGORICAL, {"categories": coding.levels, "contrasts": coding})
            for name, coding in state.factors.items()
        },
    )


@lru_cache(256)
def _in_formulaic(structure: Structure) -> tuple[Formula, list[tuple[Term, list[ScopedTerm]]]]:
    """Return the terms of a design as a formula, and each with its codings."""
    factors = {name: Factor(name, eval_method="python") for term, _ in structure for name in term}
    terms = []
    for term, coded in structure:
        constant = [Factor("1", eval_method="literal")]
        scoped = [
            ScopedTerm(ScopedFactor(EvaluatedFactor(factors[name], None, set()), less) for name, less in coding)
            for coding in coded
        ]
        terms.append((Term([factors[name] for name in term]) if term else Intercept(constant), scoped))
    return Formula([term for term, _ in terms], _ordering="none"), terms
