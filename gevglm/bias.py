r"""Bias reduction: small samples and rare events, for every link and both losses.

Maximum likelihood is biased away from zero by a term of order 1/n, and infinite under separation. The methods here
subtract that bias by a change of the estimating equation :math:`s(b) = 0`. With :math:`q_i = x_i' C x_i`, C the model-based
covariance of the coefficients and :math:`w_i` the weight of a row:

===============  ==========================================================================================
word             what is added to the score :math:`s(b)`
===============  ==========================================================================================
``mean``         log loss: :math:`\tfrac12 \sum h_i \frac{F''_i}{F'_i} x_i` with the leverage
                 :math:`h_i = w_i \frac{F_i'^2}{F_i(1-F_i)} q_i` (Firth 1993, Kosmidis and Firth 2009);
                 canonical loss: :math:`\tfrac12 \sum w_i F''_i q_i x_i`, because its score is linear in y
``median``       the same, plus the information times u with
                 :math:`u_j = \sum_i W_i e_i (x_i'c_j)^3 / c_{jj}` (Kenne Pagui, Salvan and Sartori 2017)
``jeffreys``     :math:`a \sum h_i (\ln W_i)' x_i`, the gradient of :math:`a \ln |I(b)|`
``logf``         :math:`m (\tfrac12 - \mathrm{expit}(b_j))`, the log-F(m, m) prior of every slope
===============  ==========================================================================================

``correction`` subtracts the estimated bias from the uncorrected estimate once, ``king-zeng`` does so for logits of samples drawn by
the outcome; ``flic`` and ``flac`` (Puhr et al. 2017)
repair the predicted risks, which ``mean`` pulls towards 1/2. Standard errors are those of the information at the
estimates, as in brglm2; logistf inverts the information of augmented data and reports smaller ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from gevglm.covariance import Covariance, Fitted, Nonrobust
from gevglm.engine.base import Block, Engine, MappedEngine
from gevglm.estimation import Estimate, Penalty, Problem, objective
from gevglm.exceptions import IncompatibleOptionsError, InvalidOptionError
from gevglm.linalg import Cholesky, quadratic_forms
from gevglm.links.base import Point
from gevglm.losses import Loss
from gevglm.prevalence import OutcomeSampling, Sampling
from gevglm.reducers import ArraySum, LossSums, NewtonSums
from gevglm.solver import Evaluate


class BiasReduction(ABC):
    """A way to reduce the bias of the estimates.

    Attributes
    ----------
    word : str
        The word for it in :func:`gevglm.fit`.
    title : str
        What the summary calls it.
    """

    word: str
    title: str

    @abstractmethod
    def estimate(self, problem: Problem) -> Estimate:
        """Return the estimates."""

    def refuse(self, loss: Loss, constant: int | None) -> None:
        """Raise if the method is not defined for a loss or design."""
        return

    def adapted_to(self, sampling: Sampling, weighted: bool) -> BiasReduction:
        """Return the method for rows that were sampled or weighted by their outcome; `weighted` if they have variance weights."""
        if sampling.reweights:
            raise IncompatibleOptionsError(
                f"bias={self.word!r} reads the weights of rows as numbers of observations, which weights by the outcome are not: it would "
                "correct for too few or too many events. Use prevalence= with sampling='prior', or bias='king-zeng' for a weighted logit."
            )
        return self

    def covariance(self, covariance: Covariance, rows: Fitted, fitted: Estimate) -> NDArray:
        """Return the covariance of the estimates."""
        return covariance.matrix(rows)

    def maximises_likelihood(self, loss: Loss) -> bool:
        """Whether the estimates maximise a (penalised) likelihood."""
        return False

    def penalised_likelihood(self, problem: Problem, params: NDArray, lagged: bool = False) -> tuple[Evaluate, NDArray]:
        """Return what the estimates minimise, and the minimiser.

        Parameters
        ----------
        problem : Problem
        params : ndarray of shape (k,)
            The estimates.
        lagged : bool
            Whether gradients may be a step behind; see :func:`gevglm.estimation.objective`.
        """
        raise NotImplementedError


class Adjusted(BiasReduction):
    """A method that adjusts the score; see :class:`gevglm.estimation.Adjustment`."""

    def estimate(self, problem: Problem) -> Estimate:
        return problem.estimate(adjustment=self)

    def maximises_likelihood(self, loss: Loss) -> bool:
        return loss.is_likelihood and self.has_objective(loss)

    def penalised_likelihood(self, problem: Problem, params: NDArray, lagged: bool = False) -> tuple[Evaluate, NDArray]:
        return objective(problem.engine, problem.loss, adjustment=self, lagged=lagged), params

    def has_objective(self, loss: Loss) -> bool:
        return False

    def matrix(self, engine: Engine, loss: Loss, params: NDArray, inverse: NDArray) -> NDArray:
        return inverse

    @abstractmethod
    def shift(self, loss: Loss, block: Block, point: Point, matrix: NDArray) -> NDArray:
        """Return what one block adds to the score (or several such sums)."""

    @abstractmethod
    def apply(self, loss: Loss, sums: NewtonSums, total: NDArray, matrix: NDArray, factor: Cholesky) -> None:
        """Change gradient and value of the loss in place."""


@dataclass(frozen=True)
class MeanReduction(Adjusted):
    """Mean bias reduction: Firth's method and its generalisation to every link and to the canonical loss."""

    word = "mean"
    title = "mean bias reduction (Firth)"

    def has_objective(self, loss: Loss) -> bool:
        return loss.link.canonical_is_log

    def matrix(self, engine: Engine, loss: Loss, params: NDArray, inverse: NDArray) -> NDArray:
        if loss.is_likelihood:
            return inverse
        return Nonrobust().matrix(Fitted(engine, loss, params, inverse, 0.0))

    def shift(self, loss: Loss, block: Block, point: Point, matrix: NDArray) -> NDArray:
        return np.dot(_mean_shift(loss, block, point, quadratic_forms(block.X, matrix)), block.X)

    def apply(self, loss: Loss, sums: NewtonSums, total: NDArray, matrix: NDArray, factor: Cholesky) -> None:
        sums.gradient -= total
        if self.has_objective(loss):
            sums.value -= 0.5 * factor.log_determinant


