"""Expressions of formulas, outcomes and subsets, compiled once and evaluated on any rows.

Before Python 3.12.1 the state of CPython's parser is shared between threads, so that two that parse at once may fail; and parsing again for every
piece of a table is waste. A text is compiled when a recipe is made, or where a pickled one arrives, under a lock; evaluating never parses.
"""

from __future__ import annotations

import ast
import builtins
import functools
import keyword
import os
import re
import threading
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from gevglm.data.operators import OPERATORS, Guard
from gevglm.exceptions import InvalidDataError

_NAME = re.compile(r"(?<![\w.'\"])([^\W\d]\w*)(?!\w|\s*=[^=])")
_NOT_CALLED = re.compile(_NAME.pattern + r"(?!\s*\()")
_QUOTED = re.compile(r"Q\(\s*(['\"])(.+?)\1\s*\)|`(.+?)`")
_SYMBOLS = re.compile(r"""('[^']*'|"[^"]*")|[&|]|@(?=[^\W\d])""")
_VARIABLE = "_variable_"  # what the names of the caller's variables begin with in compiled conditions
_IN_WORDS = {"&": " and ", "|": " or ", "@": _VARIABLE}
_LOCK = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)
_BEYOND_ARITHMETIC = (
    ast.Subscript,
    ast.MatMult,
    ast.Lambda,
    ast.comprehension,
    ast.IfExp,
    ast.NamedExpr,
    ast.Starred,
    ast.JoinedStr,
)
MATHEMATICS = (
    "sin cos tan exp log expm1 log1p log10 sqrt abs floor ceil sinh cosh tanh arcsin arccos arctan arctan2".split()
)


class Call(NamedTuple):
    """A call of a function by its simple name."""

    alias: str  # the name under which compiled code calls it
    name: str
    text: str
    inner: tuple[Call, ...]  # the calls within it


class Expression:
    """A Python expression; made by :func:`expression` or :func:`condition`.

    With `by_rows`, `and`, `or`, `not`, `in` and chains of comparisons work row by row.
    """

    def __init__(self, text: str, by_rows: bool = False):
        self.text = text
        self.calls: list[Call] = []
        self.variable: str | None = None  # that it is, by itself, quoted or in C(): where a string makes dummies
        self.names: set[str] = set()  # that it uses, besides those of functions it calls
        self.is_arithmetic = (
            False  # and calls of functions by simple names or of NumPy's elementwise ones: no methods, no indexing
        )
        self._by_rows = by_rows
        self._code: CodeType | Exception
        source = with_quotes(text).strip()
        if by_rows:  # & and | bind as loosely as the words, and @ is for variables, as in pandas
            source = _SYMBOLS.sub(lambda match: match[1] or _IN_WORDS[match[0]], source)
        try:
            tree = ast.parse(source, mode="eval")
        except (SyntaxError, ValueError) as error:
            self._code = error
            return
        self.variable = _variable(tree.body)
        self.is_arithmetic = all(map(_is_arithmetic, ast.walk(tree)))
        self.calls = _calls(tree)
        if by_rows:
            tree = ast.fix_missing_locations(_RowByRow().visit(tree))
        self.names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        guarded = Guard({call.alias: call.name for call in self.calls}).visit(tree)
        self._code = compile(ast.fix_missing_locations(guarded), text, "eval")

    def evaluate(self, context: Mapping[str, Any], wrapped: Callable[[Any, Call], Any] | None = None) -> Any:
        """Return the value, from what it may name besides Python's own functions; `wrapped` says what to call instead of a function."""
        if isinstance(self._code, Exception):
            raise self._code
        scope: dict[str, Any] = {name: context[name] for name in self.names if name in context}
        scope |= OPERATORS
        for call in self.calls:
            function = function_named(call.name, context)
            if function is None:
                raise NameError(f"name {call.name!r} is not defined")
            scope[call.alias] = function if wrapped is None else wrapped(function, call)
        return eval(self._code, scope)

    def __reduce__(self) -> tuple[Any, ...]:
        return condition if self._by_rows else expression, (self.text,)


def function_named(name: str, context: Mapping[str, Any]) -> Any:
    """Return what a name stands for where it is called; in a context, ``"name()"`` is a function that a column of that name does not hide."""
    return context.get(f"{name}()", context.get(name, getattr(builtins, name, None)))


def expression(text: str) -> Expression:
    """Return a compiled expression; a text that cannot be parsed says so when it is evaluated."""
    with _LOCK:
        return _compiled(text, False)


def condition(text: str) -> Expression:
    """Return a compiled condition on columns, in the words of :meth:`pandas.DataFrame.eval`."""
    with _LOCK:
        return _compiled(text, True)


_compiled = functools.lru_cache(4096)(Expression)


