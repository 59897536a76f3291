"""Risks in the population, with the uncertainty of the coefficients and of the prevalence (King and Zeng)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.effects.king_zeng import RiskChange, RiskModel, corrected_risks, risk_change, risk_range
from gevglm.effects.posterior import PosteriorRisks
from gevglm.effects.rows import changed_rows
from gevglm.exceptions import InvalidDataError, InvalidOptionError, listed
from gevglm.results.core import ResultsCore
from gevglm.results.prediction import rows_to_predict


class PopulationRisks(ResultsCore):
    """Risks in the population; a part of :class:`gevglm.BinaryGLMResults`.

    ``predict``, ``get_prediction``, ``get_margeff`` and the methods here are about the population; ``fittedvalues``, residuals and the
    likelihood about the rows as sampled or weighted.
    """

    @property
    def risk_model(self) -> RiskModel:
        """The estimates, and what turns them into risks."""
        if self.separated:
            raise InvalidDataError(
                f"risks that average over the uncertainty of the coefficients need finite estimates, but those of {listed(self.infinite_names)} are infinite "
                "because the outcomes are separated; use bias='firth'."
            )
        if self.posterior is not None:
            link, covariance = self.model.population_link, self.joint_covariance
            return PosteriorRisks(self._params, covariance, link, self.prevalence, posterior=self.posterior)
        link, track = self.model.population_link, None if self._shape is None else self._shape.track
        return RiskModel(self._params, self.joint_covariance, link, self.prevalence, track)

    @property
    def mu(self) -> NDArray:
        """Fitted probabilities of the rows as they were sampled and weighted."""
        return self.model.predict(self._params, which="fitted")

    @property
    def fittedvalues(self) -> NDArray:
        """Fitted probabilities of the rows, as statsmodels calls them."""
        return self.mu

    def corrected_risk(
        self,
        exog: Any = None,
        transform: bool = True,
        *,
        exposure: Any = None,
        offset: Any = None,
        method: str = "bayes",
        alpha: float = 0.05,
        draws: int = 2000,
        rng: Any = None,
    ) -> pd.DataFrame:
        r"""Risks corrected for the uncertainty of the coefficients (King and Zeng 2001).

        Parameters
        ----------
        exog, transform, exposure, offset
            See :meth:`predict`.
        method : {"bayes", "unbiased", "simulation"}
            "bayes" adds :math:`C = \frac12 F'' x'Vx` to the risk, which averages it over the uncertainty of the coefficients (for the
            logit :math:`(\frac12 - \pi) \pi (1 - \pi) x'Vx`); "unbiased" subtracts it; "simulation" averages risks at drawn coefficients.
            All of them account for the estimation of a shape by ``xi="ml"``. After ``xi="map"``, "bayes" is the posterior mean and
            the limits are the posterior's.
        alpha : float
            One minus the coverage of the limits.
        draws, rng : int, Generator or int
            For the simulation.

        Returns
        -------
        DataFrame
            Columns ``risk``, ``corrected``, ``ci_lower`` and ``ci_upper``. The limits are those of the linear predictor, transformed, or
            percentiles of the simulation.
        """
        X, shift, index = _risk_rows(self, exog, transform, offset, exposure)
        quantile = self._quantile(alpha, X)
        risks = corrected_risks(
            self.risk_model, X, shift, method=method, quantile=quantile, alpha=alpha, draws=draws, rng=rng
        )
        return risks if index is None else risks.set_axis(index, axis=0)

    def risk_bounds(
        self, exog: Any = None, transform: bool = True, *, exposure: Any = None, offset: Any = None, alpha: float = 0.05
    ) -> pd.DataFrame:
        """Bounds on risks when the prevalence is known as a range, ``fit(prevalence=(low, high))``.

        Parameters
        ----------
        exog, transform, exposure, offset
            See :meth:`predict`.
        alpha : float
            One minus the coverage of the limits.

        Returns
        -------
        DataFrame
            ``lower`` and ``upper``, the smallest and largest risk of the fits at both ends and in the middle of the range; ``ci_lower`` and
            ``ci_upper``, the smallest lower and largest upper confidence limit.
        """
        if not self.range_fits:
            raise InvalidOptionError(
                "risk_bounds needs a fit for a range of prevalences, as in fit(..., prevalence=(0.01, 0.03)); "
                "use get_prediction for risks and their confidence limits."
            )
        X, shift, index = _risk_rows(self, exog, transform, offset, exposure)
        bounds = risk_range([self.risk_model, *self.range_fits], X, shift, self._quantile(alpha, X))
        return bounds if index is None else bounds.set_axis(index, axis=0)

    def risk_change(
        self,
        change: dict[str, Sequence[Any]],
        at: dict[str, Any] | None = None,
        *,
        offset: Any = None,
        alpha: float = 0.05,
        draws: int = 10_000,
        rng: Any = None,
    ) -> RiskChange:
        """First difference and relative risk of a change of variables, by simulation (King and Zeng 2001).

        Parameters
        ----------
        change : dict
            Variable to its value before and after, as in ``{"smoker": (0, 1)}``.
        at : dict, optional
            Values of the other variables; those not given are held at their mean in the population, or at their most frequent level.
        offset : float, optional
            For models whose offset was given as an array.
        alpha : float
            One minus the coverage of the percentile limits.
        draws, rng : int, Generator or int
            Number of draws of the coefficients, and where they come from.

        Returns
        -------
        RiskChange
        """
        design = self.model.design
        weights = self.row_weights.in_population if self.has_data else None
        rows, offset, held = changed_rows(design, change, at, offset, weights)
        X, shift, _ = _risk_rows(self, rows, design.recipe is not None, offset, None)
        models = [self.risk_model, *self.range_fits]
        table = risk_change(models, X, shift, alpha=alpha, draws=draws, rng=rng)
        return RiskChange({name: tuple(pair) for name, pair in change.items()}, held, table, draws)


def _risk_rows(
    results: ResultsCore, exog: Any, transform: bool, offset: Any, exposure: Any
) -> tuple[NDArray, NDArray | float, pd.Index | None]:
    """Return design matrix, offset and labels of the rows to predict."""
    model = results.model
    if exog is None:
        model.design.need_rows("this", "give the rows to predict")
    X, given, exposure, index = rows_to_predict(results, exog, transform, offset, exposure)
    shift: NDArray | float = 0.0 if given is None else given
    if X is None:
        X, index = model.exog, model.design.index
        shift = model._offset_exposure if given is None else given
    return X, shift if exposure is None else shift + np.log(exposure), index
