"""Tests that hold with few clusters: the wild bootstrap of their scores, as results offer it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.bias.adjusted import MeanReduction
from gevglm.covariance.clusters import codes_of
from gevglm.data.grouping import Grouping
from gevglm.exceptions import GevglmWarning, InvalidDataError, InvalidOptionError, listed, unknown_option, warn
from gevglm.inference.wild_clusters import STATISTICS, WEIGHTS, Draws, WildBootstrap
from gevglm.inference.wild_scores import WildScores
from gevglm.results.core import ResultsCore, check_alpha

FEW_FOR_RADEMACHER = 10  # clusters, below which two values a cluster leave too few p-values


@dataclass(frozen=True)
class WildTests:
    """Wild bootstrap tests of hypotheses about coefficients, each by itself.

    Attributes
    ----------
    table : DataFrame
        One row per hypothesis: ``estimate``, ``hypothesis`` (the value it is tested against), ``statistic`` and ``pvalue``.
    n_clusters : int
    draws : int
        Vectors of weights that were used.
    enumerated : bool
        Whether they are all there are, so that nothing is random.
    weights, statistic : str
    """

    table: pd.DataFrame
    n_clusters: int
    draws: int
    enumerated: bool
    weights: str
    statistic: str
    _fit: WildBootstrap = field(repr=False)
    _contrasts: NDArray = field(repr=False)
    _vectors: Draws = field(repr=False)

    @property
    def pvalues(self) -> pd.Series:
        """The p-values."""
        return self.table["pvalue"]

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return intervals by inversion: the values that are not rejected, with the weights of the tests.

        Limits are found by bisection, to 1e-4 standard errors; p-values are steps, and where they go up and down near a limit, it is one of the
        points where they cross alpha. Infinite where nothing up to 64 standard errors away is rejected.
        """
        check_alpha(alpha)
        limits = np.full((len(self.table), 2), np.nan)
        there = np.flatnonzero(self.table["pvalue"].notna())
        if len(there):
            limits[there] = self._fit.intervals(self._contrasts[there], self._vectors, self.statistic, alpha)
        return pd.DataFrame(limits, index=self.table.index)

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return the tests, with intervals."""
        return self.table.join(self.conf_int(alpha).set_axis(["ci_lower", "ci_upper"], axis=1))

    def __str__(self) -> str:
        how = "all" if self.enumerated else "random"
        head = f"Wild bootstrap of the scores of {self.n_clusters} clusters ({self.statistic}; {self.draws:,} vectors of {self.weights} weights, {how})"
        return f"{head}\n{self.table.to_string(float_format=lambda x: f'{x:.4g}')}"


@dataclass(frozen=True)
class WildOptions:
    """What a user asks of the bootstrap, checked."""

    draws: int
    weights: str | None
    statistic: str
    rng: Any

    @classmethod
    def of(cls, draws: Any, weights: str | None, statistic: str, rng: Any) -> WildOptions:
        """Return the options if they are some."""
        if weights is not None and weights not in WEIGHTS:
            raise unknown_option("weights", weights, tuple(WEIGHTS))
        if statistic not in STATISTICS:
            raise unknown_option("statistic", statistic, STATISTICS)
        if isinstance(draws, bool) or not isinstance(draws, (int, np.integer)) or draws < 19:
            raise InvalidOptionError(f"draws={draws!r} must be a whole number of at least 19.")
        return cls(int(draws), weights, statistic, rng)

    def vectors(self, n_clusters: int) -> Draws:
        """Return the vectors of weights of some number of clusters."""
        word = self.weights or ("webb" if n_clusters < FEW_FOR_RADEMACHER else "rademacher")
        return Draws(n_clusters, word, self.draws, int(np.random.default_rng(self.rng).integers(2**62)))


def tested(
    fit: WildBootstrap,
    clusters: pd.Series,
    names: list[str],
    contrasts: NDArray,
    values: NDArray,
    how: WildOptions,
    *,
    all_of_them: bool,
) -> WildTests:
    """Return the tests of hypotheses; those without an answer are refused, unless nobody asked for them by name."""
    vectors = how.vectors(fit.n_clusters)
    alone = fit.undetermined(contrasts)
    if alone and not all_of_them:
        raise InvalidDataError(_only_one(names, alone, clusters))
    if alone:
        warn(_only_one(names, alone, clusters), GevglmWarning)
    found = np.full((len(names), 2), np.nan)
    there = np.array([i for i in range(len(names)) if i not in alone], dtype=int)
    if len(there):
        found[there] = fit.tests(contrasts[there], values[there], vectors, how.statistic)
    failed = [names[i] for i in there if np.isnan(found[i, 1])]
    if failed:
        warn(
            f"there are no estimates under the hypotheses about {listed(failed)}, whose tests are missing; use bias='firth'.",
            GevglmWarning,
        )
    columns = {"estimate": contrasts @ fit.params, "hypothesis": values}
    table = pd.DataFrame(columns | {"statistic": found[:, 0], "pvalue": found[:, 1]}, index=names)
    facts = vectors.used, vectors.enumerated, vectors.word, how.statistic
    return WildTests(table, fit.n_clusters, *facts, fit, contrasts, vectors)


def clusters_for(grouping: Grouping | None) -> tuple[Grouping, NDArray, int]:
    """Return clusters that can be bootstrapped, the cluster of each of their keys, and their number."""
    if grouping is None:
        raise InvalidOptionError("wild_test needs clusters: groups='hospital', or a fit with cov_type='cluster'.")
    if len(grouping.ways) > 1:
        raise InvalidOptionError("wild_test is for clusters in one way, but groups has two columns; give one.")
    ((_, code),) = grouping.ways
    n = int(code.max()) + 1
    if n < 3:
        raise InvalidDataError(f"wild_test needs at least three clusters, but there {'is' if n == 1 else 'are'} {n}.")
    return grouping, code, n


def labels_of(names: list[str], contrasts: NDArray) -> list[str]:
    """Return what contrasts are called: those of one coefficient by its name."""
    return [
        names[int(np.argmax(row != 0))] if (row != 0).sum() == 1 and row.sum() == 1.0 else f"c{i}"
        for i, row in enumerate(contrasts)
    ]


class WildInference(ResultsCore):
    """Wild bootstrap tests; a part of :class:`gevglm.BinaryGLMResults`."""

    def wild_test(
        self,
        hypotheses: Any = None,
        *,
        groups: Any = None,
        draws: int = 9999,
        weights: str | None = None,
        statistic: str = "WL",
        rng: Any = None,
    ) -> WildTests:
        """Test hypotheses about coefficients by the wild bootstrap of the scores of clusters, with each hypothesis imposed.

        It holds its level with few clusters, of different sizes and with rare events, where normal and t tests with cluster-robust
        errors reject too often; two treated clusters are too few for it, too, and it hardly rejects then.

        Parameters
        ----------
        hypotheses : str or array_like, optional
            As in :meth:`t_test`: ``"smoker = 0"``, several joined by commas, or a matrix; each is tested by itself. By default
            that each coefficient but the constant is zero.
        groups : str or array_like, optional
            The clusters; by default those of ``cov_type="cluster"``.
        draws : int
            Vectors of weights. Where there are not more than these in all, all of them are used.
        weights : {"rademacher", "webb"}, optional
            Webb's six values by default below ten clusters, where signs alone give few p-values; else signs.
        statistic : {"WL", "KS"}
            How the score is divided by its error: at estimates that are refitted, linearised; or as Kline and Santos do.
        rng : Generator or int, optional
            For the draws.

        Returns
        -------
        WildTests
            With ``table``, ``pvalues`` and ``conf_int()``, the interval by inversion.

        Notes
        -----
        See :mod:`gevglm.inference.wild_clusters` for the formulas.
        """
        self._refuse_wild()
        how = WildOptions.of(draws, weights, statistic, rng)
        fit, clusters = self._wild_scores(groups)
        names, contrasts, values = self._hypotheses(hypotheses)
        return tested(fit, clusters, names, contrasts, values, how, all_of_them=hypotheses is None)

    def _wild_scores(self, groups: Any) -> tuple[WildScores, pd.Series]:
        """Return the fit by clusters, and the names of these."""
        groups = self.cluster_groups if groups is None else groups
        grouping, code, n = clusters_for(None if groups is None else self.model.design.grouping(groups))
        engine = self.model.engine().with_groups(grouping)
        bias = self.bias if isinstance(self.bias, MeanReduction) else None
        problem, codes = self.model.problem(engine), partial(codes_of, grouping, code)
        fit = WildScores(problem, self._params, np.asarray(self.normalized_cov_params), codes, n, bias)
        return fit, grouping.keys.iloc[:, 0]

    def _hypotheses(self, given: Any) -> tuple[list[str], NDArray, NDArray]:
        """Return names, contrasts and values of hypotheses."""
        names, k = list(self.model.exog_names), self.k_params
        if given is None:
            constant = self.model.data.const_idx
            columns = [j for j in range(k) if j != constant and not self.is_omitted[j]]
            if not columns:
                raise InvalidOptionError("the model has no coefficient but the constant; name a hypothesis.")
            return [names[j] for j in columns], np.eye(k)[columns], np.zeros(len(columns))
        results: Any = self
        contrasts, values = results._restriction(given)
        rows = contrasts[:, self.is_omitted].any(axis=1)
        if rows.any() or not contrasts.any(axis=1).all():
            raise InvalidOptionError("a hypothesis is about no coefficient that was estimated.")
        return labels_of(names, contrasts), contrasts, values

    def _refuse_wild(self) -> None:
        """Refuse fits that have no scores to bootstrap."""
        if self._joint is not None or self.posterior is not None:
            raise InvalidOptionError(
                f"wild_test is not defined when {self.link.shape_name} is estimated; give it as a number."
            )
        if self.alpha:
            raise InvalidOptionError("wild_test is not defined for a penalised (ridge) fit; fit without alpha.")
        if self.bias is not None and not isinstance(self.bias, MeanReduction):
            raise InvalidOptionError(
                f"wild_test is defined for plain fits and bias='firth', not for bias={self.bias.word!r}."
            )
        if self.separated:
            raise InvalidDataError(
                f"wild_test needs finite estimates, but those of {listed(self.infinite_names)} are infinite; use bias='firth'."
            )


def _only_one(names: list[str], alone: dict[int, int], clusters: pd.Series) -> str:
    pairs = [f"{names[i]} (cluster {clusters.iloc[code]!r})" for i, code in alone.items()]
    return (
        f"without one cluster there would be no estimate of {listed(pairs)}, as of a treatment that one cluster has: no test by clusters can "
        "tell its effect from that of the cluster."
    )