@dataclass(frozen=True)
class MedianReduction(Adjusted):
    """Median bias reduction: each estimate is as often too large as too small, whatever the scale of its coefficient."""

    word = "median"
    title = "median bias reduction"

    def refuse(self, loss: Loss, constant: int | None) -> None:
        _need_likelihood(self, loss)

    def shift(self, loss: Loss, block: Block, point: Point, matrix: NDArray) -> NDArray:
        projected = np.dot(block.X, matrix)
        quadratic = np.einsum("ij,ij->i", projected, block.X)
        # F' times the derivative of ln(mu (1 - mu)) is the reverse hazard minus the hazard
        skewness = (point.reverse_hazard - point.hazard) / 6.0 - 0.5 * point.dlogpdf
        cubic = _weighted(loss.expected_curvature_at(point) * skewness, block)
        mean = np.dot(_mean_shift(loss, block, point, quadratic), block.X)
        return np.stack([mean, np.dot(cubic, projected**3)])

    def apply(self, loss: Loss, sums: NewtonSums, total: NDArray, matrix: NDArray, factor: Cholesky) -> None:
        mean, cubes = total
        sums.gradient -= mean + sums.hessian @ (cubes / np.diagonal(matrix))


@dataclass(frozen=True)
class Jeffreys(Adjusted):
    r"""Maximum likelihood penalised by a power of Jeffreys' prior, :math:`a \ln |I(b)|`.

    Parameters
    ----------
    power : float
        The a; with 1/2 and the logit, mean bias reduction.
    """

    power: float = 0.5
    word = "jeffreys"
    title = "Jeffreys penalised likelihood"

    def __post_init__(self) -> None:
        _need_positive("power", self.power)

    def refuse(self, loss: Loss, constant: int | None) -> None:
        _need_likelihood(self, loss)

    def has_objective(self, loss: Loss) -> bool:
        return True

    def shift(self, loss: Loss, block: Block, point: Point, matrix: NDArray) -> NDArray:
        leverage = _weighted(loss.expected_curvature_at(point) * quadratic_forms(block.X, matrix), block)
        return np.dot(leverage * (point.dlog_reverse_hazard + point.dlog_hazard), block.X)

    def apply(self, loss: Loss, sums: NewtonSums, total: NDArray, matrix: NDArray, factor: Cholesky) -> None:
        sums.gradient -= self.power * total
        sums.value -= self.power * factor.log_determinant


