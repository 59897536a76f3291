"""One fit with absorbed constants: which estimator, the estimate, and what the user is warned of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gevglm.bias import BiasReduction, Correction, Jeffreys, MeanReduction, MedianReduction
from gevglm.conditional.sets import MatchedSets
from gevglm.covariance import HAC, Cluster, Covariance
from gevglm.covariance.clusters import BY_LEVERAGE
from gevglm.data.design import Design
from gevglm.estimation.absorbed import AbsorbedEstimate, AbsorbedProblem
from gevglm.exceptions import (
    ConvergenceWarning,
    FewEventsWarning,
    IncompatibleOptionsError,
    SeparationWarning,
    listed,
    warn,
)
from gevglm.inference.separation import Separation, find_directions
from gevglm.losses import Loss
from gevglm.options import SATTERTHWAITE, FitOptions
from gevglm.panel.shape import PanelShape, estimated_shape
from gevglm.panel.units import MOST_LEVELS, Panel
from gevglm.panel.within import Within, nested
from gevglm.sampling.schemes import AS_FITTED

if TYPE_CHECKING:
    from gevglm.panel.model import PanelGLM

UNIDENTIFIED = 1e-6  # share of the information without slopes below which separation is looked for
LARGE_BIAS = 0.5  # standard errors of estimated bias from which maximum likelihood is warned of
FEW_EVENTS_PER_UNIT = 2.0
MOST_PRODUCTS = 1 << 29  # of rows and units in a step of median bias reduction with two factors
MOST_PAIRS = 2_000_000  # of events and others in the same unit, among which separation is looked for


@dataclass(frozen=True)
class PanelFit:
    """A fit: its rows and estimator, and what was found."""

    panel: Panel
    loss: Loss
    options: FitOptions
    bias: BiasReduction | None
    covariance: Covariance
    all_units: bool
    within: Within = None  # type: ignore[assignment]  # what was found
    bias_of_slopes: NDArray | None = None  # estimated, of maximum likelihood
    separation: Separation | None = None
    shape: PanelShape | None = None

    @classmethod
    def of(cls, model: PanelGLM, options: FitOptions, *, all_units: bool) -> PanelFit:
        """Return the fit that the options ask for."""
        bias = _bias(options, model.loss, model.design)
        if all_units and (bias is None or isinstance(bias, Correction)):
            raise IncompatibleOptionsError(
                "units='all' needs bias='firth', 'median' or 'jeffreys': without, the constants of units with one outcome only are infinite, and "
                "these units say nothing about the slopes."
            )
        panel = model.panel(all_units)
        covariance = _covariance(options, panel.design)
        by_leverage = covariance.name in ("HC2", "HC3") or getattr(covariance, "kind", "") in BY_LEVERAGE
        if panel.groups.large and (bias is not None or by_leverage or options.use_t == SATTERTHWAITE):
            what = f"cov_type={covariance.name!r}" if bias is None else f"bias={bias.word!r}"
            what = f"kind={covariance.kind!r}" if isinstance(covariance, Cluster) and bias is None else what
            levels = " and ".join(f"{len(factor):,} levels of {factor.name!r}" for factor in panel.factors)
            raise IncompatibleOptionsError(
                f"{what} needs leverages, which there are none of with {levels} absorbed: one of two factors may have {MOST_LEVELS:,}. Use maximum likelihood "
                "with 'nonrobust', 'HC0', 'HC1' or 'cluster', or absorb the larger factor only."
            )
        products = panel.design.n_rows * len(panel.groups)
        if isinstance(bias, MedianReduction) and len(panel.factors) > 1 and products > MOST_PRODUCTS:
            raise IncompatibleOptionsError(
                f"bias='median' with two absorbed factors looks at every row with every unit, {products:.1g} pairs in each step; use bias='firth', or absorb one "
                "factor and have the other as C(...) among the terms."
            )
        return cls(panel, model.loss, options, bias, covariance, all_units)

    @property
    def problem(self) -> AbsorbedProblem:
        """What is to be estimated."""
        adjustment: Any = None if self.bias is None or isinstance(self.bias, Correction) else self.bias
        panel, options = self.panel, self.options
        facts = (panel.engine, panel.groups, self.loss, panel.centres)
        return AbsorbedProblem(*facts, adjustment, options.tol, options.maxiter)

    @property
    def nested(self) -> bool:
        """Whether every unit lies in one cluster of a cluster-robust fit."""
        if not isinstance(self.covariance, Cluster):
            return False
        rows = self.covariance.grouping.codes
        ways = [code[rows] for sign, code in self.covariance.grouping.ways if sign > 0]
        return any(nested(self.panel.groups.codes, codes) for codes in ways)

    @property
    def counted(self) -> int:
        """Constants that count as coefficients where a factor of the covariance has their number: of units within clusters one, as in fixest."""
        return self.panel.groups.n_levels + (1 if self.nested else len(self.panel.groups))


def estimated(fit: PanelFit, *, with_shape: bool = False) -> PanelFit:
    """Return a fit with what was found, after warning of what is wrong with it."""
    if with_shape:
        shape = estimated_shape(fit)
        fit = replace(fit, loss=fit.loss.with_shape(shape.xi), shape=shape)
    problem, options = fit.problem, fit.options
    k = problem.engine.n_cols
    start = None
    if options.start_params is not None:
        start = np.concatenate([np.zeros(problem.groups.n_levels), np.asarray(options.start_params)])
    found = problem.estimate(start)
    bias, vanished = None, _vanished(fit, problem, found)
    if fit.bias is None or isinstance(fit.bias, Correction):
        known = found.converged and not problem.groups.large and not vanished
        step = bias_of(problem, found) if known else None
        bias = None if step is None else step[-k:]
        if isinstance(fit.bias, Correction) and step is not None:
            found = problem.at(found, found.params - step)
    separation = None
    if fit.bias is None or fit.bias.rests_on_plain_fit:
        suspected = options.separation != "ignore" and (vanished or not found.converged)
        separation = _separation(fit, problem) if suspected else None
    nobs = fit.panel.design.sum_freq
    fit = replace(
        fit,
        within=Within(fit.panel, problem, found, nobs, fit.counted),
        bias_of_slopes=bias,
        separation=separation,
    )
    _warn(fit, vanished)
    return fit


def bias_of(problem: AbsorbedProblem, found: AbsorbedEstimate) -> NDArray:
    """Return the estimated bias of all coefficients (equation :eq:`weighted-bias` of the theory pages)."""
    sums = problem.adjusted_sums(MeanReduction(), found.params, derivative=False)
    return sums.information.solve(sums.gradient)


def _bias(options: FitOptions, loss: Loss, design: Design) -> BiasReduction | None:
    known = (MeanReduction, MedianReduction, Jeffreys, Correction)
    bias = options.bias_reduction(loss, 0, None)
    if bias is None:
        return None
    if not isinstance(bias, known):
        raise IncompatibleOptionsError(
            f"bias={bias.word!r} is not defined for absorbed constants; use one of {', '.join(repr(one.word) for one in known)}."
        )
    return bias.adapted_to(AS_FITTED, design.var is not None)


def _covariance(options: FitOptions, design: Design) -> Covariance:
    default = "nonrobust" if design.population is None else "linearized"
    covariance = options.covariance(default, design.grouping)
    if isinstance(covariance, HAC):
        raise IncompatibleOptionsError(
            "cov_type='HAC' is not available with absorbed constants; use cov_type='cluster', with the units as groups, or 'HC0' to 'HC3'."
        )
    if design.population is not None and covariance.assumes_model:
        raise IncompatibleOptionsError(
            "cov_type='nonrobust' and sampling_weights cannot be combined: the weights are not numbers of observations. Use 'linearized' or 'cluster'."
        )
    return covariance


def _vanished(fit: PanelFit, problem: AbsorbedProblem, found: AbsorbedEstimate) -> list[str]:
    """Return the columns of a plain fit on which hardly any of the information is left that there was without slopes."""
    plain = fit.bias is None or fit.bias.rests_on_plain_fit
    if not plain or problem.groups.large:
        return []
    m, start = problem.groups.n_levels, problem.information_without_slopes()
    left = (np.diagonal(found.information.schur) / np.diagonal(start.schur))[m:]
    return [fit.panel.design.names[j] for j in fit.panel.columns[~(left >= UNIDENTIFIED)]]


def _separation(fit: PanelFit, problem: AbsorbedProblem) -> Separation | None:
    """Look for separation: a direction in which events are before all others of their unit."""
    panel = fit.panel
    if problem.groups.n_levels:
        return None
    design, codes = panel.design, panel.groups.codes
    if not np.isin(design.y, (0.0, 1.0)).all():
        return None
    sets = MatchedSets.of(problem.engine.X, design.y, codes, None, np.ones(len(panel.groups)))
    if (sets.cases * (sets.sizes - sets.cases)).sum() > MOST_PAIRS:
        return None
    pairs = sets.pairs(problem.engine.X, design.y)
    turned = np.arange(len(pairs)) % 2
    names = [design.names[j] for j in panel.columns]
    look = find_directions(np.where(turned[:, None], -pairs, pairs), 1.0 - turned, None, names)
    return look if look.separated else None


def _warn(fit: PanelFit, vanished: list[str]) -> None:
    found, options, design = fit.within.estimate, fit.options, fit.panel.design
    names = [design.names[j] for j in fit.panel.columns]
    if fit.separation is not None:
        warn(
            f"the outcomes are separated within units: the estimates of {listed(fit.separation.infinite)} are infinite, and what is reported for them is "
            "where the iteration ended. Use bias='firth'.",
            SeparationWarning,
        )
    elif vanished and options.separation != "ignore":
        warn(
            f"hardly any information is left on {listed(vanished)}: outcomes seem to be separated within {' and '.join(one.name for one in fit.panel.factors)}, and "
            "what is reported for such columns is where the iteration ended. Use bias='firth'.",
            SeparationWarning,
        )
    elif not found.converged and options.maxiter > 0 and options.separation != "ignore":
        warn(
            f"the fit has not converged: {found.reason} (decrement {found.decrement:.2g} after {found.n_iter} steps).",
            ConvergenceWarning,
        )
    if fit.bias is None and fit.bias_of_slopes is not None and fit.separation is None:
        errors = np.sqrt(np.diagonal(fit.within.bread))
        worst = int(np.argmax(np.abs(fit.bias_of_slopes) / errors))
        share = abs(fit.bias_of_slopes[worst]) / errors[worst]
        if share > LARGE_BIAS:
            warn(
                f"maximum likelihood with a constant for each of {len(fit.panel.groups):,} units is biased: by {fit.bias_of_slopes[worst]:+.2g} for {names[worst]!r}, "
                f"{share:.2g} standard errors, as estimated; more units do not help. Use bias='firth' (or 'correction')"
                + (", or strata= for the logit." if fit.loss.link.canonical_is_log else "."),
                FewEventsWarning,
            )
    if fit.all_units:
        events, risk = events_and_risk(fit)
        if events < FEW_EVENTS_PER_UNIT:
            warn(
                f"units='all' with {events:.2g} events per unit: slopes are biased towards zero, and the mean fitted risk is {risk:.2f} times the share of events. "
                "Leave units='all' out for slopes; marginal_effects() and risks() have risks that are right on average.",
                FewEventsWarning,
            )


def events_and_risk(fit: PanelFit) -> tuple[float, float]:
    """Return the events (of the rarer outcome) per unit, and the mean fitted risk over the share of events."""
    weight, y = fit.panel.weight, fit.panel.design.y
    events, total = float(weight @ y), float(weight.sum())
    mu = fit.loss.link.at(fit.within.linear).cdf
    return min(events, total - events) / len(fit.panel.groups), float(weight @ mu) / events
