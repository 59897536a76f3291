r"""Covariances of the coefficients: one bread, many meats.

Every covariance here is :math:`A^{-1} M A^{-1}` with A the expected second derivative of the loss (as R's sandwich has it);
the classes differ in the meat M only. Row i with frequency f, variance weight a and n trials contributes f copies of the
score :math:`a n\,\ell'_i x_i`.

The outcome is Bernoulli whatever the loss: for the canonical loss the model-based meat is
:math:`\sum f a n\,\mu(1-\mu)\,x x'` (variance weights divide the variance of an outcome), and :math:`A^{-1}` alone, which would assume that the variance is F', is never reported (equation :eq:`sandwich` of the theory pages).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gevglm.engine.base import ArraySum, Block, Engine, Reducer, times
from gevglm.engine.cholesky import sandwich, symmetrised
from gevglm.engine.linalg import Matrix, add_rows, dense, group_sums, one_blas_thread, quadratic_forms
from gevglm.estimation.sums import WeightedGram
from gevglm.exceptions import (
    GevglmWarning,
    IncompatibleOptionsError,
    InvalidDataError,
    InvalidOptionError,
    unknown_option,
    warn,
)
from gevglm.links.base import Point
from gevglm.losses import Loss

if TYPE_CHECKING:
    from gevglm.data.grouping import Grouping

CLUSTER_KINDS = ("CR0", "CR1", "CR1S")
ROUNDING = 1e-12  # of eigenvalues, as a share of the largest


@dataclass(frozen=True)
class Fitted:
    """What a covariance needs to know of a fit; or of b fits at once, with coefficients of shape (k, b) and breads of shape (b, k, k)."""

    engine: Engine
    loss: Loss
    params: NDArray  # of shape (k,)
    bread: NDArray  # inverse expected second derivative of loss plus penalty; of shape (k, k)
    nobs: float  # number of observations, repeated rows counted as often as they are repeated
    penalised: bool = False

    @property
    def rank(self) -> int:
        """The number of coefficients, without those of columns that are left out."""
        return int(np.count_nonzero(np.diagonal(self.bread)))


class Covariance(ABC):
    """A covariance of the coefficients."""

    name: str
    description: str
    assumes_model: bool = False  # whether it is the inverse of the information where the loss is a likelihood
    defined_for_shape: bool = True  # whether it is defined for coefficients that are estimated together with a shape

    def matrix(self, fit: Fitted) -> NDArray:
        """Return the covariance matrix of a fit."""
        with one_blas_thread():
            return self.finished(sandwich(fit.bread, self.meat(fit)))

    def finished(self, covariance: NDArray) -> NDArray:
        """Return a product of bread and meat as the covariance it stands for: symmetric."""
        return symmetrised(covariance)

    @abstractmethod
    def meat(self, fit: Fitted) -> NDArray:
        """Return the variance of the summed scores."""


class Nonrobust(Covariance):
    """The covariance if the model is right: inverse expected information, or its sandwich for the canonical loss."""

    name = "nonrobust"
    assumes_model = True
    description = "Standard errors assume that the model is correctly specified."

    def matrix(self, fit: Fitted) -> NDArray:
        if fit.loss.is_likelihood and not fit.penalised:
            return fit.bread
        return super().matrix(fit)

    def meat(self, fit: Fitted) -> NDArray:
        def weigh(block: Block, point: Point) -> NDArray:
            return times(fit.loss.score_variance_at(point), block.weight)

        return fit.engine.reduce(WeightedGram(fit.loss, fit.params, weigh))


class HC(Covariance):
    """Heteroscedasticity-robust sandwich: HC0, HC1, HC2 or HC3, as R's sandwich computes them."""

    def __init__(self, number: int):
        self.number = number
        self.name = f"HC{number}"
        self.defined_for_shape = number <= 1  # leverages are those of coefficients
        self.description = f"Standard errors are heteroscedasticity robust ({self.name})."

    def meat(self, fit: Fitted) -> NDArray:
        power = (0, 0, 1, 2)[self.number]

        def weigh(block: Block, point: Point) -> NDArray:
            squared = times(fit.loss.slope_at(block.y, point) ** 2, block.weight, block.var, block.trials)
            return squared / (1.0 - _leverage(fit, block, point)) ** power if power else squared

        meat = fit.engine.reduce(WeightedGram(fit.loss, fit.params, weigh))
        return meat * (fit.nobs / (fit.nobs - fit.rank)) if self.number == 1 else meat


class Linearized(HC):
    r"""What surveys report: HC0 times :math:`n/(n-1)`, with n the observations that have weight.

    It is the covariance of ``svyglm`` of R's survey and of Stata's ``vce(linearized)`` for a sample in one stratum, drawn row by row.
    """

    def __init__(self) -> None:
        super().__init__(0)
        self.name = "linearized"
        self.description = "Standard errors are linearised (HC0 times n/(n - 1)), as those of surveys are."

    def meat(self, fit: Fitted) -> NDArray:
        n = float(fit.engine.reduce(ArraySum(_with_weight)))
        return super().meat(fit) * (n / (n - 1.0))


