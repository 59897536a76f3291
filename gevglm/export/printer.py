"""Writes nodes down; what languages differ in is a table of words, and the little that is not a word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gevglm.export.nodes import CONDITIONS, Call, Column, Lookup, Node, Number, Piece, Piecewise, Step, Text
from gevglm.export.scoring import Input, ScoringFormula

SHARED = {
    "neg": "(-{0})", "expm1": "(exp({0}) - 1)", "not": "(NOT {0})", "missing": "NULL", "true": "TRUE", "false": "FALSE", "column": "{0}",
    "same": "({0} = {1})", "same text": "{0} = {1}",
}  # fmt: skip
SIGNS = {"add": " + ", "mul": " * ", "sub": " - ", "div": " / ",
         "lt": " < ", "le": " <= ", "gt": " > ", "ge": " >= ", "eq": " = ", "ne": " <> "}  # fmt: skip


class Printer:
    """Writes nodes in one language.

    An operation is written by the first table that has it: ``signs`` between what they join, ``words`` with a place for each argument, and names of ``functions``,
    which are ours where there is none.
    """

    signs: Mapping[str, str] = SIGNS
    words: Mapping[str, str] = SHARED
    functions: Mapping[str, str] = {}

    def __call__(self, node: Node) -> str:
        """Return the text of a node as a number, in brackets where need be."""
        if isinstance(node, Number):
            return self.number(node.value)
        if isinstance(node, Text):
            return self.level(node.value)
        if isinstance(node, Column):
            return self.words["column"].format(self.name(node.name))
        if isinstance(node, Step):
            return self.step(node.name)
        if isinstance(node, Lookup):
            choices = [(self.same(node.of, level), self.number(code)) for level, code in node.codes]
            return self.choices(choices, self.number(0.0))
        if isinstance(node, Piecewise):
            return self.piecewise(node)
        if node.name in CONDITIONS:
            return self.choices([(self.condition(node), "1")], "0")
        if node.name == "if":
            condition, yes, no = node.args
            return self.choices([(self.condition(condition), self(yes))], self(no))
        return self.operation(node.name, [self(arg) for arg in node.args])

    def operation(self, name: str, args: list[str]) -> str:
        """Return an operation on what is written already."""
        if name in self.signs:
            return f"({self.signs[name].join(args)})"
        if name in self.words:
            return self.words[name].format(*args)
        return f"{self.functions.get(name, name)}({', '.join(args)})"

    def condition(self, node: Any) -> str:
        """Return a condition as the language has it."""
        if not isinstance(node, Call) or node.name not in CONDITIONS:
            return self.operation("ne", [self(node), "0"])
        if node.name in ("and", "or", "not"):
            return self.operation(node.name, [self.condition(arg) for arg in node.args])
        left, right = node.args
        if isinstance(left, Text) or isinstance(right, Text):
            column, text = (right, left) if isinstance(left, Text) else (left, right)
            same = self.same(column, text.value)
            return same if node.name == "eq" else self.operation("not", [same])
        return self.operation(node.name, [self(left), self(right)])

    def requirements(self, formula: ScoringFormula) -> list[str]:
        """Return the conditions without which a row has no risk."""
        return [*map(self.known, formula.inputs), *map(self.condition, formula.conditions)]

    def known(self, each: Input) -> str:
        """Return the condition that a column has a value that the model knows."""
        name = self.name(each.column.name)
        if not each.levels:
            return self.words[f"is {each.column.kind}"].format(name)
        return self.words["among"].format(name, ", ".join(map(self.level, each.levels)))

    def same(self, of: Node, level: Any) -> str:
        """Return the condition that a factor has a level."""
        left = self.name(of.name) if isinstance(of, Column) else self(of)
        return self.words["same text" if isinstance(level, str) else "same"].format(left, self.level(level))

    def piecewise(self, node: Piecewise) -> str:
        """Return a piecewise polynomial."""
        x = self(node.of)
        choices = []
        for place, end in enumerate(node.breaks):
            last = place == len(node.breaks) - 1 and node.pieces[-1] is None  # the end itself is inside
            condition = self.operation("le" if last else "lt", [x, self.number(end)])
            choices.append((condition, self.polynomial(x, node.pieces[place])))
        return self.choices(choices, self.polynomial(x, node.pieces[-1]))

    def polynomial(self, x: str, piece: Piece | None) -> str:
        """Return a polynomial by Horner's rule."""
        if piece is None:
            return self.words["missing"]
        local = x if piece.origin == 0.0 else f"({x} - {self.number(piece.origin)})"
        text = self.number(piece.coefficients[-1])
        for coefficient in reversed(piece.coefficients[:-1]):
            text = f"({self.number(coefficient)} + {local} * {text})"
        return text

    def choices(self, choices: list[tuple[str, str]], otherwise: str) -> str:
        """Return the value of the first condition that is true."""
        for condition, value in reversed(choices):
            otherwise = self.words["if"].format(condition, value, otherwise)
        return otherwise

    def level(self, level: Any) -> str:
        """Return a level."""
        if isinstance(level, bool):
            return self.words["true" if level else "false"]
        return self.number(level) if isinstance(level, (int, float)) else self.text(str(level))

    def number(self, value: float) -> str:
        """Return a number, to the last bit."""
        text = repr(float(value)).removesuffix(".0")
        return f"({text})" if value < 0 else text

    def text(self, text: str) -> str:
        """Return a text in quotation marks."""
        return "'" + text.replace("'", "''") + "'"

    def name(self, column: str) -> str:
        """Return a column."""
        raise NotImplementedError

    def step(self, name: str) -> str:
        """Return an earlier step."""
        return name
