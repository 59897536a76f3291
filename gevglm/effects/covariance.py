"""Uncertainty of standardised risks by the bootstrap of the whole procedure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gevglm.data.observations import Part
from gevglm.data.row_weights import RowWeights
from gevglm.engine.monitor import progress_bar
from gevglm.exceptions import GevglmError, GevglmWarning, InvalidOptionError, warn


def bootstrap_risks(
    risks_of: Callable[[Part], NDArray], y: NDArray, weights: RowWeights, draws: int, rng: Any, progress: bool
) -> NDArray:
    """Return the risks by refits to resamples of the observations (of the clusters, if there are), one row per resample."""
    risks, failures = [], []
    for generator in progress_bar(np.random.default_rng(rng).spawn(int(draws)), int(draws), progress):
        try:
            risks.append(risks_of(weights.draw(y, generator).need_both_outcomes()))
        except GevglmError as error:
            failures.append(error)
    if failures:
        message = f"{len(failures)} of {draws} refits failed and are left out; the first because {failures[0]}"
        if len(risks) < 2:
            raise GevglmError(message)
        warn(message, GevglmWarning)
    return np.array(risks)


def check_draws(draws: int) -> None:
    """Refuse a number of resamples that has no standard deviation."""
    if isinstance(draws, bool) or not isinstance(draws, (int, np.integer)) or draws < 2:
        raise InvalidOptionError(f"draws={draws!r} must be a whole number of at least 2.")
