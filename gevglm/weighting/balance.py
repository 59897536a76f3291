"""Where class weights come to rest, told from the probabilities of a learner that is not trained again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gevglm.weighting.classes import ClassSample

SWEEPS = (
    5  # over the rare classes, if there are several: the weight of one moves the errors that another is compared with
)


def balanced(
    probabilities: NDArray, sample: ClassSample, weights: NDArray, tradeoff: float, threshold: float
) -> NDArray:
    r"""Return the class weights at which every rare class is served: :math:`\epsilon_k < c\,\epsilon_0`, or below the threshold.

    A learner that is right under class weights w has, under weights w', odds that are multiplied by their ratio,

    .. math:: p'_k \propto p_k w'_k / w_k

    (:func:`gevglm.calibration.loss_corrected_multiclass`), so that its errors under any weights are known from its probabilities
    under some. For each rare class the smallest weight that serves it is found by sorting the rows by their odds.

    Parameters
    ----------
    probabilities : ndarray of shape (n, k)
        Those of a learner trained under `weights`, the main class first.
    sample : ClassSample
    weights : ndarray of shape (k,)
    tradeoff, threshold : float
        See :class:`~gevglm.weighting.AdaClassWeight`.
    """
    scores = np.log(np.maximum(probabilities, np.finfo(float).tiny))
    shift, present = np.zeros(len(weights)), np.flatnonzero(sample.sizes[1:] > 0.0) + 1
    for _ in range(SWEEPS if len(present) > 1 else 1):
        for rare in present.tolist():
            shift[rare] = _smallest_shift(
                scores + shift * (np.arange(len(shift)) != rare), rare, sample, tradeoff, threshold
            )
    return weights * np.exp(shift)


def _smallest_shift(scores: NDArray, rare: int, sample: ClassSample, tradeoff: float, threshold: float) -> float:
    """Return what is added to the scores of a class so that just enough of its rows are found."""
    others = np.delete(scores, rare, axis=1)
    rival = others.argmax(axis=1)
    margin = scores[:, rare] - others[np.arange(len(rival)), rival]
    own, main = sample.codes == rare, sample.codes == 0
    missed = main & (rival > 0)  # rows of the main class that another rare class takes
    order = np.argsort(-margin[own | (main & ~missed)])
    margins, mine, weight = ((values[own | (main & ~missed)])[order] for values in (margin, own, sample.weight))
    error = 1.0 - np.cumsum(weight * mine) / sample.sizes[rare]
    main_error = ((sample.weight * missed).sum() + np.cumsum(weight * ~mine)) / max(
        sample.sizes[0], np.finfo(float).tiny
    )
    served = (error < threshold) | (error < tradeoff * main_error)
    ends = np.append(margins[1:] < margins[:-1], True)  # rows with the same odds are on the same side
    places = np.flatnonzero(served & ends)
    last = int(places[0]) if len(places) else len(margins) - 1
    following = margins[last + 1] if last + 1 < len(margins) else margins[last] - 1.0
    return float(-0.5 * (margins[last] + following))
