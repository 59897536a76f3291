r"""Risks standardised over the sample (g-computation) and their contrasts.

With the variable set to a in all rows, and everything else unchanged, the risk is

.. math:: R_a = \frac{\sum_i w_i F(x_i(a)'b)}{\sum_i w_i}, \qquad G_a = \frac{\partial R_a}{\partial b} = \frac{\sum_i w_i F'(x_i(a)'b)\, x_i(a)}{\sum_i w_i},

and the covariance of several of them :math:`G V G'` with V that of the coefficients, whichever was chosen for the fit. Contrasts are
differences, ratios or odds ratios of such risks; the intervals of ratios are symmetric for their logarithms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.display.tables import Part, Shown
from gevglm.effects.linear import Uncertainty, linear_tests
from gevglm.effects.number_needed import number_needed
from gevglm.effects.rows import RowGroups, Scenario
from gevglm.effects.worlds import Worlds
from gevglm.engine import Block
from gevglm.engine.base import ArraySum
from gevglm.engine.linalg import dense
from gevglm.exceptions import InvalidOptionError, unknown_option
from gevglm.links.base import BinaryLink

TITLES = {"difference": "Risk difference", "ratio": "Risk ratio", "odds": "Odds ratio"}


@dataclass(frozen=True)
class Contrast:
    """How two risks are compared: on which scale, and how the result is called."""

    word: str
    pattern: str  # how a contrast is written, from the labels of two scenarios
    scale: Callable[[NDArray], NDArray]  # a contrast is the difference of this of two risks
    slope: Callable[[NDArray], NDArray]  # the derivative of that
    # what takes it to where it is reported, also its own derivative, for standard errors; None for nothing
    back: Callable[[NDArray], NDArray] | None

    def label(self, other: str, reference: str) -> str:
        """Return how a contrast of two scenarios is written."""
        inside = "odds" in self.pattern
        labels = (f"({x})" if not inside and (" " in x or x.startswith("-")) else x for x in (other, reference))
        return self.pattern.format(*labels)


CONTRASTS = {
    contrast.word: contrast
    for contrast in (
        Contrast("difference", "{} - {}", lambda r: r, np.ones_like, None),
        Contrast("ratio", "{} / {}", np.log, lambda r: 1.0 / r, np.exp),
        Contrast(
            "odds", "odds({}) / odds({})", lambda r: np.log(r / (1.0 - r)), lambda r: 1.0 / (r * (1.0 - r)), np.exp
        ),
    )
}


def contrast_of(word: str) -> Contrast:
    """Return a contrast by its word."""
    if word not in CONTRASTS:
        raise unknown_option("contrast", word, tuple(CONTRASTS))
    return CONTRASTS[word]


@dataclass(frozen=True, repr=False)
class RiskContrast(Shown):
    """Standardised risks and their contrasts.

    Attributes
    ----------
    variable : str
    contrast : str
    risks : DataFrame
        The risk in every scenario: columns ``estimate``, ``se``, ``ci_lower`` and ``ci_upper``.
    table : DataFrame
        Their contrasts against the first scenario: the same columns.
    pvalues : Series
        Two-sided, that there is no effect; missing for bootstrap intervals.
    cov : ndarray
        Covariance of the risks, in the order of `risks`.
    df : Series
        Degrees of freedom of the t distributions that tests and limits of the contrasts go by; infinite for the normal distribution.
    note : str
        Over whom it was averaged, and where the standard errors come from.
    scenarios : tuple of Scenario
        What was compared; the first is the reference.
    """

    variable: str
    contrast: str
    risks: pd.DataFrame
    table: pd.DataFrame
    tests: pd.DataFrame = field(repr=False)  # of the contrasts, as Uncertainty.tests has them
    uncertainty: Uncertainty = field(repr=False)  # of the risks
    note: str
    scenarios: tuple[Scenario, ...] = ()

    @property
    def pvalues(self) -> pd.Series:
        """Two-sided p-values of the contrasts."""
        return self.tests["pvalue"]

    @property
    def cov(self) -> NDArray:
        """Covariance of the risks."""
        return self.uncertainty.cov

    @property
    def df(self) -> pd.Series:
        """Degrees of freedom of tests and limits of the contrasts."""
        return self.tests.get("df", pd.Series(np.inf, self.tests.index, name="df"))

    def summary_frame(self) -> pd.DataFrame:
        """Return the contrasts: columns estimate, se, ci_lower and ci_upper."""
        return self.table

    @property
    def number_needed(self) -> pd.DataFrame:
        """The number needed to treat (or to harm): one over the risk difference, with its limits, and ``text``, how it is written.

        Where the interval of the difference covers zero, the limits go through infinity (Altman 1998): the interval is everything beyond both
        ``ci_lower`` and ``ci_upper``, in words "NNTB 142 (68 to infinity to NNTH 1,524)". NNTB is the number needed to benefit, for one event
        fewer, NNTH the number needed to harm, for one event more.
        """
        if self.contrast != "difference":
            raise InvalidOptionError(
                f"the number needed is one over a risk difference, but these are {TITLES[self.contrast].lower()}s; use "
                f"risk({self.variable!r}, ..., contrast='difference').number_needed."
            )
        return number_needed(self.table)

    @property
    def zvalues(self) -> pd.Series:
        """Contrasts over their standard errors; of ratios, those of their logarithms."""
        estimate, error = self.table["estimate"], self.table["se"]
        with np.errstate(divide="ignore", invalid="ignore"):
            z = estimate / error if contrast_of(self.contrast).back is None else np.log(estimate) / (error / estimate)
        return z.rename("z")

    def t_test(self, r_matrix: Any, alpha: float = 0.05) -> pd.DataFrame:
        """Return tests that linear combinations of the risks are zero, such as a difference of differences.

        Parameters
        ----------
        r_matrix : array_like of shape (m, number of risks)
            Weights of the risks, in the order of ``risks``.
        alpha : float
            One minus the coverage of the limits.
        """
        return linear_tests(self.risks["estimate"], self.uncertainty, r_matrix, alpha)

    def _shown_parts(self) -> tuple[str, Sequence[Part], Sequence[str]]:
        table = self.table
        if self.pvalues.notna().any():
            table = table[["estimate", "se"]].join(self.tests).join(self.table[["ci_lower", "ci_upper"]])
        title = f"{TITLES[self.contrast]} of {self.variable} ({self.note})"
        return title, [Part("", table), Part("Risks", self.risks)], []


@dataclass(frozen=True)
class Averages:
    """Risks of worlds (within groups of rows), and their gradients by the estimates."""

    risks: NDArray  # of shape (m,)
    gradient: NDArray  # of shape (m, k)

    def one_by_one(self) -> Iterator[Averages]:
        """Yield each of them alone."""
        for i in range(len(self.risks)):
            yield Averages(self.risks[[i]], self.gradient[[i]])


@dataclass(frozen=True)
class Risk:
    """The risk as a function of the linear predictor, at the estimates."""

    link: BinaryLink
    params: NDArray
    with_shape: bool = False  # whether gradients are by the shape of the link too


def averages(worlds: Worlds, risk: Risk, groups: RowGroups, share: NDArray | None = None) -> Averages:
    """Return the weighted average risk of each world, and its gradient, worlds within groups; from one pass over the rows.

    `share` multiplies the weights of the rows, those of a resample for instance.
    """
    places, k, shaped = worlds.changed.places, len(risk.params), risk.with_shape

    def sums(block: Block) -> NDArray:
        rows, weight = block.rows, block.represents
        assert weight is not None
        weight = weight if share is None else weight * share[rows]
        here, sum_slopes = groups.spread(weight, rows), groups.sums_of(_with_ones(dense(block.X)), weight, rows)
        found = np.zeros((len(worlds.worlds), len(groups), k + shaped + 2))
        for i, (linear, columns) in enumerate(worlds.in_block(block, risk.params)):
            point = risk.link.at(linear)
            slopes = sum_slopes(point.pdf)
            found[i, :, 0] = here @ point.cdf
            found[i, :, 1 : k + 1] = slopes[:, :k]
            if columns is not None and worlds.are_alike[i]:
                found[i][:, 1 + places] = slopes[:, k:] * columns
            elif columns is not None:
                found[i][:, 1 + places] = groups.spread(weight * point.pdf, rows) @ columns
                found[i, 0, -1] = (~np.isfinite(columns)).any(axis=1).sum()
            if shaped:
                found[i, :, k + 1] = here @ point.dcdf_dshape
        return found

    worlds.refuse_undefined(worlds.undefined_alike)
    found = worlds.engine().reduce(ArraySum(sums))
    worlds.refuse_undefined(found[:, 0, -1])
    weights = worlds.rows.weights if share is None else worlds.rows.weights * share
    of_groups = found[:, :, :-1].swapaxes(0, 1) / groups.totals(weights)[:, None, None]
    return Averages(of_groups[:, :, 0].ravel(), of_groups[:, :, 1:].reshape(-1, k + shaped))


def _with_ones(X: NDArray) -> NDArray:
    """Return columns and, last, a column of ones."""
    wider = np.empty((len(X), X.shape[1] + 1), order="F")
    wider[:, :-1], wider[:, -1] = X, 1.0
    return wider


def risk_table(risks: NDArray, known: Uncertainty, index: pd.Index, alpha: float) -> pd.DataFrame:
    """Return risks with limits that are symmetric for their log odds."""
    error = known.errors
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = known.reach(alpha) / (risks * (1.0 - risks))
        odds = np.log(risks / (1.0 - risks))
        lower, upper = 1.0 / (1.0 + np.exp(reach - odds)), 1.0 / (1.0 + np.exp(-reach - odds))
    return pd.DataFrame({"estimate": risks, "se": error, "ci_lower": lower, "ci_upper": upper}, index=index)


def contrast_table(
    contrast: Contrast,
    risks: NDArray,
    known: Uncertainty,
    pairs: Sequence[tuple[int, int]],
    index: pd.Index,
    alpha: float,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return contrasts of pairs of risks (positions of the reference, and of the other) with their limits, and their tests."""
    with np.errstate(divide="ignore", invalid="ignore"):
        reference, other = np.array(pairs).T
        scaled, slope = contrast.scale(risks), contrast.slope(risks)
        estimate = scaled[other] - scaled[reference]
        combine = np.zeros((len(pairs), len(risks)))
        combine[np.arange(len(pairs)), other] = slope[other]
        combine[np.arange(len(pairs)), reference] -= slope[reference]
        of_contrasts = known.combined(combine)
        reach = of_contrasts.reach(alpha)
        columns = {
            "estimate": estimate,
            "se": of_contrasts.errors,
            "ci_lower": estimate - reach,
            "ci_upper": estimate + reach,
        }
        if contrast.back is not None:
            columns = {name: contrast.back(values) for name, values in columns.items()}
            columns["se"] = columns["estimate"] * of_contrasts.errors
    return pd.DataFrame(columns, index=index), pd.DataFrame(of_contrasts.tests(estimate), index=index)


def bootstrap_limits(contrast: Contrast, draws: NDArray, pairs: Sequence[tuple[int, int]], alpha: float) -> NDArray:
    """Return standard errors and percentile limits of contrasts from risks drawn by the bootstrap, one row per draw.

    The percentiles are median-unbiased; those of NumPy's default are too close to the middle, by 2.5 % of the width with 200 draws.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = contrast.scale(draws)
        values = np.stack([scaled[:, other] - scaled[:, reference] for reference, other in pairs], axis=1)
        values = values if contrast.back is None else contrast.back(values)
    shares = [alpha / 2.0, 1.0 - alpha / 2.0]
    return np.vstack([values.std(axis=0, ddof=1), np.quantile(values, shares, axis=0, method="median_unbiased")])
