"""What printers share: a node is written by the method of its kind, with the words of a language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gevglm.export.nodes import Call, Column, Lookup, Node, Number, Piece, Piecewise, Step, Text

SIGNS = {"add": " + ", "mul": " * ", "sub": " - ", "div": " / "}
COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "=", "ne": "<>"}


class Printer:
    """Writes nodes in one language; subclasses have its words."""

    functions: Mapping[str, str] = {}  # names of functions that differ from ours
    comparisons: Mapping[str, str] = COMPARISONS
    templates: Mapping[str, str] = {}  # of calls that are more than a name

    def __call__(self, node: Node) -> str:
        """Return the text of a node, in brackets where need be."""
        if isinstance(node, Number):
            return self.number(node.value)
        if isinstance(node, Text):
            return self.level(node.value)
        if isinstance(node, Column):
            return self.column(node)
        if isinstance(node, Step):
            return self.step(node.name)
        if isinstance(node, Lookup):
            return self.lookup(node)
        if isinstance(node, Piecewise):
            return self.piecewise(node)
        return self.called(node)

    def called(self, node: Call) -> str:
        """Return an operation."""
        args = [self(arg) for arg in node.args]
        if node.name in SIGNS:
            return f"({SIGNS[node.name].join(args)})"
        if node.name in ("and", "or", "not") or node.name in self.comparisons:
            return self.choice(self.condition(node), "1", "0")
        if node.name == "if":
            return self.choice(self.condition(node.args[0]), args[1], args[2])
        if node.name in self.templates:
            return self.templates[node.name].format(*args)
        return f"{self.functions.get(node.name, node.name)}({', '.join(args)})"

    def condition(self, node: Any) -> str:
        """Return a condition as the language has it."""
        if isinstance(node, Call) and node.name in self.comparisons:
            return self.compared(node)
        if isinstance(node, Call) and node.name in ("and", "or", "not"):
            return self.joined(node.name, [self.condition(arg) for arg in node.args])
        return f"({self(node)} {self.comparisons['ne']} 0)"

    def compared(self, node: Call) -> str:
        """Return a comparison."""
        left, right = node.args
        if isinstance(left, Text) or isinstance(right, Text):
            column, text = (right, left) if isinstance(left, Text) else (left, right)
            same = self.same(column, text.value)
            return same if node.name == "eq" else self.joined("not", [same])
        return f"({self(left)} {self.comparisons[node.name]} {self(right)})"

    def lookup(self, node: Lookup) -> str:
        """Return the number that belongs to a level."""
        choices = [(self.same(node.of, level), self.number(code)) for level, code in node.codes]
        return self.choices(choices, self.number(0.0))

    def piecewise(self, node: Piecewise) -> str:
        """Return a piecewise polynomial."""
        x = self(node.of)
        choices = []
        for place, end in enumerate(node.breaks):
            last = place == len(node.breaks) - 1 and node.pieces[-1] is None  # the end itself is inside
            condition = f"({x} {'<=' if last else '<'} {self.number(end)})"
            choices.append((condition, self.polynomial(x, node.pieces[place])))
        return self.choices(choices, self.polynomial(x, node.pieces[-1]))

    def choices(self, choices: list[tuple[str, str]], otherwise: str) -> str:
        """Return the value of the first condition that is true."""
        for condition, value in reversed(choices):
            otherwise = self.choice(condition, value, otherwise)
        return otherwise

    def polynomial(self, x: str, piece: Piece | None) -> str:
        """Return a polynomial by Horner's rule."""
        if piece is None:
            return self.missing
        local = x if piece.origin == 0.0 else f"({x} - {self.number(piece.origin)})"
        text = self.number(piece.coefficients[-1])
        for coefficient in reversed(piece.coefficients[:-1]):
            text = f"({self.number(coefficient)} + {local} * {text})"
        return text

    # -- words of the language ---------------------------------------------------------------

    missing = "NULL"

    def number(self, value: float) -> str:
        """Return a number, to the last bit."""
        text = repr(float(value)).removesuffix(".0")
        return f"({text})" if value < 0 else text

    def column(self, node: Column) -> str:
        """Return a column as a number."""
        raise NotImplementedError

    def step(self, name: str) -> str:
        """Return an earlier step."""
        raise NotImplementedError

    def level(self, level: Any) -> str:
        """Return a level."""
        raise NotImplementedError

    def same(self, of: Node, level: Any) -> str:
        """Return the condition that a factor has a level."""
        raise NotImplementedError

    def choice(self, condition: str, yes: str, no: str) -> str:
        """Return one of two values."""
        raise NotImplementedError

    def joined(self, word: str, conditions: list[str]) -> str:
        """Return conditions joined by and, or, not."""
        raise NotImplementedError
