"""Expressions that belong to no language: what a scoring formula is made of, and every printer writes down."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

CONDITIONS = ("lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not")


@dataclass(frozen=True)
class Number:
    """A number."""

    value: float


@dataclass(frozen=True)
class Text:
    """A text, which a column is compared with."""

    value: str


@dataclass(frozen=True)
class Column:
    """A column of the data: of kind "number", "text" or "boolean"."""

    name: str
    kind: str = "number"


@dataclass(frozen=True)
class Step:
    """The value of an earlier step."""

    name: str


@dataclass(frozen=True)
class Call:
    """An operation or a function by its name: ``add``, ``mul``, ``pow``, ``exp``, ``lt``, ``if``, ...; conditions are 0 or 1."""

    name: str
    args: tuple[Any, ...]


@dataclass(frozen=True)
class Lookup:
    """The number that belongs to the level of a factor; 0 for levels that are not listed."""

    of: Any
    codes: tuple[tuple[Any, float], ...]


@dataclass(frozen=True)
class Piece:
    """A polynomial in x less an origin, lowest power first."""

    origin: float
    coefficients: tuple[float, ...]


@dataclass(frozen=True)
class Piecewise:
    """A piecewise polynomial: the first piece below the first break, and so on; a piece that is None has no value."""

    of: Any
    breaks: tuple[float, ...]
    pieces: tuple[Piece | None, ...]


Node = Number | Text | Column | Step | Call | Lookup | Piecewise
ZERO, ONE = Number(0.0), Number(1.0)


def call(name: str, *args: Node | float) -> Node:
    """Return an operation on nodes or numbers."""
    return Call(name, tuple(arg if not isinstance(arg, (int, float)) else Number(float(arg)) for arg in args))


def total(nodes: Sequence[Node]) -> Node:
    """Return the sum of nodes without zeros."""
    kept = [node for node in nodes if node != ZERO]
    return ZERO if not kept else kept[0] if len(kept) == 1 else Call("add", tuple(kept))


def product(nodes: Sequence[Node]) -> Node:
    """Return the product of nodes without ones; 0 if any is."""
    if ZERO in nodes:
        return ZERO
    kept = [node for node in nodes if node != ONE]
    return ONE if not kept else kept[0] if len(kept) == 1 else Call("mul", tuple(kept))


def combined(nodes: Sequence[Node], coefficients: Sequence[float]) -> Node:
    """Return the sum of nodes times coefficients: one lookup for the columns of a factor, one piecewise polynomial for those of a spline."""
    first = nodes[0]
    if all(isinstance(node, Lookup) and node.of == getattr(first, "of", None) for node in nodes):
        return _one_lookup(nodes, coefficients)
    if all(isinstance(node, Piecewise) and node.of == getattr(first, "of", None) for node in nodes):
        return _one_spline(nodes, coefficients)
    pairs = zip(nodes, coefficients, strict=True)
    return total([product([Number(float(b)), node]) for node, b in pairs])


def _one_lookup(nodes: Sequence[Any], coefficients: Sequence[float]) -> Node:
    values: dict[Any, float] = {}
    for node, b in zip(nodes, coefficients, strict=True):
        for level, code in node.codes:
            values[level] = values.get(level, 0.0) + code * float(b)
    kept = tuple((level, value) for level, value in values.items() if value != 0.0)
    return Lookup(nodes[0].of, kept) if kept else ZERO


def _one_spline(nodes: Sequence[Any], coefficients: Sequence[float]) -> Node:
    pieces: list[Piece | None] = []
    for parts in zip(*(node.pieces for node in nodes), strict=True):
        if None in parts:
            pieces.append(None)
            continue
        size = max(len(part.coefficients) for part in parts)
        sums = [
            math.fsum(
                float(b) * (part.coefficients[k] if k < len(part.coefficients) else 0.0)
                for part, b in zip(parts, coefficients, strict=True)
            )
            for k in range(size)
        ]
        pieces.append(Piece(parts[0].origin, tuple(sums)))
    return Piecewise(nodes[0].of, nodes[0].breaks, tuple(pieces))


def as_data(node: Any) -> Any:
    """Return a node as what JSON holds: numbers, texts and lists whose first entry says what they are."""
    if isinstance(node, Number):
        return node.value
    if isinstance(node, Text):
        return ["text", node.value]
    if isinstance(node, (Column, Step)):
        return ["column" if isinstance(node, Column) else "step", node.name]
    if isinstance(node, Lookup):
        return ["lookup", as_data(node.of), [[level, code] for level, code in node.codes]]
    if isinstance(node, Piecewise):
        pieces = [None if piece is None else [piece.origin, *piece.coefficients] for piece in node.pieces]
        return ["piecewise", as_data(node.of), list(node.breaks), pieces]
    return [node.name, *(as_data(arg) for arg in node.args)]
