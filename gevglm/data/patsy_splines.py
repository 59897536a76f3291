"""Splines of patsy, which learn from data piece by piece, with R's names of arguments and formulaic's ways beyond the data."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from patsy.mgcv_cubic_splines import CC, CR, TE
from patsy.splines import BS
from scipy.interpolate import BSpline


class Splines:
    """What splines have in common: where the knots are given, no more is kept of the data than where they begin and end."""

    _tmp: dict[str, Any]

    def memorize_chunk(self, x: Any, *args: Any, **options: Any) -> None:
        cast(Any, super()).memorize_chunk(x, *args, **options)
        self.keep_ends_only()

    def needs_all_values(self, args: dict[str, Any]) -> bool:
        """Whether more than the ends of the data is needed: knots to be placed, or a basis to be centred by the mean over all rows."""
        return args["knots"] is None or args.get("constraints") is not None

    def keep_ends_only(self) -> None:
        """Keep the smallest and largest value of the rows seen, if more is not needed."""
        if not self.needs_all_values(self._tmp["args"]):
            x = np.concatenate(self._tmp["xs"])
            self._tmp["xs"] = [np.array([x.min(), x.max()])] if len(x) else [x]

    def merge(self, other: dict[str, Any]) -> None:
        """Add what was seen of other rows."""
        self._tmp["xs"] = [*self._tmp["xs"], *other["_tmp"]["xs"]]
        self.keep_ends_only()


class BSplines(Splines, BS):
    """``bs(x)`` of patsy, whose knots and columns are R's, with R's names of arguments besides its own.

    It has the ways of formulaic to go beyond the data: "clip", "na", "zero" and "extend".
    """

    def memorize_chunk(self, x: Any, *args: Any, extrapolation: str = "raise", **options: Any) -> None:
        if extrapolation not in ("raise", "clip", "na", "zero", "extend"):
            raise ValueError(f"extrapolation={extrapolation!r} is not one of raise, clip, na, zero, extend")
        super().memorize_chunk(x, **_in_words_of_patsy(args, options))

    def needs_all_values(self, args: dict[str, Any]) -> bool:
        df = args["df"]
        return args["knots"] is None and df is not None and df > args["degree"] + bool(args["include_intercept"])

    def transform(self, x: Any, *args: Any, extrapolation: str = "raise", **options: Any) -> Any:
        low, high = self._all_knots[[0, -1]]
        outside = np.asarray((x < low) | (x > high))
        if extrapolation == "raise" and outside.any():
            raise ValueError(
                f"{outside.sum()} values are outside the {low:g} to {high:g} of the spline; "
                "extrapolation='clip' or 'extend' allows them"
            )
        basis = np.array(super().transform(np.clip(x, low, high), **_in_words_of_patsy(args, options)))
        if extrapolation == "extend" and outside.any():
            every = BSpline(self._all_knots, np.eye(len(self._all_knots) - self._degree - 1), self._degree)
            basis[outside] = every(np.asarray(x)[outside])[:, -basis.shape[1] :]
        elif extrapolation in ("na", "zero"):
            basis[outside] = np.nan if extrapolation == "na" else 0.0
        return basis


class CubicRegressionSplines(Splines, CR):
    """``cr(x)`` of patsy."""


class CyclicSplines(Splines, CC):
    """``cc(x)`` of patsy."""


class TensorProducts(TE):
    """``te()`` of patsy: products of the columns of bases; of plain columns it would be no more than their interaction."""

    def memorize_chunk(self, *args: Any, **options: Any) -> None:
        plain = sum(np.ndim(arg) < 2 for arg in args)
        if plain:
            raise ValueError(
                "te() multiplies bases, as in te(cr(x, df=4), cr(z, df=4)), and is given a plain column; penalised smooths of "
                "mgcv are not fitted here, and the product of two columns is x:z"
            )
        super().memorize_chunk(*args, **options)


def _in_words_of_patsy(args: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of R's bs() after the first under the names that they have in patsy's."""
    names = ("df", "knots", "degree", "include_intercept", "lower_bound", "upper_bound")
    renamed = dict(zip(names, args, strict=False)) | options
    if "intercept" in renamed:
        renamed["include_intercept"] = bool(renamed.pop("intercept"))
    if (ends := renamed.pop("Boundary_knots", None)) is not None:
        renamed["lower_bound"], renamed["upper_bound"] = sorted(ends)
    if renamed.get("knots") is not None:
        renamed["knots"] = np.atleast_1d(renamed["knots"])
    elif renamed.get("df") is None:
        renamed["knots"] = np.zeros(0)
    return renamed
