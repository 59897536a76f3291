"""The scoring formula of a model: from the columns of a row to its risk, in expressions that belong to no language."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gevglm.data.design import Layout
from gevglm.data.formula import Recipe
from gevglm.exceptions import InvalidDataError
from gevglm.export.link_formulas import Steps, link_steps
from gevglm.export.nodes import ONE, Column, Lookup, Node, Number, as_data, call, combined, product, total
from gevglm.export.translate import Cut, Translator, is_condition
from gevglm.links.base import BinaryLink


@dataclass(frozen=True)
class Input:
    """A column that a row must have."""

    column: Column
    levels: tuple[Any, ...] = ()  # the only values it may have; none for numbers


@dataclass(frozen=True)
class Term:
    """The columns of one term of the formula, in the order of the design matrix."""

    name: str
    columns: tuple[Node, ...]
    coefficients: tuple[float, ...]
    sum: Node  # of the columns times their coefficients


@dataclass(frozen=True)
class ScoringFormula:
    """From the columns of a row to its risk."""

    outcome: str
    inputs: tuple[Input, ...]
    conditions: tuple[Node, ...]  # besides the levels of inputs, without which a row has no risk
    terms: tuple[Term, ...]
    offset: Node
    link: BinaryLink

    @property
    def linear_predictor(self) -> Node:
        """The linear predictor."""
        return total([*(term.sum for term in self.terms), self.offset])

    @property
    def columns(self) -> list[Node]:
        """The columns of the design matrix, in its order."""
        return [column for term in self.terms for column in term.columns]

    def steps(self, own_normal: bool = False) -> Steps:
        """Return the steps from the columns to the risk: ``linear_predictor``, ..., ``risk``."""
        return [("linear_predictor", self.linear_predictor), *link_steps(self.link, own_normal)]

    def as_data(self) -> dict[str, Any]:
        """Return the formula as what JSON holds."""
        return {
            "outcome": self.outcome,
            "link": repr(self.link),
            "inputs": [
                {"name": each.column.name, "kind": each.column.kind, "levels": list(each.levels)}
                for each in self.inputs
            ],
            "conditions": [as_data(condition) for condition in self.conditions],
            "terms": [
                {
                    "name": term.name,
                    "columns": [as_data(column) for column in term.columns],
                    "coefficients": list(term.coefficients),
                }
                for term in self.terms
            ],
            "offset": as_data(self.offset),
            "steps": {name: as_data(node) for name, node in self.steps()},
        }


@dataclass(frozen=True)
class Limits:
    """What limits of risks need besides the formula: they are those of the linear predictor, transformed."""

    covariance: NDArray  # of the coefficients and, last, of a shape that was estimated
    quantile: float
    with_shape: bool = False


def scoring_formula(layout: Layout, params: NDArray, link: BinaryLink) -> ScoringFormula:
    """Return the scoring formula of a model.

    Parameters
    ----------
    layout : Layout
        What is known of its design.
    params : ndarray of shape (k,)
    link : BinaryLink
        From linear predictors to risks in the population.

    Raises
    ------
    InvalidDataError
        If a term is Python that other languages do not have; the message names it, and says what to do.
    """
    if layout.array_offset or layout.array_exposure:
        raise InvalidDataError(
            "the offset, or the exposure, was given as an array, and has no name for a formula; put it into a column, and name that: offset='column'."
        )
    recipe, params = layout.recipe, np.asarray(params, dtype=float)
    if recipe is None:
        names = dict(zip(layout.names, params, strict=True))
        terms = tuple(_plain_term(name, float(b)) for name, b in names.items())
        inputs: list[Input] = [Input(Column(name)) for name in names if name != "const" and name != "Intercept"]
        return ScoringFormula(layout.outcome, tuple(inputs), (), terms, Number(0.0), link)
    if recipe.engine == "patsy":
        raise InvalidDataError(
            "a model built with patsy does not say how its columns are made; fit again with formula_engine='formulaic', which makes the same columns."
        )
    translator = Translator(recipe)
    conditions: list[Node] = []
    terms = _terms(translator, recipe, params, conditions)
    offset = _offset(translator, layout, recipe)
    every = {name: recipe.variables.get(name) for name in translator.columns}
    found = tuple(
        Input(translator.columns[name], () if variable is None else tuple(map(_plain, variable.levels)))
        for name, variable in every.items()
    )
    return ScoringFormula(layout.outcome, found, tuple(conditions), terms, offset, link)


def _plain_term(name: str, b: float) -> Term:
    column: Node = ONE if name in ("const", "Intercept") else Column(name)
    return Term(name, (column,), (b,), product([Number(b), column]))


def _offset(translator: Translator, layout: Layout, recipe: Recipe) -> Node:
    parts = [translator.expression(each.text) for each in recipe.offsets]
    if layout.offset_name is not None:
        parts.append(translator.column(layout.offset_name))
    if layout.exposure_name is not None:
        parts.append(call("log", translator.column(layout.exposure_name)))
    return total(parts)


def _terms(translator: Translator, recipe: Recipe, params: NDArray, conditions: list[Node]) -> tuple[Term, ...]:
    """Return the terms in the order of their columns, and add what must be true of a row to the conditions."""
    coded: dict[tuple[str, bool], list[Node]] = {}
    terms, place = [], 0
    for term, codings in recipe.model_matrix.structure:
        columns: list[Node] = []
        sums: list[Node] = []
        for coding in codings:
            for key in coding:
                if key not in coded:
                    coded[key] = _factor(translator, recipe, *key, conditions)
            factors = [coded[key] for key in coding]
            size = int(np.prod([len(factor) for factor in factors]))
            sums.append(_sum(factors, params[place : place + size]))
            columns += [product(tuple(reversed(each))) for each in itertools.product(*reversed(factors))]
            place += size
        own = tuple(params[place - len(columns) : place].tolist())
        terms.append(Term(":".join(term) or "Intercept", tuple(columns), own, total(sums)))
    return tuple(terms)


def _sum(factors: list[list[Node]], params: NDArray) -> Node:
    """Return the sum of the products of the columns of factors, times coefficients: those of the largest factor are put together first."""
    if not factors:
        return Number(float(params[0]))
    sizes = [len(factor) for factor in factors]
    most = int(np.argmax(sizes))
    numbers = np.moveaxis(params.reshape(sizes, order="F"), most, -1)
    others = [range(size) for i, size in enumerate(sizes) if i != most]
    rest = [factor for i, factor in enumerate(factors) if i != most]
    parts = []
    for places in itertools.product(*others):
        inner = combined(factors[most], numbers[places].tolist())
        parts.append(product([*(factor[j] for factor, j in zip(rest, places, strict=True)), inner]))
    return total(parts)


def _factor(translator: Translator, recipe: Recipe, text: str, reduced: bool, conditions: list[Node]) -> list[Node]:
    """Return the columns of a factor of a term."""
    found, coding = translator.factor(text), recipe.model_matrix.state.factors[text]
    if coding is None:
        assert isinstance(found, list)
        return found
    codes = np.asarray(coding.get_coding_matrix(reduced), dtype=float)
    if isinstance(found, Cut):
        inside = [found.inside(level) for level in coding.levels]
        known = inside[0] if len(inside) == 1 else call("or", *inside)
        if known not in conditions:
            conditions.append(known)
        return [
            total(
                [
                    product([Number(float(code)), call("if", condition, 1.0, 0.0)])
                    for code, condition in zip(column, inside, strict=True)
                ]
            )
            for column in codes.T
        ]
    value = found[0]
    levels = [float(level) for level in coding.levels] if is_condition(value) else list(map(_plain, coding.levels))
    return [
        Lookup(value, tuple((level, float(code)) for level, code in zip(levels, column, strict=True) if code != 0.0))
        for column in codes.T
    ]


def _plain(level: Any) -> Any:
    """Return a level as Python has it, not NumPy."""
    return level.item() if isinstance(level, np.generic) else level
