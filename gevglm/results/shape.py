"""Fits whose shape xi is chosen from the data: ``xi="ml"`` ``xi="map"`` and ``xi="cv"``."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import chi2

from gevglm.exceptions import InvalidDataError, InvalidOptionError, unknown_option
from gevglm.inference.shape import ShapeEstimate, shape_interval
from gevglm.results.core import ResultsCore, check_alpha


class ShapeInference(ResultsCore):
    """What results know of an estimated shape; a part of :class:`gevglm.BinaryGLMResults`."""

    @property
    def xi_bse(self) -> float:
        """Standard error of the shape after ``xi="ml"``; posterior standard deviation after "map".

        NaN if the likelihood is largest at an end of the grid of shapes.
        """
        if self.posterior is not None:
            return float(np.sqrt(self.joint_covariance[-1, -1]))
        shape = self._estimated_shape("xi_bse")
        return np.nan if shape.boundary else float(np.sqrt(self.joint_covariance[-1, -1]))

    def xi_conf_int(self, alpha: float = 0.05, method: str | None = None) -> tuple[float, float]:
        """Confidence interval of the shape after ``xi="ml"``, equal-tailed posterior interval after "map".

        Parameters
        ----------
        alpha : float
            One minus the coverage.
        method : {"profile", "wald", "posterior"}, optional
            "posterior" after ``xi="map"``, else "profile". Profile intervals are cut off at the ends of the grid. With the canonical loss, whose likelihood is not what the coefficients
            maximise, and where rows are weighted by their outcome, they are Wald's.
        """
        if self.posterior is not None:
            return self._posterior_interval(alpha, method or "posterior")
        method, shape = method or "profile", self._estimated_shape("xi_conf_int")
        if method == "profile" and (self.model.sampling.reweights or not self.loss.is_likelihood):
            method = "wald"
        if method == "profile" and shape.path is None:
            raise InvalidDataError("the data are gone, which a profile interval needs; use method='wald'.")
        return shape_interval(shape, self.xi_bse, alpha, method)

    def _posterior_interval(self, alpha: float, method: str) -> tuple[float, float]:
        assert self.posterior is not None
        check_alpha(alpha)
        if method == "wald":
            reach = self._quantile(alpha) * self.xi_bse
            return float(self.xi or 0.0) - reach, float(self.xi or 0.0) + reach
        if method != "posterior":
            raise unknown_option("method", method, ("posterior", "wald"))
        lower, upper = self.posterior.intervals(alpha)[-1].tolist()
        return lower, upper

    def xi_lr_test(self, xi: float) -> tuple[float, float]:
        """Likelihood-ratio test of a shape against the estimated one: 0 for the loglog (GEV) or cloglog (GEVc) link.

        Parameters
        ----------
        xi : float

        Returns
        -------
        statistic, pvalue : float
        """
        self.model.sampling.refuse_likelihood("xi_lr_test")
        shape = self._estimated_shape("xi_lr_test")
        self.need_likelihood("xi_lr_test", "use xi_conf_int(method='wald')")
        statistic = shape.ratio(xi)
        return float(statistic), float(chi2.sf(statistic, 1))

    def plot_shape(self, ax=None):
        """Draw the profile log-likelihood of the shape, its posterior density, or the scores of a search."""
        if self.search is not None:
            return self.search.plot(ax=ax)
        from gevglm.plots import plot_shape

        if self.posterior is not None:
            curve = pd.DataFrame(self.posterior.density, columns=["xi", "llf"])
            label = "log posterior density below its maximum"
            return plot_shape(curve, float(self.xi or 0.0), self.xi_conf_int(), ax=ax, label=label)
        shape = self._estimated_shape("plot_shape")
        interval = self.xi_conf_int(method="profile" if shape.path is not None else "wald")
        return plot_shape(shape.profile, shape.xi, interval, ax=ax)

    def _estimated_shape(self, what: str) -> ShapeEstimate:
        """Return the estimate of the shape, or refuse what needs one."""
        if self._shape is None:
            if self.posterior is not None:
                raise InvalidOptionError(f"{what} is not defined after xi='map'; results.posterior has the posterior.")
            how = (
                "chosen by cross-validation, conditionally on which all inference is"
                if self.search is not None
                else "given"
            )
            raise InvalidOptionError(f"{what}: the shape was not estimated but {how}; fit with xi='ml'.")
        return self._shape
