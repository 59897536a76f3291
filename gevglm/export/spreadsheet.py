"""The scoring formula as a formula of one cell, for Excel and LibreOffice."""

from __future__ import annotations

from collections.abc import Mapping

from gevglm.exceptions import InvalidDataError, InvalidOptionError, listed
from gevglm.export.nodes import Lookup, Node
from gevglm.export.printer import SHARED, Printer
from gevglm.export.scoring import Input, ScoringFormula

LONGEST = 8192  # characters that Excel takes
NAMES = "exp sqrt abs sin cos tan sinh cosh tanh atanh min max and or"
WORDS = SHARED | {
    "neg": "(-({0}))", "expm1": "(EXP({0})-1)", "pow": "POWER({0},{1})", "atan2": "ATAN2({1},{0})", "normal": "NORMSDIST({0})", "log": "LN({0})",
    "floor": "INT({0})", "ceil": "(-INT(-({0})))", "not": "NOT({0})", "if": "IF({0},{1},{2})", "missing": "NA()", "same text": "EXACT({0},{1})",
    "is number": "ISNUMBER({0})", "is boolean": "ISNUMBER({0})", "is text": "ISTEXT({0})",
}  # fmt: skip


class CellPrinter(Printer):
    """Formulas of spreadsheets; steps are written where they are used."""

    words = WORDS
    functions = {name: name.upper() for name in NAMES.split()}

    def __init__(self, cells: Mapping[str, str]):
        self.cells = cells
        self.steps: dict[str, str] = {}

    def __call__(self, node: Node) -> str:
        if not isinstance(node, Lookup):
            return super().__call__(node)
        parts = (f"{self.same(node.of, level)}*{self.number(code)}" for level, code in node.codes)
        return f"({'+'.join(parts)})"  # a cell takes few brackets

    def name(self, column: str) -> str:
        return self.cells[column]

    def step(self, name: str) -> str:
        return self.steps[name]

    def text(self, text: str) -> str:
        return '"' + text.replace('"', '""') + '"'

    def known(self, each: Input) -> str:
        if not each.levels:
            return super().known(each)
        among = f"OR({','.join(self.same(each.column, level) for level in each.levels)})"
        empty = f"NOT(ISBLANK({self.cells[each.column.name]}))"  # which would count as 0
        return among if each.column.kind == "text" else f"{empty},{among}"


def to_cell(formula: ScoringFormula, cells: Mapping[str, str] | None) -> str:
    """Return the formula of a cell; see :meth:`gevglm.BinaryGLMResults.to_excel_formula`."""
    names = [each.column.name for each in formula.inputs]
    if cells is None:
        cells = {name: f"{_letters(place)}2" for place, name in enumerate(names)}
    missing = [name for name in names if name not in cells]
    if missing:
        raise InvalidOptionError(f"cells names no cell for {listed(missing)}; give one for each of {listed(names)}.")
    write = CellPrinter(cells)
    for name, node in formula.steps(own_normal=True):
        write.steps[name] = write(node)
    conditions = write.requirements(formula)
    text = f"=IF(AND({','.join(conditions)}),{write.steps['risk']},NA())" if conditions else f"={write.steps['risk']}"
    text = text.replace(" ", "") if "EXACT" not in text else text
    if len(text) > LONGEST:
        raise InvalidDataError(
            f"the formula has {len(text)} characters, and a cell takes {LONGEST}; use to_sql(), to_javascript() or to_json()."
        )
    return text


def _letters(place: int) -> str:
    """Return the name of a column of a sheet: A, B, ..., Z, AA, ..."""
    before, letter = divmod(place, 26)
    return (_letters(before - 1) if before else "") + chr(65 + letter)
