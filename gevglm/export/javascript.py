"""The scoring formula as a function of JavaScript."""

from __future__ import annotations

import json
from typing import Any

from gevglm.export.nodes import Column, Node, Piecewise
from gevglm.export.printer import Printer
from gevglm.export.scoring import Input, ScoringFormula

HELPERS = """const piecewise = (x, breaks, pieces) => {
  let place = 0;
  while (place < breaks.length && x >= breaks[place]) place++;
  if (place === breaks.length && pieces[place] === null && x === breaks[place - 1]) place--;
  const piece = pieces[place];
  if (!piece || Number.isNaN(x)) return NaN;
  let value = 0;
  for (let k = piece.length - 1; k > 0; k--) value = value * (x - piece[0]) + piece[k];
  return value;
};
"""


class JavaScriptPrinter(Printer):
    """JavaScript; a row is an object ``row`` with numbers, texts and truth values."""

    functions = {
        name: f"Math.{name}"
        for name in "exp log sqrt abs floor ceil sin cos tan sinh cosh tanh atanh atan2 min max pow expm1".split()
    }
    templates = {"neg": "(-{0})"}
    comparisons = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "===", "ne": "!=="}
    missing = "NaN"

    def column(self, node: Column) -> str:
        return f"row[{json.dumps(node.name)}]"

    def step(self, name: str) -> str:
        return name

    def level(self, level: Any) -> str:
        return json.dumps(level).replace("<", "\\u003c")

    def same(self, of: Node, level: Any) -> str:
        return f"{self(of)} === {self.level(level)}"

    def choice(self, condition: str, yes: str, no: str) -> str:
        return f"({condition} ? {yes} : {no})"

    def joined(self, word: str, conditions: list[str]) -> str:
        return f"!({conditions[0]})" if word == "not" else f"({(' && ' if word == 'and' else ' || ').join(conditions)})"

    def piecewise(self, node: Piecewise) -> str:
        pieces = [None if piece is None else [piece.origin, *piece.coefficients] for piece in node.pieces]
        return f"piecewise({self(node.of)}, {json.dumps(node.breaks)}, {json.dumps(pieces)})"

    def known(self, each: Input) -> str:
        """Return the condition that a value is one that the model knows."""
        value = self.column(each.column)
        if each.levels:
            return f"{self.level(list(each.levels))}.includes({value})"
        return f"typeof {value} === {json.dumps({'text': 'string'}.get(each.column.kind, each.column.kind))}"


def to_javascript(formula: ScoringFormula) -> str:
    """Return the source of a function ``risk(row)``; see :meth:`gevglm.BinaryGLMResults.to_javascript`."""
    write = JavaScriptPrinter()
    lines = [f"  const {name} = {write(node)};" for name, node in formula.steps()]
    return (
        f"{HELPERS}function risk(row) {{\n  if (!({known(formula, write)})) return NaN;\n"
        + "\n".join(lines[:-1])
        + f"\n  return {write(formula.steps()[-1][1])};\n}}\n"
    )


def known(formula: ScoringFormula, write: JavaScriptPrinter) -> str:
    """Return the condition that a row has a risk."""
    return " && ".join([*map(write.known, formula.inputs), *map(write.condition, formula.conditions)]) or "true"
