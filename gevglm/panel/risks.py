r"""Risks and effects in all units, those with one outcome only included: three steps from the slopes.

1. The slopes b of the fit; or, for the logit, those of the conditional likelihood with Firth's penalty, which are right with few rows per unit too.
2. The constants of *all* units by Firth's method, given the slopes: each is finite, also where a unit had no event.
3. One shift of all constants, so that the mean risk is the share of events: :math:`\sum w (y - F(v + \delta)) = 0`. Firth's method alone adds half an event
   to each unit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.bias import Correction, MeanReduction
from gevglm.conditional.likelihood import ConditionalLikelihood
from gevglm.conditional.sets import MatchedSets
from gevglm.data.design import Design
from gevglm.engine.base import times
from gevglm.engine.grouped import Groups, grouped_engine
from gevglm.estimation.absorbed import AbsorbedProblem
from gevglm.exceptions import IncompatibleOptionsError, InvalidDataError, InvalidOptionError
from gevglm.links.base import BinaryLink
from gevglm.losses import Loss
from gevglm.panel.estimation import PanelFit, bias_of
from gevglm.panel.units import Factor, Panel, panel_of
from gevglm.panel.within import Within

if TYPE_CHECKING:
    from gevglm.panel.model import PanelGLM

STEPS = 50
AT_ONCE = 1 << 20  # probabilities that are averaged at a time
NARROW = 1e-12


@dataclass(frozen=True)
class AllUnits:
    """Risks in all units."""

    link: BinaryLink
    constants: NDArray  # of the units, shifted; of shape (G,)
    weight: NDArray  # of their rows
    linear: NDArray  # linear predictors, in the order of the data; of shape (n,)
    row_weight: NDArray

    @property
    def risks(self) -> NDArray:
        """The risks of the rows, in the order of the data."""
        return self.link.at(self.linear).cdf

    @property
    def density(self) -> float:
        """The mean derivative of the risk by the linear predictor."""
        return float(np.average(self.link.at(self.linear).pdf, weights=self.row_weight))

    def averaged(self, linear: NDArray) -> NDArray:
        """Return probabilities at linear predictors without a constant, averaged over the constants of all units."""
        found, part = np.empty(len(linear)), max(AT_ONCE // len(self.constants), 1)
        share = self.weight / self.weight.sum()
        for start in range(0, len(linear), part):
            v = linear[start : start + part, None] + self.constants
            found[start : start + part] = self.link.at(v.ravel()).cdf.reshape(v.shape) @ share
        return found


def conditional_slopes(fit: PanelFit, panel: Panel) -> NDArray:
    """Return the slopes of the conditional likelihood of a panel with Firth's penalty; NaN if its maximum was not found."""
    design = panel.design
    refusals = {
        f"the logit, not {fit.loss.link!r}": fit.loss.link.canonical_is_log,
        "one absorbed factor": len(panel.factors) == 1,
        "rows without weights": design.freq is None and design.var is None,
        "outcomes of 0 and 1": design.trials is None and np.isin(design.y, (0.0, 1.0)).all(),
    }
    missing = [need for need, there in refusals.items() if not there]
    if missing:
        raise IncompatibleOptionsError(f"slopes='conditional' needs {missing[0]}; leave slopes= out.")
    sets = MatchedSets.of(panel.X, design.y, panel.groups.codes, design.offset, np.ones(len(panel.groups)))
    likelihood = ConditionalLikelihood(sets, penalised=True)
    found = likelihood.minimise(np.zeros(panel.X.shape[1]), fit.options.tol, fit.options.maxiter)
    return found.params if found.converged else np.full_like(found.params, np.nan)


def slopes_by(fit: PanelFit, word: str) -> NDArray:
    """Return the slopes from which risks are made: those of the fit, or conditional ones."""
    if word == "fit":
        return fit.within.estimate.params[len(fit.panel.groups) + fit.panel.groups.n_levels :]
    slopes = conditional_slopes(fit, fit.panel)
    if np.isnan(slopes).any():
        raise InvalidDataError("the conditional likelihood has no maximum that was found; leave slopes= out.")
    return slopes


def of_all_units(fit: PanelFit, model: PanelGLM, slopes: NDArray) -> AllUnits:
    """Return risks in all units of a model, by slopes."""
    if len(fit.panel.factors) > 1:
        raise InvalidOptionError(
            "risks in all units are defined for one absorbed factor; have the other one as C(...) among the terms."
        )
    panel = fit.panel if fit.all_units else panel_of(model.design, model.factors, fit.panel.columns, all_units=True)
    return _all_units(panel, fit.loss, slopes)


