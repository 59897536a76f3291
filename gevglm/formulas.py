"""Formulas: the right-hand side as a reusable recipe for design matrices, the left-hand side as an outcome.

Both engines of statsmodels are supported through its formula manager. formulaic is the default where statsmodels has it (0.15
and later): it names columns as patsy does, builds matrices of large factors many times faster, and its recipes can be pickled.
"""

from __future__ import annotations

import builtins
import keyword
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.exceptions import InvalidDataError, unknown_option
from gevglm.tables import suggestion, without_unused_levels

ENGINES = ("formulaic", "patsy")
_NAME = re.compile(r"(?<![\w.'\"])([^\W\d]\w*)(?!\w|\s*=[^=])")
_CALL = re.compile(r"([\w.]*)\(([^()]*)\)")
_SPLINE = re.compile(r"(\b(?:bs|cr|cc|cs)\(.*?\))\[(\d+)\]")
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
    if not tilde or not left.strip() or not right.strip() or "~" in right:
        raise InvalidDataError(f"{formula!r} is not a formula; write the outcome and the columns as in 'y ~ x1 + x2'.")
    return left.strip(), right.strip()


def names_in(expression: str) -> list[str]:
    """Return the names an expression uses, quoted ones included."""
    quoted = [match.group(2) or match.group(3) for match in _QUOTED.finditer(expression)]
    plain = _NAME.findall(re.sub(r"(['\"]).*?\1", "", _QUOTED.sub("", expression)))
    return list(dict.fromkeys(quoted + [name for name in plain if not keyword.iskeyword(name)]))


def factor_names(formula: str) -> list[str]:
    """Return the names that stand in a formula by themselves or in C(), where a string or a boolean makes dummies."""
    return names_in(_without_calls(formula)[0])