def _with_weight(block: Block) -> NDArray:
    freq = np.ones_like(block.y) if block.freq is None else block.freq
    return (freq if block.weight is None else freq[block.weight > 0]).sum()


class Cluster(Covariance):
    r"""One- or two-way cluster-robust sandwich.

    Parameters
    ----------
    grouping : Grouping
        Cluster of each row, in one way or in two.
    kind : {"CR1S", "CR1", "CR0"}
        The small-sample factor, for G clusters, n observations and k coefficients: :math:`\frac{G}{G-1}\frac{n-1}{n-k}` (statsmodels;
        ``vcovCL(type = "HC1")`` of R's sandwich), :math:`\frac{G}{G-1}` (Stata's after maximum likelihood; ``vcovCL`` of a glm), or none
        (``robcov`` of rms; ``vcovCL(cadjust = FALSE)``).

    Notes
    -----
    Two-way: the sum over both clusterings minus that over their intersection, each with the factor of its own number of clusters. The
    difference need not be positive semi-definite; negative eigenvalues are set to zero then, with a warning (Cameron, Gelbach and Miller 2011;
    ``vcovCL(fix = TRUE)`` of sandwich).
    """

    name = "cluster"

    def __init__(self, grouping: Grouping, kind: str = "CR1S"):
        if kind not in CLUSTER_KINDS:
            raise unknown_option("kind", kind, CLUSTER_KINDS)
        self.grouping = grouping
        self.kind = kind
        self.repaired = False  # whether negative eigenvalues were set to zero in the last matrix
        self.counts = [int(code.max()) + 1 for sign, code in grouping.ways if sign > 0]
        if min(self.counts) < 2:
            raise InvalidDataError("all rows are in one cluster; cluster-robust errors need at least two.")

    @property
    def description(self) -> str:  # type: ignore[override]
        """What the covariance is, in a sentence."""
        clusters = " and ".join(f"{count} clusters" for count in self.counts)
        repaired = " Negative eigenvalues of the two-way covariance were set to zero." if self.repaired else ""
        kind = "" if self.kind == "CR1S" else f"; {self.kind}"
        return f"Standard errors are robust to clustering ({clusters}{kind}).{repaired}"

    def finished(self, covariance: NDArray) -> NDArray:
        covariance = super().finished(covariance)
        if len(self.counts) == 1:
            return covariance
        values, vectors = np.linalg.eigh(covariance)
        self.repaired = bool(values[0] < -ROUNDING * values[-1])
        if not self.repaired:
            return covariance
        negative = int((np.diagonal(covariance) < 0).sum())
        warn(
            "the two-way cluster-robust covariance is not positive semi-definite"
            + (f" ({negative} of {len(covariance)} variances are negative)" if negative else "")
            + ": its negative eigenvalues were set to zero (Cameron, Gelbach and Miller 2011), which makes standard errors larger. "
            f"There are few clusters ({' and '.join(map(str, self.counts))}); compare with clusters in one way.",
            GevglmWarning,
        )
        return super().finished((vectors * np.maximum(values, 0.0)) @ vectors.T)

    def meat(self, fit: Fitted) -> NDArray:
        total = np.zeros_like(fit.bread)
        engine = fit.engine.with_groups(self.grouping)
        for sign, code in self.grouping.ways:
            n_groups = int(code.max()) + 1
            groups = partial(_codes, self.grouping, code)
            scores = engine.reduce(_GroupScores(fit.loss, fit.params, groups, n_groups))
            factor = 1.0
            if self.kind != "CR0":
                used = int(engine.reduce(_GroupsSeen(groups, n_groups)).sum())
                factor = used / (used - 1)
            if self.kind == "CR1S":
                factor *= (fit.nobs - 1) / (fit.nobs - fit.rank)
            total += sign * factor * dense(scores.T @ scores)
        return total


class _GroupsSeen(Reducer):
    """Which groups have a row with weight."""

    def __init__(self, codes: Callable[[Block], NDArray], n_groups: int):
        self.codes = codes
        self.n_groups = n_groups

    def zero(self) -> NDArray:
        return np.zeros(self.n_groups, dtype=bool)

    def map(self, block: Block) -> NDArray:
        codes = self.codes(block)
        return np.unique(codes if block.weight is None else codes[block.weight > 0])

    def combine(self, total: NDArray, part: NDArray) -> NDArray:
        total[part] = True
        return total


def _codes(grouping: Grouping, code: NDArray, block: Block) -> NDArray:
    return code[grouping.of_block(block)]


