"""The caller's objects that a formula names: found where a model is built, kept with it, and without its rows."""

from __future__ import annotations

import builtins
import re
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from gevglm.data.expressions import names_in
from gevglm.data.tables import suggestion
from gevglm.data.transforms import WORDS
from gevglm.exceptions import InvalidDataError, callers_frame


def caller_names(formula: str, subset: Any = None, depth: int = 0) -> dict[str, Any]:
    """Return the objects that a formula, or a condition with an @, names in the caller's scope, and numpy as ``np``.

    The caller is the first frame outside the package, or `depth` frames above it. A variable that cannot be called hides no function.
    """
    frame, _ = callers_frame()
    for _ in range(depth):
        frame = None if frame is None else frame.f_back
    scope = {} if frame is None else {**frame.f_globals, **frame.f_locals}
    plain = names_in(formula, called=False)
    called = [name for name in names_in(formula) if name not in plain and callable(scope.get(name))]
    marked = re.findall(r"@([^\W\d]\w*)", subset) if isinstance(subset, str) else []
    return {"np": np} | {name: scope[name] for name in (*plain, *called, *marked) if name in scope}


def unknown_names(formula: str, columns: Iterable[str], scope: dict[str, Any]) -> InvalidDataError | None:
    """Return the error of names that are neither columns nor known otherwise, None if there are none."""
    called = {*re.findall(r"[^\W\d]\w*(?=\s*\()", formula)}
    words = {name for name, word in WORDS.items() if name in called or isinstance(word, type) or not callable(word)}
    known = {*columns, *scope, *dir(builtins), *words, "Q", *called.intersection(["offset"])}
    missing = [name for name in names_in(formula) if name not in known]
    if not missing:
        return None
    spaced = [name for name in map(str, columns) if " " in name and name in formula]
    hint = f" A name with blanks goes into backticks: `{spaced[0]}`." if spaced else suggestion(missing[0], columns)
    return InvalidDataError(f"the formula names {', '.join(map(repr, missing))}, not in the data.{hint}")


def without_rows(scope: dict[str, Any], n: int) -> dict[str, Any]:
    """Return a scope without variables that have a value for each of n rows."""
    kinds = (list, tuple, np.ndarray, pd.Series, pd.DataFrame, pd.Index)
    return {name: value for name, value in scope.items() if not (isinstance(value, kinds) and len(value) == n)}


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
