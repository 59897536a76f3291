r"""Risks as King and Zeng (2001) report them: with their estimation uncertainty averaged in, and before and after a change.

A risk :math:`F(x'b)` at estimated coefficients is not the best estimate of the risk of a new case: averaged over the uncertainty
of b, with covariance V, it is to second order (equation :eq:`averaged-risk` of the theory pages)

.. math:: \mathrm{E}\,F(x'b) \approx F(x'\hat b) + C, \qquad C = \tfrac12 F''(x'\hat b)\, x'Vx,

for the logit :math:`C = (\tfrac12 - \pi)\, \pi (1 - \pi)\, x'Vx`. Simulation, with coefficients drawn from :math:`N(\hat b, V)`, has no such
approximation and serves for functions of several risks.

A shape :math:`\xi` that was estimated with b, with standard error s, is averaged over as well. The likelihood is then a curved ridge: with :math:`b(\xi)` the fit at
a shape and :math:`V_\xi` the covariance of b there, :math:`\xi \sim N(\hat\xi, s^2)` is averaged over by three points, :math:`\hat\xi` and
:math:`\hat\xi \pm \sqrt3 s` (Gauss-Hermite), and draws are those of :math:`b \mid \xi \sim N(b(\xi), V_\xi)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.display.tables import Part, Shown
from gevglm.effects.covariance import check_draws
from gevglm.effects.rows import label_of
from gevglm.engine.linalg import Matrix, hstack_columns, quadratic_forms, scale_columns
from gevglm.exceptions import unknown_option
from gevglm.inference.shape_track import ShapeTrack
from gevglm.links.base import BinaryLink

METHODS = ("bayes", "unbiased", "simulation")
ROWS = 2048  # simulated at a time
NODES, SHARES = (
    np.sqrt(3.0) * np.array([-1.0, 0.0, 1.0]),
    np.array([1.0, 4.0, 1.0]) / 6.0,
)  # of the average over a shape


@dataclass(frozen=True)
class RiskModel:
    """Estimated coefficients, perhaps with the shape of their link, and what turns them into risks."""

    params: NDArray  # of shape (k,)
    covariance: (
        NDArray  # of the coefficients and, last, of a shape that was estimated; of shape (k, k) or (k + 1, k + 1)
    )
    link: BinaryLink  # from linear predictors to probabilities in the population
    # the share of events in the population for which they were estimated, if one was given
    prevalence: float | None = None
    track: ShapeTrack | None = None  # how the coefficients move with the shape, if that was estimated

    def linear(self, X: Matrix, offset: NDArray | float) -> NDArray:
        """Return the linear predictor of rows."""
        return X @ self.params + offset

    def limits(self, X: Matrix, offset: NDArray | float, quantile: float) -> tuple[NDArray, NDArray]:
        """Return the limits of the risks of rows: those of the linear predictor, transformed."""
        linear = self.linear(X, offset)
        columns = X if self.track is None else hstack_columns(X, shape_column(self.link, linear))
        reach = quantile * np.sqrt(quadratic_forms(columns, self.covariance))
        return self.link.inverse(linear - reach), self.link.inverse(linear + reach)

    def averaged(self, X: Matrix, offset: NDArray | float) -> NDArray:
        """Return the risks of rows averaged over the uncertainty of the estimates, to second order: F + C of the module."""
        if self.track is None:
            return _second_order(self.link, self.linear(X, offset), quadratic_forms(X, self.covariance))
        shapes, shift, scale = self._shapes_at(NODES)
        total = np.zeros(X.shape[0])
        for share, xi, change, factor in zip(SHARES, shapes, shift, scale, strict=True):
            linear = X @ (self.params + change) + offset
            variance = quadratic_forms(scale_columns(X, factor), self._at_shape)
            total += share * _second_order(self.link.with_shape(xi), linear, variance)
        return total

    def draws(self, X: Matrix, offset: NDArray | float, normals: NDArray) -> NDArray:
        """Return simulated risks, one row per draw of the estimates, one column per row of `X`.

        Draws of a shape beyond the range in which it was estimated are moved to its end.
        """
        if not np.isfinite(self.covariance.diagonal()).all():
            return np.full((len(normals), X.shape[0]), np.nan)
        values, vectors = np.linalg.eigh(self._at_shape)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        if self.track is None:
            return self.link.inverse((self.params + np.dot(normals, root.T)) @ X.T + offset)
        shapes, shift, scale = self._shapes_at(normals[:, -1])
        linear = (self.params + shift + scale * np.dot(normals[:, :-1], root.T)) @ X.T + offset
        return np.array([self.link.with_shape(xi).inverse(row) for xi, row in zip(shapes, linear, strict=True)])

    @property
    def _at_shape(self) -> NDArray:
        """The covariance of the coefficients at the estimated shape."""
        if self.track is None:
            return self.covariance
        coefficients, mixed, shape = self.covariance[:-1, :-1], self.covariance[:-1, -1], self.covariance[-1, -1]
        return coefficients - np.outer(mixed, mixed) / shape

    def _shapes_at(self, deviates: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """Return the shapes at standard normal deviates, and how coefficients and their deviations change to there."""
        assert self.track is not None
        shapes = self.track.inside(self.track.xi + np.sqrt(self.covariance[-1, -1]) * deviates)
        return shapes, *self.track.moved(shapes)


def _second_order(link: BinaryLink, linear: NDArray, variance: NDArray) -> NDArray:
    """Return the mean risk of linear predictors with a variance."""
    return link.inverse(linear) + 0.5 * link.inverse_deriv2(linear) * variance


def shape_column(link: BinaryLink, linear: NDArray) -> NDArray:
    r"""Return the column of an estimated shape in a design: a change of the shape moves a risk as one of the linear predictor by :math:`F_\xi/F'`."""
    with np.errstate(all="ignore"):
        point = link.at(np.array(linear, dtype=float, ndmin=1))
        return np.nan_to_num(point.dcdf_dshape / point.pdf, posinf=0.0, neginf=0.0)


def corrected_risks(
    model: RiskModel,
    X: Matrix,
    offset: NDArray | float = 0.0,
    *,
    method: str = "bayes",
    quantile: float = 1.959964,
    alpha: float = 0.05,
    draws: int = 2000,
    rng: Any = None,
) -> pd.DataFrame:
    """Return the risks of rows, corrected for the uncertainty of the estimates; see :mod:`gevglm.effects.king_zeng`.

    By `method`, the risk plus C ("bayes"), the average over the uncertainty of the coefficients; minus C ("unbiased"), nearly unbiased; or the
    average of simulated risks ("simulation"). The limits are by `quantile`, of the distribution of estimates, or percentiles of the draws.
    """
    if method not in METHODS:
        raise unknown_option("method", method, METHODS)
    risk = model.link.inverse(model.linear(X, offset))
    if method == "simulation":
        corrected, lower, upper = _simulated(model, X, offset, normals(draws, len(model.covariance), rng), alpha)
    else:
        sign = 1.0 if method == "bayes" else -1.0
        corrected = np.clip(risk + sign * (model.averaged(X, offset) - risk), 0.0, 1.0)
        lower, upper = model.limits(X, offset, quantile)
    return pd.DataFrame({"risk": risk, "corrected": corrected, "ci_lower": lower, "ci_upper": upper})


def _simulated(
    model: RiskModel, X: Matrix, offset: NDArray | float, normal: NDArray, alpha: float
) -> tuple[NDArray, NDArray, NDArray]:
    offset = np.broadcast_to(offset, (X.shape[0],))
    parts = []
    for start in range(0, X.shape[0], ROWS):
        rows = slice(start, start + ROWS)
        risks = model.draws(X[rows], offset[rows], normal)
        parts.append(np.vstack([risks.mean(axis=0), np.quantile(risks, [alpha / 2.0, 1.0 - alpha / 2.0], axis=0)]))
    return tuple(np.hstack(parts)) if parts else (np.empty(0),) * 3


def risk_range(models: Sequence[RiskModel], X: Matrix, offset: NDArray | float, quantile: float) -> pd.DataFrame:
    """Return the range of the risks of rows over several prevalences: the smallest and largest risks, and limits."""
    risks = np.array([model.link.inverse(model.linear(X, offset)) for model in models])
    limits = np.array([model.limits(X, offset, quantile) for model in models])
    columns = {"lower": risks.min(axis=0), "upper": risks.max(axis=0)}
    return pd.DataFrame(columns | {"ci_lower": limits[:, 0].min(axis=0), "ci_upper": limits[:, 1].max(axis=0)})


@dataclass(frozen=True, repr=False)
class RiskChange(Shown):
    """Risks before and after a change of variables, their difference and their ratio, by simulation.

    Attributes
    ----------
    change : dict
        Variable to its values before and after.
    at : dict
        The values of the other variables.
    table : DataFrame
        Rows ``before``, ``after``, ``difference`` and ``ratio``; columns ``estimate`` (the mean of the draws; the median for the ratio),
        ``se``, ``ci_lower`` and ``ci_upper``. With a range of prevalences the limits are the widest over the range, and ``lowest`` and ``highest``
        are the smallest and largest estimates.
    draws : int
    """

    change: dict[str, tuple[Any, Any]]
    at: dict[str, Any]
    table: pd.DataFrame
    draws: int

    @property
    def difference(self) -> float:
        """The first difference: the risk after the change minus that before."""
        return float(self.table.loc["difference", "estimate"])

    @property
    def ratio(self) -> float:
        """The relative risk: the risk after the change over that before."""
        return float(self.table.loc["ratio", "estimate"])

    def summary_frame(self) -> pd.DataFrame:
        """Return the table."""
        return self.table

    def _shown_parts(self) -> tuple[str, Sequence[Part], Sequence[str]]:
        moved = ", ".join(f"{name} from {label_of(a, 4)} to {label_of(b, 4)}" for name, (a, b) in self.change.items())
        held = ", ".join(f"{name} = {label_of(value, 4)}" for name, value in self.at.items())
        title = f"Risk with {moved}" + (f", at {held}" if held else "") + f" ({self.draws:,} draws)"
        return title, [Part("", self.table)], []


def risk_change(
    models: Sequence[RiskModel],
    X: Matrix,
    offset: NDArray | float = 0.0,
    *,
    alpha: float = 0.05,
    draws: int = 10_000,
    rng: Any = None,
) -> pd.DataFrame:
    """Return the table of a :class:`RiskChange`, from the fit and those at the ends of a range of prevalences.

    The two rows of `X` are those before and after the change.
    """
    normal = normals(draws, len(models[0].covariance), rng)
    tables = [_change_table(model.draws(X, offset, normal), alpha) for model in models]
    table = tables[0]
    if len(tables) > 1:
        estimates = pd.concat([each["estimate"] for each in tables], axis=1)
        table["ci_lower"] = pd.concat([each["ci_lower"] for each in tables], axis=1).min(axis=1)
        table["ci_upper"] = pd.concat([each["ci_upper"] for each in tables], axis=1).max(axis=1)
        table["lowest"], table["highest"] = estimates.min(axis=1), estimates.max(axis=1)
    return table


def _change_table(risks: NDArray, alpha: float) -> pd.DataFrame:
    before, after = risks.T
    with np.errstate(divide="ignore", invalid="ignore"):
        quantities = {"before": before, "after": after, "difference": after - before, "ratio": after / before}
        rows = {
            name: (
                np.median(values) if name == "ratio" else values.mean(),
                values.std(),
                *np.quantile(values, [alpha / 2.0, 1.0 - alpha / 2.0]),
            )
            for name, values in quantities.items()
        }
    return pd.DataFrame.from_dict(rows, orient="index", columns=["estimate", "se", "ci_lower", "ci_upper"])


def normals(draws: int, k: int, rng: Any) -> NDArray:
    """Return standard normal vectors, each beside its opposite, so that their mean is exactly zero."""
    check_draws(draws)
    half = np.random.default_rng(rng).standard_normal((int(draws + 1) // 2, k))
    return np.vstack([half, -half])[:draws]
