"""The model of a formula without the data it was fitted to: of a table that stands for them, and from which nothing but levels is learned."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.data.expressions import names_in
from gevglm.data.formula_engines import offsets_of, read, terms_of
from gevglm.data.tables import column
from gevglm.engine.linalg import dense
from gevglm.exceptions import InvalidDataError, InvalidOptionError, listed, silenced
from gevglm.model.binary_glm import BinaryGLM
from gevglm.options import ModelOptions

CONSTANT = "Intercept"
ROWS = 24  # of the table that stands for data, at least
EDGE = 1e-3  # of a range, that columns keep away from its ends
NUMBER = re.compile(r"(?<![\w.])\d+\.?\d*(?:[eE][-+]?\d+)?")


@dataclass(frozen=True)
class ModelOfFormula:
    """The model of a formula, built from data or from a table that stands for them; only how it reads new data matters."""

    outcome: str
    right: str
    options: ModelOptions
    scope: dict[str, Any]
    levels: dict[str, Sequence[Any]]

    @property
    def formula(self) -> str:
        """Both sides."""
        left = self.outcome if self.outcome.isidentifier() else f"`{self.outcome}`"
        return f"{left} ~ {self.right}"

    def from_data(self, table: pd.DataFrame) -> BinaryGLM:
        """Return the model of a table of covariates."""
        for name, given in self.levels.items():
            column(table, name, "levels")
            unknown = set(table[name].dropna().unique()) - set(given)
            if unknown:
                raise InvalidDataError(
                    f"data have levels of {name!r} that levels= does not: {listed(map(repr, unknown))}."
                )
            table = table.assign(**{name: pd.Categorical(table[name], list(given))})
        if not len(table):
            raise InvalidDataError("data have no rows.")
        return self._model(table)

    def without_data(self, coefficients: Mapping[str, Any]) -> BinaryGLM:
        """Return the model of a formula that learns nothing from data but the levels, which are given."""
        names = self._columns(coefficients)
        stray = [name for name in self.levels if name not in names]
        if stray:
            raise InvalidOptionError(f"levels has {listed(stray)}, which the formula {self.right!r} does not name.")
        self._refuse_levels(names)
        names += [name for name in (self.options.offset, self.options.exposure) if name is not None]
        error: InvalidDataError | None = None
        for low, high in _ranges(self.right):
            steps = np.linspace(0.0, 1.0, max([ROWS, *(2 * len(given) for given in self.levels.values())]))
            tables = [self._table(names, low + (high - low) * u) for u in (steps, 0.1 + 0.8 * steps[::-1])]
            try:
                with silenced():
                    model, other = (self._model(table) for table in tables)
            except InvalidDataError as failed:
                error = error or failed
                continue
            self._refuse_learning(model, other, tables[0])
            return model
        raise InvalidDataError(
            f"the formula {self.right!r} could not be read without data ({error}) Give the covariates of the population as data=."
        )

    def _columns(self, coefficients: Mapping[str, Any]) -> list[str]:
        """Return the columns of the formula: what it names but objects of the caller, such as knots or a mean, beside a column."""
        columns: list[str] = []
        try:
            factors = [factor for term in terms_of(read(self.right)) for factor in term]
        except Exception:  # what is wrong with it is said where the model is built
            factors = [self.right]
        for factor in factors:
            names = names_in(factor, called=False)
            own = [name for name in names if name in self.levels or name in coefficients or name not in self.scope]
            columns += own or [name for name in names if np.isscalar(self.scope.get(name))]
        inside = [name for each in offsets_of(self.right) for name in names_in(each.text, called=False)]
        return list(dict.fromkeys([*columns, *(name for name in inside if name not in self.scope)]))

    def _model(self, table: pd.DataFrame) -> BinaryGLM:
        return BinaryGLM.of_table(self.formula, self._with_outcome(table), self.options, self.scope)

    def _refuse_levels(self, names: list[str]) -> None:
        """Refuse columns that the formula takes for factors, and that no levels are given of."""
        factors = [name for name in names if re.search(rf"\bC\(\s*{re.escape(name)}\b", self.right)]
        if unnamed := [name for name in factors if name not in self.levels]:
            raise InvalidOptionError(
                f"the levels of {listed(unnamed)} are not known: give levels=, the reference first."
            )

    def _table(self, names: list[str], numbers: NDArray) -> pd.DataFrame:
        """Return a table with all levels of factors, and numbers for the rest."""
        columns: dict[str, Any] = {}
        for name in names:
            if (given := self.levels.get(name)) is None:
                columns[name] = numbers
            else:
                columns[name] = pd.Categorical.from_codes(np.arange(len(numbers)) % len(given), list(given))
        return pd.DataFrame(columns, index=range(len(numbers)))

    def _with_outcome(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a table with an outcome whose event is that asked for."""
        event = 1 if self.options.event is None else self.options.event
        other = f"not {event}" if isinstance(event, str) else (not event if isinstance(event, bool) else event - 1)
        return table.assign(**{self.outcome: np.where(np.arange(len(table)) % 2 == 0, event, other)})

    def _refuse_learning(self, model: BinaryGLM, other: BinaryGLM, table: pd.DataFrame) -> None:
        """Refuse a formula whose columns of the same rows depend on the data it first saw, which here are none."""
        recipe, again = model.design.recipe, other.design.recipe
        assert recipe is not None and again is not None
        try:
            first, second = dense(recipe.matrix(table)), dense(again.matrix(table))
            moved = ~np.isclose(first, second, rtol=1e-9, atol=1e-12).all(axis=0)
        except InvalidDataError:  # rows outside what the other has learned
            moved = np.ones(len(recipe.names), dtype=bool)
        learned = [name for name, each in zip(recipe.names, moved, strict=True) if each and name != CONSTANT]
        if learned:
            raise InvalidDataError(
                f"{listed(learned)}: the formula takes means, knots or bounds of these columns from data; write the published ones, as in "
                "bs(age, knots=(40, 60), lower_bound=18, upper_bound=90) or I(age - 50), or give data=."
            )


def _ranges(right: str) -> Iterator[tuple[float, float]]:
    """Yield ranges in which the columns of a formula may be looked at: around the numbers that it has, then between two of them."""
    numbers = sorted({float(number) for number in NUMBER.findall(right)} - {0.0}) or [1.0]
    yield numbers[0] / 2.0, 2.0 * numbers[-1]
    for low, high in sorted(combinations([0.0, *numbers], 2), key=lambda pair: pair[0] - pair[1]):
        yield low + EDGE * (high - low), high - EDGE * (high - low)
