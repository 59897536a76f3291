"""Coefficients along a ridge penalty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gevglm.display.brief import Brief
from gevglm.exceptions import InvalidOptionError

if TYPE_CHECKING:
    from gevglm.model import BinaryGLM

ALPHAS = tuple(np.geomspace(1e-2, 1e4, 25))


@dataclass(frozen=True, repr=False)
class PenaltyPath(Brief):
    """Coefficients, on their own scale, for a sequence of penalties.

    Attributes
    ----------
    frame : DataFrame
        One row per penalty (the index, increasing), one column per coefficient.
    constant : str or None
        The name of the constant, which the picture leaves out.
    """

    frame: pd.DataFrame
    constant: str | None = None

    def plot(self, ax=None):
        """Draw the coefficients against the penalty; see :func:`gevglm.plots.plot_path`."""
        from gevglm.plots import plot_path

        return plot_path(self.frame.drop(columns=self.constant or []), ax=ax)


def penalty_path(
    model: BinaryGLM,
    alphas: Sequence[float] = ALPHAS,
    *,
    penalize_intercept: bool = False,
    standardize: bool = False,
    tol: float = 1e-8,
    maxiter: int = 100,
) -> PenaltyPath:
    """Fit a model for a sequence of ridge penalties, each from the solution of the next larger one.

    Parameters
    ----------
    model : BinaryGLM
    alphas : sequence of float
    penalize_intercept, standardize, tol, maxiter
        See :meth:`gevglm.BinaryGLM.fit`.
    """
    if model.shape_choice is not None:
        raise InvalidOptionError("a path needs a fixed shape: give xi as a number.")
    penalties = np.unique(np.asarray(alphas, dtype=float))
    if not len(penalties):
        raise InvalidOptionError("there is no penalty to fit with: alphas is empty.")
    problem = model.problem(tol=tol, maxiter=maxiter)
    params = {}
    for alpha in penalties[::-1]:
        problem = replace(problem, penalty=model.penalty(float(alpha), penalize_intercept, standardize))
        found = problem.estimate()
        params[alpha] = found.params if found.converged else np.full(len(found.params), np.nan)
        if found.converged:
            problem = replace(problem, start=found.params)
    names = list(model.exog_names)
    frame = pd.DataFrame(params, index=names).T.sort_index().rename_axis("alpha")
    return PenaltyPath(frame, None if model.data.const_idx is None else names[model.data.const_idx])
