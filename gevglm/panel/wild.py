"""WildWithin: the wild bootstrap of the scores of clusters, for slopes beside absorbed constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from patsy import DesignInfo
from statsmodels.base.model import LikelihoodModelResults

from gevglm.bias.adjusted import MeanReduction
from gevglm.engine.base import Block
from gevglm.exceptions import InvalidDataError, InvalidOptionError, listed
from gevglm.inference.wild_absorbed import WildAbsorbed
from gevglm.panel.estimation import PanelFit
from gevglm.results.wild import WildInference, clusters_for, labels_of


class WildWithin(LikelihoodModelResults):
    """Wild bootstrap tests; a part of :class:`gevglm.panel.results.PanelResults`."""

    _fit: PanelFit
    _kept: Any

    wild_test = WildInference.wild_test

    def _wild_scores(self, groups: Any) -> tuple[WildAbsorbed, pd.Series]:
        """Return the fit by clusters, and the names of these."""
        fit = self._fit
        design, within = fit.panel.design, fit.within
        grouping = getattr(fit.covariance, "grouping", None) if groups is None else design.grouping(groups)
        grouping, code, n = clusters_for(grouping)
        block = Block(0, fit.panel.X, design.y, design.freq, design.var, design.trials, design.offset)
        params, bias = within.estimate.params, fit.bias if isinstance(fit.bias, MeanReduction) else None
        slopes = params[len(params) - len(self._kept) :]
        codes = code[grouping.codes]
        in_order = pd.unique(
            codes[np.argsort(fit.panel.positions)]
        )  # as in the data, so that the same draws go to the same clusters
        facts = within.problem, block, params, slopes, within.bread, np.argsort(in_order)[codes], n, bias
        return WildAbsorbed(*facts), grouping.keys.iloc[in_order, 0]

    def _hypotheses(self, given: Any) -> tuple[list[str], NDArray, NDArray]:
        """Return names, contrasts and values of hypotheses."""
        if given is None:
            names = [self.model.names[j] for j in self._kept]
            return names, np.eye(len(names)), np.zeros(len(names))
        found = DesignInfo(self.model.names).linear_constraint(given)
        contrasts = found.coefs[:, self._kept]
        left_out = np.delete(found.coefs, self._kept, axis=1).any(axis=1)
        if left_out.any() or not contrasts.any(axis=1).all():
            raise InvalidOptionError("a hypothesis is about no coefficient that was estimated.")
        return labels_of([self.model.names[j] for j in self._kept], contrasts), contrasts, found.constants.ravel()

    def _refuse_wild(self) -> None:
        """Refuse fits that have no scores to bootstrap."""
        fit = self._fit
        if fit.shape is not None:
            raise InvalidOptionError(
                f"wild_test is not defined when {fit.loss.link.shape_name} is estimated; give it as a number."
            )
        if fit.bias is not None and not isinstance(fit.bias, MeanReduction):
            raise InvalidOptionError(
                f"wild_test is defined for plain fits and bias='firth', not for bias={fit.bias.word!r}."
            )
        if fit.panel.groups.large:
            levels = " and ".join(f"{len(factor):,} levels of {factor.name!r}" for factor in fit.panel.factors)
            raise InvalidOptionError(f"wild_test cannot be had with {levels} absorbed; absorb the larger factor only.")
        if fit.separation is not None:
            raise InvalidDataError(
                f"wild_test needs finite estimates, but those of {listed(fit.separation.infinite)} are infinite; use bias='firth'."
            )
