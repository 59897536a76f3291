"""The contract of bias reduction, and what its methods share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gevglm.covariance import Covariance, Fitted
from gevglm.estimation.estimate import Estimate, Problem
from gevglm.estimation.objective import Objective
from gevglm.exceptions import IncompatibleOptionsError, InvalidOptionError
from gevglm.losses import Loss

if TYPE_CHECKING:
    from gevglm.sampling.schemes import Sampling


class BiasReduction(ABC):
    """A way to reduce the bias of the estimates.

    Attributes
    ----------
    word : str
        The word for it in :func:`gevglm.fit`.
    words : dict of str to type
        The methods, those defined outside the package among them.
    title : str
        What the summary calls it.
    own_constant : bool
        Whether the constant is estimated apart, so that inference from the likelihood is about the slopes only.
    rests_on_plain_fit : bool
        Whether it starts from the uncorrected estimate, so that it fails where that is infinite.
    needs_likelihood, needs_logit, needs_constant : bool
        Whether it is defined for likelihoods, for the logit, for designs with a constant only.
    instead : str
        What to do where it is not defined for the link.
    """

    words: ClassVar[dict[str, Any]] = {}
    word: str
    title: str
    own_constant: bool = False
    rests_on_plain_fit: bool = False
    needs_likelihood: bool = False
    needs_logit: bool = False
    needs_constant: bool = False
    instead: str = ""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if vars(cls).get("word"):
            BiasReduction.words[cls.word] = cls

    @abstractmethod
    def estimate(self, problem: Problem) -> Estimate:
        """Return the estimates."""

    def as_problem(self, problem: Problem) -> Problem | None:
        """Return the problem whose solution the estimates are, so that many can be solved at once; None if there is more to them."""
        return None

    @classmethod
    def defined_for(cls, loss: Loss) -> bool:
        """Whether the method is defined for a loss."""
        return (loss.is_likelihood or not cls.needs_likelihood) and (loss.link.canonical_is_log or not cls.needs_logit)

    def refuse(self, loss: Loss, constant: int | None) -> None:
        """Raise if the method is not defined for a loss or design."""
        if self.needs_constant and constant is None:
            raise IncompatibleOptionsError(
                f"bias={self.word!r} estimates the constant anew, but the design has none; add a column of ones or use bias='mean'."
            )
        if self.needs_likelihood and not loss.is_likelihood:
            allowed = ", ".join(
                repr(word) for word, method in sorted(BiasReduction.words.items()) if method.defined_for(loss)
            )
            raise IncompatibleOptionsError(
                f"bias={self.word!r} needs a likelihood, which the canonical loss is not; use one of {allowed}, or loss='log'."
            )
        if self.needs_logit and not loss.link.canonical_is_log:
            raise IncompatibleOptionsError(
                f"bias={self.word!r} is defined for the logit only, not for {loss!r}; {self.instead}."
            )

    def adapted_to(self, sampling: Sampling, weighted: bool) -> BiasReduction:
        """Return the method for rows that were sampled or weighted by their outcome; `weighted` if they have variance weights."""
        if sampling.reweights or weighted:
            raise IncompatibleOptionsError(
                f"bias={self.word!r} reads the weights of rows as numbers of observations, but rows are weighted by "
                f"{sampling.weighted_by or 'var_weights'}: it would correct for too few or too many events. Give numbers of observations as "
                "freq_weights=; for a sample drawn by the outcome use prevalence= with sampling='prior', or bias='king-zeng' for a weighted logit."
            )
        return self

    def covariance(self, covariance: Covariance, rows: Fitted, fitted: Estimate) -> NDArray:
        """Return the covariance of the estimates."""
        return covariance.matrix(rows)

    def maximises_likelihood(self, loss: Loss) -> bool:
        """Whether the estimates maximise a (penalised) likelihood."""
        return False

    def penalised_likelihood(self, problem: Problem, params: NDArray) -> tuple[Objective, NDArray]:
        """Return what the estimates minimise, and the minimiser; `params` are the estimates."""
        raise NotImplementedError


def at_params(problem: Problem, found: Estimate, params: NDArray) -> Estimate:
    """Return an estimate with other coefficients and the information at them."""
    information, inverse, positive = problem.information_at(params)
    return replace(
        found,
        params=params,
        information=information.diagonal().copy(),
        inverse_information=inverse,
        positive_definite=positive,
    )


def need_positive(name: str, value: Any) -> None:
    """Refuse a parameter that is not a positive number."""
    if isinstance(value, bool) or not (isinstance(value, Real) and 0.0 < float(value) < np.inf):
        raise InvalidOptionError(f"{name}={value!r} must be a positive number.")
