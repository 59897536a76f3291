"""Formulas: the right-hand side as a reusable recipe for design matrices, the left-hand side as an outcome.

Both engines of statsmodels are supported and give the same columns under the same names, those of patsy; the functions a
formula may use are the same too. formulaic is the default: it builds matrices of large factors many times faster, and its
recipes can be pickled; only tests of terms need patsy before statsmodels 0.15.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse

from gevglm.data import row_dependence, suspicions
from gevglm.data import scope as scopes
from gevglm.data.columns import as_before, is_number, plain, widened, with_columns
from gevglm.data.expressions import Expression, expression, function_named, names_in, unquoted
from gevglm.data.formula_engines import (
    Coding,
    categorical,
    names_by_level,
    offsets_of,
    patsy_codings,
    patsy_design,
    read,
    terms_of,
)
from gevglm.data.model_matrix import ModelMatrix, TransformState, context_of
from gevglm.data.tables import suggestion
from gevglm.data.transforms import WORDS, in_patsy, is_stateful
from gevglm.engine.linalg import Matrix
from gevglm.exceptions import GevglmError, InvalidDataError, InvalidOptionError, unknown_option

ENGINES = ("formulaic", "patsy")
_DECORATION = re.compile(r"\x1b\[[\d;]*m|[⧛⧚]")


@contextmanager
def using_engine(engine: str) -> Iterator[None]:
    """Let statsmodels read the terms of a formula with the engine that built them."""
    from statsmodels import formula

    options = getattr(formula, "options", None)
    if options is None:  # before 0.15 there is only patsy
        if engine != "patsy":
            raise InvalidOptionError(
                f"tests of terms need statsmodels 0.15 for formula_engine={engine!r}; build the model with "
                "formula_engine='patsy', or give the columns to wald_test and t_test."
            )
        yield
        return
    previous = options.formula_engine
    options.formula_engine = engine
    try:
        yield
    finally:
        options.formula_engine = previous


def split(formula: str) -> tuple[str, str]:
    """Return the two sides of a formula."""
    left, tilde, right = formula.partition("~")
    outside = right  # of parentheses, where a tilde is a "not"
    while (shorter := re.sub(r"\([^()]*\)", "", outside)) != outside:
        outside = shorter
    if not tilde or not left.strip() or not right.strip() or "~" in outside:
        raise InvalidDataError(f"{formula!r} is not a formula; write the outcome and the columns as in 'y ~ x1 + x2'.")
    return left.strip(), right.strip()


@dataclass(frozen=True)
class Variable:
    """A variable of a formula, or a column of a design without one."""

    name: str
    # whether it has levels: strings, categories, booleans, and what the formula puts into ``C()``
    is_factor: bool = False
    # those of the data of the model, in the order of their columns; none for numbers, nor for a factor inside expressions
    levels: tuple[Any, ...] = ()
    reference: Any = None  # the level without a column, if there is one
    values: tuple[Any, ...] = ()  # both values of a number that has no other in the data of the model


class Recipe:
    """The right-hand side of a formula, ready to be applied to new data; never changed after it is made.

    Parameters
    ----------
    formula : str
        The right-hand side.
    frame : DataFrame
        Complete rows; factor levels and what stateful transforms need are taken from them.
    scope : dict
        Objects of the user's scope that the formula names.
    engine : str
        "formulaic" or "patsy".
    state : TransformState, optional
        What was learned from more data than `frame`, for formulaic.
    sparse : bool
        Whether design matrices may be sparse, for formulaic.
    """

    def __init__(
        self,
        formula: str,
        frame: pd.DataFrame,
        scope: dict[str, Any],
        engine: str,
        state: TransformState | None = None,
        sparse: bool = False,
    ):
        if engine not in ENGINES:
            raise unknown_option("formula_engine", engine, ENGINES)
        self.formula = formula
        self.engine = engine
        self.scope = scope
        self.used = names_in(formula, called=False)
        columns = {name: frame[name] for name in self.used if name in frame.columns}
        self.dtypes = {name: column.dtype for name, column in columns.items()}
        self._patsy: Any = None
        self._matrix = ModelMatrix([])
        self._refuse_forgetful_calls()
        try:
            terms = read(formula)
            self._in_terms = names_in(" + ".join(factor for term in terms_of(terms) for factor in term))
            self.offsets = offsets_of(formula)
            if engine == "patsy":
                self._patsy = terms
                for text in {name for term in terms_of(terms) for name in term if name in frame.columns}:
                    categorical(frame[text])  # refuses dates
            else:
                self._matrix = ModelMatrix(terms_of(terms), state, sparse)
            first = self.build(frame)
            self._refuse_dependence_on_other_rows(terms_of(terms), frame)
        except GevglmError:
            raise
        except Exception as error:
            raise self._explained(error, frame) from None
        codings = self.codings()
        suspicions.warn_of_text({text: coding.levels for text, coding in codings.items()}, self.dtypes)
        self.variables = self._variables(codings, {} if state is not None else _two_values(columns))
        self.sparse = issparse(first)
        self.row_numbers = float(getattr(first, "nnz", first.size)) / len(frame)  # that a row of the design holds
        names = self._patsy.column_names if engine == "patsy" else self._matrix.names
        self.names = names_by_level(names, codings.values())
        self._first: Matrix | None = first

    def take_first(self) -> Matrix:
        """Return the design matrix of the data the recipe was made from, once."""
        assert self._first is not None
        first, self._first = self._first, None
        return first

    def matrix(self, data: pd.DataFrame) -> Matrix:
        """Return the design matrix of new data, every row of which must be complete."""
        self.check_saved()
        for name, variable in self.variables.items():
            if not variable.levels or name not in data.columns:
                continue
            unseen = set(data[name].dropna().unique()).difference(variable.levels)
            if unseen:
                listed = ", ".join(sorted(map(repr, unseen))[:5])
                raise InvalidDataError(
                    f"{name!r} has levels in the new data that the model has not seen: {listed}. Leave their rows out, or join them to levels that it knows."
                )
        return self.build(with_columns(data, self.dtypes, lambda column: as_before(column, self.dtypes[column.name])))

    def part(self, variables: Collection[str]) -> tuple[Recipe, NDArray]:
        """Return the terms that any of the variables is in, and the places of their columns; for formulaic."""
        matrix, places = self._matrix.part(variables)
        used = {name: dtype for name, dtype in self.dtypes.items() if name in matrix.used}
        return self._with(_matrix=matrix, dtypes=used, formula=matrix.text), places

    @property
    def spec(self) -> Any:
        """The terms, in the words of the engine, for statsmodels; None where patsy's were lost."""
        return self._patsy if self.engine == "patsy" else self._matrix.specification

    def check_saved(self) -> None:
        """Refuse to go on without the terms, which patsy loses when a model is saved."""
        if self.engine == "patsy" and self._patsy is None:
            raise InvalidDataError(
                "the model was built with patsy, whose designs cannot be saved; build it with formula_engine='formulaic', "
                "or predict from a design matrix with transform=False, and test columns with wald_test."
            )

    def build(self, frame: pd.DataFrame) -> Matrix:
        """Return the design matrix of data that are like those of the model."""
        frame = with_columns(frame, self.dtypes, lambda column: plain(column, self.engine))
        try:
            if self.engine == "formulaic":
                return self._matrix.build(frame, self.scope)
            own = {name: value for name, value in self.scope.items() if callable(value) or name in self.used}
            scope = {name: in_patsy(value) for name, value in (WORDS | own).items()}
            columns = frame[list(self.dtypes)]  # patsy takes columns before functions of their names
            matrix, design = patsy_design(self._patsy, columns, scope)
            self._patsy = design
            return np.asarray(matrix, dtype=float)
        except GevglmError:
            raise
        except Exception as error:
            raise self._explained(error, frame) from None

    @property
    def model_matrix(self) -> ModelMatrix:
        """How formulaic's columns are made: terms, codings, and what was learned from the data."""
        return self._matrix

    @property
    def offset_columns(self) -> list[str]:
        """The columns that stand in ``offset()`` alone."""
        return [name for name in self.dtypes if name not in self.variables]

    def offset(self, frame: pd.DataFrame) -> NDArray | None:
        """Return the sum of the offsets that the formula names, None if there is none."""
        return evaluate_offset(self.offsets, frame, self.scope)

    def codings(self) -> dict[str, Coding]:
        """Return how factors are coded, by their texts."""
        if self.engine == "patsy":
            return patsy_codings(self._patsy)
        return {text: coding for text, coding in self._matrix.state.factors.items() if coding is not None}

    def _variables(self, codings: dict[str, Coding], values: dict[str, tuple]) -> dict[str, Variable]:
        of_variables = {
            variable: coding
            for text, coding in codings.items()
            if (variable := expression(text).variable) in self.dtypes
        }
        return {
            name: Variable(name, True, tuple(coding.levels), coding.left_out)
            if (coding := of_variables.get(name)) is not None
            else Variable(name, not is_number(dtype), values=values.get(name, ()))
            for name, dtype in self.dtypes.items()
            if name in self._in_terms
        }

    def _refuse_dependence_on_other_rows(self, terms: list[tuple[str, ...]], frame: pd.DataFrame) -> None:
        factors = [
            factor
            for factor in dict.fromkeys(name for term in terms for name in term)
            if row_dependence.may_mix_rows(factor, self.scope)
        ]
        if factors:
            columns = with_columns(frame[list(self.dtypes)], self.dtypes, lambda column: plain(column, "formulaic"))
            row_dependence.refuse_factors(factors, columns, self.scope, self._matrix.state)

    def _refuse_forgetful_calls(self) -> None:
        """Refuse ``patsy.bs(x)`` and the like: only functions called by a simple name remember their first data."""
        for path in re.findall(r"[^\W\d]\w*(?:\.\w+)+(?=\s*\()", self.formula):
            first, *rest = path.split(".")
            function = functools.reduce(lambda value, name: getattr(value, name, None), rest, self.scope.get(first))
            if hasattr(function, "__patsy_stateful_transform__") or hasattr(function, "__is_stateful_transform__"):
                raise InvalidDataError(
                    f"the formula calls {path}(), which works under its own name only: {rest[-1]}()."
                )

    def _explained(self, error: Exception, frame: pd.DataFrame) -> GevglmError:
        unreadable = re.search(r"\b(lambda|for)\b", self.formula)
        if self.engine == "patsy" and unreadable:
            return InvalidOptionError(
                f"formula_engine='patsy' cannot read {unreadable[0]!r}; formula_engine='formulaic' can."
            )
        unknown = scopes.unknown_names(self.formula, frame.columns, self.scope)
        if unknown is not None:
            return unknown
        return self._explained_by_formulaic(frame) or not_evaluated(self.formula, error)

    def _explained_by_formulaic(self, frame: pd.DataFrame) -> GevglmError | None:
        """Return why the columns cannot be made, where it is patsy that failed, and does not say in which of them."""
        if self.engine != "patsy":
            return None
        columns = with_columns(frame, self.dtypes, lambda column: plain(column, "formulaic"))
        try:
            ModelMatrix(terms_of(read(self.formula))).build(columns, self.scope)
        except GevglmError as error:
            return error
        except ValueError as error:
            return not_evaluated(self.formula, error)
        except Exception:
            pass
        return None

    def without_rows(self, n_given: int) -> Recipe:
        """Return the recipe without variables of the caller that have a value for each row of the data given."""
        scope = scopes.without_rows(self.scope, n_given)
        return self if len(scope) == len(self.scope) else self._with(scope=scope)

    def _with(self, **facts: Any) -> Recipe:
        other = object.__new__(Recipe)
        other.__dict__.update(self.__dict__, **facts)
        return other

    def __deepcopy__(self, memo: dict) -> Recipe:
        return self

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_patsy": None, "scope": scopes.packed(self.scope)}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self.scope = scopes.unpacked(state["scope"])


