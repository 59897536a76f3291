"""What operators do with the columns of formulas: conditions are joined, truth values count as 0 and 1, whole numbers do not wrap round.

NumPy would combine the bits of numbers by ``^``, take the sum of two conditions for their union, and let whole numbers beyond 9e18 begin
again at -9e18, all without a word.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from gevglm.exceptions import InvalidDataError

_BITS = {ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.Invert: "~", ast.LShift: "<<", ast.RShift: ">>"}
_JOIN = dict(zip(_BITS.values(), "and_ or_ xor invert lshift rshift".split(), strict=True))
_INSTEAD = {
    "^": "a power is x**2",
    "&": "an interaction is x:z, and conditions are joined as in (x > 1) & (z < 2)",
    "|": "conditions are joined as in (x > 1) | (z < 2)",
    "~": "a condition is turned round as in ~(x > 1)",
}
_NUMBERS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Pow: "pow", ast.USub: "neg",
            ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod"}  # fmt: skip
# functions of NumPy and methods of columns that do the same
_BY_NAME = {
    "add": "add",
    "subtract": "sub",
    "sub": "sub",
    "multiply": "mul",
    "mul": "mul",
    "power": "pow",
    "pow": "pow",
}
_MAY_OVERFLOW = ("add", "sub", "mul", "pow", "neg")
_LARGEST = 2.0**62  # whole number that stays one; twice that would fit, but floats are rounded


class Guard(ast.NodeTransformer):
    """Let operators look at what they are given; the code that comes out needs :data:`OPERATORS`.

    Parameters
    ----------
    names : mapping
        Of functions, by the aliases under which the code calls them.
    """

    def __init__(self, names: Mapping[str, str] | None = None):
        self._names = names or {}

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        return self._guarded(node, node.op, node.left, node.right)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        return self._guarded(node, node.op, node.operand)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not (isinstance(node.func, ast.Attribute) and node.func.attr in _BY_NAME) or node.keywords:
            return node
        of_numpy = ast.unparse(node.func.value) in ("np", "numpy")
        operands = node.args if of_numpy else [node.func.value, *node.args]
        if len(operands) != 2 or any(isinstance(operand, ast.Starred) for operand in operands):
            return node
        return _call("_computed", _BY_NAME[node.func.attr], *operands)

    def _guarded(self, node: ast.expr, operation: ast.AST, *operands: ast.expr) -> ast.AST:
        bits, word = _BITS.get(type(operation)), _NUMBERS.get(type(operation))
        if (bits or word) is None or all(isinstance(operand, ast.Constant) for operand in operands):
            return self.generic_visit(node)
        text = ast.unparse(node)
        operands = tuple(self.visit(operand) for operand in operands)
        if bits is None:
            return _call("_computed", word, *operands)
        for alias, name in self._names.items():
            text = text.replace(f"{alias}(", f"{name}(")
        return _call("_joined", bits, ast.Constant(text), *operands)


def _call(function: str, word: Any, *operands: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(function, ast.Load()), [ast.Constant(word), *operands], [])


def _joined(symbol: str, text: str, *operands: Any) -> Any:
    """Join conditions; refuse the bits of numbers."""
    if any(_is_no_condition(operand) for operand in operands):
        instead = _INSTEAD.get(symbol, "multiply or divide by powers of two")
        raise InvalidDataError(f"in '{text}', {symbol} would work on the bits of numbers; {instead}.")
    return getattr(operator, _JOIN[symbol])(*operands)


def _is_no_condition(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return False
    if not hasattr(value, "dtype"):
        return isinstance(value, (int, float, str, list, tuple))
    if value.dtype == object:
        return not all(isinstance(entry, (bool, np.bool_)) for entry in np.ravel(value))
    return not pd.api.types.is_bool_dtype(value.dtype)


def _computed(word: str, *operands: Any) -> Any:
    """Compute with numbers; whole numbers that might not fit into 64 bits, or become fractions, are floats."""
    operation = getattr(operator, word)
    operands = tuple(map(_counted, operands))
    columns = [operand for operand in operands if getattr(operand, "dtype", None) is not None]
    if word not in _MAY_OVERFLOW or not columns or not all(map(_is_whole, operands)):
        return operation(*operands)
    with np.errstate(all="ignore"):
        floats = operation(*map(_as_floats, operands))
    fraction = word == "pow" and np.min(operands[1]) < 0
    fits = not fraction and np.size(floats) and np.max(np.abs(floats)) < _LARGEST
    return operation(*operands) if fits else floats


def _counted(value: Any) -> Any:
    """Return truth values as 0 and 1, and numbers without a sign with one."""
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    whole = np.int64 if kind and isinstance(value.dtype, np.dtype) else "Int64"  # which may be missing
    if kind == "b":
        return value.astype(whole)
    if kind == "u":
        return value.astype(whole if np.size(value) == 0 or np.max(value) < _LARGEST else float)
    return value


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) or getattr(getattr(value, "dtype", None), "kind", "") == "i"


def _as_floats(value: Any) -> Any:
    return value.astype(float) if hasattr(value, "astype") else float(value)


OPERATORS = {"_joined": _joined, "_computed": _computed}
