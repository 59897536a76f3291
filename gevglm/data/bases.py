"""Splines, polynomials and intervals of one column with R's knots and R's numbers: ``ns``, ``rcs``, ``poly`` and ``cut``."""

from __future__ import annotations

import itertools
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.interpolate import BSpline

from gevglm.data.column_values import FromAllValues, ValueCounts


class NaturalSplines(FromAllValues):
    r"""``ns(x, df, knots, intercept, Boundary_knots)`` of R's splines: cubic between the knots, linear beyond the outer ones.

    Cubic B-splines :math:`B` whose second derivative vanishes at both ends: with the full QR decomposition
    :math:`[B''(a), B''(b)] = QR`, the basis is :math:`B Q_{3:}`.
    """

    name = "ns"
    arguments = {"df": None, "knots": None, "intercept": False, "Boundary_knots": None}

    def learn(self, seen: ValueCounts, df: Any, knots: Any, intercept: Any, Boundary_knots: Any) -> None:
        self.ends = seen.ends if Boundary_knots is None else np.sort(np.asarray(Boundary_knots, dtype=float))
        if knots is None:
            number = 0 if df is None else _whole("df", df, 1 + bool(intercept)) - 1 - bool(intercept)
            knots = seen.between(*self.ends).quantiles(np.linspace(0.0, 1.0, number + 2)[1:-1])
        self.knots = _inner_knots(knots, self.ends)
        self.skip = 0 if intercept else 1
        bent = self._splines().derivative(2)(self.ends)[:, self.skip :]
        self.rotation = np.linalg.qr(bent.T, mode="complete")[0][:, 2:]

    def columns(self, x: NDArray) -> NDArray:
        splines, inside = self._splines(), np.clip(x, *self.ends)
        basis = splines(inside)
        beyond = np.flatnonzero(x != inside)
        if len(beyond):
            basis[beyond] += splines.derivative()(inside[beyond]) * (x - inside)[beyond, None]
        return basis[:, self.skip :] @ self.rotation

    def _splines(self) -> BSpline:
        every = np.concatenate([np.repeat(self.ends[0], 4), self.knots, np.repeat(self.ends[1], 4)])
        return BSpline(every, np.eye(len(every) - 4), 3)


class RestrictedSplines(FromAllValues):
    r"""``rcs(x, knots)`` of Harrell's rms: a number of knots at fixed quantiles, or the knots themselves.

    The columns are :math:`x` and, for knots :math:`t_1 < \dots < t_k` and :math:`j = 1, \dots, k - 2`,

    .. math::
        \frac{1}{(t_k - t_1)^2} \Bigl[(x - t_j)_+^3 - \frac{t_k - t_j}{t_k - t_{k-1}} (x - t_{k-1})_+^3
        + \frac{t_{k-1} - t_j}{t_k - t_{k-1}} (x - t_k)_+^3\Bigr].
    """

    name = "rcs"
    arguments = {"knots": 5}

    def learn(self, seen: ValueCounts, knots: Any) -> None:
        number = np.ndim(knots) == 0
        self.knots = np.unique(harrells_knots(seen, _whole("the number of knots", knots, 3)) if number else knots)
        if len(self.knots) < 3:
            raise ValueError(f"rcs() needs three different knots, not {len(self.knots)}; the column has too few values")

    def columns(self, x: NDArray) -> NDArray:
        *first, before, last = self.knots
        scale = (last - self.knots[0]) ** (2.0 / 3.0)

        def cubed(knot: float) -> NDArray:
            return np.maximum((x - knot) / scale, 0.0) ** 3

        bent = [
            cubed(knot) + ((before - knot) * cubed(last) - (last - knot) * cubed(before)) / (last - before)
            for knot in first
        ]
        return np.column_stack([x, *bent])


def harrells_knots(seen: ValueCounts, number: int) -> NDArray:
    """Return so many knots at the quantiles of Harrell (2001, table 2.3), as Hmisc places them.

    With less than 100 rows the outer ones are the fifth values from both ends; where 5 % of the rows lie at an end, and nowhere else,
    the outer knot is the value next to it.
    """
    if seen.n < 6:
        raise ValueError(f"knots need at least 6 rows, not {seen.n}; give them as a list")
    if len(seen.values) - 2 <= number:
        return seen.values[1:-1]
    outer = 0.1 if number == 3 else 0.05 if number <= 6 else 0.025
    first: list[float] = []
    last: list[float] = []
    share = seen.counts / seen.n
    rest = seen
    if share[1:-1].max() < 0.05:
        if share[0] >= 0.05:
            first = [seen.values[1]]
            rest = rest.between(seen.values[2], np.inf)
        if share[-1] >= 0.05:
            last = [rest.values[-2]]
            rest = rest.between(-np.inf, rest.values[-3])
    number -= len(first) + len(last)
    if number == 1:
        return np.array([*first, rest.quantiles(0.5), *last])
    knots = rest.quantiles(np.linspace(0.5 if number == 2 else outer, 1.0 - outer, number))
    if len(np.unique(knots)) < min(number, 3):
        knots = rest.quantiles(np.linspace(outer, 1.0 - outer, 2 * number))
    if rest.n < 100:
        if not first:
            knots[0] = rest.nth(4)
        if not last:
            knots[number - 1] = rest.nth(rest.n - 5)
    return np.array([*first, *knots, *last])


