"""Formulas as people type them in R, Stata, fixest and lme4, turned into those that are read here; or a sentence that says what to write.

What has one meaning is rewritten: ``.``, names with dots, ``as.factor()``, arguments with dots. What would mean something else here
(``(1 | g)``, ``a & b``), or nothing, is refused. ``x | unit`` is understood by :func:`gevglm.fit`, and refused where constants are not absorbed.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import keyword
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gevglm.data.expressions import names_in
from gevglm.data.tables import suggestion
from gevglm.data.transforms import WORDS
from gevglm.exceptions import InvalidDataError
from gevglm.foreign_words import AMONG_TERMS, FUNCTIONS, RENAMED, SPECIAL, STATA

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<string>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")
    |(?P<quoted>`[^`]*`)
    |(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?L?)
    |(?P<name>[^\W\d](?:\w|\.(?=\w))*|(?<![\w)\]])\.(?!\w))
    |(?P<special>%[A-Za-z/]*%)
    |(?P<symbol>\*\*|&&|\|\||[<>=!]=|:::?|\#\#?|.)""",
    re.VERBOSE | re.DOTALL,
)
_IN_EXPRESSIONS = "and or not in is if else for async await None True False".split()
_ABBREVIATED = {"T": "True", "F": "False"}
_BRACES = {"{": "I(", "}": ")"}
_STATA_PREFIX = re.compile(r"(i|c|o|ib\w*|[LFDS]\d*)\.(.+)")


class Token(NamedTuple):
    """A piece of a formula."""

    kind: str
    text: str
    after: str  # the last piece before it that is not a space
    before: str  # the next one
    inside: str  # what it stands in: "call" (or an index), "group" of terms, or neither

    @property
    def called(self) -> bool:
        """Whether it is the name of a function that is called."""
        return self.before == "("


def as_read(formula: str, columns: Iterable[Any], scope: Mapping[str, Any]) -> str:
    """Return a formula, as it was typed for a table in a scope, in the words that are read here."""
    named = frozenset(name for name, value in scope.items() if callable(value) or name not in FUNCTIONS)
    return _as_read(formula, tuple(columns), named)


@functools.lru_cache(32)
def _as_read(formula: str, columns: tuple[Any, ...], named: frozenset[str]) -> str:
    return translated(formula, columns, {*named, *WORDS, *dir(builtins), "offset", "np"})


def translated(formula: str, columns: Sequence[Any], known: Collection[str] = ()) -> str:
    """Return a formula in the words of patsy.

    Parameters
    ----------
    formula : str
        As it was typed.
    columns : sequence
        Names of the columns of the data.
    known : collection of str
        What a formula may name besides columns.

    Raises
    ------
    InvalidDataError
        If something in it has no meaning here; the message says what to write.
    """
    left, tilde, right = formula.partition("~")
    names = [name for name in columns if isinstance(name, str)]
    return _side(left, names, known, None) + tilde + _side(right, names, known, _Rest(left, columns))


def absorbed_in(formula: str, columns: Iterable[Any]) -> tuple[str, list[str]]:
    """Return a formula without what stands after a |, and the columns named there, whose constants are absorbed (as fixest has it).

    Examples
    --------
    >>> absorbed_in("y ~ x | unit + year", ["y", "x", "unit", "year"])
    ('y ~ x', ['unit', 'year'])
    """
    left, tilde, right = formula.partition("~")
    pieces = [""]
    for token in _tokens(right):
        if token.text == "|" and not token.inside:
            pieces.append("")
        else:
            pieces[-1] += token.text
    if len(pieces) == 1:
        return formula, []
    if len(pieces) > 2:
        raise InvalidDataError(
            f"the formula has {len(pieces) - 1} parts after |; there is one, of columns whose constants are absorbed (instrumental variables are not known here)."
        )
    names = [_absorbed_name(text.strip(), [*columns]) for text in pieces[1].split("+")]
    return f"{left}{tilde}{pieces[0].rstrip()}", names


def _absorbed_name(text: str, columns: list[Any]) -> str:
    plain = re.fullmatch(r"(?:C|Q|factor|as\.factor)\(\s*(.+?)\s*\)", text)
    name = (plain[1] if plain else text).strip("`'\"")
    if name in columns:
        return name
    if "^" in text or ":" in text:
        raise InvalidDataError(
            f"after the | stands {text!r}; combine factors in a column of their own, such as d.groupby(['a', 'b']).ngroup()."
        )
    raise InvalidDataError(
        f"after the | stands {text!r}, which is not a column of the data.{suggestion(text, columns)} There stand the names of one or two columns "
        "whose constants are absorbed; a condition goes into I(), as in I((a > 1) | (b < 2))."
    )


