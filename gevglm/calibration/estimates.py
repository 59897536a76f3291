"""The two kinds of answers that are more than a number: a number with its interval, and a test."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, norm

from gevglm.exceptions import InvalidOptionError


class Measured(float):
    """A number with its standard error and confidence limits; in any computation, the number.

    Parameters
    ----------
    value, se, lower, upper : float
    level : float
        Coverage of the limits.
    """

    __slots__ = ("level", "lower", "se", "upper")

    se: float
    lower: float
    upper: float
    level: float

    def __new__(cls, value: float, se: float, lower: float, upper: float, level: float = 0.95) -> Measured:
        number = super().__new__(cls, value)
        number.se, number.lower, number.upper, number.level = float(se), float(lower), float(upper), float(level)
        return number

    @classmethod
    def normal(cls, value: float, se: float, level: float = 0.95) -> Measured:
        """Return a number with the limits of a normal distribution around it."""
        reach = norm.isf((1.0 - checked_level(level)) / 2.0) * se
        return cls(value, se, value - reach, value + reach, level)

    @property
    def interval(self) -> tuple[float, float]:
        """The confidence limits."""
        return self.lower, self.upper

    def __getnewargs__(self) -> tuple[float, ...]:  # type: ignore[override]  # more than a float has
        return float(self), self.se, self.lower, self.upper, self.level

    def __repr__(self) -> str:
        value = 0.0 if abs(self) < 1e-12 * self.se else float(self)
        return f"{value:.6g} (se {self.se:.4g}, {100 * self.level:g} % interval {self.lower:.6g} to {self.upper:.6g})"


@dataclass(frozen=True)
class CalibrationTest:
    """A test of calibration.

    Attributes
    ----------
    name : str
    statistic : float
    pvalue : float
    df : float
        Degrees of freedom of the chi-squared distribution; 1 for a statistic that is normal, whose square it is.
    null : str
        What is tested, in words.
    """

    name: str
    statistic: float
    pvalue: float
    df: float
    null: str = ""

    def __repr__(self) -> str:
        tested = f"; tested: {self.null}" if self.null else ""
        return f"{self.name}: statistic {self.statistic:.6g}, df {self.df:g}, p-value {self.pvalue:.4g}{tested}"


def where_from(in_sample: bool) -> str:
    """Return in words whether predictions were fitted to the data they are judged by, which tests have to know."""
    return "predictions fitted to these data" if in_sample else "predictions not fitted to these data"


def checked_level(level: float, name: str = "level") -> float:
    """Return the coverage of an interval if it is one."""
    if not (isinstance(level, Real) and 0.0 < level < 1.0):
        raise InvalidOptionError(f"{name}={level!r} is not a coverage; give a number between 0 and 1, such as 0.95.")
    return float(level)


def wilson_limits(events: NDArray, total: NDArray, level: float = 0.95) -> tuple[NDArray, NDArray]:
    r"""Return Wilson's limits of a share.

    .. math:: \frac{\hat p + z^2/2n \mp z \sqrt{\hat p (1 - \hat p)/n + z^2/4n^2}}{1 + z^2/n}
    """
    z = norm.isf((1.0 - checked_level(level)) / 2.0)
    rate, spread = events / total, z**2 / total
    center, reach = rate + spread / 2.0, z * np.sqrt(rate * (1.0 - rate) / total + spread / (4.0 * total))
    lower, upper = (center - reach) / (1.0 + spread), (center + reach) / (1.0 + spread)
    return np.where(events == 0.0, 0.0, lower), np.where(events == total, 1.0, upper)


def poisson_limits(events: NDArray, level: float = 0.95) -> tuple[NDArray, NDArray]:
    r"""Return the exact limits of the mean of a Poisson distribution, :math:`\chi^2_{2x, \alpha/2}/2` and :math:`\chi^2_{2x+2, 1-\alpha/2}/2`."""
    tail = (1.0 - checked_level(level)) / 2.0
    lower = np.where(events > 0.0, chi2.ppf(tail, 2.0 * np.maximum(events, 1.0)), 0.0) / 2.0
    return lower, chi2.isf(tail, 2.0 * events + 2.0) / 2.0
