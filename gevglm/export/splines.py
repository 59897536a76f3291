"""Splines and polynomials of formulas as piecewise polynomials, through a few values of the basis between two knots."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gevglm.data.bases import NaturalSplines, Polynomials, RestrictedSplines
from gevglm.data.patsy_splines import BSplines, CubicRegressionSplines
from gevglm.export.nodes import Node, Piece, Piecewise

LINEAR_BEYOND = (NaturalSplines, RestrictedSplines, CubicRegressionSplines)
EXPORTED = (*LINEAR_BEYOND, BSplines, Polynomials)


def basis_columns(transform: Any, options: dict[str, Any], x: Node) -> list[Node]:
    """Return the columns of a basis as piecewise polynomials of x.

    Parameters
    ----------
    transform : stateful function
        One of ``EXPORTED``, with its state.
    options : dict
        The arguments of the call after the first, by name.
    x : Node
        The first argument.

    Notes
    -----
    On a piece from a to b the basis is a polynomial of degree d in :math:`(x - a)/(b - a)`, found through its values at d + 1 Chebyshev points.
    """
    if isinstance(transform, Polynomials):
        degree = transform.degree
        centre = 0.0 if transform.raw else transform.centres[0]
        width = 1.0 if transform.raw else 2.0 * np.sqrt(transform.squares[2] / transform.squares[1])
        pieces = [_pieces(transform.columns, centre, centre + width, degree)]
        return _columns(x, (), pieces)
    every = transform.knots if isinstance(transform, RestrictedSplines) else _all_knots(transform)
    knots = np.unique(np.asarray(every, dtype=float))
    degree = transform._degree if isinstance(transform, BSplines) else 3

    def values(at: NDArray) -> NDArray:
        return np.asarray(transform.transform(at, **options), dtype=float)

    inner = [_pieces(values, low, high, degree) for low, high in itertools.pairwise(knots)]
    width = knots[-1] - knots[0]
    if isinstance(transform, LINEAR_BEYOND):
        below = _pieces(values, knots[0], knots[0] - width, 1)
        above = _pieces(values, knots[-1], knots[-1] + width, 1)
    else:
        below, above = _beyond(options.get("extrapolation", "raise"), inner, knots)
    return _columns(x, tuple(knots.tolist()), [below, *inner, above])


def _all_knots(transform: Any) -> NDArray:
    if isinstance(transform, NaturalSplines):
        return np.concatenate([transform.ends, transform.knots])
    return transform._all_knots


def _beyond(how: str, inner: list[list[Piece | None]], knots: NDArray) -> tuple[Any, Any]:
    """Return the pieces of B-splines below and above their knots."""
    first, last = inner[0], inner[-1]
    if how == "extend":
        return first, last
    if how == "zero":
        below, above = ([Piece(float(end), (0.0,))] * len(first) for end in knots[[0, -1]])
        return below, above
    if how != "clip":
        return [None] * len(first), [None] * len(first)
    at_start = [Piece(float(knots[0]), piece.coefficients[:1]) for piece in first if piece is not None]
    width = float(knots[-1]) - float(knots[-2])
    at_end = [
        Piece(float(knots[-1]), (float(np.polynomial.polynomial.polyval(width, piece.coefficients)),))
        for piece in last
        if piece is not None
    ]
    return at_start, at_end


def _pieces(values: Any, low: float, high: float, degree: int) -> list[Piece | None]:
    """Return, for each column, the polynomial on a piece that begins at `low`."""
    u = 0.5 - 0.5 * np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    powers = np.linalg.solve(np.vander(u, increasing=True), values(low + u * (high - low)))
    scaled = powers / (high - low) ** np.arange(degree + 1)[:, None]
    return [Piece(float(low), tuple(column.tolist())) for column in scaled.T]


def _columns(x: Node, breaks: tuple[float, ...], pieces: list[Any]) -> list[Node]:
    return [Piecewise(x, breaks, tuple(piece[j] for piece in pieces)) for j in range(len(pieces[0]))]