@dataclass(frozen=True)
class LogF(BiasReduction):
    r"""Log-F(m, m) prior for every coefficient but the constant (Greenland and Mansournia 2015).

    Parameters
    ----------
    m : float
        Degrees of freedom: the prior is worth m observations, half of them events, at one unit of each column alone.

    Notes
    -----
    The penalty is :math:`\sum_j [m \ln(1 + e^{b_j}) - m b_j / 2]`. It depends on the units of the columns: give them so that a
    coefficient of 1 or 2 is a large effect.
    """

    m: float = 1.0
    word = "logf"
    title = "log-F prior"

    def __post_init__(self) -> None:
        _need_positive("m", self.m)

    def adapted_to(self, sampling: Sampling, weighted: bool) -> BiasReduction:
        return self  # a prior, not a correction

    def estimate(self, problem: Problem) -> Estimate:
        return problem.estimate(penalty=self._penalty(problem))

    def maximises_likelihood(self, loss: Loss) -> bool:
        return loss.is_likelihood

    def penalised_likelihood(self, problem: Problem, params: NDArray, lagged: bool = False) -> tuple[Evaluate, NDArray]:
        return objective(problem.engine, problem.loss, penalty=self._penalty(problem)), params

    def _penalty(self, problem: Problem) -> Penalty:
        columns = np.ones(problem.engine.n_cols)
        if problem.constant is not None:
            columns[problem.constant] = 0.0
        return LogFPenalty(self.m * columns)


@dataclass(frozen=True)
class LogFPenalty:
    """The log-F prior as a penalty, with its degrees of freedom for each column."""

    m: NDArray

    @property
    def curvature(self) -> NDArray:
        return 0.25 * self.m

    def added_to(self, sums: NewtonSums, params: NDArray) -> NewtonSums:
        probability = expit(params)
        sums.gradient += self.m * (probability - 0.5)
        sums.hessian[np.diag_indices_from(sums.hessian)] += self.m * probability * expit(-params)
        sums.value += float(self.m @ (np.logaddexp(0.0, params) - 0.5 * params))
        return sums


@dataclass(frozen=True)
class Correction(BiasReduction):
    """The uncorrected estimate minus its estimated bias, once (Cordeiro and McCullagh 1991)."""

    word = "correction"
    title = "one-step bias correction"

    def estimate(self, problem: Problem) -> Estimate:
        plain = problem.estimate()
        if not plain.converged:
            return plain
        engine, loss, params = problem.engine, problem.loss, plain.params
        inverse = Cholesky(engine.reduce(LossSums(loss, params, expected=True)).hessian).inverse()
        method = MeanReduction()
        matrix = method.matrix(engine, loss, params, inverse)

        def shift(block: Block) -> NDArray:
            return method.shift(loss, block, loss.link.at(block.linear_predictor(params)), matrix)

        return _moved(problem, plain, params + inverse @ engine.reduce(ArraySum(shift)))


@dataclass(frozen=True)
class Corrected(Estimate):
    """An estimate after a correction.

    Attributes
    ----------
    uncorrected : ndarray of shape (k,)
        What it was before; the information is the one there.
    """

    uncorrected: NDArray


