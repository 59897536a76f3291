"""The bootstrap of an average over links: the whole procedure again on resamples, copies of an observation in one fold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gevglm.averaging.procedure import Average, Procedure
from gevglm.data.row_weights import RowWeights
from gevglm.engine.monitor import progress_bar
from gevglm.exceptions import GevglmError, InvalidDataError, InvalidOptionError, silenced
from gevglm.inference.folds import make_folds
from gevglm.links.base import BinaryLink
from gevglm.model import BinaryGLM

FAILED = 0.1  # share of the resamples that may fail


@dataclass(frozen=True)
class Mixture:
    """Links with their coefficients and weights: all that predicting needs."""

    links: tuple[BinaryLink, ...]  # to probabilities in the population
    params: NDArray  # of shape (m, k)
    weights: NDArray

    @classmethod
    def of(cls, average: Average) -> Mixture:
        """Return what an average predicts with."""
        fits = average.fits.values()
        links = tuple(fit.model.population_link for fit in fits)
        return cls(links, np.array([np.asarray(fit.params) for fit in fits]), average.weights)

    def risks(self, X: object, offset: NDArray | None) -> NDArray:
        """Return the average risks of rows."""
        linear = X @ self.params.T  # type: ignore[operator]
        total = np.zeros(len(linear))
        with np.errstate(all="ignore"):
            for j, (link, weight) in enumerate(zip(self.links, self.weights, strict=True)):
                total += weight * link.inverse(linear[:, j] + (0.0 if offset is None else offset))
        return np.minimum(total, 1.0)


def resampled(
    model: BinaryGLM,
    procedure: Procedure,
    folds: int,
    clusters: NDArray | None,
    resamples: int,
    rng: Any,
    progress: bool | None = False,
) -> list[Mixture]:
    """Return the averages of so many resamples of the observations, or of whole clusters."""
    if not isinstance(resamples, (int, np.integer)) or resamples < 2:
        raise InvalidOptionError(f"resamples={resamples!r} must be a whole number of at least 2.")
    if model.options.var_weights is not None:
        raise InvalidDataError("rows with var_weights cannot be resampled: what a row stands for is not known.")
    rows = RowWeights.of(model.design, groups=clusters)
    together = np.arange(model.design.n_rows) if clusters is None else clusters
    generator = np.random.default_rng(rng)
    found: list[Mixture] = []
    errors: list[GevglmError] = []
    for _ in progress_bar(range(int(resamples)), int(resamples), progress):
        try:
            part = rows.draw(model.design.y, generator).need_both_outcomes()
            with silenced():
                drawn = model.on_rows(part)
                # copies of an observation on both sides of a fold would be predicted by themselves
                groups = together[part.rows]
                split = make_folds(drawn.endog, folds, generator, counts=drawn.design.counts, groups=groups)
                found.append(Mixture.of(procedure.run(drawn, split)))
        except GevglmError as error:
            errors.append(error)
    if len(errors) > FAILED * resamples:
        raise GevglmError(f"{len(errors)} of {resamples} resamples could not be fitted; the first: {errors[0]}")
    return found
