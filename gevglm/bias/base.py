"""The contract of bias reduction, and what its methods share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gevglm.covariance import Covariance, Fitted
from gevglm.engine.linalg import Cholesky
from gevglm.estimation.estimate import Estimate, Problem
from gevglm.estimation.objective import Objective
from gevglm.estimation.sums import LossSums
from gevglm.exceptions import IncompatibleOptionsError, InvalidOptionError
from gevglm.losses import Loss
from gevglm.sampling.schemes import Sampling


class BiasReduction(ABC):
    """A way to reduce the bias of the estimates.

    Attributes
    ----------
    word : str
        The word for it in :func:`gevglm.fit`.
    title : str
        What the summary calls it.
    own_constant : bool
        Whether the constant is estimated apart, so that inference from the likelihood is about the slopes only.
    rests_on_plain_fit : bool
        Whether it starts from the uncorrected estimate, so that it fails where that is infinite.
    """

    word: str
    title: str
    own_constant: bool = False
    rests_on_plain_fit: bool = False

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

    def penalised_likelihood(self, problem: Problem, params: NDArray) -> tuple[Objective, NDArray]:
        """Return what the estimates minimise, and the minimiser.

        Parameters
        ----------
        problem : Problem
        params : ndarray of shape (k,)
            The estimates.
        """
        raise NotImplementedError


def at_params(problem: Problem, found: Estimate, params: NDArray) -> Estimate:
    """Return an estimate with other coefficients and the information at them."""
    information = problem.engine.reduce(LossSums(problem.loss, params, expected=True)).hessian
    factor = Cholesky(information)
    return replace(
        found,
        params=params,
        information=information,
        inverse_information=factor.inverse(),
        observed=information,
        positive_definite=factor.positive,
    )


def need_positive(name: str, value: Any) -> None:
    """Refuse a parameter that is not a positive number."""
    if isinstance(value, bool) or not (isinstance(value, Real) and np.isfinite(value) and value > 0):
        raise InvalidOptionError(f"{name}={value!r} must be a positive number.")


def need_likelihood(method: BiasReduction, loss: Loss) -> None:
    """Refuse a loss that is no likelihood."""
    if not loss.is_likelihood:
        allowed = ", ".join(repr(word) for word in ("mean", "correction", "flic", "logf"))
        raise IncompatibleOptionsError(
            f"bias={method.word!r} needs a likelihood, which the canonical loss is not; use one of {allowed}, or loss='log'."
        )


def need_constant(method: BiasReduction, constant: int | None) -> None:
    """Refuse a design without a constant."""
    if constant is None:
        raise IncompatibleOptionsError(
            f"bias={method.word!r} estimates the constant anew, but the design has none; add a column of ones or use bias='mean'."
        )
