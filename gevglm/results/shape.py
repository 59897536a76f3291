"""Fits whose shape xi is chosen from the data: ``xi="ml"`` and ``xi="cv"``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from gevglm.exceptions import InvalidDataError, InvalidOptionError
from gevglm.inference.cross_validation import Search
from gevglm.inference.shape import ShapeEstimate, shape_interval

if TYPE_CHECKING:
    from gevglm.results.core import BinaryGLMResults


class ShapeInference:
    """What results know of an estimated shape; a part of :class:`gevglm.results.core.BinaryGLMResults`.

    Attributes
    ----------
    search : Search or None
        The scores of the candidates, after ``xi="cv"`` or ``alpha="cv"``.
    """

    _shape: ShapeEstimate | None = None
    _joint: NDArray | None = None
    search: Search | None = None

    @property
    def xi_bse(self) -> float:
        """Standard error of the shape, after ``xi="ml"``."""
        self._need_shape("xi_bse")
        return float(np.sqrt(self._joint[-1, -1]))

    def xi_conf_int(self, alpha: float = 0.05, method: str = "profile") -> tuple[float, float]:
        """Confidence interval of the shape, after ``xi="ml"``.

        Parameters
        ----------
        alpha : float
            One minus the coverage.
        method : {"profile", "wald"}
            Profile intervals are cut off at the ends of the grid; with the canonical loss, whose likelihood is not what the
            coefficients maximise, they are Wald's.
        """
        self._need_shape("xi_conf_int")
        if method == "profile" and not self.loss.is_likelihood:
            method = "wald"
        if method == "profile" and self._shape.path is None:
            raise InvalidDataError("the data are gone, which a profile interval needs; use method='wald'.")
        return shape_interval(self._shape, self.xi_bse, alpha, method)

    def xi_lr_test(self, xi: float) -> tuple[float, float]:
        """Likelihood-ratio test of a shape against the estimated one: 0 for the loglog (GEV) or cloglog (GEVc) link.

        Parameters
        ----------
        xi : float

        Returns
        -------
        statistic, pvalue : float
        """
        self._need_shape("xi_lr_test")
        self._need_likelihood("xi_lr_test", "use xi_conf_int(method='wald')")
        statistic = self._shape.ratio(self.link.with_shape(xi).shape)
        return float(statistic), float(chi2.sf(statistic, 1))

    def plot_shape(self, ax=None):
        """Draw the profile log-likelihood of the shape, or the scores of a search."""
        if self.search is not None:
            return self.search.plot(ax=ax)
        self._need_shape("plot_shape")
        from gevglm.plots import plot_shape

        interval = self.xi_conf_int(method="profile" if self._shape.path is not None else "wald")
        return plot_shape(self._shape.profile, self._shape.xi, interval, ax=ax)

    def _need_shape(self, what: str) -> None:
        if self._shape is None:
            how = (
                "chosen by cross-validation, conditionally on which all inference is"
                if self.search is not None
                else "given"
            )
            raise InvalidOptionError(f"{what}: the shape was not estimated but {how}; fit with xi='ml'.")

    def _drop_shape_data(self) -> None:
        if self._shape is not None:
            _ = self._shape.llf
            self._shape.path = None


def refit(results: BinaryGLMResults, engine: Any):
    """Estimate the coefficients anew on other rows, by the method and at the shape of the results."""
    problem = replace(results.model.problem(engine), start=None)
    if results.bias is not None:
        return results.bias.estimate(problem)
    return problem.estimate(penalty=results.penalty)