@dataclass(frozen=True)
class KingZeng(BiasReduction):
    r"""King and Zeng's (2001) correction of logit coefficients in rare-events data.

    Parameters
    ----------
    event_weight, other_weight : float
        Weights :math:`w_1 = \tau/\bar y` and :math:`w_0 = (1-\tau)/(1-\bar y)` that bring a sample drawn by the outcome to the
        population; :func:`gevglm.fit` fills them in from ``prevalence``.

    Notes
    -----
    The estimated bias :math:`(X'WX)^{-1} X'W\xi` is subtracted from the maximum-likelihood (or weighted) estimate, with

    .. math:: W = \mathrm{diag}(\pi_i (1 - \pi_i) w_i), \qquad \xi_i = \tfrac12 Q_{ii} [(1 + w_1) \pi_i - w_1], \qquad
        Q = X (X'WX)^{-1} X',

    and :math:`\pi` the fitted probabilities in the sample (those of the population with ``sampling="weight"``). The covariance is that of
    the uncorrected estimate times :math:`(n/(n+k))^2`.

    Without weights this is ``bias="correction"`` (Cordeiro and McCullagh 1991) for the logit, whose covariance is evaluated at the
    corrected estimate instead. The coefficients are those of Zelig's ``relogit`` in every case. Zelig departs from the paper in two
    places: with ``sampling="prior"`` the fit is unweighted, but the weights enter the correction all the same (followed here, because users
    compare); and its standard errors are not multiplied by :math:`n/(n+k)` (not followed here).

    With 40 events and 120 others out of a population with 2.2 % of events, the average errors of (constant, x1, x2), whose Monte Carlo
    error is (.005, .004, .008), were

    ====================================  =====================
    prior, no correction                  (-.037, .040, .003)
    prior, ``bias="king-zeng"``           (-.037, .019, -.014)
    prior, ``bias="correction"``          (.015, .001, -.009)
    weight, no correction                 (-.064, .072, .013)
    weight, ``bias="king-zeng"``          (-.007, .028, -.004)
    ====================================  =====================

    so that with ``sampling="prior"`` the plain ``bias="correction"`` or ``"mean"`` are the better choice.

    References
    ----------
    King and Zeng (2001), Logistic regression in rare events data, Political Analysis 9, 137-163.
    """

    event_weight: float = 1.0
    other_weight: float = 1.0
    word = "king-zeng"
    title = "King-Zeng bias correction"

    def __post_init__(self) -> None:
        _need_positive("event_weight", self.event_weight)
        _need_positive("other_weight", self.other_weight)

    def refuse(self, loss: Loss, constant: int | None) -> None:
        if not loss.link.canonical_is_log:
            raise IncompatibleOptionsError(
                f"bias='king-zeng' is defined for the logit only, not for {loss!r}; bias='correction' is its generalisation to every link."
            )

    def adapted_to(self, sampling: Sampling, weighted: bool) -> KingZeng:
        if isinstance(sampling, OutcomeSampling):
            return replace(self, event_weight=sampling.event_weight, other_weight=sampling.other_weight)
        if weighted:
            raise IncompatibleOptionsError(
                "bias='king-zeng' is defined for weights that come from a prevalence; give prevalence= with sampling='weight' instead of "
                "var_weights or class_weight, or use bias='correction'."
            )
        return self

    def estimate(self, problem: Problem) -> Estimate:
        plain = problem.estimate()
        if not plain.converged:
            return plain
        loss, params = problem.loss, plain.params
        engine = MappedEngine(problem.engine, self._weighted_block, problem.engine.n_cols)
        inverse = Cholesky(engine.reduce(LossSums(loss, params, expected=True)).hessian).inverse()

        def sums(block: Block) -> NDArray:
            point = loss.link.at(block.linear_predictor(params))
            skewness = (1.0 + self.event_weight) * point.cdf - self.event_weight
            excess = 0.5 * quadratic_forms(block.X, inverse) * skewness
            return np.dot(_weighted(loss.expected_curvature_at(point) * excess, block), block.X)

        corrected = params - inverse @ engine.reduce(ArraySum(sums))
        return Corrected(**{**vars(plain), "params": corrected}, uncorrected=params)

    def covariance(self, covariance: Covariance, rows: Fitted, fitted: Estimate) -> NDArray:
        before = getattr(fitted, "uncorrected", fitted.params)
        shrunk = rows.nobs / (rows.nobs + len(before))
        return shrunk**2 * covariance.matrix(replace(rows, params=before))

    def _weighted_block(self, block: Block) -> Block:
        """Give rows the weights of the paper, which those of a weighted fit have already."""
        if block.var is not None:
            return block
        return replace(block, var=np.where(block.y > 0, self.event_weight, self.other_weight))


@dataclass(frozen=True)
class Flic(BiasReduction):
    """Firth's slopes with the constant estimated anew, so that the predicted risks average to the observed rate."""

    word = "flic"
    title = "Firth with intercept correction (FLIC)"

    def refuse(self, loss: Loss, constant: int | None) -> None:
        _need_constant(self, constant)

    def estimate(self, problem: Problem) -> Estimate:
        firth = MeanReduction().estimate(problem)
        if not firth.converged:
            return firth
        slopes = firth.params.copy()
        slopes[problem.constant] = 0.0

        def constant_only(block: Block) -> Block:
            return replace(block, X=np.ones((len(block.y), 1)), offset=block.linear_predictor(slopes))

        alone = replace(problem, engine=MappedEngine(problem.engine, constant_only, 1), constant=0, start=None)
        slopes[problem.constant] = alone.estimate().params[0]
        return _moved(problem, firth, slopes)


