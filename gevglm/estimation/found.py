"""What an estimation finds: coefficients, and how they were found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from numpy.typing import NDArray

if TYPE_CHECKING:
    from gevglm.estimation.boundary import Boundary


@dataclass(frozen=True)
class Estimate:
    """Coefficients and how they were found."""

    params: NDArray  # of shape (k,)
    information: NDArray  # on each coefficient: expected second derivatives of the loss (plus penalty); of shape (k,)
    inverse_information: NDArray  # inverse of the matrix whose diagonal that is; of shape (k, k)
    # sum of the weights, of the weighted outcomes
    weight: float
    events: float
    # Newton steps, and passes over the rows (parts of passes not counted)
    n_iter: int
    n_passes: int
    decrement: float
    converged: bool
    positive_definite: bool  # whether the observed second derivative is, so that the solution is a minimum
    reason: str  # why the iteration ended
    # the smallest share of the null model's information on a column that `information` is; None if it was not looked at
    least_information: float | None = field(default=None, kw_only=True)
    boundary: Boundary | None = field(default=None, kw_only=True)  # if some rows are held at the end of the support