class HAC(Covariance):
    """Heteroscedasticity- and autocorrelation-robust (Newey-West) sandwich, rows in time order, as in statsmodels.

    Parameters
    ----------
    maxlags : int
    kernel : str
        "bartlett" or "uniform".
    use_correction : bool
        Multiply by n/(n - k).
    """

    name = "HAC"

    def __init__(self, maxlags: int, kernel: str = "bartlett", use_correction: bool = False):
        if kernel not in ("bartlett", "uniform"):
            raise unknown_option("kernel", kernel, ("bartlett", "uniform"))
        self.maxlags = maxlags
        self.kernel = kernel
        self.use_correction = use_correction
        self.description = (
            f"Standard errors are robust to heteroscedasticity and autocorrelation (HAC, {maxlags} lags)."
        )

    def meat(self, fit: Fitted) -> NDArray:
        from statsmodels.stats import sandwich_covariance as sandwich

        weights = sandwich.weights_bartlett if self.kernel == "bartlett" else sandwich.weights_uniform
        n = fit.engine.n_rows
        if not fit.engine.in_memory:
            raise InvalidOptionError(
                "cov_type='HAC' needs the rows in memory, in time order; use 'HC0' to 'HC3' or 'cluster'."
            )
        scores = fit.engine.reduce(_GroupScores(fit.loss, fit.params, _positions, n))
        meat = dense(scores.T @ scores)
        for lag, share in enumerate(weights(self.maxlags)[1:], 1):
            product = dense(scores[lag:].T @ scores[:-lag])
            meat += share * (product + product.T)
        return meat * (fit.nobs / (fit.nobs - fit.rank)) if self.use_correction else meat


def _positions(block: Block) -> NDArray:
    return np.arange(block.start, block.start + len(block.y))


def _cluster_kind(options: dict[str, Any]) -> str:
    """Return the small-sample factor by its name; statsmodels' `use_correction` is all of it or none."""
    corrected = _switch(options, "use_correction", True)
    if "kind" not in options:
        return "CR1S" if corrected else "CR0"
    if "use_correction" in options:
        raise IncompatibleOptionsError("cov_kwds has both kind and use_correction; leave use_correction out.")
    return options["kind"]


def _switch(options: dict[str, Any], name: str, default: bool) -> bool:
    value = options.get(name, default)
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidOptionError(
            f"cov_kwds has {name}={value!r}, which must be True or False; the factors of clusters by name are kind='CR0', 'CR1' and 'CR1S'."
        )
    return bool(value)


COV_TYPES = ("nonrobust", "HC0", "HC1", "HC2", "HC3", "linearized", "cluster", "HAC")
COV_ALIASES = {"robust": "HC1"}  # as Stata's regress has it
_COV_WORDS = {word.lower(): word for word in COV_TYPES} | COV_ALIASES
_COV_KWDS = {"cluster": {"groups", "kind", "use_correction"}, "HAC": {"maxlags", "kernel", "use_correction"}}


def covariance_of(cov_type: Any, cov_kwds: dict[str, Any] | None, grouping: Callable[[Any], Grouping]) -> Covariance:
    """Turn statsmodels' words into a covariance; `grouping` turns column names or arrays into the clusters of the rows of the model."""
    if isinstance(cov_type, Covariance):
        return cov_type
    word = _COV_WORDS.get(str(cov_type).lower())
    if word is None:
        raise unknown_option("cov_type", cov_type, COV_TYPES)
    options = dict(cov_kwds or {})
    allowed = _COV_KWDS.get(word, set())
    unknown = set(options) - allowed - {"scaling_factor", "df_correction"}
    if unknown:
        raise InvalidOptionError(
            f"cov_kwds has {sorted(unknown)}, which cov_type={word!r} does not take"
            + (f"; it takes {sorted(allowed)}." if allowed else ".")
        )
    if word == "cluster":
        if options.get("groups") is None:
            raise InvalidOptionError("cov_type='cluster' needs cov_kwds={'groups': column name or array}.")
        kind = _cluster_kind(options)
        return Cluster(grouping(options["groups"]), kind)
    if word == "HAC":
        if "maxlags" not in options:
            raise InvalidOptionError("cov_type='HAC' needs cov_kwds={'maxlags': number}.")
        _switch(options, "use_correction", False)
        return HAC(**{name: options[name] for name in allowed if name in options})
    if word == "linearized":
        return Linearized()
    return Nonrobust() if word == "nonrobust" else HC(int(word[2]))


class _GroupScores(Reducer):
    """The scores, summed by group: a matrix of one row per group."""

    def __init__(self, loss: Loss, params: NDArray, codes: Callable[[Block], NDArray], n_groups: int):
        self.loss = loss
        self.params = params
        self.codes = codes
        self.n_groups = n_groups

    def zero(self) -> Matrix:
        return np.zeros(())

    def map(self, block: Block) -> tuple[NDArray, Matrix]:
        codes = self.codes(block)
        with np.errstate(all="ignore"):
            point = self.loss.link.at(block.linear_predictor(self.params))
            slope = times(self.loss.slope_at(block.y, point), block.weight)
        return group_sums(block.X, slope, codes)

    def combine(self, total: Matrix, part: tuple[NDArray, Matrix]) -> Matrix:
        return add_rows(total, self.n_groups, *part)


def _leverage(fit: Fitted, block: Block, point: Point) -> NDArray:
    """The leverage of one copy of each row."""
    quadratic = quadratic_forms(block.X, fit.bread)
    return times(quadratic * fit.loss.expected_curvature_at(point), block.var, block.trials)
