"""Formulas: the right-hand side as a reusable recipe for design matrices, the left-hand side as an outcome.

Both engines of statsmodels are supported and give the same columns under the same names, those of patsy; the functions a
formula may use are the same too. formulaic is the default where statsmodels has it (0.15 and later): it builds matrices of
large factors many times faster, and its recipes can be pickled.
"""

from __future__ import annotations

import builtins
import functools
import keyword
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import patsy
from numpy.typing import NDArray
from patsy.infix_parser import Operator
from patsy.parse_formula import parse_formula
from scipy.sparse import issparse

from gevglm.data.tables import suggestion
from gevglm.data.transforms import WORDS, in_patsy
from gevglm.engine.linalg import Matrix
from gevglm.exceptions import GevglmError, InvalidDataError, InvalidOptionError, unknown_option

if TYPE_CHECKING:
    from gevglm.data.materializer import Memory

ENGINES = ("formulaic", "patsy")
_NAME = re.compile(r"(?<![\w.'\"])([^\W\d]\w*)(?!\w|\s*=[^=])")
_CALL = re.compile(r"([\w.]*)\(([^()]*)\)")
_SCALAR = re.compile(r"(?<=[\[.])np\.(?:u?int|float)\d+\(([^()]*)\)(?=\])")  # as in [T.np.int64(1)]
_DECORATION = re.compile(r"\x1b\[[\d;]*m|[⧛⧚]")
_QUOTED = re.compile(r"Q\((['\"])(.+?)\1\)|`(.+?)`")


def default_engine() -> str:
    """Return the formula engine used when none is named."""
    try:
        import formulaic  # noqa: F401
        from statsmodels.formula._manager import FormulaManager  # noqa: F401
    except ImportError:
        return "patsy"
    return "formulaic"


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


def names_in(expression: str) -> list[str]:
    """Return the names an expression uses, quoted ones included."""
    quoted = [match.group(2) or match.group(3) for match in _QUOTED.finditer(expression)]
    plain = _NAME.findall(re.sub(r"(['\"]).*?\1", "", _QUOTED.sub("", expression)))
    return list(dict.fromkeys(quoted + [name for name in plain if not keyword.iskeyword(name)]))


def factor_names(formula: str) -> list[str]:
    """Return the names that stand in a formula by themselves or in C(), where a string or a boolean makes dummies."""
    rest = _QUOTED.sub(lambda match: f"`{match[2] or match[3]}`", formula)
    rest = re.sub(r"\bC\(\s*([^,()]+)", r"\1 + I(", rest)
    while (shorter := _CALL.sub(lambda match: " " if match[1] else f" {match[2]} ", rest)) != rest:
        rest = shorter
    return names_in(rest)


def caller_names(expression: str, depth: int) -> dict[str, Any]:
    """Return the objects of the calling scope that an expression names, and numpy as ``np``.

    Parameters
    ----------
    expression : str
    depth : int
        How many frames above the caller of this function the user's scope is.
    """
    frame = sys._getframe(depth + 1)
    scope = {**frame.f_globals, **frame.f_locals}
    return {"np": np} | {name: scope[name] for name in names_in(expression) if name in scope}


