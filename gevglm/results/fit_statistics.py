"""How well a fit describes its data: scores, likelihood where there is one, deviance and residuals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from gevglm.calibration.discrimination import share_of_higher
from gevglm.calibration.sample import vector
from gevglm.data.row_weights import RowWeights
from gevglm.engine import Block, Engine, MappedEngine, Reducer
from gevglm.engine.base import ArraySum, times
from gevglm.engine.linalg import linear_predictor
from gevglm.estimation.estimate import Problem
from gevglm.estimation.sums import totals
from gevglm.exceptions import InvalidOptionError, unknown_option
from gevglm.families import saturated_loss
from gevglm.links.base import BinaryLink
from gevglm.losses import Log, Loss
from gevglm.results.core import ResultsCore

Scores = Callable[[Block], tuple[NDArray, NDArray, NDArray]]  # score, and the weight of events and of others


class FitStatistics(ResultsCore):
    """The statistics of fit of results; a part of :class:`gevglm.BinaryGLMResults`."""

    @property
    def n_trials_total(self) -> float:
        """Observations, each row counted by its frequency weight and trials."""
        return self._scalars["n_trials_total"]

    # -- how well it predicts --------------------------------------------------------------

    @property
    def log_loss(self) -> float:
        """Mean negative Bernoulli log-likelihood of the fitted probabilities."""
        return self._scalars["log_loss"]

    @property
    def brier(self) -> float:
        """Mean squared error of the fitted probabilities."""
        return self._scalars["brier"]

    @property
    def auc(self) -> float:
        """Area under the ROC curve, in sample."""
        return self._scalars["auc"]

    @cached_property
    def _scalars(self) -> dict[str, float]:
        """Every scalar that the summary shows, so that it outlives the data; scores of predictions are those in the population."""
        model = self.model
        numbers = scalars(
            model.engine(), self.loss, self._params, model.population_link, model.sampling.population_weights
        )
        return numbers | {"auc": self._auc()}

    def _auc(self) -> float:
        model, params = self.model, self._params
        if self.has_data:
            linear = vector(model.predict(params, which="linear"), "the linear predictor", infinite=True)
            return share_of_higher(np.asarray(model.endog), linear, self.row_weights.population_weights)

        def scores(block: Block) -> tuple[NDArray, NDArray, NDArray]:
            size = RowWeights.of(block).in_population
            linear = linear_predictor(block.X, params) + (0.0 if block.offset is None else block.offset)
            return linear, size * block.y, size * (1.0 - block.y)

        return streamed_auc(model.engine(), scores, model.design.n_events < 0.5 * model.design.n_total)

    # -- likelihood, where there is one ----------------------------------------------------

    @property
    def llf(self) -> float:
        """Log-likelihood; for counts with the binomial coefficients, as R and statsmodels have it."""
        self.need_likelihood(
            "llf", "log_loss and brier compare predictions on a scale that does not depend on the loss"
        )
        return self._scalars["bernoulli_llf"] + self._log_coefficients

    @cached_property
    def _log_coefficients(self) -> float:
        if self.model.design.trials is None:
            return 0.0
        return float(self.model.engine().reduce(ArraySum(_log_coefficients)))

    def llf_scaled(self, scale=None) -> float:
        """Return the log-likelihood; the scale of a binary outcome is 1."""
        return self.llf

    @property
    def aic(self) -> float:
        return self.info_criteria("aic")

    @property
    def bic(self) -> float:
        return self.info_criteria("bic")

    bic_llf = bic

    def info_criteria(self, crit, scale=None, dk_params=0):
        """Return AIC, BIC or QAIC; see statsmodels."""
        self.model.sampling.refuse_likelihood(crit)
        self.need_likelihood(crit, "compare models by cross-validated log_loss or brier")
        if self.alpha or self.bias is not None:
            raise InvalidOptionError(
                f"{crit} is not defined for a penalised or bias-reduced fit, which does not maximise the likelihood."
            )
        return super().info_criteria(crit, scale=scale, dk_params=dk_params + (self._joint is not None))

    @property
    def bic_deviance(self) -> float:
        """BIC from the deviance; see statsmodels."""
        self.model.sampling.refuse_likelihood("bic_deviance")
        self.need_likelihood("bic_deviance", "compare models by cross-validated log_loss or brier")
        return self.deviance - (self.model.wnobs - self.df_model - 1) * np.log(self.model.wnobs)

    # -- deviance and residuals ------------------------------------------------------------

    @property
    def deviance(self) -> float:
        """Twice the loss above that of the saturated model (relative where the canonical loss diverges)."""
        return self._scalars["deviance"]

    @property
    def pearson_chi2(self) -> float:
        """Sum of the squared Pearson residuals."""
        return self._scalars["pearson_chi2"]

    @property
    def resid_pearson(self) -> NDArray:
        r"""Pearson residuals, :math:`\sqrt{n}\,(y - \mu)/\sqrt{\mu(1-\mu)}`, for both losses."""
        with np.errstate(all="ignore"):
            point = self.link.at(self.model.predict(self._params, which="linear"))
            scale = np.sqrt(self.model.n_trials * self.model.var_weights)
            return scale * (self.model.endog - point.cdf) / np.sqrt(point.cdf * point.sf)

    @property
    def resid_deviance(self) -> NDArray:
        """Deviance residuals: signed square roots of each row's part of the deviance."""
        y, linear = self.model.endog, self.model.predict(self._params, which="linear")
        excess = self.loss.value(y, linear) - saturated_loss(self.loss, y)
        squared = 2.0 * self.model.n_trials * self.model.var_weights * np.maximum(excess, 0.0)
        return np.sign(y - self.link.inverse(linear)) * np.sqrt(squared)

    @property
    def resid_working(self) -> NDArray:
        """Working residuals, (y - mu)/F'."""
        linear = self.model.predict(self._params, which="linear")
        return (self.model.endog - self.link.inverse(linear)) / self.link.inverse_deriv(linear)

    # -- the model with a constant only ----------------------------------------------------

    @cached_property
    def null(self) -> NDArray:
        """Fitted values of the model with a constant only."""
        return self.link.inverse(self._null_constant + np.broadcast_to(self.model._offset_exposure, (self.model.nobs,)))

    @cached_property
    def _null_constant(self) -> float:
        engine = self._null_engine()
        if self.model.design.offset is None:
            weight, events = totals(engine)
            return float(self.link(events / weight))
        return float(Problem(engine, self.loss, constant=0).estimate().params[0])

    def _null_engine(self) -> Engine:
        return MappedEngine(self.model.engine(), _ones, 1)

    @cached_property
    def _null_scalars(self) -> dict[str, float]:
        return scalars(self._null_engine(), self.loss, np.array([self._null_constant]))

    @property
    def null_deviance(self) -> float:
        """Deviance of the model with a constant only."""
        return self._null_scalars["deviance"]

    @cached_property
    def llnull(self) -> float:
        """Log-likelihood of the model with a constant only."""
        self.need_likelihood("llnull", "pseudo_rsquared uses the Bernoulli likelihood of the predictions")
        return self._bernoulli_llnull + self._log_coefficients

    @cached_property
    def _bernoulli_llnull(self) -> float:
        design = self.model.design
        if (
            design.offset is not None
            or design.var is not None
            or not self.loss.is_likelihood
            or self.model.sampling.reweights
        ):
            return self._null_scalars["bernoulli_llf"]
        weight, events = (
            design.n_total,
            design.n_events,
        )  # from which the constant is known, without a pass over the rows
        return float(xlogy(events, events / weight) + xlogy(weight - events, (weight - events) / weight))

    def pseudo_rsquared(self, kind: str = "cs") -> float:
        """Pseudo R-squared of Cox and Snell ("cs") or McFadden ("mcf"), by the Bernoulli likelihood of the predictions."""
        llf, llnull = self._scalars["bernoulli_llf"], self._bernoulli_llnull
        if self.loss.is_likelihood:
            llf, llnull = self.llf, self.llnull
        if kind.lower().startswith("mcf"):
            return 1.0 - llf / llnull
        if kind.lower().startswith("cox") or kind.lower() in ("cs", "lr"):
            return 1.0 - np.exp((llnull - llf) * (2.0 / (self.model.sampling.population or self.model.wnobs)))
        raise unknown_option("kind", kind, ("cs", "mcf"))


