"""One look at a table in pieces: what the formula has to remember, the outcome, and how many rows there are.

What is learned from a batch of rows is small and can be added to what was learned from others, so that batches may be looked at by
several threads or machines. Stateful functions within stateful functions take a further look each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from patsy import PatsyError

from gevglm.data import formula as formulas
from gevglm.data.columns import plain, with_columns
from gevglm.data.expressions import Call, Expression, expression, function_named
from gevglm.data.formula_engines import Coding, categorical, read, terms_of
from gevglm.data.model_matrix import TransformState, context_of, ordered_levels
from gevglm.data.row_dependence import ends_of
from gevglm.data.scope import unknown_names
from gevglm.data.selection import WEIGHTS, Selected, Selection
from gevglm.data.sources.base import Number, Source
from gevglm.data.transforms import apply_stateful, is_stateful
from gevglm.engine.monitor import Monitor
from gevglm.exceptions import GevglmError, InvalidDataError

EXAMPLE_ROWS = 200
MOST_LEVELS = 100  # distinct values of an outcome that are distinguished


@dataclass
class Levels:
    """The levels of a factor that were seen."""

    seen: dict[Any, None]  # from levels to None, in the order of their first rows
    categories: list[Any] | None  # those of the type of the column, if all rows agree on them
    numbers: bool  # whether some rows had them as floating-point numbers

    @classmethod
    def of(cls, values: Any) -> Levels:
        """Return the levels of some rows."""
        values = pd.Series(values)
        kind = isinstance(values.dtype, pd.CategoricalDtype)
        found = dict.fromkeys(values.dropna().drop_duplicates().tolist())
        return cls(found, values.dtype.categories.tolist() if kind else None, values.dtype.kind == "f")

    def add(self, other: Levels) -> None:
        """Add those of other rows."""
        self.seen |= other.seen
        self.numbers |= other.numbers
        if self.categories != other.categories:
            self.categories = None

    def ordered(self) -> list[Any]:
        """Return them in the order of their columns."""
        seen = dict.fromkeys(float(level) for level in self.seen) if self.numbers else self.seen
        if self.categories is not None:
            return [level for level in self.categories if level in seen]
        return ordered_levels(None, list(seen))


@dataclass
class Found:
    """What was learned from some rows."""

    n_given: int = 0
    n_asked: int = 0
    n_selected: int = 0
    n_missing: int = 0
    kept: dict[Number, int] = field(default_factory=dict)  # rows used, by the number of their batch
    example: pd.DataFrame = field(default_factory=pd.DataFrame)  # a few of them
    ends: pd.DataFrame = field(default_factory=pd.DataFrame)  # those where columns are smallest and largest
    # the levels of factors, None for numbers, by the text of the factor
    factors: dict[str, Levels | None] = field(default_factory=dict)
    # what functions have seen, by the text of their call
    states: dict[str, dict[str, Any]] = field(default_factory=dict)
    # the sum of the frequency weights by distinct outcome, as long as there are few
    outcomes: dict[Any, float] = field(default_factory=dict)
    counts: bool = False  # whether the outcome has two columns of counts
    # of the frequency weights; of them times observations, times events, times observations and sampling weights
    sums: NDArray = field(default_factory=lambda: np.zeros(4))
    non_integer: int = 0  # frequency weights that are not whole numbers
    problems: dict[str, int] = field(default_factory=dict)  # rows with values that are out of range, by what is wrong

    def add(self, other: Found, kinds: dict[str, Any]) -> None:
        """Add what was learned from the next rows; `kinds` are the functions behind the states."""
        self.n_given += other.n_given
        self.n_asked += other.n_asked
        self.n_selected += other.n_selected
        self.n_missing += other.n_missing
        self.kept |= other.kept
        if len(self.example) < len(other.example):
            self.example = other.example
        self.ends = _at_ends(self.ends, other.ends)
        for expr, levels in other.factors.items():
            known = self.factors.setdefault(expr, levels)
            if (known is None) != (levels is None):
                raise InvalidDataError(
                    f"{expr!r} is a number in some rows and a factor in others; make it the same in all."
                )
            if known is not None and levels is not None and known is not levels:
                known.add(levels)
        for text, state in other.states.items():
            self.states[text] = _merged(kinds[text], text, self.states[text], state) if text in self.states else state
        for level, size in other.outcomes.items():
            if level in self.outcomes or len(self.outcomes) < MOST_LEVELS:
                self.outcomes[level] = self.outcomes.get(level, 0.0) + size
        self.counts |= other.counts
        self.sums = self.sums + other.sums
        self.non_integer += other.non_integer
        for problem, count in other.problems.items():
            self.problems[problem] = self.problems.get(problem, 0) + count


def scan(
    source: Source, selection: Selection, columns: Sequence[str], monitor: Monitor
) -> tuple[Found, TransformState]:
    """Look at all rows, and return what was found and what the formula is to remember."""
    try:
        terms = terms_of(read(selection.right))
    except PatsyError as error:
        raise formulas.not_evaluated(selection.right, error) from None
    factors = [expression(name) for name in dict.fromkeys(name for term in terms for name in term)]
    kinds = _kinds(factors, _context(factors, pd.DataFrame(), selection))
    states: dict[str, dict[str, Any]] = {}
    while True:
        try:
            look = partial(_look, selection, factors, dict(states))
            found = _look_at_all(source, columns, look, kinds, monitor)
        except InvalidDataError as error:
            unknown = unknown_names(selection.right, source.columns, selection.scope)
            raise unknown or error from None
        if not sum(found.kept.values()):
            return found, TransformState()
        new = {text: _finished(kinds[text], text, state) for text, state in found.states.items()}
        states |= new
        if new:  # what they make of the data is most often a number, which a few rows tell
            _look_at_factors(
                [factor for factor in factors if factor.text not in found.factors], found, selection, states
            )
        if len(found.factors) == len(factors):
            break
        if not new:
            raise InvalidDataError(f"the formula '{selection.right}' could not be learned from data in pieces.")
    found.example = pd.concat([found.example, found.ends], ignore_index=True)
    codings = {name: None if levels is None else Coding(levels.ordered()) for name, levels in found.factors.items()}
    return found, TransformState(states, codings)


def _look_at_all(
    source: Source,
    columns: Sequence[str],
    look: Callable[[pd.DataFrame, Number], Found],
    kinds: dict[str, Any],
    monitor: Monitor,
) -> Found:
    found = Found()
    monitor.on_pass(getattr(source, "n_rows", None))
    with closing(source.map(look, columns)) as answers:
        for _, part in answers:
            found.add(part, kinds)
            monitor.on_rows(part.n_given)
    return found


def _kinds(factors: list[Expression], context: dict[str, Any]) -> dict[str, Any]:
    """Return the classes of stateful functions of patsy, by the text of their calls; None for those of formulaic."""
    functions = {call.text: function_named(call.name, context) for factor in factors for call in factor.calls}
    return {
        text: getattr(function, "__patsy_stateful_transform__", None)
        for text, function in functions.items()
        if is_stateful(function)
    }


def _look_at_factors(factors: list[Expression], found: Found, selection: Selection, states: dict[str, Any]) -> None:
    """Look at the example of rows for factors that turn out to be numbers."""
    example = Found()
    context = _context(factors, found.example, selection)
    for factor in factors:
        _look_at_factor(factor, context, states, example)
    found.factors |= {name: levels for name, levels in example.factors.items() if levels is None}


def _look(
    selection: Selection, factors: list[Expression], states: dict[str, Any], frame: pd.DataFrame, number: Number
) -> Found:
    """Learn from a batch of rows."""
    chosen = selection.of(frame)
    rows = chosen.frame
    sizes = len(frame), chosen.n_asked, chosen.n_selected, chosen.n_missing
    found = Found(*sizes, {number: len(rows)}, rows.head(EXAMPLE_ROWS), _at_ends(rows))
    if not len(rows):
        return found
    _look_at_outcome(chosen, found)
    context = _context(factors, rows, selection)
    for factor in factors:
        _look_at_factor(factor, context, states, found)
    found.states = {text: state for text, state in found.states.items() if state}
    return found


def _at_ends(*tables: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of tables where columns of numbers are smallest and largest."""
    tables = tuple(table for table in tables if len(table))
    if not tables:
        return pd.DataFrame()
    table = tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)
    return table.iloc[ends_of(column for _, column in table.items())]