def rows_where(given: Expression, frame: Any, scope: Mapping[str, Any] | None = None) -> Any:
    """Return the value of a condition in the rows of a table; with an @, it names objects of a scope."""
    mathematics = {name: getattr(np, name) for name in MATHEMATICS}
    words = {"_in": _is_in, "_not_in": _is_not_in, "Q()": frame.__getitem__, "index": frame.index}
    columns = {name: frame[name] for name in given.names if name in frame.columns}
    variables = {f"{_VARIABLE}{name}": value for name, value in (scope or {}).items()}
    unknown = [name for name in given.names if name.startswith(_VARIABLE) and name not in variables]
    if unknown:
        raise NameError(f"there is no variable {unknown[0].removeprefix(_VARIABLE)!r} where the model is built")
    return given.evaluate(mathematics | words | columns | variables)


class _RowByRow(ast.NodeTransformer):
    """Rewrite what Python does once for a whole column into what is done for each of its rows."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        operator = ast.BitAnd() if isinstance(node.op, ast.And) else ast.BitOr()
        values = [self.visit(value) for value in node.values]
        return functools.reduce(lambda left, right: ast.BinOp(left, operator, right), values)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return ast.UnaryOp(ast.Invert(), node.operand) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        sides = [node.left, *node.comparators]
        pairs = [self._pair(*pair) for pair in zip(sides, node.ops, sides[1:], strict=False)]
        return functools.reduce(lambda left, right: ast.BinOp(left, ast.BitAnd(), right), pairs)

    def _pair(self, left: ast.expr, operator: ast.cmpop, right: ast.expr) -> ast.expr:
        listed = isinstance(right, (ast.List, ast.Tuple))
        for word, kinds in (("_in", (ast.In, ast.Eq)), ("_not_in", (ast.NotIn, ast.NotEq))):
            if isinstance(operator, kinds[0]) or (listed and isinstance(operator, kinds[1])):
                return ast.Call(ast.Name(word, ast.Load()), [left, right], [])
        return ast.Compare(left, [operator], [right])


def _is_in(value: Any, among: Any) -> Any:
    return value.isin(among) if hasattr(value, "isin") else value in among


def _is_not_in(value: Any, among: Any) -> Any:
    return ~value.isin(among) if hasattr(value, "isin") else value not in among


def _calls(tree: ast.AST) -> list[Call]:
    """Return the calls of functions by simple names, and let the tree call them by their aliases."""
    bound = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}  # by a lambda
    nodes = [
        (node, node.func)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in bound
    ]
    found: dict[ast.AST, Call] = {}
    for number, (node, function) in reversed(list(enumerate(nodes))):  # inner ones come later
        inner = tuple(found[other] for other in ast.walk(node) if other in found)
        found[node] = Call(f"_call_{number}", function.id, ast.unparse(node), inner)
    for node, function in nodes:
        function.id = found[node].alias
    return [found[node] for node, _ in nodes]


def _variable(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
        first = node.args[0]
        if node.func.id == "Q" and isinstance(first, ast.Constant):
            return str(first.value)
        return _variable(first) if node.func.id in ("C", "factor", "relevel") else None
    return None


def argument_of(text: str, function: str) -> str | None:
    """Return the argument of an expression that is a call of a function with one, None for other expressions."""
    with _LOCK:
        try:
            node = ast.parse(text, mode="eval").body
        except SyntaxError:
            return None
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function):
        return None
    if len(node.args) != 1 or node.keywords:
        raise InvalidDataError(f"{text}: {function}() takes one column or expression.")
    return ast.unparse(node.args[0])


def _is_arithmetic(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        value = getattr(np, node.attr, None) if ast.unparse(node.value) in ("np", "numpy") else None
        return isinstance(value, float) or (isinstance(value, np.ufunc) and value.signature is None)
    return not isinstance(node, _BEYOND_ARITHMETIC)


def names_in(text: str, called: bool = True) -> list[str]:
    """Return the names an expression uses, quoted ones included; without `called`, names of functions are left out."""
    return list(_names_in(text, called))


@functools.lru_cache(1024)
def _names_in(text: str, called: bool) -> tuple[str, ...]:
    quoted = [match.group(2) or match.group(3) for match in _QUOTED.finditer(text)]
    plain = (_NAME if called else _NOT_CALLED).findall(re.sub(r"(['\"]).*?\1", "", _QUOTED.sub("", text)))
    return tuple(dict.fromkeys(quoted + [name for name in plain if not keyword.iskeyword(name)]))


def with_quotes(text: str) -> str:
    """Return an expression with names in backticks as ``Q()``."""
    return re.sub(r"`(.+?)`", lambda match: f"Q({match[1]!r})", text)


def unquoted(text: str) -> str:
    """Return the name that a quoted name stands for; another text unchanged."""
    match = _QUOTED.fullmatch(text)
    return (match.group(2) or match.group(3)) if match else text