class Polynomials(FromAllValues):
    r"""``poly(x, degree, raw)`` of R: polynomials that are orthonormal over the rows of the fit; with `raw`, powers.

    They follow a three-term recurrence,

    .. math:: p_{j+1}(x) = (x - \alpha_j) p_j(x) - \frac{|p_j|^2}{|p_{j-1}|^2} p_{j-1}(x), \quad
        \alpha_j = \frac{\sum_i x_i p_j(x_i)^2}{|p_j|^2}.
    """

    name = "poly"
    arguments = {"degree": 1, "raw": False}

    def learn(self, seen: ValueCounts, degree: Any, raw: Any) -> None:
        self.raw = bool(raw)
        self.degree = _whole("degree", degree, 1)
        if not self.raw and self.degree >= len(seen.values):
            raise ValueError(f"degree={degree} needs more than {len(seen.values)} different values")
        self.centres: list[float] = []
        self.squares = [1.0, float(seen.n)]  # of the polynomials before the first, of degree 0, 1, ...
        if not self.raw:
            for value in self._recurrence(seen.values):
                square = float(seen.counts @ value**2)
                self.squares[len(self.centres) + 1 :] = [square]
                if len(self.centres) < self.degree:
                    self.centres.append(float(seen.counts @ (seen.values * value**2)) / square)

    def columns(self, x: NDArray) -> NDArray:
        if self.raw:
            return x[:, None] ** np.arange(1, self.degree + 1)
        every = np.column_stack(list(self._recurrence(x)))
        return every[:, 1:] / np.sqrt(self.squares[2:])

    def _recurrence(self, x: NDArray) -> Any:
        """Yield the polynomials of degree 0, 1, ...; centres and squares of each are needed for the next one only."""
        before, now = np.zeros_like(x), np.ones_like(x)
        yield now
        for j in range(self.degree):
            before, now = now, (x - self.centres[j]) * now - self.squares[j + 1] / self.squares[j] * before
            yield now


class Intervals(FromAllValues):
    """``cut(x, breaks, labels, include_lowest, right)`` of R: a factor of intervals, or of so many of equal length; empty ones are left out."""

    name = "cut"
    arguments = {"breaks": None, "labels": None, "include_lowest": False, "right": True}

    def learn(self, seen: ValueCounts, breaks: Any, labels: Any, include_lowest: bool, right: bool) -> None:
        if breaks is None:
            raise ValueError("cut() needs breaks, as in cut(x, [0, 40, 60, np.inf])")
        self.breaks = np.sort(np.asarray(breaks, dtype=float)) if np.ndim(breaks) else _equal_parts(seen.ends, breaks)
        if len(np.unique(self.breaks)) < max(len(self.breaks), 2):
            raise ValueError(f"cut() needs different breaks, at least two, not {self.breaks.tolist()}")
        self.right, self.include_lowest = bool(right), bool(include_lowest)
        self.labels = (
            None if labels is False else self._labels() if labels is None else [str(label) for label in labels]
        )
        if self.labels is not None and len(self.labels) != len(self.breaks) - 1:
            raise ValueError(f"cut() has {len(self.breaks) - 1} intervals, but {len(self.labels)} labels")
        self.seen = np.unique(self._codes(seen.values))

    def columns(self, x: NDArray) -> Any:
        codes = self._codes(x)
        if self.labels is None:
            return codes + 1.0
        unseen = np.setdiff1d(codes, self.seen)
        levels = [self.labels[place] for place in (*self.seen, *unseen)]
        return pd.Categorical(np.asarray(self.labels, dtype=object)[codes], categories=levels)

    def _codes(self, x: NDArray) -> NDArray:
        codes = np.searchsorted(self.breaks, x, side="left" if self.right else "right") - 1
        if self.include_lowest:
            codes[x == self.breaks[0 if self.right else -1]] = 0 if self.right else len(self.breaks) - 2
        outside = (codes < 0) | (codes > len(self.breaks) - 2)
        if outside.any():
            raise ValueError(
                f"{int(outside.sum())} values, such as {x[outside][0]:g}, are in none of the intervals {', '.join(self._labels())}; "
                "give more breaks, as in [-np.inf, 0, np.inf], or leave those rows out"
            )
        return codes

    def _labels(self) -> list[str]:
        """Return the names of the intervals, with as many digits as tell them apart."""
        for digits in range(3, 13):
            ends = [f"{end:.{digits}g}".replace("inf", "Inf") for end in self.breaks]
            if len(set(ends)) == len(ends):
                break
        opening, closing = "(]" if self.right else "[)"
        names = [f"{opening}{low},{high}{closing}" for low, high in itertools.pairwise(ends)]
        if self.include_lowest:
            place = 0 if self.right else -1
            names[place] = f"[{names[place][1:-1]}]"
        return names


def _equal_parts(ends: NDArray, number: Any) -> NDArray:
    low, high = ends
    width = high - low or abs(low)
    breaks = np.linspace(low, high, _whole("the number of intervals", number, 2) + 1)
    breaks[[0, -1]] = low - width / 1000, high + width / 1000
    return breaks


def _inner_knots(knots: Any, ends: NDArray) -> NDArray:
    knots = np.sort(np.atleast_1d(np.asarray(knots, dtype=float)))
    wrong = knots[(knots <= ends[0]) | (knots >= ends[1])]
    if len(wrong):
        raise ValueError(
            f"the knot {wrong[0]:g} is not between the outer knots {ends[0]:g} and {ends[1]:g}; give knots=[...] between them"
        )
    return knots


def _whole(what: str, value: Any, least: int) -> int:
    whole = isinstance(value, Integral) or (isinstance(value, float) and value.is_integer())
    if not whole or isinstance(value, bool) or value < least:
        raise ValueError(f"{what} is {value!r}; it must be a whole number from {least}")
    return int(value)