class Recipe:
    """The right-hand side of a formula, ready to be applied to new data.

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
    memory : Memory, optional
        What was learned from more data than `frame`, for formulaic.
    sparse : bool
        Whether design matrices may be sparse, for formulaic.

    Attributes
    ----------
    names : list of str
        Column names.
    levels : dict
        The levels of each column that is not numeric.
    sparse : bool
        Whether design matrices are.
    row_numbers : float
        Numbers that a row of them holds.
    """

    sparse = False  # for models saved before it was known

    def __init__(
        self,
        formula: str,
        frame: pd.DataFrame,
        scope: dict[str, Any],
        engine: str,
        memory: Memory | None = None,
        sparse: bool = False,
    ):
        if engine not in ENGINES:
            raise unknown_option("formula_engine", engine, ENGINES)
        self.formula = formula
        self.engine = engine
        self.scope = scope
        self.spec: Any = None
        self.dtypes = {name: frame[name].dtype for name in names_in(formula) if name in frame.columns}
        self.levels = {
            name: set(frame[name].dropna().unique())
            for name in factor_names(formula)
            if name in self.dtypes and not pd.api.types.is_numeric_dtype(self.dtypes[name])
        }
        if memory is not None:
            self.levels = memory.levels_of(set(factor_names(formula)) & set(self.levels))
        self._refuse_forgetful_calls()
        self.sparse = sparse
        self._first: Matrix | None = self.build(frame, memory)
        self.sparse = issparse(self._first)
        self.row_numbers = self._first.nnz / len(frame) if self.sparse else float(self._first.shape[1])
        self.names = [_SCALAR.sub(r"\1", name) for name in self.spec.column_names]

    def take_first(self) -> Matrix:
        """Return the design matrix of the data the recipe was made from, once."""
        first, self._first = self._first, None
        return first

    def matrix(self, data: pd.DataFrame) -> Matrix:
        """Return the design matrix of new data, every row of which must be complete."""
        self.check_saved()
        for name, known in self.levels.items():
            unseen = set(data[name].dropna().unique()) - known if name in data.columns else set()
            if unseen:
                listed = ", ".join(sorted(map(repr, unseen))[:5])
                raise InvalidDataError(f"{name!r} has levels in the new data that the model has not seen: {listed}.")
        return self.build(with_columns(data, self.dtypes, lambda column: _as_before(column, self.dtypes[column.name])))

    def check_saved(self) -> None:
        """Refuse to go on without the terms, which patsy loses when a model is saved."""
        if self.spec is None:
            raise InvalidDataError(
                "the model was built with patsy, whose designs cannot be saved; build it with formula_engine='formulaic', "
                "or predict from a design matrix with transform=False, and test columns with wald_test."
            )

    def build(self, frame: pd.DataFrame, memory: Memory | None = None) -> Matrix:
        """Return the design matrix of data that are like those of the model."""
        frame = with_columns(frame, self.dtypes, lambda column: plain(column, self.engine))
        try:
            build = _patsy_design if self.engine == "patsy" else _formulaic_design
            matrix, spec = build(self.spec or read(self.formula), frame, WORDS | self.scope, memory, self.sparse)
        except Exception as error:
            raise self._explained(error, frame) from error
        self.spec = self.spec or spec
        return matrix if issparse(matrix) else np.asarray(matrix, dtype=float)

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
        unknown = re.search(r"\b(hashed|lambda|for)\b", self.formula)
        if self.engine == "patsy" and unknown:
            return InvalidOptionError(
                f"formula_engine='patsy' cannot read {unknown[0]!r}; formula_engine='formulaic' can."
            )
        unknown = unknown_names(self.formula, frame.columns, self.scope)
        if unknown is not None:
            return unknown
        cause = " ".join(_DECORATION.sub("", str(error)).split())
        if "invalid syntax" in cause:
            cause += ". A formula joins columns and calls of functions by + - : * / and **; 0 leaves out the constant."
        return InvalidDataError(f"the formula '{self.formula}' could not be evaluated: {cause}")

    def __deepcopy__(self, memo: dict) -> Recipe:
        return self  # never changed after it is made

    def __getstate__(self) -> dict:
        state = self.__dict__.copy()
        state["spec"] = None if self.engine == "patsy" else self.spec
        state["scope"] = packed(self.scope)
        return state

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self.scope = unpacked(state["scope"])


def unknown_names(formula: str, columns: Iterable[str], scope: dict[str, Any]) -> InvalidDataError | None:
    """Return the error of names that are neither columns nor known otherwise, None if there are none."""
    known = {*columns, *scope, *dir(builtins), *WORDS, "I", "Q", "hashed"}
    missing = [name for name in names_in(formula) if name not in known]
    if not missing:
        return None
    hint = suggestion(missing[0], columns)
    return InvalidDataError(f"the formula names {', '.join(map(repr, missing))}, not in the data.{hint}")


def packed(scope: dict[str, Any]) -> dict[str, tuple]:
    """Return a scope that can be pickled: modules by name."""
    return {
        name: (None, value.__name__) if isinstance(value, ModuleType) else (value,) for name, value in scope.items()
    }


def unpacked(scope: dict[str, tuple]) -> dict[str, Any]:
    """Return the scope again."""
    return {
        name: sys.modules.get(entry[1]) or __import__(entry[1]) if len(entry) == 2 else entry[0]
        for name, entry in scope.items()
    }


def read(formula: str) -> patsy.ModelDesc:
    """Return the terms of a formula, as patsy reads it; names in backticks are quoted, and ``^`` is ``**``."""
    tree = parse_formula(_with_quotes(formula), extra_operators=[Operator("^", 2, 500)])
    nodes = [tree]
    for node in nodes:
        nodes.extend(node.args)
        node.type = "**" if node.type == "^" else node.type
    return patsy.ModelDesc.from_formula(tree)


def _with_quotes(expression: str) -> str:
    return re.sub(r"`(.+?)`", lambda match: f"Q({match[1]!r})", expression)


def _formulaic_design(
    formula: Any, frame: pd.DataFrame, scope: dict[str, Any], memory: Memory | None, sparse: bool
) -> tuple[Matrix, Any]:
    from gevglm.data.materializer import design

    return design(formula, frame, scope, memory, sparse)