def _context(factors: list[Expression], rows: pd.DataFrame, selection: Selection) -> dict[str, Any]:
    """Return what factors may name."""
    columns = with_columns(rows, rows.columns, lambda column: plain(column, "formulaic"))
    return context_of(factors, columns, selection.scope_beside(rows.columns))


def _look_at_factor(factor: Expression, context: dict[str, Any], states: dict[str, Any], found: Found) -> None:
    complete = True

    def wrapped(function: Any, call: Call) -> Any:
        nonlocal complete
        if not is_stateful(function):
            return function
        if call.text in states:
            return partial(apply_stateful, function, states[call.text])
        if any(is_stateful(function_named(inner.name, context)) and inner.text not in states for inner in call.inner):
            complete = False
            return lambda value, *args, **options: value
        kind = getattr(function, "__patsy_stateful_transform__", None)
        if kind is None:
            return partial(apply_stateful, function, found.states.setdefault(call.text, {}))
        complete = False
        return partial(_memorise, kind, call.text, found)

    try:
        values = factor.evaluate(context, wrapped)
        kind = categorical(values) if complete else None
    except GevglmError:
        raise
    except Exception as error:
        if complete:
            raise InvalidDataError(f"{factor.text!r} could not be evaluated: {error}") from None
        return
    if not complete:
        return
    if kind is None:
        found.factors[factor.text] = None
    elif kind.levels is not None:
        found.factors[factor.text] = Levels(dict.fromkeys(kind.levels), kind.levels, False)
    else:
        found.factors[factor.text] = Levels.of(kind.values)


