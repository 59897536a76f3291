"""Factors of a formula, which are Python, as expressions that belong to no language."""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from gevglm.data.bases import Intervals
from gevglm.data.columns import is_number
from gevglm.data.expressions import with_quotes
from gevglm.data.formula import Recipe
from gevglm.data.transforms import WORDS, Center, Scale, Standardize
from gevglm.exceptions import InvalidDataError
from gevglm.export.nodes import CONDITIONS, Call, Column, Node, Number, Text, call
from gevglm.export.splines import EXPORTED, basis_columns

OPERATORS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow",
             ast.BitAnd: "and", ast.BitOr: "or",
             ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}  # fmt: skip
SAME_NAME = ("exp", "log", "sqrt", "abs", "floor", "ceil", "sin", "cos", "tan", "sinh", "cosh", "tanh")
FUNCTIONS: dict[str, Callable[..., Node]] = {
    **{name: (lambda x, name=name: call(name, x)) for name in SAME_NAME},
    "absolute": lambda x: call("abs", x),
    "arctan": lambda x: call("atan2", x, 1.0),
    "arctan2": lambda y, x: call("atan2", y, x),
    "log1p": lambda x: call("log", call("add", 1.0, x)),
    "expm1": lambda x: call("sub", call("exp", x), 1.0),
    "log2": lambda x: call("div", call("log", x), math.log(2.0)),
    "log10": lambda x: call("div", call("log", x), math.log(10.0)),
    "exp2": lambda x: call("pow", 2.0, x),
    "exp10": lambda x: call("pow", 10.0, x),
    "square": lambda x: call("mul", x, x),
    "power": lambda x, y: call("pow", x, y),
    "maximum": lambda x, y: call("max", x, y),
    "minimum": lambda x, y: call("min", x, y),
    "clip": lambda x, low, high: call("min", call("max", x, low), high),
    "where": lambda condition, x, y: call("if", condition, x, y),
}
INSTEAD = "compute a column of the table with it before the fit, and name that column in the formula"