def not_evaluated(formula: str, error: Exception) -> InvalidDataError:
    """Return the error of a formula that could not be read or evaluated."""
    cause = " ".join(_DECORATION.sub("", getattr(error, "message", str(error))).split())
    cause = cause.removeprefix("Error evaluating factor: ").removeprefix("ValueError: ")
    if "invalid syntax" in cause:
        cause += ". A formula joins columns and calls of functions by + - : * / and **; 0 leaves out the constant."
    if "requires a positive integer" in cause:
        cause = "among terms ** and ^ make interactions, and need a whole number; a power of a column is I(x**0.5)."
    return InvalidDataError(f"the formula '{formula}' could not be evaluated: {cause.rstrip('.')}.")


def _two_values(columns: dict[str, pd.Series]) -> dict[str, tuple]:
    """Return both values of the numbers that have two."""
    return {
        name: tuple(sorted(column.unique().tolist()))
        for name, column in columns.items()
        # most columns show more at once
        if is_number(column.dtype) and len(set(column.array[:5])) <= 2 == column.nunique()
    }


# -- the left-hand side ----------------------------------------------------------------------


def outcome_name(left: str, columns: Any) -> str:
    """Return the name of the outcome: that of a column, without quotes, or the expression."""
    name = unquoted(left)
    return name if name in columns else left