@dataclass(frozen=True)
class Flac(BiasReduction):
    """Maximum likelihood on data augmented by Firth's pseudo-observations, which a column of their own marks."""

    word = "flac"
    title = "Firth with added covariate (FLAC)"

    def refuse(self, loss: Loss, constant: int | None) -> None:
        _need_constant(self, constant)
        if not loss.link.canonical_is_log:
            raise IncompatibleOptionsError(
                f"bias='flac' is defined for the logit only, not for {loss!r}; use bias='flic' or bias='mean'."
            )

    def estimate(self, problem: Problem) -> Estimate:
        firth = MeanReduction().estimate(problem)
        if not firth.converged:
            return firth
        augmented = self._augmented(problem, firth).estimate()
        k = len(firth.params)
        return replace(
            augmented,
            params=augmented.params[:k],
            information=augmented.information[:k, :k],
            inverse_information=augmented.inverse_information[:k, :k],
            observed=augmented.observed[:k, :k],
            weight=firth.weight,
            events=firth.events,
            n_iter=firth.n_iter + augmented.n_iter,
            n_passes=firth.n_passes + augmented.n_passes,
        )

    def maximises_likelihood(self, loss: Loss) -> bool:
        return True

    def penalised_likelihood(self, problem: Problem, params: NDArray, lagged: bool = False) -> tuple[Evaluate, NDArray]:
        augmented = self._augmented(problem, MeanReduction().estimate(problem))
        return objective(augmented.engine, augmented.loss), augmented.estimate().params

    def _augmented(self, problem: Problem, firth: Estimate) -> Problem:
        """Each row a second time, with outcome 1/2 and its leverage for a weight, marked by a column."""

        def augment(block: Block) -> Block:
            rows = len(block.y)
            point = problem.loss.link.at(block.linear_predictor(firth.params))
            variance = problem.loss.expected_curvature_at(point)
            leverage = _weighted(variance * quadratic_forms(block.X, firth.inverse_information), block)
            X = np.zeros((2 * rows, block.X.shape[1] + 1))
            X[:rows, :-1] = X[rows:, :-1] = block.X
            X[rows:, -1] = 1.0
            weight = np.ones(rows) if block.weight is None else block.weight
            offset = None if block.offset is None else np.tile(block.offset, 2)
            y = np.concatenate([block.y, np.full(rows, 0.5)])
            return Block(block.start, X, y, freq=np.concatenate([weight, leverage]), offset=offset)

        engine = MappedEngine(problem.engine, augment, problem.engine.n_cols + 1)
        names = None if problem.names is None else [*problem.names, "pseudo-observation"]
        return replace(problem, engine=engine, start=None, names=names)


METHODS = {
    kind.word: kind for kind in (MeanReduction, MedianReduction, Jeffreys, Correction, KingZeng, Flic, Flac, LogF)
}
ALIASES = {"firth": "mean"}


def _moved(problem: Problem, found: Estimate, params: NDArray) -> Estimate:
    """Return an estimate with other coefficients and the information at them."""
    information = problem.engine.reduce(LossSums(problem.loss, params, expected=True)).hessian
    inverse = Cholesky(information).inverse()
    return replace(found, params=params, information=information, inverse_information=inverse, observed=information)


def _mean_shift(loss: Loss, block: Block, point: Point, quadratic: NDArray) -> NDArray:
    """What mean bias reduction adds to the score factor of each row."""
    if loss.is_likelihood:
        return _weighted(0.5 * loss.expected_curvature_at(point) * point.dlogpdf * quadratic, block)
    return _weighted(0.5 * point.dpdf * quadratic, block)


def _weighted(values: NDArray, block: Block) -> NDArray:
    weight = block.weight
    return values if weight is None else np.where(weight > 0, values * weight, 0.0)


def _need_positive(name: str, value: Any) -> None:
    if isinstance(value, bool) or not (isinstance(value, Real) and np.isfinite(value) and value > 0):
        raise InvalidOptionError(f"{name}={value!r} must be a positive number.")


def _need_likelihood(method: BiasReduction, loss: Loss) -> None:
    if not loss.is_likelihood:
        allowed = ", ".join(repr(word) for word in ("mean", "correction", "flic", "logf"))
        raise IncompatibleOptionsError(
            f"bias={method.word!r} needs a likelihood, which the canonical loss is not; use one of {allowed}, or loss='log'."
        )


def _need_constant(method: BiasReduction, constant: int | None) -> None:
    if constant is None:
        raise IncompatibleOptionsError(
            f"bias={method.word!r} estimates the constant anew, but the design has none; add a column of ones or use bias='mean'."
        )
