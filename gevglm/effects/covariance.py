"""Uncertainty of standardised risks by the bootstrap of the whole procedure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gevglm.data.observations import Part
from gevglm.data.row_weights import RowWeights
from gevglm.engine.monitor import progress_bar
from gevglm.exceptions import GevglmError, GevglmWarning, InvalidOptionError, warn


def bootstrap_risks(
    refits: Callable[[Iterable[Part]], Iterable[tuple[Part, Any]]],
    risks_of: Callable[[Part, Any], NDArray],
    y: NDArray,
    weights: RowWeights,
    draws: int,
    rng: Any,
    progress: bool,
) -> NDArray:
    """Return the risks by refits to resamples of the observations (of the clusters, if there are), one row per resample.

    `refits` goes from resamples to what was found on each, or an error; `risks_of` from the two to the risks.
    """
    risks, failures = [], []
    generators = np.random.default_rng(rng).spawn(int(draws))
    found = refits(weights.draw(y, generator) for generator in generators)
    for drawn, again in progress_bar(found, int(draws), progress):
        if isinstance(again, GevglmError):
            failures.append(again)
        else:
            risks.append(risks_of(drawn, again))
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
