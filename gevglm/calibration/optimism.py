"""Honest numbers from the data a model was fitted to: bootstrap optimism and cross-validated predictions, refitting everything."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit
from statsmodels.iolib.summary import Summary

from gevglm.calibration._summary_table import summary_table
from gevglm.calibration.bins import PICTURE_GROUPS, Groups, grouped
from gevglm.calibration.corp import reliability
from gevglm.calibration.cox import cox_calibration
from gevglm.calibration.metrics import all_indices
from gevglm.calibration.sample import checked_groups, predictions, vector
from gevglm.calibration.sample import scores as checked_outcomes
from gevglm.calibration.smooth import curve_grid, integrated_calibration
from gevglm.data.observations import Part
from gevglm.data.row_weights import RowWeights
from gevglm.display.brief import Summarised
from gevglm.engine.monitor import progress_bar
from gevglm.exceptions import GevglmError, GevglmWarning, InvalidDataError, InvalidOptionError, warn, whole_number
from gevglm.inference.folds import make_folds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAXIMUM = "Emax"
NOTE = "Emax, a maximum, is not corrected: its difference between resamples and data is noise at the ends of the calibration curve, and no optimism."

Fit = Callable[[Any, NDArray], Any]
Assessed = tuple[dict[str, float], NDArray]
Item = TypeVar("Item")


@dataclass(frozen=True, repr=False)
class Optimism(Summarised):
    """Indices corrected for having been computed on the data of the fit.

    Attributes
    ----------
    frame : DataFrame
        One row per index: ``apparent`` (on the data of the fit), ``training`` and ``test`` (means of the refits on their own resample
        and on the original data), ``optimism`` (their difference), ``corrected`` (apparent less optimism). The last two are missing for Emax, see
        :func:`gevglm.calibration.bootstrap_optimism`.
    curve : DataFrame
        The smooth calibration curve, ``apparent`` and ``corrected`` (on the scale of log-odds, so that it stays between 0 and 1), by
        predicted probability, which is the index; missing where fewer than half of the refits have predictions.
    groups : Groups
        Neighbouring predictions of the fit put together, for pictures.
    resamples : int
        Refits behind it.
    failed : int
        Refits left out because they failed.
    clusters : int or None
        Clusters that were drawn as a whole; None if observations were drawn.
    """

    frame: pd.DataFrame
    curve: pd.DataFrame
    groups: Groups
    resamples: int
    failed: int
    clusters: int | None = None

    def summary_frame(self) -> pd.DataFrame:
        """Return the table."""
        return self.frame

    def summary(self) -> Summary:
        """Summarise."""
        drawn = "observations" if self.clusters is None else f"{self.clusters} clusters"
        facts = {"Resamples": str(self.resamples), "Drawn": drawn, "Failed": str(self.failed)}
        return summary_table("Optimism by bootstrap", facts, self.frame, [NOTE] if MAXIMUM in self.frame.index else [])

    def plot(self, ax: Axes | None = None, scale: str | None = None) -> Axes:
        """Draw the apparent and the corrected calibration curve; see :func:`gevglm.calibration.plot_optimism`."""
        from gevglm.plots.calibration import plot_optimism

        return plot_optimism(self, ax=ax, scale=scale)

    def __str__(self) -> str:
        return str(self.summary())

    def _in_a_line(self) -> str:
        drawn = "observations" if self.clusters is None else f"{self.clusters} clusters"
        return f"{self.resamples} resamples of {drawn}, {len(self.frame)} indices corrected"


def performance(y: ArrayLike, p: ArrayLike, weights: ArrayLike | None = None) -> dict[str, float]:
    """Return the indices that are corrected for optimism by default: those of :func:`assess`."""
    sample = predictions(y, p, weights)
    data = sample.y, sample.p, sample.weight
    found = all_indices(sample, cox_calibration(*data), integrated_calibration(*data), reliability(*data))
    return {name: float(value) for name, value in found.items()}


def bootstrap_optimism(
    fit: Fit,
    data: Any,
    y: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    indices: Callable[[NDArray, NDArray], dict[str, float]] = performance,
    resamples: int = 200,
    rng: int | np.random.Generator | None = None,
    workers: int = 1,
    progress: bool = False,
) -> Optimism:
    r"""Correct indices of a model for optimism by refitting it to resamples of its data.

    .. math:: \text{corrected} = I(D, D) - \frac 1B \sum_b \left( I(D_b, D_b) - I(D_b, D) \right)

    with :math:`I(F, E)` the index on data E of the model fitted to data F.

    Parameters
    ----------
    fit : callable
        ``fit(data, y)`` runs the whole procedure on rows of the data, choices made by looking at them included, and returns a
        function of data that gives probabilities, or an object with ``predict_proba`` (scikit-learn) or ``predict``.
    data : DataFrame or ndarray
        One row per observation.
    y : array_like
        Outcomes, 0 or 1.
    weights : array_like, optional
        Whole numbers: how many observations each row stands for. Single observations are drawn, and rows repeated as often.
    groups : array_like, optional
        Cluster of each row; whole clusters are then drawn, as ``rms::validate(cluster=)`` does.
    indices : callable
        ``indices(y, p)``, from names to numbers.
    resamples : int
    rng : int or Generator, optional
        Seed; the answer does not depend on `workers`.
    workers : int
        Threads.
    progress : bool
        Show a bar, if tqdm is installed.

    Returns
    -------
    Optimism

    Warns
    -----
    GevglmWarning
        If refits failed, for example because a resample had no events.

    Notes
    -----
    Means over rows (scores, ICI) and quantiles in the midst of them (E50, E90) are corrected. Emax is not: the largest distance from the calibration curve
    is that of the noise at the ends of the curve, larger in a resample, with its repeated rows, than in the data; the difference is no bias of the
    model, and taking it away leaves less than the mean distance, or less than nothing.

    References
    ----------
    Harrell, Lee and Mark (1996), Statistics in Medicine 15, 361-387 (rms::validate).
    """
    y = _outcomes(y, data)
    counts = None if weights is None else _whole(weights, len(y))
    rows = RowWeights(len(y), freq=counts, groups=checked_groups(groups, len(y)))

    def repeated(part: Part) -> NDArray:
        return np.repeat(np.arange(len(y)), np.rint(np.asarray(part.counts)).astype(int))

    def refit(part: Part) -> tuple[Part, NDArray | GevglmError]:
        try:
            chosen = repeated(part.need_both_outcomes())
            return part, _predicted(fit(_taken(data, chosen), y[chosen]), data)
        except GevglmError as error:
            return part, error

    def unpacked(part: Part, p: NDArray) -> tuple[NDArray, NDArray]:
        chosen = repeated(part)
        return y[chosen], p[chosen]

    options: dict[str, Any] = {"resamples": resamples, "rng": rng, "workers": workers, "progress": progress}
    return optimism_of(lambda parts: mapped(refit, parts, workers), unpacked, indices, y, rows, **options)


def optimism_of(
    refits: Callable[[Iterable[Part]], Iterator[tuple[Part, NDArray | GevglmError]]],
    unpacked: Callable[[Part, NDArray], tuple[Any, ...]],
    indices: Callable[..., dict[str, float]],
    y: NDArray,
    rows: RowWeights,
    *,
    resamples: int,
    rng: Any,
    workers: int,
    progress: bool,
) -> Optimism:
    """Correct indices for optimism, whatever is refitted.

    `refits` goes from parts of the observations to the predictions for all rows by a fit to each, or an error; `unpacked` to outcomes, predictions and (if there are
    any) weights of a part, `y` the outcomes of the rows or their shares of events, and `rows` what they stand for.
    """
    resamples, workers = whole_number("resamples", resamples, 2), whole_number("workers", workers, 1)
    events = rows.observations * y
    whole = Part.of(events, rows.observations - events).need_both_outcomes()
    [(_, p)] = refits([whole])
    if isinstance(p, GevglmError):
        raise p
    grid = curve_grid(p[whole.rows])

    def assessed(part: Part, p: NDArray) -> Assessed:
        sample = unpacked(part, p)
        return indices(*sample), _curve(sample, grid)

    def looked_at(refitted: tuple[Part, NDArray | GevglmError]) -> tuple[Assessed, Assessed] | GevglmError:
        part, predicted = refitted
        if isinstance(predicted, GevglmError):
            return predicted
        try:
            return assessed(part, predicted), assessed(whole, predicted)
        except GevglmError as error:
            return error

    apparent, curve = assessed(whole, p)
    generators = np.random.default_rng(rng).spawn(resamples)
    refitted = refits(rows.draw(y, generator) for generator in generators)
    answers = list(progress_bar(mapped(looked_at, refitted, workers), resamples, progress))
    good = [answer for answer in answers if not isinstance(answer, GevglmError)]
    errors = [answer for answer in answers if isinstance(answer, GevglmError)]
    if not good:
        raise InvalidDataError(f"all {resamples} refits failed; the first because {errors[0]}")
    if errors:
        warn(
            f"{len(errors)} of {resamples} refits failed and are left out; the first because {errors[0]}", GevglmWarning
        )
    gained = pd.DataFrame([on_resample[1] - on_data[1] for on_resample, on_data in good])
    corrected = expit(curve - gained.mean().where(gained.notna().mean() >= 0.5))
    curves = pd.DataFrame({"apparent": expit(curve), "corrected": corrected.to_numpy()}, index=grid)
    groups = grouped(p[whole.rows], y[whole.rows], rows.observations[whole.rows], PICTURE_GROUPS)
    clusters = None if rows.clusters is None else len(rows.clusters.keys)
    return Optimism(_corrected_indices(apparent, good), curves, groups, len(good), len(errors), clusters)


def _corrected_indices(apparent: dict[str, float], refits: list[tuple[Assessed, Assessed]]) -> pd.DataFrame:
    """Return the table of indices, corrected by those of each refit on its own resample and on the original data."""
    training, test = (pd.DataFrame([pair[i][0] for pair in refits]) for i in (0, 1))
    optimism = (training - test).mean()
    optimism[optimism.index == MAXIMUM] = np.nan
    frame = pd.DataFrame({"apparent": apparent, "training": training.mean(), "test": test.mean(), "optimism": optimism})
    return frame.assign(corrected=frame["apparent"] - frame["optimism"])


def _curve(sample: tuple[Any, ...], grid: NDArray) -> NDArray:
    """Log-odds of the smooth calibration curve on a grid: missing beyond the predictions, and everywhere if there is none."""
    try:
        curve = integrated_calibration(*sample).curve
    except GevglmError:
        return np.full(len(grid), np.nan)
    return np.interp(grid, curve.x, logit(curve.fitted), left=np.nan, right=np.nan)


def cross_validated(
    fit: Fit,
    data: Any,
    y: ArrayLike,
    *,
    folds: Any = 10,
    groups: ArrayLike | None = None,
    rng: int | np.random.Generator | None = None,
    workers: int = 1,
    progress: bool = False,
) -> NDArray:
    """Return the prediction of each row by a model fitted to the other folds.

    Parameters
    ----------
    fit, data, y, rng, workers, progress
        See :func:`bootstrap_optimism`.
    folds : int, splitter, boolean array or iterable of (train, test)
        Number of folds, of which each has its share of the events; or see :func:`gevglm.inference.folds.make_folds`. No row may be held out
        twice.
    groups : array_like, optional
        Cluster of each row; folds keep them together.

    Returns
    -------
    ndarray of shape (n,)
        To be given to :func:`assess`; missing for rows that no fold holds out.
    """
    y, workers = _outcomes(y, data), whole_number("workers", workers, 1)
    pairs = make_folds(y, folds, rng, groups=checked_groups(groups, len(y)), each_outcome=False).refuse_repeats()

    def held_out(pair: tuple[NDArray, NDArray]) -> NDArray:
        inside, outside = (np.flatnonzero(rows) for rows in pair)
        return _predicted(fit(_taken(data, inside), y[inside]), _taken(data, outside))

    predicted = np.full(len(y), np.nan)
    answers = progress_bar(mapped(held_out, pairs, workers), len(pairs), progress)
    for (_, held), values in zip(pairs, answers, strict=True):
        predicted[held] = values
    return predicted


def _outcomes(y: ArrayLike, data: Any) -> NDArray:
    y = checked_outcomes(y, np.zeros(np.size(y))).need_both_outcomes("resampling").y
    if len(data) != len(y):
        raise InvalidDataError(f"data has {len(data)} rows, but y has {len(y)}.")
    return y


def _whole(weights: ArrayLike, n: int) -> NDArray:
    weight = vector(weights, "weights")
    if len(weight) != n:
        raise InvalidDataError(f"weights has {len(weight)} rows, but y has {n}.")
    wrong = (weight != np.rint(weight)) | (weight < 0.0)
    if wrong.any():
        raise InvalidDataError(
            f"observations cannot be drawn by weights that are not whole numbers; {int(wrong.sum())} of {n} are not "
            f"(the first is {weight[wrong][0]:g})."
        )
    return weight.astype(int)


def _taken(data: Any, rows: NDArray) -> Any:
    return data.iloc[rows] if hasattr(data, "iloc") else data[rows]


def _predicted(model: Any, data: Any) -> NDArray:
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(data), dtype=float)[:, 1]
    if not (hasattr(model, "predict") or callable(model)):
        raise InvalidOptionError(
            f"fit returned {model!r}, which cannot predict; it must return a function of data, or an object with predict_proba or predict."
        )
    return np.asarray(model.predict(data) if hasattr(model, "predict") else model(data), dtype=float)


def mapped(function: Callable[[Item], Any], items: Iterable[Item], workers: int) -> Iterator[Any]:
    """Yield the values of a function, computed by so many threads, in the order of the items, which are taken as they are needed."""
    if workers == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[Future] = deque()
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