def _ones(block: Block) -> Block:
    return replace(block, X=np.ones((len(block.y), 1)))


def _log_coefficients(block: Block) -> NDArray:
    n = np.ones_like(block.y) if block.trials is None else block.trials
    successes = n * block.y
    logs = gammaln(n + 1) - gammaln(successes + 1) - gammaln(n - successes + 1)
    return times(logs, block.freq, block.var).sum()


def scalars(
    engine: Engine,
    loss: Loss,
    params: NDArray,
    link: BinaryLink | None = None,
    by_outcome: Callable[[NDArray], NDArray | None] | None = None,
) -> dict[str, float]:
    """Return the statistics of fit that are sums over the rows, from one pass over them.

    ``log_loss`` and ``brier``, scores of probabilities whatever the loss, are means over the population: of those by `link` (that of the loss
    by default), with `by_outcome` the weights that make rows drawn by their outcome represent it. The others are sums over the rows as fitted.
    """
    link = loss.link if link is None else link

    def sums(block: Block) -> NDArray:
        linear = block.linear_predictor(params)
        fitted = loss.link.at(linear)
        predicted = fitted if link is loss.link else link.at(linear)
        y, weights = block.y, RowWeights.of(block, None if by_outcome is None else by_outcome(block.y))
        observations, size = weights.observations, weights.in_population
        weight = np.ones_like(y) if block.weight is None else block.weight
        squared = y * predicted.sf**2 + (1.0 - y) * predicted.cdf**2
        excess = loss.value_at(y, fitted) - saturated_loss(loss, y)
        pearson = (y - fitted.cdf) ** 2 / (fitted.cdf * fitted.sf)
        scores = (size, Log(link).value_at(y, predicted)), (size, squared)
        terms = *scores, (weight, excess), (weight, Log(loss.link).value_at(y, fitted)), (weight, pearson)
        sizes = observations.sum(), size.sum()
        return np.array([*sizes, *(np.where(w > 0, w * value, 0.0).sum() for w, value in terms)])

    total, size, surprise, squared, excess, weighted_surprise, pearson = engine.reduce(ArraySum(sums))
    return {
        "n_trials_total": float(total),
        "log_loss": float(surprise / size),
        "brier": float(squared / size),
        "deviance": float(2.0 * excess),
        "bernoulli_llf": float(-weighted_surprise),
        "pearson_chi2": float(pearson),
    }