def _all_units(panel: Panel, loss: Loss, slopes: NDArray) -> AllUnits:
    design, groups = panel.design, panel.groups
    # without the means of units, which would be in their constants
    linear = panel.design.dense("risks()", "leave columns out")[:, panel.columns] @ slopes
    linear += 0.0 if design.offset is None else design.offset
    vectors = {"freq": design.freq, "var": design.var, "trials": design.trials, "offset": linear}
    engine = grouped_engine(np.empty((design.n_rows, 0)), design.y, groups, **vectors)
    problem = AbsorbedProblem(engine, groups, loss, np.empty((0, len(groups))), MeanReduction())
    constants = problem.estimate().params
    weight = panel.weight
    v = linear + groups.at_rows(constants)
    shift = shift_to_share(loss.link, v, design.y, weight)
    back = np.empty_like(v)
    back[panel.positions] = v + shift
    by_row = np.empty_like(v)
    by_row[panel.positions] = weight
    return AllUnits(loss.link, constants + shift, groups.sums(weight), back, by_row)


def shift_to_share(link: BinaryLink, v: NDArray, y: NDArray, weight: NDArray) -> float:
    """Return the shift of all linear predictors at which the mean risk is the share of events, by Newton steps."""
    shift, events = 0.0, float(weight @ y)
    with np.errstate(all="ignore"):
        for _ in range(STEPS):
            point = link.at(v + shift)
            step = (events - float(weight @ point.cdf)) / float(weight @ point.pdf)
            shift += min(max(step, -1.0), 1.0)
            if abs(step) < NARROW:
                break
    return shift


def marginal_effects(fit: PanelFit, model: PanelGLM, word: str) -> NDArray:
    """Return the average marginal effect of each slope over all rows.

    After maximum likelihood by its own constants, with which the biases of slopes and of densities offset each other; units with one outcome only, whose risk
    does not change, count with zero. After bias reduction, and from conditional slopes, by the three steps.
    """
    slopes = slopes_by(fit, word)
    if fit.bias is None and word == "fit":
        return slopes * _density_inside(fit.loss, fit.panel, fit.within.linear, model.design)
    return slopes * of_all_units(fit, model, slopes).density


def _density_inside(loss: Loss, panel: Panel, linear: NDArray, everybody: Design) -> float:
    total = times(np.ones(everybody.n_rows), everybody.freq, everybody.var, everybody.trials).sum()
    return float(panel.weight @ loss.link.at(linear).pdf) / float(total)


def bootstrapped(fit: PanelFit, model: PanelGLM, word: str, replications: int, rng: np.random.Generator) -> NDArray:
    """Return the average marginal effects in resamples of whole units; of shape (replications, k)."""
    if len(model.factors) > 1:
        raise InvalidOptionError(
            "units are resampled where one factor is absorbed; use replications=0 for effects without errors."
        )
    factor = model.factors[0]
    order = np.argsort(factor.codes, kind="stable")
    groups = Groups(factor.codes[order])
    draws = [_resample(fit, model.design, word, groups, order, rng) for _ in range(replications)]
    found = np.array([draw for draw in draws if draw is not None])
    if len(found) < 0.9 * replications:
        raise InvalidDataError(
            f"{replications - len(found)} of {replications} resamples of units have no estimate; there are too few units with both outcomes."
        )
    return found


def _resample(
    fit: PanelFit, design: Design, word: str, groups: Groups, order: NDArray, rng: np.random.Generator
) -> NDArray | None:
    drawn = rng.integers(len(groups), size=len(groups))
    sizes = groups.sizes[drawn]
    rows = np.arange(sizes.sum()) + np.repeat(groups.starts[drawn] - np.cumsum(sizes) + sizes, sizes)
    codes = np.repeat(np.arange(len(drawn)), sizes)
    part = replace(design.on_rows(order[rows]), names=design.names)
    factors = [Factor("unit", codes, pd.RangeIndex(len(drawn)))]
    try:
        panel = panel_of(part, factors, fit.panel.columns, all_units=fit.all_units)
    except InvalidDataError:
        return None
    if word != "fit":
        slopes = conditional_slopes(fit, panel)
        return None if np.isnan(slopes).any() else _three_steps(fit, part, factors, panel, slopes)
    again = replace(fit, panel=panel, options=replace(fit.options, start_params=None))
    found = again.problem.estimate(fit.within.estimate.params[len(fit.panel.groups) :])
    if not found.converged:
        return None
    slopes = found.params[len(panel.groups) :]
    if isinstance(fit.bias, Correction):
        slopes = slopes - bias_of(again.problem, found)[len(panel.groups) :]
    if fit.bias is None:
        linear = Within(panel, again.problem, found, 0.0, 0).linear
        return slopes * _density_inside(fit.loss, panel, linear, part)
    return _three_steps(fit, part, factors, panel, slopes)


def _three_steps(fit: PanelFit, design: Design, factors: list[Factor], panel: Panel, slopes: NDArray) -> NDArray:
    """Return the average marginal effects in all units of a resample."""
    everybody = panel if fit.all_units else panel_of(design, factors, panel.columns, all_units=True)
    return slopes * _all_units(everybody, fit.loss, slopes).density
