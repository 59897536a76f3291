"""Gradient and second derivative of what is minimised, and the Newton step they lead to."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from math import isfinite
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gevglm.engine.arrow_cholesky import ArrowCholesky, factor_of, factored, inverted
from gevglm.engine.arrow_matrix import ArrowMatrix
from gevglm.engine.cholesky import COLLINEAR, LARGE_MATRIX, Cholesky

MOST_DAMPING = 1e10


class Sums(Protocol):
    """What Newton's iteration asks of the sums at a point, whatever shape their second derivatives have."""

    gradient: NDArray
    value: Any  # the loss itself, if it was asked for
    feasible: Any  # whether the loss is finite at every row

    @property
    def finite(self) -> bool:
        """Whether all of them are numbers."""

    def step(self) -> tuple[NDArray, float, bool]:
        """Return the Newton step, the decrement, and whether the second derivative had to be damped."""

    def release(self) -> None:
        """Give up what is large and not looked at again."""


@dataclass(slots=True)
class NewtonSums:
    """Sums of a loss over the rows at one set of coefficients; or at many, with a leading axis for them."""

    gradient: NDArray  # of shape (k,)
    hessian: Any  # second derivative or its expectation, dense or an arrow; of shape (k, k)
    value: Any = 0.0  # the loss itself, if it was asked for, else 0
    feasible: Any = True  # whether the loss is finite at every row
    _factor: Cholesky | ArrowCholesky | None = None

    @property
    def factor(self) -> Cholesky | ArrowCholesky:
        """The Cholesky factor of the Hessian, which does not change once it is asked for."""
        if self._factor is None:
            self._factor = factor_of(self.hessian)
        return self._factor

    @property
    def finite(self) -> bool:
        """Whether value, gradient and Hessian are numbers, at a feasible point."""
        if not (self.feasible and isfinite(self.value)):
            return False
        gradient, hessian = self.gradient, self.hessian
        if isinstance(hessian, ArrowMatrix):
            return hessian.finite and bool(np.isfinite(gradient).all())
        if isfinite(np.vdot(gradient, gradient) + np.vdot(hessian, hessian)):
            return True
        return bool(np.isfinite(gradient).all() and np.isfinite(hessian).all())  # squares overflow before numbers do

    def step(self) -> tuple[NDArray, float, bool]:
        """Return the step, the decrement, and whether the Hessian had to be damped (Levenberg)."""
        damping = 0.0
        while damping < MOST_DAMPING:
            with self.factored(damping) as factor:
                if factor.positive and factor.smallest_pivot >= COLLINEAR:
                    step = -factor.solve(self.gradient)
                    decrement = -float(self.gradient.dot(step))
                    return step, decrement if isfinite(decrement) else np.inf, damping > 0.0
            damping = max(10.0 * damping, 1e-10)
        return (
            np.zeros_like(self.gradient),
            np.inf,
            True,
        )  # no number, however large, helps against one that is not finite

    def release(self) -> None:
        """Give up the Hessian."""
        self.hessian = np.empty((0, 0))

    def factored(self, damping: float = 0.0) -> AbstractContextManager[Cholesky | ArrowCholesky]:
        """Provide the factor of the Hessian for some time: the one that is kept, or of a large or damped one another, without a copy."""
        kept = damping == 0.0 and len(self.hessian) < LARGE_MATRIX
        return nullcontext(self.factor) if kept else factored(self.hessian, damping)

    def inverted(self) -> Any:
        """Return the inverse of the Hessian; a large dense Hessian is gone: the inverse takes its place."""
        return self.factor.inverse() if len(self.hessian) < LARGE_MATRIX else inverted(self.hessian)
