"""PanelGLM: a design whose units have constants of their own; what can be asked of such a model, and its fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from statsmodels.base.model import LikelihoodModel

from gevglm.conditional.model import CONSTANT
from gevglm.data import build
from gevglm.data.design import Design
from gevglm.data.gathered import gathered
from gevglm.engine.cholesky import Cholesky
from gevglm.engine.linalg import combinations, independent_columns, one_blas_thread
from gevglm.engine.monitor import Monitor
from gevglm.estimation.absorbed import unexplained
from gevglm.exceptions import (
    CollinearityError,
    CollinearityWarning,
    IncompatibleOptionsError,
    InvalidDataError,
    listed,
    unknown_option,
    warn,
)
from gevglm.options import FitOptions, ModelOptions
from gevglm.panel.estimation import PanelFit, estimated
from gevglm.panel.results import PanelResults, PanelResultsWrapper
from gevglm.panel.units import Panel, factors_of, panel_of

UNITS = ("informative", "all")
PLAINLY = 1e-6  # share of a column, squared, above which it is no combination of those before it, whatever the rounding
EXPLAINED = 1e-10  # share of a column, squared, that two factors leave unexplained, below which nothing is left
NO_MEANING = {
    "class_weight": "weights by the outcome move the constants; give risks by marginal_effects() instead",
    "prevalence": "a sample drawn by the outcome moves the constants; with the logit the slopes need no prevalence",
    "alpha": "there is no ridge penalty; use bias='firth'",
    "search_kwds": "there is nothing to search for",
    "design": "give sampling_weights=, and the units of the first stage as clusters",
    "resume": "the rows are in memory",
    "n_trials": "give the outcome as two columns of counts",
}


class PanelGLM(LikelihoodModel):
    """Binary regression with a constant for each unit: the model behind ``fit("y ~ x | unit", ...)``.

    Attributes
    ----------
    design : Design
        All rows that are complete, in the order of the data.
    factors : list of Factor
        The absorbed factors, the one with more levels first.
    loss : Loss
    """

    def __init__(self, design: Design, absorb: Any, options: ModelOptions):
        design.need_rows("absorb=", "read the table into memory")
        self.options, self.loss = options, options.resolve()
        self.design, self.layout = design, design.layout
        self.factors = factors_of(design, absorb)
        self.absorb_names = [factor.name for factor in self.factors] if _named(absorb) else None
        _refuse_terms(design, self.factors)
        self.columns = np.delete(np.arange(len(design.names)), [] if design.constant is None else [design.constant])
        if not len(self.columns):
            raise InvalidDataError(
                "the design has a constant only; with absorbed constants there is nothing left to estimate."
            )
        self.names = [design.names[j] for j in self.columns]
        self.n_events, self.nobs = design.n_events, design.n_rows
        y, X = design.labelled()
        super().__init__(y, X, missing="none", hasconst=False)
        self.data.xnames = self.names

    @classmethod
    def of_table(
        cls, formula: str, data: Any, absorb: Any, options: ModelOptions, scope: dict[str, Any], monitor: Monitor
    ) -> PanelGLM:
        """Build a model from a formula, a table, the units, options, and the objects of the user's scope that the formula names."""
        facts = {"subset": options.subset, **options.columns()}
        data = gathered(data, formula, scope, [absorb, *facts.values()])
        return cls(build.from_table(formula, data, scope, options.formula_engine, monitor, **facts), absorb, options)

    @classmethod
    def of_arrays(cls, endog: Any, exog: Any, absorb: Any, options: ModelOptions) -> PanelGLM:
        """Build a model from an outcome, a design matrix, the units and options."""
        return cls(build.from_arrays(endog, exog, **options.columns()), absorb, options)

    def initialize(self) -> None:
        """Leave what statsmodels looks for in a design with a constant."""
        self.df_model, self.df_resid = float(len(self.names)), float(self.nobs - len(self.names))

    @property
    def exog_names(self) -> list[str]:
        """The names of the slopes."""
        return self.names

    def panel(self, all_units: bool) -> Panel:
        """Return the rows in the order of the units, without those of units with one outcome unless all are asked for."""
        return panel_of(self.design, self.factors, self.columns, all_units=all_units)

    def fit_by(self, options: FitOptions, units: str | None = None) -> PanelResultsWrapper:
        """Estimate the slopes by options in one object; see :func:`gevglm.fit`."""
        options.check(len(self.names))
        if units not in (None, *UNITS):
            raise unknown_option("units", units, UNITS)
        if options.separation == "drop":
            raise IncompatibleOptionsError(
                "separation='drop' goes with terms; absorbed units of one outcome are left out as they are."
            )
        with one_blas_thread():
            return self._fitted(options, all_units=units == "all")

    def _fitted(self, options: FitOptions, *, all_units: bool) -> PanelResultsWrapper:
        fit = PanelFit.of(self, options, all_units=all_units)
        panel, omitted = self._independent(fit.panel, options.collinear)
        if options.start_params is not None:
            kept = np.isin(self.columns, panel.columns)
            fit = replace(
                fit, options=replace(options, start_params=np.asarray(options.start_params, dtype=float)[kept])
            )
        found = estimated(replace(fit, panel=panel), with_shape=self.options.shape_choice == "ml")
        return PanelResultsWrapper(PanelResults(self, found, omitted, options))

    def _independent(self, panel: Panel, collinear: str) -> tuple[Panel, dict[int, tuple[int, ...]]]:
        """Return the panel with the columns that vary within units and are no combinations of others there, and those that are left out."""
        largest = np.maximum(panel.X.max(axis=0), -panel.X.min(axis=0))
        size = np.maximum(np.abs(panel.centres).max(axis=1), largest).clip(1e-300)
        constant = largest <= CONSTANT * size
        plain = not panel.groups.n_levels and not constant.any()
        if plain and Cholesky(panel.X.T @ panel.X).smallest_pivot > PLAINLY:
            return panel, {}
        within = panel.X / size
        within[:, constant] = 0.0
        if panel.groups.n_levels:
            within = _beside_levels(panel, within)
        kept = independent_columns(within)
        dependent = [j for j in range(within.shape[1]) if j not in kept]
        if not dependent:
            return panel, {}
        omitted = combinations(within, dependent)
        text = _omitted_text(omitted, self.names, panel)
        if collinear == "raise" or not kept:
            raise CollinearityError(f"{text}; leave such columns out.")
        warn(f"left out, with a coefficient of 0: {text}. collinear='raise' refuses such columns.", CollinearityWarning)
        return panel.with_columns(self.columns[kept]), omitted