def _patsy_design(
    formula: Any, frame: pd.DataFrame, scope: dict[str, Any], memory: Memory | None, sparse: bool
) -> tuple[NDArray, Any]:
    scope = {name: in_patsy(value) for name, value in scope.items()}
    matrix = patsy.dmatrix(formula, frame, eval_env=patsy.EvalEnvironment([scope]), NA_action=_NoMissingLevels("raise"))
    return matrix, matrix.design_info


class _NoMissingLevels(patsy.NAAction):
    """Refuse missing values of factors, let those of numbers pass."""

    def is_categorical_NA(self, obj: Any) -> bool:
        return obj is None or obj != obj

    def is_numerical_NA(self, arr: Any) -> NDArray:
        return np.zeros(len(arr), dtype=bool)


# -- columns ---------------------------------------------------------------------------------


def with_columns(frame: pd.DataFrame, names: Iterable[str], change: Callable[[pd.Series], pd.Series]) -> pd.DataFrame:
    """Return a table with some columns changed; the table itself if none is."""
    changed = {name: new for name in names if name in frame and (new := change(old := frame[name])) is not old}
    return frame.assign(**changed) if changed else frame


def plain(column: pd.Series, engine: str) -> pd.Series:
    """Return a column in a NumPy type; patsy does not know pandas' own types, but for categories."""
    dtype = column.dtype
    if isinstance(dtype, (np.dtype, pd.CategoricalDtype)) or (
        engine == "formulaic" and isinstance(dtype, pd.StringDtype)
    ):
        return column
    if pd.api.types.is_bool_dtype(dtype):
        return column.astype(bool)
    if pd.api.types.is_integer_dtype(dtype) and not column.hasnans:
        return column.astype(np.int64)
    return column.astype(float if pd.api.types.is_numeric_dtype(dtype) else object)


def _as_before(column: pd.Series, dtype: Any) -> pd.Series:
    """Return a column of new data as the kind of column it was in the data of the model, where it can be one."""
    if isinstance(dtype, pd.CategoricalDtype):
        if isinstance(column.dtype, pd.CategoricalDtype) and column.dtype.categories.equals(dtype.categories):
            return column
        new = [level for level in column.dropna().unique() if level not in dtype.categories]
        return column.astype(object).astype(pd.CategoricalDtype([*dtype.categories, *new], dtype.ordered))
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    was_boolean, is_boolean = pd.api.types.is_bool_dtype(dtype), pd.api.types.is_bool_dtype(column.dtype)
    if was_boolean and not is_boolean:
        other = column[~column.isin([False, True])]
        if len(other):
            raise InvalidDataError(
                f"{column.name!r} is true or false in the data of the model, but here {other.iloc[0]!r}."
            )
        return column.astype(bool)
    if is_boolean and not was_boolean and pd.api.types.is_numeric_dtype(dtype):
        return column.astype(int)
    return column


def outcome_name(left: str, columns: Any) -> str:
    """Return the name of the outcome: that of a column, without quotes, or the expression."""
    quoted = _QUOTED.fullmatch(left)
    name = (quoted.group(2) or quoted.group(3)) if quoted else left
    return name if name in columns else left


def evaluate_outcome(left: str, frame: pd.DataFrame, scope: dict[str, Any]) -> Any:
    """Return the outcome a formula names: a column, two columns of counts, or the value of an expression.

    Returns
    -------
    Series or ndarray
        Of shape (n,) or, for counts, (n, 2).
    """
    name = outcome_name(left, frame.columns)
    if name in frame.columns:
        return frame[name]
    counts = re.fullmatch(r"(?:cbind\(\s*)?([^\W\d]\w*)\s*[+,]\s*([^\W\d]\w*)\s*\)?", left)
    if counts and all(count in frame.columns for count in counts.groups()):
        return frame[list(counts.groups())].to_numpy()
    missing = [
        word
        for word in names_in(left)
        if word not in frame.columns and word not in scope and word not in ("I", "cbind")
    ]
    if missing or left.isidentifier():
        raise InvalidDataError(
            f"the outcome {left!r} is not in the data.{suggestion((missing or [left])[0], frame.columns)}"
        )
    columns = {word: frame[word] for word in names_in(left) if word in frame.columns}
    words = {"np": np, "I": lambda value: value, "Q": columns.__getitem__}
    try:
        values = eval(_with_quotes(left), words | scope, columns)
    except Exception as error:
        raise InvalidDataError(f"the outcome {left!r} could not be evaluated: {error}") from error
    if np.shape(values) not in ((len(frame),), (len(frame), 2)):
        raise InvalidDataError(
            f"the outcome {left!r} has shape {np.shape(values)}, but the data have {len(frame)} rows."
        )
    return values