# -- the area under the ROC curve of rows that are read in pieces, exactly: the scores of the rarer outcome fit in memory ---


class _Collect(Reducer):
    """The distinct scores of one outcome, and their weights."""

    def __init__(self, scores: Scores, events: bool):
        self.scores = scores
        self.events = events

    def zero(self) -> list[tuple[NDArray, NDArray]]:
        return []

    def map(self, block: Block) -> tuple[NDArray, NDArray]:
        score, events, others = self.scores(block)
        weight = events if self.events else others
        return score[weight > 0], weight[weight > 0]

    def combine(self, total: list, part: tuple[NDArray, NDArray]) -> list:
        total.append(part)
        return total


class _Ranked(Reducer):
    """The weight of the other outcome below each score, with half of that at the same score."""

    def __init__(self, scores: Scores, events: bool, collected: NDArray):
        self.scores = scores
        self.events = events
        self.collected = collected

    def zero(self) -> NDArray:
        return np.zeros(2 * len(self.collected) + 1)

    def map(self, block: Block) -> tuple[NDArray, NDArray]:
        score, events, others = self.scores(block)
        weight = others if self.events else events
        score, weight = score[weight > 0], weight[weight > 0]
        left = np.searchsorted(self.collected, score, side="left")
        right = np.searchsorted(self.collected, score, side="right")
        places, inverse = np.unique(left + right, return_inverse=True)  # even between scores, odd at one
        return places, np.bincount(inverse, weights=weight, minlength=len(places))

    def combine(self, total: NDArray, part: tuple[NDArray, NDArray]) -> NDArray:
        places, weights = part
        total[places] += weights
        return total


def streamed_auc(engine: Engine, scores: Scores, events_are_rarer: bool) -> float:
    """Return the probability that an event has a higher score than another row, ties counting half, by two passes.

    The scores of the rarer outcome are collected, 16 bytes each.
    """
    parts = engine.reduce(_Collect(scores, events_are_rarer))
    score = np.concatenate([part[0] for part in parts])
    weight = np.concatenate([part[1] for part in parts])
    collected, inverse = np.unique(score, return_inverse=True)
    weight = np.bincount(inverse, weights=weight)
    ranked = engine.reduce(_Ranked(scores, events_are_rarer, collected))
    total = ranked.sum()
    at = ranked[1::2]
    below = np.cumsum(ranked)[1::2] - at + 0.5 * at
    share = float(weight @ below / (weight.sum() * total))
    return share if events_are_rarer else 1.0 - share