def count_columns(left: str) -> list[str]:
    """Return the two columns of counts, of successes and failures, that the left-hand side of a formula may name."""
    counts = re.fullmatch(r"(?:cbind\(\s*)?([^\W\d]\w*)\s*[+,]\s*([^\W\d]\w*)\s*\)?", left)
    return list(counts.groups()) if counts else []


def evaluate_outcome(left: Expression, frame: pd.DataFrame, scope: dict[str, Any]) -> Any:
    """Return the outcome a formula names: a column, two columns of counts, of shape (n, 2), or the value of an expression."""
    text = left.text
    name = outcome_name(text, frame.columns)
    if name in frame.columns:
        return frame[name]
    counts = count_columns(text)
    if counts and all(count in frame.columns for count in counts):
        return frame[counts].to_numpy()
    known = {*frame.columns, *scope, *WORDS, "Q"}
    missing = [word for word in names_in(text) if word not in known]
    if missing or text.isidentifier():
        raise InvalidDataError(
            f"the outcome {text!r} is not in the data.{suggestion((missing or [text])[0], frame.columns)}"
        )
    try:
        values = left.evaluate(context_of([left], with_columns(frame, left.names, widened), {"np": np} | scope))
    except GevglmError:
        raise
    except Exception as error:
        raise InvalidDataError(f"the outcome {text!r} could not be evaluated: {error}") from None
    if np.shape(values) not in ((len(frame),), (len(frame), 2)):
        raise InvalidDataError(
            f"the outcome {text!r} has shape {np.shape(values)}, but the data have {len(frame)} rows."
        )
    return values


# -- offsets ---------------------------------------------------------------------------------


def evaluate_offset(offsets: Sequence[Expression], frame: pd.DataFrame, scope: dict[str, Any]) -> NDArray | None:
    """Return the sum of expressions, one number per row; None if there are none."""
    if not offsets:
        return None
    used = [name for each in offsets for name in names_in(each.text)]
    frame = with_columns(frame, used, lambda column: plain(column, "formulaic"))
    context = context_of(offsets, frame, {"np": np} | scope)
    total = np.zeros(len(frame))
    for each in offsets:
        what = f"offset({each.text})"
        if any(is_stateful(function_named(call.name, context)) for call in each.calls):
            raise InvalidDataError(f"{what} learns from the data, which an offset does not; compute a column for it.")
        try:
            with np.errstate(divide="ignore", invalid="ignore"):  # values that are not finite are counted elsewhere
                total = total + np.broadcast_to(np.asarray(each.evaluate(context), dtype=float), (len(frame),))
        except GevglmError:
            raise
        except Exception as error:
            unknown = scopes.unknown_names(each.text, frame.columns, scope)
            raise unknown or InvalidDataError(f"{what} could not be evaluated: {error}") from None
    return total
