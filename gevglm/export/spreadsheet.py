"""The scoring formula as a formula of one cell, for Excel and LibreOffice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gevglm.exceptions import InvalidDataError, InvalidOptionError, listed
from gevglm.export.nodes import Column, Lookup, Node
from gevglm.export.printer import Printer
from gevglm.export.scoring import Input, ScoringFormula

LONGEST = 8192  # characters that Excel takes
FUNCTIONS = "exp log sqrt abs floor ceil sin cos tan sinh cosh tanh atanh min max"


class CellPrinter(Printer):
    """Formulas of spreadsheets; steps are written where they are used."""

    functions = {name: name.upper() for name in FUNCTIONS.split()} | {"log": "LN"}
    templates = {
        "neg": "(-({0}))",
        "expm1": "(EXP({0})-1)",
        "pow": "POWER({0},{1})",
        "atan2": "ATAN2({1},{0})",
        "normal": "NORMSDIST({0})",
        "floor": "INT({0})",
        "ceil": "(-INT(-({0})))",
    }
    missing = "NA()"

    def __init__(self, cells: Mapping[str, str]):
        self.cells = cells
        self.steps: dict[str, str] = {}

    def column(self, node: Column) -> str:
        return self.cells[node.name]

    def step(self, name: str) -> str:
        return self.steps[name]

    def level(self, level: Any) -> str:
        if isinstance(level, bool):
            return "TRUE" if level else "FALSE"
        return self.number(level) if isinstance(level, (int, float)) else '"' + str(level).replace('"', '""') + '"'

    def same(self, of: Node, level: Any) -> str:
        return (
            f"EXACT({self(of)},{self.level(level)})" if isinstance(level, str) else f"({self(of)}={self.level(level)})"
        )

    def lookup(self, node: Lookup) -> str:
        parts = (f"{self.same(node.of, level)}*{self.number(code)}" for level, code in node.codes)
        return f"({'+'.join(parts)})"

    def choice(self, condition: str, yes: str, no: str) -> str:
        return f"IF({condition},{yes},{no})"

    def joined(self, word: str, conditions: list[str]) -> str:
        return f"{word.upper()}({','.join(conditions)})"

    def known(self, each: Input) -> str:
        """Return the condition that a cell has a value that the model knows; an empty one would count as 0."""
        cell, levels = self.cells[each.column.name], [self.same(each.column, level) for level in each.levels]
        if not levels:
            return f"{'ISTEXT' if each.column.kind == 'text' else 'ISNUMBER'}({cell})"
        among = f"OR({','.join(levels)})"
        return among if each.column.kind == "text" else f"NOT(ISBLANK({cell})),{among}"


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
    conditions = [*map(write.known, formula.inputs), *map(write.condition, formula.conditions)]
    text = f"=IF(AND({','.join(conditions)}),{write.steps['risk']},NA())" if conditions else f"={write.steps['risk']}"
    text = text.replace(" ", "") if "EXACT" not in text else text
    if len(text) > LONGEST:
        raise InvalidDataError(
            f"the formula has {len(text)} characters, and a cell takes {LONGEST}; use to_sql(), to_javascript() or to_json()."
        )
    return text


def _letters(place: int) -> str:
    """Return the name of a column of a sheet: A, B, ..., Z, AA, ..."""
    name = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        name = chr(65 + rest) + name
    return name