def _beside_levels(panel: Panel, within: NDArray) -> NDArray:
    """Return a few rows with the products of the columns that two factors leave; columns of which nothing is left are zero."""
    left = unexplained(panel.groups, within)
    gone = np.diagonal(left) <= EXPLAINED * np.maximum((within**2).sum(axis=0), 1e-300)
    left[gone] = left[:, gone] = 0.0
    values, vectors = np.linalg.eigh(left)
    return np.sqrt(np.where(values > EXPLAINED * values.max(initial=0.0), values, 0.0))[:, None] * vectors.T


def refuse_options(model: ModelOptions, fit: FitOptions) -> None:
    """Refuse what has no meaning beside absorbed constants."""
    given = model.given() | fit.given()
    for word, reason in NO_MEANING.items():
        if word in given:
            raise IncompatibleOptionsError(f"{word}= and absorbed constants cannot be combined: {reason}.")
    if fit.use_t is True:
        raise IncompatibleOptionsError(
            "use_t=True and absorbed constants cannot be combined: n - k has no meaning where constants are as many as units; with few clusters give "
            "use_t='satterthwaite'."
        )
    if model.shape_choice not in (None, "ml"):
        raise IncompatibleOptionsError(
            f"xi={model.xi!r} and absorbed constants cannot be combined: rows that are held out have no constants of their own to be predicted with. Use "
            "xi='ml', or give xi as a number."
        )


def _named(absorb: Any) -> bool:
    return isinstance(absorb, str) or (
        isinstance(absorb, (list, tuple)) and all(isinstance(one, str) for one in absorb)
    )


def _refuse_terms(design: Design, factors: list) -> None:
    """Refuse a factor that is also a term."""
    used = getattr(design.recipe, "used", ())
    both = [factor.name for factor in factors if factor.name in used]
    if both:
        raise InvalidDataError(
            f"{both[0]!r} is absorbed and also among the terms: its constants explain all of it. Leave one of them out."
        )


def _omitted_text(omitted: dict[int, tuple[int, ...]], names: list[str], panel: Panel) -> str:
    units = " and ".join(repr(factor.name) for factor in panel.factors)
    constant = [names[j] for j, others in omitted.items() if not others]
    others = [f"{names[j]} (of {listed([names[i] for i in parts], most=4)})" for j, parts in omitted.items() if parts]
    texts = [f"{listed(constant)}: no variation within {units}, whose constants explain all of it"] if constant else []
    texts += [f"{listed(others)}: a linear combination of other columns within {units}"] if others else []
    return "; ".join(texts)
