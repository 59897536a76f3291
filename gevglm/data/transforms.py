"""Functions that formulas may use, and how the stateful ones among them learn from data piece by piece.

A stateful function follows the contract of patsy: ``memorize_chunk`` sees data, ``memorize_finish`` draws the conclusions,
``transform`` applies them. Those here also have ``merge``, which adds what another one has seen, so that pieces of the data
may be looked at in any place; a function without it needs all rows at once.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import patsy
import patsy.builtins

from gevglm.data import bases
from gevglm.data.expressions import MATHEMATICS
from gevglm.data.formula_engines import Reference, hashed
from gevglm.data.patsy_splines import BSplines, CubicRegressionSplines, CyclicSplines, TensorProducts


class Moments:
    """What ``center``, ``standardize`` and ``scale`` learn: the number of rows, their mean, and the sum of squared deviations from it."""

    def see(self, x: Any) -> None:
        """Look at the first rows."""
        x = np.asarray(x, dtype=float)
        self.count = len(x)
        self.mean, self.squares = x.mean(axis=0), x.var(axis=0) * len(x)

    def merge(self, other: dict[str, Any]) -> None:
        """Add the moments of other rows (Chan, Golub and LeVeque 1979)."""
        total = self.count + other["count"]
        change = other["mean"] - self.mean
        self.squares = self.squares + other["squares"] + change**2 * (self.count * other["count"] / total)
        self.mean = self.mean + change * (other["count"] / total)
        self.count = total


class Standardize(Moments):
    """``standardize(x)``, as in patsy but not row by row: less the mean, over the standard deviation, with n."""

    def memorize_chunk(self, x: Any, center: bool = True, rescale: bool = True, ddof: int = 0) -> None:
        self.see(x)
        self.ddof = ddof

    def memorize_finish(self) -> None:
        with np.errstate(divide="ignore", invalid="ignore"):
            self.deviation = np.sqrt(np.divide(self.squares, self.count - self.ddof))

    def transform(self, x: Any, center: bool = True, rescale: bool = True, ddof: int = 0) -> Any:
        x = x if isinstance(x, (pd.Series, pd.DataFrame)) else np.asarray(x)
        return (x - self.mean if center else x) / (self.deviation if rescale else 1.0)


class Scale(Moments):
    r"""``scale(x, center, scale)`` of R: less the mean, over the standard deviation, with n - 1.

    A number in place of True is taken as it is; around another centre a the divisor is :math:`\sqrt{\sum_i (x_i - a)^2 / (n - 1)}`, with a = 0
    without centring. ``ddof`` and ``rescale`` are the words of formulaic and patsy.
    """

    def memorize_chunk(self, x: Any, center: Any = True, scale: Any = True, ddof: int = 1, rescale: Any = True) -> None:
        self.see(x)
        self.given = center, scale if rescale is True else rescale, ddof

    def memorize_finish(self) -> None:
        center, scale, ddof = self.given
        self.center = self.mean if center is True else np.asarray(center, dtype=float)
        squares = self.squares + self.count * (self.mean - self.center) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            deviation = np.sqrt(np.divide(squares, self.count - ddof))
        self.divisor = deviation if scale is True else 1.0 if scale is False else np.asarray(scale, dtype=float)

    def transform(self, x: Any, *args: Any, **options: Any) -> Any:
        x = x if isinstance(x, (pd.Series, pd.DataFrame)) else np.asarray(x)
        return (x - self.center) / self.divisor


class Center(Moments):
    """``center(x)``, as in patsy: less the mean."""

    def memorize_chunk(self, x: Any) -> None:
        self.see(x)

    def memorize_finish(self) -> None:
        pass

    def transform(self, x: Any) -> Any:
        return (x if isinstance(x, (pd.Series, pd.DataFrame)) else np.asarray(x)) - self.mean


def is_stateful(function: Any) -> bool:
    """Whether a function remembers its first data."""
    return hasattr(function, "__patsy_stateful_transform__") or getattr(function, "__is_stateful_transform__", False)


def apply_stateful(function: Any, state: dict[str, Any], *args: Any, **options: Any) -> Any:
    """Call a stateful function of patsy or formulaic; what it learns is kept in `state`, and used if that is not empty."""
    kind = getattr(function, "__patsy_stateful_transform__", None)
    if kind is None:
        return function(*args, _state=state, **options)
    transform = kind()
    if state:
        vars(transform).update(state)
    else:
        transform.memorize_chunk(*args, **options)
        transform.memorize_finish()
        state.update(vars(transform))
    return transform.transform(*args, **options)


def in_patsy(value: Any) -> Any:
    """Return a stateful function of formulaic as one of patsy; others unchanged."""
    if not getattr(value, "__is_stateful_transform__", False):
        return value

    class Stateful:
        def __init__(self) -> None:
            self.state: dict[str, Any] = {}

        def memorize_chunk(self, *args: Any, **options: Any) -> None:
            value(*args, _state=self.state, **options)

        def memorize_finish(self) -> None:
            pass

        def transform(self, *args: Any, **options: Any) -> Any:
            result = value(*args, _state=self.state, **options)
            return np.column_stack(list(result.values())) if isinstance(result, dict) else np.asarray(result)

    return patsy.stateful_transform(Stateful)


def log(x: Any, base: float | None = None) -> Any:
    """Return logarithms, natural ones or to a base."""
    return np.log(x) if base is None else np.log(x) / np.log(base)


def factor(x: Any, levels: Any = None, labels: Any = None) -> Any:
    """Return a factor, with its levels in the order given: ``C(x, levels=...)``."""
    if labels is not None:
        raise ValueError("factor() keeps the names of the levels; rename them in the table, or leave labels= out")
    return patsy.builtins.C(x, levels=levels)


def relevel(x: Any, ref: Any) -> Any:
    """Return a factor with another level of reference, given by its name."""
    if not isinstance(ref, str):
        raise ValueError(
            f"relevel() is given {ref!r}, which R takes as a place among the levels; write the level as text, relevel(x, '{ref}'), "
            f"or C(x, Treatment({ref!r}))"
        )
    return patsy.builtins.C(x, Reference(ref))


def c(*values: Any) -> list[Any]:
    """Return values as a list."""
    return list(values)


def cbind(*columns: Any) -> Any:
    """Return columns side by side."""
    return np.column_stack(columns)


WORDS: dict[str, Any] = {
    **{name: getattr(patsy.builtins, name) for name in patsy.builtins.__all__ if name not in ("I", "Q")},
    **{name: getattr(np, name) for name in (*MATHEMATICS, "log2", "exp2")},
    **{function.__name__: function for function in (log, factor, relevel, c, cbind)},
    "TRUE": True,
    "FALSE": False,
    "Inf": np.inf,
    "I": lambda value: value,
    "exp10": lambda x: 10.0**x,
    "center": patsy.stateful_transform(Center),
    "standardize": patsy.stateful_transform(Standardize),
    "scale": patsy.stateful_transform(Scale),
    "bs": patsy.stateful_transform(BSplines),
    "cr": patsy.stateful_transform(CubicRegressionSplines),
    "cs": patsy.stateful_transform(CubicRegressionSplines),
    "cc": patsy.stateful_transform(CyclicSplines),
    "te": patsy.stateful_transform(TensorProducts),
    "ns": patsy.stateful_transform(bases.NaturalSplines),
    "rcs": patsy.stateful_transform(bases.RestrictedSplines),
    "poly": patsy.stateful_transform(bases.Polynomials),
    "cut": patsy.stateful_transform(bases.Intervals),
    "hashed": hashed,
    "contr": SimpleNamespace(
        treatment=lambda base=None: patsy.Treatment(base),
        SAS=lambda base=-1: patsy.Treatment(base),
        sum=patsy.Sum,
        helmert=patsy.Helmert,
        poly=patsy.Poly,
        diff=patsy.Diff,
    ),
}
