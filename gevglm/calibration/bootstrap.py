"""Bootstrap intervals of indices that have no simple standard error: distances from calibration, average precision, parts of scores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from gevglm.calibration._cluster_cells import ClusterCells
from gevglm.calibration._logistic import LogisticBatch
from gevglm.calibration.bins import Groups, bin_edges, grouped, weighted_quantile
from gevglm.calibration.corp import decompositions
from gevglm.calibration.estimates import Measured
from gevglm.calibration.loess import loess_of_resamples
from gevglm.calibration.sample import Sample
from gevglm.calibration.smooth import SPANS, spline_columns, spline_knots

RESAMPLED_GROUPS = 400  # groups of neighbouring predictions that are resampled
FROM_ZERO = ("ICI", "E50", "E90", "Emax", "ECE, equal width", "ECE, equal mass", "miscalibration (Brier)",
             "miscalibration (log)")  # fmt: skip
SIGNED = ("average precision", "discrimination (Brier)", "discrimination (log)")  # errors of which have either sign
FEWEST = 0.9  # share of resamples with a value below which there is no interval
CLOSE = 1e-8  # Newton decrement, per observation, at which a curve counts as fitted

Curve = Callable[[NDArray], NDArray]  # from counts of shape (b, 2, groups) to fitted shares of shape (b, groups)


def bootstrap_intervals(
    sample: Sample,
    estimates: dict[str, float],
    *,
    method: str | None,
    bins: int,
    level: float,
    resamples: int,
    rng: int | np.random.Generator | None,
) -> dict[str, float]:
    r"""Return indices with bootstrap intervals.

    With :math:`\hat\theta` the index and :math:`\theta^*` that of a resample, the limits are the basic ones,
    :math:`2 \hat\theta - q_{1-\alpha/2}(\theta^*)` and :math:`2 \hat\theta - q_{\alpha/2}(\theta^*)`, but not below 0. A distance is larger than the true
    one by chance, and that of a resample is larger once more; by how much depends on the truth, so that basic limits alone are too low
    and percentiles alone too high. The limits of a distance are the outer ones of both. The lower
    limit of a distance from calibration is 0 also where outcomes drawn from the predictions themselves have as large a distance in more
    than :math:`\alpha/2` of the draws: calibration is then among the possibilities.

    Parameters
    ----------
    sample : Sample
    estimates : dict
        The indices, under the names of :func:`gevglm.calibration.assess`; those not known here stay unchanged.
    method : {"spline", "loess", None}
        Smoother behind ICI, E50, E90 and Emax; None if it cannot be resampled.
    bins : int
    level : float
    resamples : int
    rng : int or Generator, optional

    Returns
    -------
    dict
        The same names; :class:`~gevglm.calibration.estimates.Measured` where there is an interval.

    Notes
    -----
    Observations (whole clusters, where there are) are drawn with replacement, after neighbouring predictions have been put into at most 400
    groups; the knots of the spline and the edges of the bins stay. Outcomes drawn from the predictions themselves are correlated within
    clusters as the residuals are: each is, with a probability whose square is their intraclass correlation, decided by a number that its
    cluster has in common.
    """
    rng = np.random.default_rng(rng)
    groups = grouped(sample.p, sample.y, sample.weight, RESAMPLED_GROUPS)
    measures = [_binned_error(sample, groups, bins, by) for by in ("width", "mass")]
    measures += [_calibration_loss(sample, groups, bins), _average_precision, _isotonic_parts(groups)]
    if method is not None:
        measures.append(_smooth_distances(CURVES[method](sample, groups), groups))
    whole, drawn, null = (
        {name: values for measure in measures for name, values in measure(counts).items()}
        for counts in (
            np.stack([groups.events, groups.weight - groups.events])[None],
            *_resamples(sample, groups, resamples, rng),
        )
    )
    return {
        name: _interval(name, value, whole[name][0], drawn[name], null[name], level) if name in whole else value
        for name, value in estimates.items()
    }


def _resamples(sample: Sample, groups: Groups, resamples: int, rng: np.random.Generator) -> tuple[NDArray, NDArray]:
    """Counts of resamples of the data, and of outcomes drawn from the predictions; both of shape (resamples, 2, groups)."""
    if sample.groups is not None:
        cells = ClusterCells.of(sample, groups)
        return cells.drawn(resamples, rng), cells.calibrated(resamples, rng)
    total = round(sample.total)
    return (
        _drawn(groups.events, groups.weight - groups.events, total, resamples, rng),
        _drawn(groups.expected, groups.weight - groups.expected, total, resamples, rng),
    )


def _drawn(events: NDArray, others: NDArray, total: int, resamples: int, rng: np.random.Generator) -> NDArray:
    """Events and others of each group in each resample; shape (resamples, 2, groups)."""
    cells = np.concatenate([events, others])
    return rng.multinomial(total, cells / cells.sum(), size=resamples).reshape(resamples, 2, -1).astype(float)


def _interval(name: str, value: float, rough: float, drawn: NDArray, null: NDArray, level: float) -> float:
    """Interval by resamples, which are compared with the estimate from the same groups; the value alone if too few have one."""
    good = drawn[np.isfinite(drawn)]
    if not np.isfinite([value, rough]).all() or len(good) < FEWEST * len(drawn):
        return value
    below, above = np.quantile(good - rough, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    lower, upper = value - above, value - below
    if name not in SIGNED:
        lower, upper = min(lower, value + below), max(upper, value + above)
    if name in FROM_ZERO and rough <= np.nanquantile(null, (1.0 + level) / 2.0):
        lower = 0.0
    return Measured(value, good.std(ddof=1), max(lower, 0.0), max(upper, 0.0), level)


Measure = Callable[[NDArray], dict[str, NDArray]]  # from counts of shape (b, 2, groups)


def _binned_error(sample: Sample, groups: Groups, bins: int, by: str) -> Measure:
    index = np.searchsorted(bin_edges(sample, bins, by), groups.score, side="left")
    member = (index[:, None] == np.unique(index)).astype(float)

    def error(counts: NDArray) -> dict[str, NDArray]:
        events, weight = counts[:, 0], counts.sum(axis=1)
        return {f"ECE, equal {by}": np.abs((weight * groups.score - events) @ member).sum(axis=1) / weight.sum(axis=1)}

    return error


def _calibration_loss(sample: Sample, groups: Groups, bins: int) -> Measure:
    index = np.searchsorted(bin_edges(sample, bins, "width"), groups.score, side="left")
    member = (index[:, None] == np.unique(index)).astype(float)

    def loss(counts: NDArray) -> dict[str, NDArray]:
        weight = counts.sum(axis=1)
        total = weight @ member
        rate = np.divide(counts[:, 0] @ member, total, out=np.zeros_like(total), where=total > 0.0) @ member.T
        return {
            f"calibration loss, {bins} bins": (weight * (groups.score - rate) ** 2).sum(axis=1) / weight.sum(axis=1)
        }

    return loss


def _average_precision(counts: NDArray) -> dict[str, NDArray]:
    events, weight = counts[:, 0, ::-1], counts.sum(axis=1)[:, ::-1]
    found, seen = np.cumsum(events, axis=1), np.cumsum(weight, axis=1)
    precision = np.divide(found, seen, out=np.zeros_like(found), where=seen > 0.0)
    with np.errstate(invalid="ignore"):  # a resample without events has none
        return {"average precision": (events * precision).sum(axis=1) / found[:, -1]}


def _isotonic_parts(groups: Groups) -> Measure:
    def parts(counts: NDArray) -> dict[str, NDArray]:
        answers = np.full((len(counts), 2, 2), np.nan)
        for answer, own in zip(answers, counts, strict=True):
            used = own.sum(axis=0) > 0.0
            weight, score = own.sum(axis=0)[used], groups.score[used]
            if 0.0 < own[0].sum() < weight.sum():
                answer[:] = [(part.mcb, part.dsc) for part in decompositions(Groups(score, weight, own[0][used]))]
        names = [f"{part} ({score})" for score in ("Brier", "log") for part in ("miscalibration", "discrimination")]
        return dict(zip(names, answers.reshape(len(counts), -1).T, strict=True))

    return parts


def _smooth_distances(curve: Curve, groups: Groups) -> Measure:
    shares = np.array([0.5, 0.9])

    def distances(counts: NDArray) -> dict[str, NDArray]:
        weight, distance = counts.sum(axis=1), np.abs(curve(counts) - groups.score)
        seen = weight > 0.0
        e50, e90 = np.transpose(
            [weighted_quantile(d[s], w[s], shares) for d, w, s in zip(distance, weight, seen, strict=True)]
        )
        return {
            "ICI": (distance * weight).sum(axis=1) / weight.sum(axis=1),
            "E50": e50,
            "E90": e90,
            "Emax": np.where(seen, distance, 0.0).max(axis=1),
        }

    return distances


# -- the curve of each resample ----------------------------------------------------------------


def _spline_curve(sample: Sample, groups: Groups) -> Curve:
    columns = spline_columns(np.log(groups.score) - np.log1p(-groups.score), spline_knots(sample))

    def fitted(counts: NDArray) -> NDArray:
        weight = counts.sum(axis=1)
        start = np.zeros((len(counts), columns.shape[1]))
        start[:, 1] = 1.0
        batch = LogisticBatch(columns, weight, counts[:, 0] @ columns)
        params, good = batch.minimise(start, CLOSE * weight.sum(axis=1))
        return np.where(good[:, None], expit(params @ columns.T), np.nan)

    return fitted


def _loess_curve(sample: Sample, groups: Groups) -> Curve:
    smooth = loess_of_resamples(groups.score, groups.weight, span=SPANS["loess"])

    def fitted(counts: NDArray) -> NDArray:
        return smooth(counts[:, 0], counts.sum(axis=1))

    return fitted


CURVES = {"spline": _spline_curve, "loess": _loess_curve}