def _without_calls(formula: str) -> tuple[str, str]:
    """Split a formula into what stands outside the calls of functions (but C) and what stands inside."""
    rest = _QUOTED.sub(lambda match: f"`{match[2] or match[3]}`", formula)
    rest = re.sub(r"\bC\(\s*([^,()]+)", r"\1 + I(", rest)
    inside: list[str] = []

    def take(match: re.Match) -> str:
        if not match[1]:
            return f" {match[2]} "
        inside.append(match[2])
        return " "

    while (shorter := _CALL.sub(take, rest)) != rest:
        rest = shorter
    return rest, " ".join(inside)


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

    Attributes
    ----------
    names : list of str
        Column names.
    levels : dict
        The levels of each column that is not numeric.
    """

    def __init__(self, formula: str, frame: pd.DataFrame, scope: dict[str, Any], engine: str):
        if engine not in ENGINES:
            raise unknown_option("formula_engine", engine, ENGINES)
        self.formula = formula
        self.engine = engine
        self.scope = scope
        self.spec: Any = None
        self.levels = {
            name: set(frame[name].dropna().unique())
            for name in factor_names(formula)
            if name in frame.columns and not pd.api.types.is_numeric_dtype(frame[name].dtype)
        }
        self._first: NDArray | None = self._build(formula, frame)
        self.names = _named_as_patsy_does(list(self.spec.column_names))

    def take_first(self) -> NDArray:
        """Return the design matrix of the data the recipe was made from, once."""
        first, self._first = self._first, None
        return first

    def matrix(self, data: pd.DataFrame) -> NDArray:
        """Return the design matrix of new data, every row of which must be complete."""
        if self.spec is None:
            raise InvalidDataError(
                "the model was built with patsy, whose designs cannot be saved; build it with formula_engine='formulaic', "
                "or predict from a design matrix with transform=False."
            )
        if self.engine == "formulaic":
            data = without_unused_levels(data, [name for name in self.levels if name in data.columns])
        for name, known in self.levels.items():
            unseen = set(data[name].dropna().unique()) - known if name in data.columns else set()
            if unseen:
                listed = ", ".join(sorted(map(repr, unseen))[:5])
                raise InvalidDataError(f"{name!r} has levels in the new data that the model has not seen: {listed}.")
        return self._build(self.spec, data)

    def _build(self, formula: Any, frame: pd.DataFrame) -> NDArray:
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("error", message=".*outside of the nominated levels.*")
                build = _formulaic_matrix if self.engine == "formulaic" else _patsy_matrix
                matrix, self.spec = build(formula, frame, self)
                return np.asarray(matrix, dtype=float)
        except Exception as error:
            raise self._explained(error, frame) from error

    def _explained(self, error: Exception, frame: pd.DataFrame) -> InvalidDataError:
        known = set(frame.columns) | set(self.scope) | set(dir(builtins)) | _ENGINE_WORDS
        missing = [name for name in names_in(self.formula) if name not in known]
        if missing:
            hints = "".join(suggestion(name, frame.columns) for name in missing[:1])
            return InvalidDataError(f"the formula names {', '.join(map(repr, missing))}, not in the data.{hints}")
        cause = " ".join(_DECORATION.sub("", str(error)).split())
        return InvalidDataError(f"the formula '{self.formula}' could not be evaluated: {cause}")

    def __deepcopy__(self, memo: dict) -> Recipe:
        return self  # never changed after it is made

    def __getstate__(self) -> dict:
        state = self.__dict__.copy()
        state["spec"] = None if self.engine == "patsy" else self.spec
        state["scope"] = {k: (None, v.__name__) if isinstance(v, ModuleType) else (v,) for k, v in self.scope.items()}
        return state

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self.scope = {
            name: sys.modules.get(entry[1]) or __import__(entry[1]) if len(entry) == 2 else entry[0]
            for name, entry in state["scope"].items()
        }


_ENGINE_WORDS = set(
    "C I Q bs cs cr cc te center standardize scale poly lag hashed log log10 log2 exp exp10 exp2 "
    "Treatment Sum Diff Helmert Poly contr Intercept df degree knots levels".split()
)


def _named_as_patsy_does(names: list[str]) -> list[str]:
    """Count the columns of splines from 0; formulaic counts from 1 where the first one is left out."""
    firsts: dict[str, int] = {}
    for spline, number in _SPLINE.findall("\n".join(names)):
        firsts[spline] = min(firsts.get(spline, int(number)), int(number))
    return [_SPLINE.sub(lambda match: f"{match[1]}[{int(match[2]) - firsts[match[1]]}]", name) for name in names]


_TRUTH = pd.CategoricalDtype([False, True])  # patsy has dummies for booleans, formulaic numbers


def _formulaic_matrix(formula: Any, frame: pd.DataFrame, recipe: Recipe) -> tuple[NDArray, Any]:
    from statsmodels.formula._manager import FormulaManager

    manager = FormulaManager("formulaic")
    outside, inside = (set(names_in(part)) for part in _without_calls(recipe.formula))
    bare = outside - inside
    frame = _with_plain_columns(recipe, frame, keep=(pd.StringDtype,))
    factors = {name: _TRUTH for name in bare if name in frame.columns and frame[name].dtype == bool}
    frame = frame.astype(factors) if factors else frame
    new_data = not isinstance(formula, str)
    matrix = manager.get_matrices(
        formula, frame, eval_env=recipe.scope, pandas=True, na_action="ignore", prediction=new_data
    )
    return matrix, manager.spec


def _patsy_matrix(formula: Any, frame: pd.DataFrame, recipe: Recipe) -> tuple[NDArray, Any]:
    import patsy

    frame = _with_plain_columns(recipe, frame)
    keep = patsy.NAAction(NA_types=[])
    matrix = patsy.dmatrix(formula, frame, eval_env=patsy.EvalEnvironment([recipe.scope]), NA_action=keep)
    return matrix, matrix.design_info


def _with_plain_columns(recipe: Recipe, frame: pd.DataFrame, keep: tuple[type, ...] = ()) -> pd.DataFrame:
    """Put the columns of a formula into NumPy types, but for those of the types to keep."""
    used = [frame[name] for name in names_in(recipe.formula) if name in frame.columns]
    changed = {c.name: plain for c in used if not isinstance(c.dtype, keep) and (plain := _plain(c)) is not c}
    return frame.assign(**changed) if changed else frame


def _plain(column: pd.Series) -> pd.Series:
    """Return a column in a NumPy type; patsy does not know pandas' own types, but for categories."""
    dtype = column.dtype
    if isinstance(dtype, (np.dtype, pd.CategoricalDtype)):
        return column
    if pd.api.types.is_bool_dtype(dtype):
        return column.astype(bool)
    if pd.api.types.is_integer_dtype(dtype) and not column.hasnans:
        return column.astype(np.int64)
    return column.astype(float if pd.api.types.is_numeric_dtype(dtype) else object)


def evaluate_outcome(left: str, frame: pd.DataFrame, scope: dict[str, Any]) -> tuple[Any, str]:
    """Return the outcome a formula names: a column, two columns of counts, or the value of an expression.

    Returns
    -------
    values : Series or ndarray
        Of shape (n,) or, for counts, (n, 2).
    name : str
    """
    quoted = _QUOTED.fullmatch(left)
    name = (quoted.group(2) or quoted.group(3)) if quoted else left
    if name in frame.columns:
        return frame[name], name
    counts = re.fullmatch(r"(?:cbind\(\s*)?([^\W\d]\w*)\s*[+,]\s*([^\W\d]\w*)\s*\)?", left)
    if counts and all(count in frame.columns for count in counts.groups()):
        return frame[list(counts.groups())].to_numpy(), left
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
    try:
        values = eval(left, {"np": np, "I": lambda value: value, **scope}, columns)
    except Exception as error:
        raise InvalidDataError(f"the outcome {left!r} could not be evaluated: {error}") from error
    if np.shape(values) not in ((len(frame),), (len(frame), 2)):
        raise InvalidDataError(
            f"the outcome {left!r} has shape {np.shape(values)}, but the data have {len(frame)} rows."
        )
    return values, left
