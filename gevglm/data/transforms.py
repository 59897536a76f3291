"""Functions that formulas may use, and how those that remember their first data learn from them piece by piece.

A function that remembers follows the contract of patsy: ``memorize_chunk`` sees data, ``memorize_finish`` draws the conclusions,
``transform`` applies them. Those here also have ``merge``, which adds what another one has seen, so that pieces of the data
may be looked at in any place; a function without it needs all rows at once.
"""

from __future__ import annotations

from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import patsy
import patsy.builtins
from patsy.mgcv_cubic_splines import CC, CR
from patsy.splines import BS
from scipy.interpolate import BSpline


class AllRowsNeeded(Exception):
    """A function cannot learn from pieces; the message says what to write instead."""


class Standardize:
    """``standardize(x)``, as in patsy but not row by row: less the mean, over the standard deviation."""

    def memorize_chunk(self, x: Any, center: bool = True, rescale: bool = True, ddof: int = 0) -> None:
        x = np.asarray(x, dtype=float)
        self.count, self.ddof = len(x), ddof
        self.mean, self.squares = x.mean(axis=0), x.var(axis=0) * len(x)

    def merge(self, other: dict[str, Any]) -> None:
        """Add the moments of other rows (Chan, Golub and LeVeque 1979)."""
        total = self.count + other["count"]
        change = other["mean"] - self.mean
        self.squares = self.squares + other["squares"] + change**2 * (self.count * other["count"] / total)
        self.mean = self.mean + change * (other["count"] / total)
        self.count = total

    def memorize_finish(self) -> None:
        with np.errstate(divide="ignore", invalid="ignore"):
            self.deviation = np.sqrt(np.divide(self.squares, self.count - self.ddof))

    def transform(self, x: Any, center: bool = True, rescale: bool = True, ddof: int = 0) -> Any:
        x = x if isinstance(x, (pd.Series, pd.DataFrame)) else np.asarray(x)
        return (x - self.mean if center else x) / (self.deviation if rescale else 1.0)


class Center(Standardize):
    """``center(x)``, as in patsy: less the mean."""

    def memorize_chunk(self, x: Any) -> None:
        super().memorize_chunk(x)

    def transform(self, x: Any) -> Any:
        return super().transform(x, rescale=False)


class Splines:
    """What splines have in common: with given knots they need to know no more than where the data begin and end."""

    _tmp: dict[str, Any]

    def remember_ends_only(self) -> None:
        """Keep the smallest and largest value of the rows seen, if more is not needed."""
        if not self.needs_quantiles(**self._tmp["args"]):
            x = np.concatenate(self._tmp["xs"])
            self._tmp["xs"] = [np.array([x.min(), x.max()])] if len(x) else [x]

    def merge(self, other: dict[str, Any]) -> None:
        """Add the ends of other rows."""
        if self.needs_quantiles(**self._tmp["args"]):
            raise AllRowsNeeded("places its knots by quantiles of all rows; give them as knots=[...]")
        self._tmp["xs"] = [*self._tmp["xs"], *other["_tmp"]["xs"]]
        self.remember_ends_only()


class BSplines(Splines, BS):
    """``bs(x)`` of patsy, with the ways of formulaic to go beyond the data: "clip", "na", "zero" and "extend"."""

    def memorize_chunk(self, x: Any, *args: Any, extrapolation: str = "raise", **options: Any) -> None:
        if extrapolation not in ("raise", "clip", "na", "zero", "extend"):
            raise ValueError(f"extrapolation={extrapolation!r} is not one of raise, clip, na, zero, extend")
        super().memorize_chunk(x, *args, **options)
        self.remember_ends_only()

    def needs_quantiles(self, df: Any, knots: Any, degree: int, include_intercept: bool, **bounds: Any) -> bool:
        """Whether there are knots to be placed."""
        return knots is None and df is not None and df > degree + bool(include_intercept)

    def transform(self, x: Any, *args: Any, extrapolation: str = "raise", **options: Any) -> Any:
        low, high = self._all_knots[[0, -1]]
        outside = np.asarray((x < low) | (x > high))
        if extrapolation == "raise" and outside.any():
            raise ValueError(
                f"{outside.sum()} values are outside the {low:g} to {high:g} of the spline; "
                "extrapolation='clip' or 'extend' allows them"
            )
        basis = np.array(super().transform(np.clip(x, low, high), *args, **options))
        if extrapolation == "extend" and outside.any():
            every = BSpline(self._all_knots, np.eye(len(self._all_knots) - self._degree - 1), self._degree)
            basis[outside] = every(np.asarray(x)[outside])[:, -basis.shape[1] :]
        elif extrapolation in ("na", "zero"):
            basis[outside] = np.nan if extrapolation == "na" else 0.0
        return basis


class CubicSplines(Splines):
    """What ``cr`` and ``cc`` of patsy add: a centred basis needs the mean over all rows."""

    def memorize_chunk(self, x: Any, *args: Any, **options: Any) -> None:
        super().memorize_chunk(x, *args, **options)
        self.remember_ends_only()

    def needs_quantiles(self, knots: Any, constraints: Any, **rest: Any) -> bool:
        """Whether there are knots to be placed, or a basis to be centred."""
        return knots is None or constraints is not None


class NaturalSplines(CubicSplines, CR):
    """``cr(x)`` of patsy."""


class CyclicSplines(CubicSplines, CC):
    """``cc(x)`` of patsy."""


def in_patsy(value: Any) -> Any:
    """Return a function of formulaic that remembers its first data as one that does so in patsy; others as they are."""
    if not getattr(value, "__is_stateful_transform__", False):
        return value

    class Memory:
        def __init__(self):
            self.state: dict[str, Any] = {}

        def memorize_chunk(self, *args, **options):
            value(*args, _state=self.state, **options)

        def memorize_finish(self):
            pass

        def transform(self, *args, **options):
            result = value(*args, _state=self.state, **options)
            return np.column_stack(list(result.values())) if isinstance(result, dict) else np.asarray(result)

    return patsy.stateful_transform(Memory)


WORDS: dict[str, Any] = {
    **{name: getattr(patsy.builtins, name) for name in patsy.builtins.__all__ if name not in ("I", "Q")},
    **{name: getattr(np, name) for name in ("log", "log2", "log10", "exp", "exp2")},
    "exp10": lambda x: 10.0**x,
    "center": patsy.stateful_transform(Center),
    "standardize": patsy.stateful_transform(Standardize),
    "scale": patsy.stateful_transform(Standardize),
    "bs": patsy.stateful_transform(BSplines),
    "cr": patsy.stateful_transform(NaturalSplines),
    "cs": patsy.stateful_transform(NaturalSplines),
    "cc": patsy.stateful_transform(CyclicSplines),
    "contr": SimpleNamespace(
        treatment=lambda base=None: patsy.Treatment(base),
        SAS=lambda base=-1: patsy.Treatment(base),
        sum=patsy.Sum,
        helmert=patsy.Helmert,
        poly=patsy.Poly,
        diff=patsy.Diff,
    ),
}
with suppress(ImportError):
    from formulaic.transforms import lag, poly

    WORDS |= {"lag": lag, "poly": poly}