class Translator:
    """The factors of a recipe as nodes; `columns` are the columns of the data that were met."""

    def __init__(self, recipe: Recipe):
        self.recipe = recipe
        self.columns: dict[str, Column] = {}

    def factor(self, text: str) -> list[Node] | Cut:
        """Return the columns of a factor that is numeric, the value of one that is categorical, or intervals."""
        body = _without_coding(ast.parse(with_quotes(text), mode="eval").body)
        if isinstance(body, ast.Call) and isinstance(body.func, ast.Name):
            kind = self._stateful(body.func.id)
            if kind is not None:
                return self._basis(kind, body, text)
        return [self._node(body, text)]

    def expression(self, text: str) -> Node:
        """Return an expression of numbers."""
        return self._node(ast.parse(with_quotes(text), mode="eval").body, text)

    def column(self, name: str) -> Column:
        """Return a column of the data."""
        if name not in self.columns:
            variable, dtype = self.recipe.variables.get(name), self.recipe.dtypes.get(name, np.dtype(float))
            self.columns[name] = Column(name, _kind(name, () if variable is None else variable.levels, dtype))
        return self.columns[name]

    def _stateful(self, name: str) -> Any:
        function = self.recipe.scope.get(name) if callable(self.recipe.scope.get(name)) else WORDS.get(name)
        return getattr(function, "__patsy_stateful_transform__", None)

    def _state(self, kind: Any, body: ast.Call) -> Any:
        transform = kind()
        vars(transform).update(self.recipe.model_matrix.state.functions[ast.unparse(body)])
        return transform

    def _basis(self, kind: Any, body: ast.Call, text: str) -> list[Node] | Cut:
        if not issubclass(kind, (*EXPORTED, Intervals, Center, Standardize, Scale)):
            raise _refused(text, f"{ast.unparse(body.func)}() is not among the functions that are exported")
        transform, x = self._state(kind, body), self._node(body.args[0], text)
        if issubclass(kind, Intervals):
            if transform.labels is None:
                raise _refused(text, "cut() with labels=False is not exported")
            return Cut(x, transform)
        if issubclass(kind, EXPORTED):
            return basis_columns(transform, self._options(kind, body), x)
        return [self._scaled(transform, self._options(kind, body), x)]

    def _scaled(self, transform: Any, options: dict[str, Any], x: Node) -> Node:
        at_zero, at_one = np.asarray(transform.transform(np.array([0.0, 1.0]), **options), dtype=float)
        if isinstance(transform, Center) or at_zero == 0.0:
            return call("sub", x, float(transform.mean)) if at_zero else call("mul", x, float(at_one))
        slope = float(at_one - at_zero)
        centre = float(transform.center if isinstance(transform, Scale) else transform.mean)
        divisor = (
            transform.divisor if isinstance(transform, Scale) else options.get("rescale", True) and transform.deviation
        )
        divisor = float(divisor) if divisor else 1.0 / slope
        return call("div", call("sub", x, centre), divisor)

    def _options(self, kind: Any, body: ast.Call) -> dict[str, Any]:
        scope = {"np": np, **WORDS, **self.recipe.scope}
        values = [eval(compile(ast.Expression(arg), "<formula>", "eval"), scope) for arg in body.args[1:]]
        names = [name for name in inspect.signature(kind.transform).parameters if name not in ("self", "x")]
        given = dict(zip(getattr(kind, "arguments", names), values, strict=False)) if values else {}
        for word in body.keywords:
            given[str(word.arg)] = eval(compile(ast.Expression(word.value), "<formula>", "eval"), scope)
        return given

    # -- one expression ------------------------------------------------------------------------

    def _node(self, node: ast.expr, text: str) -> Node:
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                return Text(node.value)
            if isinstance(node.value, (int, float)):
                return Number(float(node.value))
        if isinstance(node, ast.Name):
            return self._named(node.id, text)
        if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare)):
            return self._operation(node, text)
        if isinstance(node, ast.Call):
            return self._called(node, text)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("np", "numpy"):
            return Number(float(getattr(np, node.attr)))
        raise _refused(text, f"{ast.unparse(node)!r} is Python that other languages do not have")

    def _named(self, name: str, text: str) -> Node:
        if name in self.recipe.dtypes:
            return self.column(name)
        value = self.recipe.scope.get(name, WORDS.get(name))
        if isinstance(value, Real):
            return Number(float(value))
        raise _refused(text, f"{name!r} is neither a column nor a number")

    def _operation(self, node: ast.expr, text: str) -> Node:
        if isinstance(node, ast.UnaryOp):
            inside = self._node(node.operand, text)
            if isinstance(node.op, ast.Invert):
                return call("not", inside)
            return inside if isinstance(node.op, ast.UAdd) else call("mul", -1.0, inside)
        if isinstance(node, ast.Compare):
            sides = [self._node(side, text) for side in (node.left, *node.comparators)]
            if len(node.ops) == 1 and type(node.ops[0]) in OPERATORS:
                return call(OPERATORS[type(node.ops[0])], *sides)
            raise _refused(text, f"{ast.unparse(node)!r} is not a single comparison")
        assert isinstance(node, ast.BinOp)
        left, right = self._node(node.left, text), self._node(node.right, text)
        if isinstance(node.op, (ast.FloorDiv, ast.Mod)):
            whole = call("floor", call("div", left, right))
            return whole if isinstance(node.op, ast.FloorDiv) else call("sub", left, call("mul", right, whole))
        if type(node.op) not in OPERATORS:
            raise _refused(text, f"{ast.unparse(node)!r} is an operation that other languages do not have")
        return call(OPERATORS[type(node.op)], left, right)

    def _called(self, node: ast.Call, text: str) -> Node:
        name = ast.unparse(node.func)
        if name == "Q":
            return self.column(str(ast.literal_eval(node.args[0])))
        if name == "I":
            return self._node(node.args[0], text)
        plain = name.removeprefix("np.").removeprefix("numpy.")
        own = (
            "." not in name
            and callable(self.recipe.scope.get(name))
            and not isinstance(self.recipe.scope[name], np.ufunc)
        )
        kind = None if own or "." in name else self._stateful(name)
        if kind is not None and issubclass(kind, (Center, Standardize, Scale)):
            found = self._basis(kind, node, text)
            assert isinstance(found, list)
            return found[0]
        if own or plain not in FUNCTIONS or ("." in name and plain == name):
            raise _refused(text, f"{name}() is a Python function")
        args = [self._node(arg, text) for arg in (*node.args, *(word.value for word in node.keywords))]
        if plain == "log" and len(args) == 2:
            return call("div", call("log", args[0]), call("log", args[1]))
        return FUNCTIONS[plain](*args)


class Cut:
    """The intervals of ``cut(x)``, a factor."""

    def __init__(self, x: Node, transform: Intervals):
        self.x, self.transform = x, transform

    def inside(self, label: str) -> Node:
        """Return the condition that x lies in an interval."""
        transform, place = self.transform, list(self.transform.labels or ()).index(label)
        low, high = transform.breaks[place], transform.breaks[place + 1]
        first, last = place == 0, place == len(transform.breaks) - 2
        above = "ge" if not transform.right or (first and transform.include_lowest) else "gt"
        below = "le" if transform.right or (last and transform.include_lowest) else "lt"
        limits = [call(above, self.x, float(low))] if np.isfinite(low) else []
        limits += [call(below, self.x, float(high))] if np.isfinite(high) else []
        return limits[0] if len(limits) == 1 else call("and", *limits)


def is_condition(node: Any) -> bool:
    """Whether a node is a condition, which is true or false."""
    return isinstance(node, Call) and node.name in CONDITIONS


def _without_coding(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("C", "factor", "relevel"):
        node = node.args[0]
    return node


def _kind(name: str, levels: Any, dtype: Any) -> str:
    if not len(levels):
        if isinstance(dtype, pd.CategoricalDtype):
            dtype = dtype.categories.dtype
        return "number" if is_number(dtype) else "boolean" if pd.api.types.is_bool_dtype(dtype) else "text"
    for kind, types in (("boolean", (bool, np.bool_)), ("number", Real), ("text", str)):
        if all(isinstance(level, types) for level in levels):
            return kind
    raise InvalidDataError(
        f"{name!r} has levels such as {levels[0]!r}, which are neither texts nor numbers nor truth values, and cannot be exported; make them texts "
        "in the table, and fit again."
    )


def _refused(text: str, why: str) -> InvalidDataError:
    return InvalidDataError(f"the term {text!r} of the formula cannot be exported: {why}; {INSTEAD}.")
