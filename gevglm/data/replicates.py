"""Replicate weights of a survey: which columns they are, what is wrong with them, and the variance that follows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.linalg import qr

from gevglm.data.tables import column, vector
from gevglm.exceptions import InvalidDataError, InvalidOptionError

if TYPE_CHECKING:
    from gevglm.data.survey import Survey

INDEPENDENT = 1e-5  # share of its length from which a column of replicate weights counts


@dataclass(frozen=True)
class SampleReplicates:
    """Replicate weights of the rows of a design."""

    weights: NDArray  # of shape (n, R)
    factors: NDArray  # of squared deviations, of shape (R,)
    kind: str
    mse: bool

    @property
    def n_rows(self) -> int:
        """The rows of the design."""
        return len(self.weights)

    @cached_property
    def df(self) -> int:
        """The rank of the replicate weights minus one."""
        diagonal = np.abs(np.diagonal(qr(self.weights, mode="r", pivoting=True)[0]))
        return int((diagonal > INDEPENDENT * diagonal[0]).sum()) - 1

    def taken(self, positions: NDArray) -> SampleReplicates:
        """Return the replicate weights of some of the rows."""
        return replace(self, weights=self.weights[positions])

    def relative_to(self, weights: NDArray) -> SampleReplicates:
        """Return the replicates as factors of sampling weights."""
        factors = np.divide(self.weights, weights[:, None], out=np.zeros_like(self.weights), where=weights[:, None] > 0)
        return replace(self, weights=factors)

    def variance(self, estimates: NDArray, center: NDArray) -> NDArray:
        """Return the variance of estimates from those with replicate weights, one row each; around `center`, or their mean."""
        if not self.mse:
            center = estimates[self.factors > 0].mean(axis=0)
        deviations = np.sqrt(self.factors)[:, None] * (estimates - center)
        return deviations.T @ deviations


def replicates_of(given: Survey, frame: pd.DataFrame | None, n: int) -> SampleReplicates:
    """Return the replicate weights of the rows of a table, or of arrays of n rows, or say what is wrong with them."""
    names = None if frame is None else names_of_replicates(given, frame.columns)
    if names is not None and frame is not None:
        if not names:
            raise InvalidDataError(f"no column of the data matches replicates={given.replicates!r}.")
        weights = np.column_stack([_numbers(column(frame, name, "replicates"), name) for name in names])
    else:
        weights = _numbers(given.replicates, "replicates")
    if weights.ndim != 2 or len(weights) != n or weights.shape[1] < 2:
        raise InvalidDataError(
            f"replicates has shape {weights.shape}; for {n} rows it has {n} rows and two or more columns."
        )
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        raise InvalidDataError(
            f"replicate weights must be finite and not negative, but {int(wrong.sum())} are not (the first is {weights[wrong][0]:g}, in "
            f"replicate {int(np.argmax(wrong.any(axis=0))) + 1})."
        )
    _check_combined(weights, _numbers(vector(given.weights, frame, "weights of the survey", n), "weights"))
    number = weights.shape[1]
    scales = {"JK1": (number - 1) / number, "JKn": 1.0, "BRR": 1.0 / number, "bootstrap": 1.0 / (number - 1)}
    scales["Fay"] = 1.0 / (number * (1.0 - float(given.rho or 0.0)) ** 2)
    kind = str(given.kind)
    factors = (scales[kind] if given.scale is None else given.scale) * _factors(given.rscales, number)
    if not (np.isfinite(factors) & (factors >= 0.0)).all() or not factors.any():
        raise InvalidOptionError(
            f"scale and rscales are factors of squared deviations, and not negative nor all zero; their products are {factors.min():g} to {factors.max():g}."
        )
    return SampleReplicates(weights, factors, kind, given.mse)


def names_of_replicates(given: Survey, columns: Iterable[Any]) -> list[str] | None:
    """Return the columns of replicate weights, those of a pattern as far as a table has them; None where they are no names."""
    names = given.replicates
    if isinstance(names, str):
        return [name for name in columns if fnmatch(str(name), names)]
    return list(names) if isinstance(names, Iterable) and all(isinstance(name, str) for name in names) else None


def _factors(rscales: Any, number: int) -> NDArray:
    each = np.ones(number) if rscales is None else np.asarray(rscales, dtype=float)
    if each.ndim and each.shape != (number,):
        raise InvalidOptionError(
            f"rscales has {each.size} numbers for {number} replicates; give one for each, or one for all."
        )
    return np.broadcast_to(each, (number,))


def _numbers(values: Any, name: str) -> NDArray:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InvalidDataError(f"the weights {name!r} of the survey are not numbers.") from None


def _check_combined(replicates: NDArray, weights: NDArray) -> None:
    """Refuse replicates that are factors of the sampling weights, and not weights: in the mean they add up to other totals."""
    used = weights > 0
    total, of_replicates = float(weights[used].sum()), float(replicates[used].sum(axis=0).mean())
    if used.any() and not total / 2.0 < of_replicates < 2.0 * total:
        raise InvalidDataError(
            f"replicate weights add up to {of_replicates:.6g} in the mean, but the sampling weights to {total:.6g}: replicates that are factors of the "
            "sampling weights have to be multiplied by them first."
        )