class _Rest:
    """The columns that ``.`` stands for: all that the left-hand side does not name."""

    def __init__(self, left: str, columns: Sequence[Any]):
        self._left, self._columns = left, columns

    def __str__(self) -> str:
        odd = [name for name in self._columns if not isinstance(name, str)]
        if odd:
            raise InvalidDataError(
                f"'.' stands for all columns, but the column {odd[0]!r} has a name that is not text."
            )
        outcome = {*names_in(_side(self._left, list(self._columns), (), None))}
        rest = [_quoted(name) for name in self._columns if name not in outcome]
        if not rest:
            raise InvalidDataError("'.' stands for all columns but the outcome, and there is none; write 'y ~ 1'.")
        return f"({' + '.join(rest)})"


def _side(text: str, columns: list[str], known: Collection[str], rest: _Rest | None) -> str:
    return "".join(_translated_token(token, columns, known, rest) for token in _tokens(text))


def _tokens(text: str) -> Iterator[Token]:
    pieces = [(match.lastgroup or "", match[0]) for match in _TOKEN.finditer(text)]
    solid = [(place, piece) for place, (kind, piece) in enumerate(pieces) if kind != "space"]
    follows = {place: piece for (place, _), (_, piece) in itertools.pairwise(solid)}
    opened: list[str] = []
    after = ""
    for place, (kind, piece) in enumerate(pieces):
        if kind == "space":
            yield Token(kind, piece, after, "", "")
            continue
        if piece in ")]}" and opened:
            opened.pop()
        inside = "call" if "call" in opened else opened[-1] if opened else ""
        yield Token(kind, piece, after, follows.get(place, ""), inside)
        if piece in ("(", "[", "{"):
            call = piece != "(" or (re.search(r"[\w)\]`]$", after) and not keyword.iskeyword(after))
            opened.append("call" if call else "group")
        after = piece


def _translated_token(token: Token, columns: list[str], known: Collection[str], rest: _Rest | None) -> str:
    text = token.text
    if token.kind == "number":
        return text.removesuffix("L")
    if token.kind == "special":
        raise InvalidDataError(f"the formula has {text}, which is not known: {SPECIAL.get(text, SPECIAL['%in%'])}.")
    if text in _BRACES and token.inside != "call":  # of formulaic
        return _BRACES[text]
    if token.kind == "symbol":
        _refuse_symbol(token)
    if token.kind != "name" or token.after == ".":
        return text
    if text == ".":
        if rest is None or token.inside == "call":
            raise InvalidDataError(
                "'.' stands for all columns but the outcome, among the terms: y ~ . - x; name columns elsewhere."
            )
        return str(rest)
    if token.inside == "call" and token.before == "=":
        return text.replace(".", "_")
    if token.inside == "call" and token.after == "=" and text in _ABBREVIATED and text not in columns:
        return _ABBREVIATED[text]
    return _translated_name(token, columns, known)


def _translated_name(token: Token, columns: list[str], known: Collection[str]) -> str:
    text, parts = token.text, token.text.split(".")
    if text in columns and _is_reserved(token):
        return f"Q({text!r})"
    if text in RENAMED and token.called:
        return RENAMED[text]
    for k in range(len(parts) - token.called, 1, -1):
        column = ".".join(parts[:k])
        if column in columns:
            return ".".join([f"Q({column!r})", *parts[k:]])
    stata = _STATA_PREFIX.fullmatch(text)
    if stata and stata[2] in columns and parts[0] not in columns and not token.called:
        raise InvalidDataError(
            f"{text} is written as in Stata: {STATA[stata[1][0]].format(stata[2])}; # is : and ## is * between terms."
        )
    if token.called and text in FUNCTIONS and parts[0] not in known:
        raise InvalidDataError(f"there is no function {text}() here: {FUNCTIONS[text]}.")
    if len(parts) == 1 or parts[0] in columns or parts[0] in known:
        return text
    if token.called:
        raise InvalidDataError(
            f"the formula calls {text}(), which is not known here; np. has most functions of numbers."
        )
    raise InvalidDataError(f"the formula names {text!r}, not in the data.{suggestion(text, columns)}")


def _is_reserved(token: Token) -> bool:
    """Whether a name is one that Python reserves, and stands where Python has no use for it: class, lambda."""
    if token.text == "lambda":
        return token.inside != "call" or not re.match(r"[\w:*]", token.before)
    return keyword.iskeyword(token.text) and token.text not in _IN_EXPRESSIONS


def _refuse_symbol(token: Token) -> None:
    text = token.text
    if text in ("|", "||", "&", "&&") and token.inside != "call":
        place = "&" if text.startswith("&") else "(1 | g)" if token.inside == "group" else "x | unit"
        raise InvalidDataError(f"the formula has {text!r}: {AMONG_TERMS[place]}.")
    if text in SPECIAL and (text != "::" or re.match(r"\w", token.before)):
        raise InvalidDataError(f"the formula has {text!r}, which is not known: {SPECIAL[text]}.")


def _quoted(name: str) -> str:
    return name if name.isidentifier() and not keyword.iskeyword(name) else f"Q({name!r})"
