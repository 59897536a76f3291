r"""The inverse link as steps from the linear predictor to the risk, each a short expression.

They are the formulas of :mod:`gevglm.links`, written so that the linear predictor occurs once where it can, and no step leaves the range of doubles.
The normal distribution function, which most dialects of SQL lack, is :math:`\Phi(-z) = e^{-z^2/2} g(z)` for z > 0 with g a
polynomial in :math:`s = (z - c)/(z + c)`, the Chebyshev series of the scaled error function.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import erfcx

from gevglm.exceptions import InvalidOptionError
from gevglm.export.nodes import Node, Number, Piece, Piecewise, Step, call, product, total
from gevglm.links import GEV, Cauchit, GEVc, Identity, Log, LogC, Logit, Probit
from gevglm.links.base import BinaryLink
from gevglm.links.odds import ScaledOdds

Steps = list[tuple[str, Node]]
ETA = Step("linear_predictor")
LARGEST_EXPONENT = 708.0
CERTAIN = 800.0  # a t with exp(-t) = 0
NEARLY_ZERO = 1e-3  # shapes below are taken through the inverse hyperbolic tangent
SMALL, SERIES_TERMS = 0.1, 16  # of the column of a shape
NORMAL_SCALE = 4.0  # the c
NORMAL_TERMS = 29


def link_steps(link: BinaryLink, own_normal: bool = False) -> Steps:
    """Return the steps after ``linear_predictor``, of which the last is ``risk``; `own_normal` where a language has the normal distribution."""
    if isinstance(link, ScaledOdds):
        inner = link_steps(link.link, own_normal)
        inner[-1] = ("unscaled", inner[-1][1])
        p = Step("unscaled")
        odds = call("mul", link.factor, p)
        return [*inner, ("risk", call("div", odds, call("add", call("sub", 1.0, p), odds)))]
    if isinstance(link, GEV):
        return [("t", _gev_t(link.xi, ETA)), ("risk", call("exp", call("neg", Step("t"))))]
    if isinstance(link, GEVc):
        mirrored = _gev_t(link.xi, call("neg", ETA))
        return [("t", mirrored), ("risk", call("neg", call("expm1", call("neg", Step("t")))))]
    if isinstance(link, Probit):
        return [("risk", call("normal", ETA))] if own_normal else _normal_steps()
    simple = {
        Logit: lambda: call("div", 1.0, call("add", 1.0, call("exp", call("min", call("neg", ETA), LARGEST_EXPONENT)))),
        Cauchit: lambda: call("div", call("atan2", 1.0, call("neg", ETA)), math.pi),
        Log: lambda: call("exp", call("min", ETA, 0.0)),
        LogC: lambda: call("neg", call("expm1", call("neg", call("max", ETA, 0.0)))),
        Identity: lambda: call("min", call("max", ETA, 0.0), 1.0),
    }
    for kind, risk in simple.items():
        if type(link) is kind:
            return [("risk", risk())]
    raise _foreign(link)


def _foreign(link: BinaryLink) -> InvalidOptionError:
    return InvalidOptionError(
        f"the link {link!r} is not one of gevglm's own, and its formula is not known to other languages; fit with logit, probit, cauchit, cloglog, loglog, "
        "gev, gevc, log, logc or identity."
    )


def _gev_t(xi: float, v: Node) -> Node:
    r"""Return :math:`t = (1 + \xi v)_+^{-1/\xi}`, capped where :math:`e^{-t}` is 0 or 1."""
    if xi == 0.0:
        return call("exp", call("min", call("neg", v), LARGEST_EXPONENT))
    if abs(xi) < NEARLY_ZERO:
        least = math.expm1(-xi * math.log(CERTAIN)) if xi > 0 else math.expm1(-LARGEST_EXPONENT * abs(xi))
        u = call("max", call("mul", xi, v), least)
        logarithm = call("atanh", call("div", u, call("add", 2.0, u)))
        return call("exp", call("min", call("mul", -2.0 / xi, logarithm), LARGEST_EXPONENT))
    base = call("add", 1.0, call("mul", xi, v))
    return call("pow", call("max", base, CERTAIN**-xi if xi > 0 else 0.0), -1.0 / xi)


def shape_column(link: BinaryLink) -> Node:
    r"""Return the column of an estimated shape in the design: :math:`F_\xi/F' = (u - (1 + u) \log(1 + u))/\xi^2` with :math:`u = \xi v`.

    It does not change where the odds are scaled. The series of small u is :math:`-v^2 \sum_k (-u)^k/((k + 1)(k + 2))`.
    """
    while isinstance(link, ScaledOdds):
        link = link.link
    if not isinstance(link, (GEV, GEVc)):
        raise _foreign(link)
    v = call("neg", ETA) if isinstance(link, GEVc) else ETA
    u = call("mul", link.xi, v)
    series = Piecewise(u, (), (Piece(0.0, tuple((-1.0) ** k / ((k + 1) * (k + 2)) for k in range(SERIES_TERMS))),))
    column = call("neg", product([v, v, series]))
    if link.xi != 0.0:
        above = call("add", 1.0, u)
        exact = call("div", call("sub", u, call("mul", above, call("log", above))), link.xi**2)
        column = call("if", call("lt", call("abs", u), SMALL), column, exact)
    return call("neg", column) if isinstance(link, GEVc) else column


def _normal_steps() -> Steps:
    z = call("abs", ETA)
    first, second = (Piecewise(Step("s"), (), (Piece(0.0, part),)) for part in _halves(normal_series()))
    series = call("add", first, call("mul", call("pow", Step("s"), float(NORMAL_TERMS // 2)), Step("g")))
    tail = call("mul", call("exp", product([Number(-0.5), ETA, ETA])), series)
    above = call("gt", ETA, 0.0)
    return [
        ("s", call("div", call("sub", z, NORMAL_SCALE), call("add", z, NORMAL_SCALE))),
        ("g", second),  # in two parts, as SQLite takes so many brackets only
        ("risk", total([call("if", above, 1.0, 0.0), call("mul", call("if", above, -1.0, 1.0), tail)])),
    ]


def _halves(series: tuple[float, ...]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    return series[: NORMAL_TERMS // 2], series[NORMAL_TERMS // 2 :]


@lru_cache(1)
def normal_series() -> tuple[float, ...]:
    """Return the coefficients of g in powers of s, by the Chebyshev series of its values."""

    def g(s: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            z = NORMAL_SCALE * (1.0 + s) / (1.0 - s)
        return 0.5 * erfcx(z / math.sqrt(2.0))

    series = np.polynomial.chebyshev.Chebyshev.interpolate(g, NORMAL_TERMS)
    return tuple(np.polynomial.chebyshev.cheb2poly(series.coef).tolist())
