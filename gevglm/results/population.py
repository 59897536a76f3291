"""What sampling or weighting by the outcome changes in results, and risks in the population."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm, t

from gevglm.effects.king_zeng import RiskChange, RiskModel, corrected_risks, risk_change, risk_range
from gevglm.effects.rows import changed_rows
from gevglm.engine import Block
from gevglm.engine.base import MappedEngine
from gevglm.exceptions import InvalidDataError, InvalidOptionError
from gevglm.losses import Log
from gevglm.results.fit_statistics import scalars

if TYPE_CHECKING:
    from gevglm.model import BinaryGLM


class PopulationRisks:
    """Risks in the population; a part of :class:`gevglm.results.core.BinaryGLMResults`.

    ``predict``, ``get_prediction``, ``get_margeff`` and the methods here are about the population; ``fittedvalues``, residuals and the
    likelihood about the rows as they are, sampled or weighted.

    Attributes
    ----------
    ends : tuple of RiskModel
        The fits at both ends of the range of the prevalence, if a range was given.
    """

    model: BinaryGLM
    ends: tuple[RiskModel, ...] = ()

    @property
    def prevalence(self) -> float | None:
        """The share of events in the population that was given; the middle (in log odds) of a range."""
        return getattr(self.model.sampling, "prevalence", None)

    @property
    def risk_model(self) -> RiskModel:
        """The estimates, and what turns them into risks."""
        return RiskModel(self._params, self.cov_params_matrix, self.model.population_link, self.prevalence)

    @property
    def mu(self) -> NDArray:
        """Fitted probabilities of the rows as they were sampled and weighted."""
        return self.model.predict(self._params, which="fitted")

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
        X, shift, index = self._risk_rows(exog, transform, offset, exposure)
        quantile = self._quantile(alpha)
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
        if not self.ends:
            raise InvalidOptionError(
                "risk_bounds needs a fit for a range of prevalences, as in fit(..., prevalence=(0.01, 0.03)); "
                "use get_prediction for risks and their confidence limits."
            )
        X, shift, index = self._risk_rows(exog, transform, offset, exposure)
        bounds = risk_range([self.risk_model, *self.ends], X, shift, self._quantile(alpha))
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
        weights = self.model.sampling.population_weights(design.y) if self.has_data else None
        rows, offset, held = changed_rows(design, change, at, offset, weights)
        X, shift, _ = self._risk_rows(rows, design.recipe is not None, offset, None)
        models = [self.risk_model, *self.ends]
        table = risk_change(models, X, shift, alpha=alpha, draws=draws, rng=rng)
        return RiskChange({name: tuple(pair) for name, pair in change.items()}, held, table, draws)

    def _risk_rows(self, exog: Any, transform: bool, offset: Any, exposure: Any):
        """Return design matrix, offset and labels of the rows to predict."""
        model = self.model
        if exog is None and not self.has_data:
            raise InvalidDataError("the data are gone; give the rows to predict.")
        X, shift, exposure, index = self._rows_to_predict(exog, transform, offset, exposure)
        if X is None:
            X, index = model.exog, model.design.index
            shift = model._offset_exposure if shift is None else shift
        shift = 0.0 if shift is None else shift
        return X, shift if exposure is None else shift + np.log(exposure), index

    def _quantile(self, alpha: float) -> float:
        if not 0.0 < alpha < 1.0:
            raise InvalidOptionError(f"alpha={alpha!r} must lie between 0 and 1; it is one minus the coverage.")
        return float(t(self.df_resid).isf(alpha / 2.0) if self.use_t else norm.isf(alpha / 2.0))

    # -- what is no longer what it was ---------------------------------------------------------

    @cached_property
    def _scalars(self) -> dict[str, float]:
        """Statistics of fit; scores of predictions are those in the population."""
        numbers, sampling = super()._scalars, self.model.sampling
        weights = sampling.population_weights(np.array([0.0, 1.0]))
        if weights is None and not sampling.reweights:
            return numbers

        def represent(block: Block) -> Block:
            size = None if weights is None else np.where(block.y > 0, weights[1], weights[0])
            freq = block.freq if size is None else size if block.freq is None else size * block.freq
            return Block(block.start, block.X, block.y, freq=freq, offset=block.offset)

        engine = MappedEngine(self.model.engine(), represent, len(self._params))
        scores = scalars(engine, Log(self.model.population_link), self._params)
        return numbers | {name: scores[name] for name in ("log_loss", "brier")}

    def _likelihood_problem(self, what: str):
        self._refuse_pseudo_likelihood(what)
        return super()._likelihood_problem(what)

    def info_criteria(self, crit, scale=None, dk_params=0):
        """Return AIC, BIC or QAIC; see statsmodels."""
        self._refuse_pseudo_likelihood(crit)
        return super().info_criteria(crit, scale=scale, dk_params=dk_params)

    def xi_conf_int(self, alpha: float = 0.05, method: str = "profile") -> tuple[float, float]:
        """Confidence interval of the shape, after ``xi="ml"``.

        Parameters
        ----------
        alpha : float
            One minus the coverage.
        method : {"profile", "wald"}
            Profile intervals are cut off at the ends of the grid. With the canonical loss, whose likelihood is not what the coefficients
            maximise, and where rows are weighted by their outcome, they are Wald's.
        """
        if method == "profile" and self.model.sampling.reweights:
            method = "wald"
        return super().xi_conf_int(alpha, method)

    def xi_lr_test(self, xi: float) -> tuple[float, float]:
        """Likelihood-ratio test of a shape against the estimated one: 0 for the loglog (GEV) or cloglog (GEVc) link.

        Parameters
        ----------
        xi : float

        Returns
        -------
        statistic, pvalue : float
        """
        self._refuse_pseudo_likelihood("xi_lr_test")
        return super().xi_lr_test(xi)

    def _refuse_pseudo_likelihood(self, what: str) -> None:
        if self.model.sampling.reweights:
            instead = "sampling='prior', whose likelihood is one" if self.prevalence else "a fit without class_weight"
            raise InvalidOptionError(
                f"{what} is not defined if rows are weighted by their outcome: the weighted likelihood is none. Use Wald tests and "
                f"intervals, or {instead}."
            )
