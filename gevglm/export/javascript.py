"""The scoring formula as functions of JavaScript: the risk of a row, and the risk with its limits."""

from __future__ import annotations

import json

from gevglm.export.link_formulas import Steps, link_steps, shape_column
from gevglm.export.nodes import Piecewise
from gevglm.export.printer import SHARED, SIGNS, Printer
from gevglm.export.scoring import Limits, ScoringFormula

PIECEWISE = """const piecewise = (x, breaks, pieces) => {
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


WORDS = SHARED | {
    "not": "!({0})", "if": "({0} ? {1} : {2})", "missing": "NaN", "true": "true", "false": "false", "same": "{0} === {1}", "same text": "{0} === {1}",
    "among": "[{1}].includes({0})", "expm1": "Math.expm1({0})",
    **{f"is {kind}": f'typeof {{0}} === "{own}"' for kind, own in (("number", "number"), ("text", "string"), ("boolean", "boolean"))},
}  # fmt: skip
FUNCTIONS = "exp log sqrt abs floor ceil sin cos tan sinh cosh tanh atanh atan2 min max pow"


class JavaScriptPrinter(Printer):
    """JavaScript; a row is an object ``row`` with numbers, texts and truth values."""

    signs = SIGNS | {"eq": " === ", "ne": " !== ", "and": " && ", "or": " || "}
    words = WORDS
    functions = {name: f"Math.{name}" for name in FUNCTIONS.split()}

    def name(self, column: str) -> str:
        return f"row[{self.text(column)}]"

    def text(self, text: str) -> str:
        return json.dumps(text).replace("<", "\\u003c")

    def piecewise(self, node: Piecewise) -> str:
        pieces = [None if piece is None else [piece.origin, *piece.coefficients] for piece in node.pieces]
        return f"piecewise({self(node.of)}, {json.dumps(node.breaks)}, {json.dumps(pieces)})"


def to_javascript(formula: ScoringFormula) -> str:
    """Return the source of a function ``risk(row)``; see :meth:`gevglm.BinaryGLMResults.to_javascript`."""
    write = JavaScriptPrinter()
    return _with_helpers(
        f"function risk(row) {{\n  if (!({known(write, formula)})) return NaN;\n{_body(formula.steps(), write)}}}\n"
    )


def to_prediction(formula: ScoringFormula, limits: Limits) -> str:
    """Return the source of a function ``prediction(row)``, which has a risk and its limits; see :meth:`gevglm.BinaryGLMResults.to_javascript`."""
    write = JavaScriptPrinter()
    columns = ",\n    ".join(map(write, formula.columns))
    coefficients = [b for term in formula.terms for b in term.coefficients]
    triangle = [row[: j + 1] for j, row in enumerate(limits.covariance.tolist())]
    own = ""
    if limits.with_shape:
        own = f"""  const column = {write(shape_column(formula.link))};
  columns.push(Number.isFinite(column) ? column : 0);
"""
    return _with_helpers(f"""const coefficients = {json.dumps(coefficients)};
const covariance = {json.dumps(triangle)};
const inverse = linear_predictor => {{
{_body(link_steps(formula.link), write)}}};
function prediction(row) {{
  if (!({known(write, formula)})) return {{risk: NaN, lower: NaN, upper: NaN, se: NaN}};
  const columns = [
    {columns}
  ];
  const linear_predictor = columns.reduce((sum, x, j) => sum + x * coefficients[j], {write(formula.offset)});
{own}  let variance = 0;
  covariance.forEach((row, i) => row.forEach((v, j) => {{ variance += (i === j ? 1 : 2) * v * columns[i] * columns[j]; }}));
  const se = Math.sqrt(Math.max(variance, 0)), reach = {write.number(limits.quantile)} * se;
  return {{risk: inverse(linear_predictor), lower: inverse(linear_predictor - reach), upper: inverse(linear_predictor + reach), se}};
}}
""")


def _body(steps: Steps, write: JavaScriptPrinter) -> str:
    """Return the steps to a risk as the lines of a function."""
    lines = [f"  const {name} = {write(node)};\n" for name, node in steps[:-1]]
    return "".join([*lines, f"  return {write(steps[-1][1])};\n"])


def _with_helpers(source: str) -> str:
    return f"{PIECEWISE}{source}" if "piecewise(" in source else source


def known(write: JavaScriptPrinter, formula: ScoringFormula) -> str:
    """Return the condition that a row has a risk."""
    return " && ".join(write.requirements(formula)) or "true"