def _memorise(kind: Any, text: str, found: Found, *args: Any, **options: Any) -> Any:
    transform = kind()
    try:
        transform.memorize_chunk(*args, **options)
    except Exception as error:
        raise InvalidDataError(f"{text!r} could not be evaluated: {error}") from None
    found.states[text] = vars(transform)
    return args[0] if args else next(iter(options.values()))


def _merged(kind: Any, text: str, known: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    if not hasattr(kind, "merge"):
        raise InvalidDataError(
            f"{text} needs all rows at once, but the data come in pieces; center(), standardize(), bs(), ns(), rcs(), cr() and poly() do not."
        )
    transform = kind()
    vars(transform).update(known)
    transform.merge(other)
    return vars(transform)


def _finished(kind: Any, text: str, state: dict[str, Any]) -> dict[str, Any]:
    if kind is None:
        return state
    transform = kind()
    vars(transform).update(state)
    try:
        transform.memorize_finish()
    except Exception as error:
        raise InvalidDataError(f"{text!r} could not be evaluated: {error}") from None
    return vars(transform)


def _look_at_outcome(chosen: Selected, found: Found) -> None:
    columns, n = chosen.columns, len(chosen.frame)
    freq = np.ones(n) if columns["freq_weights"] is None else columns["freq_weights"]
    stands_for = freq if columns["sampling_weights"] is None else freq * columns["sampling_weights"]
    for role in WEIGHTS:
        weights = columns[role]
        if weights is not None:
            bad = int((~(np.isfinite(weights) & (weights >= 0))).sum())
            _note(found, f"{role} must be finite and not negative", bad)
    if columns["exposure"] is not None:
        good = (columns["exposure"] > 0) & np.isfinite(columns["exposure"])
        _note(found, "exposure must be positive and finite", int((~good).sum()))
    if columns["offset"] is not None:
        _note(found, "offset must be finite", int((~np.isfinite(columns["offset"])).sum()))
    found.non_integer = int((freq != np.round(freq)).sum())
    values = chosen.values
    if np.ndim(values) == 2 and np.shape(values)[1] == 2:
        found.counts = True
        counts = np.asarray(values, dtype=float)
        trials = counts.sum(axis=1)
        found.sums = np.array([freq.sum(), freq @ trials, freq @ counts[:, 0], stands_for @ trials])
        return
    codes, levels = pd.factorize(np.ravel(values) if isinstance(values, np.ndarray) else values)
    _note(found, "the outcome is missing; missing='drop' drops such rows", int((codes < 0).sum()))
    codes, freq = codes[codes >= 0], freq[codes >= 0]
    sizes = np.bincount(codes, weights=freq, minlength=len(levels))
    found.outcomes = dict(zip(levels.tolist()[:MOST_LEVELS], sizes[:MOST_LEVELS].tolist(), strict=True))
    numbers = np.asarray(levels)
    events = float(sizes @ numbers) if numbers.dtype.kind in "biuf" else 0.0
    found.sums = np.array([freq.sum(), freq.sum(), events, stands_for.sum()])


def _note(found: Found, problem: str, count: int) -> None:
    if count:
        found.problems[problem] = count
