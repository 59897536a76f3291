"""ResultsCore: the state of a fit, and what every part of the results asks of it."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from statsmodels.genmod.generalized_linear_model import GLMResults

from gevglm.bias import BiasReduction
from gevglm.covariance import Covariance, Degrees, Given, reference
from gevglm.covariance.cluster_facts import ClusterFacts
from gevglm.data.row_weights import RowWeights
from gevglm.data.survey import SampleUnits
from gevglm.effects.king_zeng import RiskModel
from gevglm.effects.seen import Seen
from gevglm.effects.standardised import Risk
from gevglm.engine.factored_matrix import FactoredMatrix, restricted, with_value
from gevglm.engine.linalg import Matrix, dense
from gevglm.estimation.estimate import Estimate
from gevglm.estimation.objective import Ridge
from gevglm.exceptions import (
    InvalidDataError,
    InvalidOptionError,
    NotDefinedForLoss,
    SeparationWarning,
    listed,
    warn,
)
from gevglm.inference.cross_validation import Search
from gevglm.inference.posterior import Posterior
from gevglm.inference.separation import Separation
from gevglm.inference.shape import ShapeEstimate
from gevglm.links.base import BinaryLink
from gevglm.losses import Loss
from gevglm.results.wald_tests import WaldTests
from gevglm.sampling.schemes import AS_FITTED

if TYPE_CHECKING:
    from typing import Self

    from gevglm.model import BinaryGLM
    from gevglm.options import FitOptions
    from gevglm.results.update import Update


COVARIANCE_UNKNOWN = (
    "the covariance of the published coefficients is not known, and without it there are neither standard errors nor limits of "
    "predictions; give cov= to from_coefficients."
)


class Constraints(NamedTuple):
    """Linear constraints that estimates obey, the rows of a matrix R in R b = q."""

    coefs: NDArray


class ResultsCore(WaldTests, GLMResults):
    """The state of a fit; every part of :class:`gevglm.BinaryGLMResults` inherits from it and from nothing else.

    Attributes
    ----------
    model : BinaryGLM
    loss, link : Loss, BinaryLink
        Those of the fit; see ``model.population_link`` for the link to probabilities in the population.
    options : FitOptions
        As they were given.
    search : Search or None
        The scores of the candidates, after ``xi="cv"`` or ``alpha="cv"``.
    posterior : Posterior or None
        The posterior of coefficients and shape, after ``xi="map"``.
    clusters : ClusterFacts or None
        Of a cluster-robust fit: ``n_clusters``, ``n_with_events``, ``largest_leverage``, and ``effective``, the clusters behind each coefficient.
    range_fits : tuple of RiskModel
        The fits at both ends of the range of the prevalence, if a range was given.
    updated : Update or None
        What an update tested and did, in results of :meth:`gevglm.BinaryGLMResults.update`.
    """

    model: BinaryGLM
    options: FitOptions
    loss: Loss
    link: BinaryLink

    def __init__(
        self,
        model: BinaryGLM,
        fitted: Estimate,
        cov_params: Any,
        *,
        covariance: Covariance,
        cov_words: tuple[str, dict[str, Any] | None],
        alpha: float = 0.0,
        penalty: Ridge | None = None,
        bias: BiasReduction | None = None,
        separation: Separation | None = None,
        n_outside_support: int = 0,
        n_contradicted: int = 0,
        use_t: Any = None,
        degrees: Degrees | None = None,
        clusters: ClusterFacts | None = None,
        range_fits: Sequence[RiskModel] = (),
    ):
        super().__init__(
            model, fitted.params, fitted.inverse_information, 1.0, use_t=bool(use_t) or degrees is not None
        )
        self._degrees, self.clusters = degrees, clusters
        if degrees is not None:
            of_each = degrees.of_contrasts(np.eye(len(fitted.params)))
            self.df_resid_inference: Any = of_each  # the name that statsmodels looks for
        self.bias, self.alpha, self.k_params = bias, alpha, len(fitted.params)
        self._separation = separation
        self._covariance = None if cov_params is None else self.without_infinite(cov_params)
        self._cov_words = cov_words
        self.cov_type = covariance.name
        self.cov_kwds = {"description": covariance.description}
        self.loss = model.loss
        self.link = model.link
        self.converged = fitted.converged
        self.n_iter = fitted.n_iter
        self.n_passes = fitted.n_passes
        self.decrement = fitted.decrement
        self.reason = fitted.reason
        self.boundary = fitted.boundary
        self.positive_definite = fitted.positive_definite
        self.n_events = model.design.n_events
        self.n_outside_support = n_outside_support
        self.n_contradicted = n_contradicted
        self.penalty = penalty
        self.range_fits = tuple(range_fits)
        self.search: Search | None = None
        self.left_out = ""  # levels with one outcome only, in words, which separation="drop" left out with their rows
        self.updated: Update | None = None
        self._shape: ShapeEstimate | None = None
        self._joint: NDArray | None = None  # covariance of the coefficients and the shape
        self.posterior: Posterior | None = None
        self._profiled: dict[
            tuple[str, float | None], Any
        ] = {}  # tests and limits by profile likelihood that were asked for
        self._seen: Seen | None = None  # what the rows say of the columns of a prediction, once they are gone
        self.saved_by: str | None = None  # version that wrote the file they were loaded from
        self.method = "Newton"
        self.fit_history = {"iteration": fitted.n_iter}
        self.nobs = model.nobs

    # -- the estimates ---------------------------------------------------------------------

    @property
    def xi(self) -> float | None:
        """Shape of the link, if it has one."""
        return self.link.shape

    @property
    def omitted(self) -> list[str]:
        """The names of the columns that were left out, as combinations of others: coefficient and standard error are zero."""
        return [self.model.exog_names[j] for j in sorted(self.model.design.omitted)]

    @property
    def is_omitted(self) -> NDArray:
        """Which coefficients are those of columns that were left out; of shape (k,)."""
        return np.isin(np.arange(self.k_params), list(self.model.design.omitted))

    @property
    def rank(self) -> int:
        """The number of coefficients that were estimated."""
        if self.updated is not None and self.updated.estimated is not None:
            return self.updated.estimated
        return self.k_params - len(self.model.design.omitted)

    @property
    def _params(self) -> NDArray:
        return np.asarray(self.params)

    @property
    def bse(self) -> NDArray:
        """The standard errors of the coefficients; missing where there is no covariance."""
        if not self.covariance_is_known:
            return np.full(self.k_params, np.nan)
        with np.errstate(invalid="ignore"):
            return np.sqrt(self.cov_params_default.diagonal())

    def cov_params(
        self, r_matrix: Any = None, column: Any = None, scale: Any = None, cov_p: Any = None, other: Any = None
    ) -> Any:
        """Return the covariance of the coefficients, or that of linear combinations of them, as statsmodels has it.

        The whole matrix of a fit with thousands of levels is made here, when it is asked for.
        """
        cov_p = self.cov_params_default if cov_p is None else cov_p
        if isinstance(cov_p, FactoredMatrix):
            if r_matrix is not None and column is None:
                right = np.asarray(r_matrix if other is None else other)
                return np.asarray(r_matrix) @ (cov_p @ right.T)
            cov_p = cov_p if column is not None else np.asarray(cov_p)
        return super().cov_params(r_matrix, column, scale, cov_p, other)

    @property
    def cov_params_matrix(self) -> Any:
        """The covariance of the coefficients: an array, or with many levels a ``FactoredMatrix``."""
        return self.cov_params_default

    @property
    def covariance_is_known(self) -> bool:
        """Whether there is a covariance of the coefficients, which those of a published model may lack."""
        return self._covariance is not None

    @property
    def cov_params_default(self) -> Any:
        """The covariance of the coefficients, as statsmodels calls it."""
        if self._covariance is None:
            raise InvalidDataError(COVARIANCE_UNKNOWN)
        return self._covariance

    @cov_params_default.setter
    def cov_params_default(self, covariance: Any) -> None:
        self._covariance = covariance

    @property
    def joint_covariance(self) -> Any:
        """The covariance of everything that was estimated: the coefficients, and after ``xi="ml"`` or "map" the shape, which is last."""
        return self.cov_params_matrix if self._joint is None else self._joint

    @property
    def separation(self) -> Separation:
        """Whether a combination of the columns separates the outcomes; found by linear programming when first asked for."""
        if self._separation is None:
            self._separation = self.model.separation()
        return self._separation

    @property
    def known_separation(self) -> Separation | None:
        """What :attr:`separation` found, if it was looked for."""
        return self._separation

    @property
    def separated(self) -> bool:
        """Whether the fit was found to be separated, so that some estimates are infinite."""
        return self._separation is not None and self._separation.separated and self.rests_on_plain_fit

    @property
    def rests_on_plain_fit(self) -> bool:
        """Whether there is no estimate where that of maximum likelihood is infinite."""
        return not self.alpha and (self.bias is None or self.bias.rests_on_plain_fit)

    @property
    def infinite(self) -> NDArray:
        """Where infinite estimates lie: -inf or inf, NaN for those that separated rows do not determine, and 0 for all others."""
        known = self._separation
        return known.limits if known is not None and self.separated else np.zeros(self.k_params)

    @property
    def infinite_names(self) -> list[str]:
        """The names of the coefficients whose estimates are infinite."""
        return [self.model.exog_names[j] for j in np.flatnonzero(self.infinite)]

    @property
    def estimates(self) -> NDArray:
        """The coefficients, with infinite ones as such; ``params`` has where the iteration ended on the way there."""
        return np.where(self.infinite == 0.0, self._params, self.infinite)

    def without_infinite(self, covariance: Any) -> Any:
        """Return a covariance without the variances of infinite estimates, which there are none of."""
        if not self.separated:
            return covariance
        unknown = np.flatnonzero(self.infinite != 0.0)
        return with_value(covariance, unknown, np.nan) if len(unknown) else covariance

    def delta_covariance(self, gradient: NDArray, what: str = "this") -> NDArray:
        """Return the covariance of functions of the coefficients (and the shape) from their gradients, one row each.

        It is missing for those that lean on an infinite estimate, with a warning that says so.
        """
        covariance = self.joint_covariance
        unknown = np.isnan(covariance.diagonal())
        if not unknown.any():
            return gradient @ covariance @ gradient.T
        leaning = self.leaning(gradient, what)
        found = gradient[:, ~unknown] @ restricted(covariance, np.flatnonzero(~unknown)) @ gradient[:, ~unknown].T
        found[leaning] = found[:, leaning] = np.nan
        return found

    def leaning(self, gradient: Matrix, what: str) -> NDArray:
        """Return which rows, of gradients or of a design, lean on an infinite estimate, and warn if any does."""
        infinite = np.flatnonzero(self.infinite != 0.0)
        touched = dense(gradient[:, infinite]) != 0.0
        rows = touched.any(axis=1)
        if rows.any():
            names = [self.model.exog_names[j] for j in infinite[touched.any(axis=0)]]
            warn(
                f"{what} leans on infinite estimates ({listed(names)}), because the outcomes are separated: it is given in the limit, without "
                "standard errors. Use bias='firth'.",
                SeparationWarning,
            )
        return rows

    # -- the rows --------------------------------------------------------------------------

    @property
    def has_data(self) -> bool:
        """Whether the rows are held in memory: not after saving without them, nor of data that are read in pieces."""
        return self.model.design.has_rows

    @property
    def event(self) -> Any:
        """The level of the outcome that is the event."""
        return self.model.design.event

    @property
    def prevalence(self) -> float | None:
        """The share of events in the population that was given; the middle (in log odds) of a range."""
        return getattr(self.model.sampling, "prevalence", None)

    @property
    def cluster_groups(self) -> Any:
        """The clusters of a cluster-robust fit as they were given, names of columns or arrays; None for other fits."""
        return (self._cov_words[1] or {}).get("groups") if self.cov_type == "cluster" else None

    @property
    def row_weights(self) -> RowWeights:
        """What each row of the fit stands for; for rows that are held in memory."""
        design, groups = self.model.design, self.cluster_groups
        design.need_rows("this")
        of_rows = None if groups is None else design.rows_of(groups, "groups")
        if isinstance(design.sample, SampleUnits) and design.sample.n_units < design.n_given:
            of_rows = pd.DataFrame({"unit": design.sample.grouping.codes})
        weights = RowWeights.of(design, self.model.sampling.population_weights(design.y), of_rows)
        if isinstance(design.sample, SampleUnits) and len(design.sample.fractions) > 1:
            return replace(weights, strata=design.sample.strata[design.sample.grouping.codes])
        return weights

    # -- what several parts need -----------------------------------------------------------

    def need_likelihood(self, what: str, instead: str) -> None:
        """Refuse what is defined by a likelihood, for a loss that is not one."""
        if not self.loss.is_likelihood:
            raise NotDefinedForLoss(
                f"{what} is not defined for the canonical loss, which is not a likelihood; {instead}."
            )

    @property
    def risk_at_estimates(self) -> Risk:
        """Risks in the population, with gradients by what :attr:`joint_covariance` is of."""
        return Risk(self.model.population_link, self._params, with_shape=self._joint is not None)

    @property
    def degrees(self) -> Degrees | None:
        """The degrees of freedom of t and F tests; None where tests are by the normal distribution."""
        if not self.use_t:
            return None
        return Given(float(self.df_resid)) if self._degrees is None else self._degrees

    def distribution(self, contrasts: Matrix | None = None) -> Any:
        """Return the distribution that tests of linear combinations of the coefficients, by default of each, go by.

        That of a quantity derived from them is that of its gradient (``Uncertainty``).
        """
        return reference(self.degrees, np.eye(self.k_params) if contrasts is None else contrasts)

    def _quantile(self, alpha: float, contrasts: Matrix | None = None) -> Any:
        check_alpha(alpha)
        return self.distribution(contrasts).isf(alpha / 2.0)

    def _with_link(self, link: BinaryLink) -> Self:
        """Return a shallow copy that predicts with a link, also where statsmodels computes through the family."""
        results, model = copy(self), copy(self.model)
        model.family = copy(model.family)
        model.link = model.family.link = link
        model.sampling = AS_FITTED
        results.model = model
        return results


def check_alpha(alpha: float) -> None:
    """Refuse an alpha that is not one minus a coverage."""
    if not 0.0 < alpha < 1.0:
        raise InvalidOptionError(f"alpha={alpha!r} must lie between 0 and 1; it is one minus the coverage.")
