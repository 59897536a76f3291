"""A spreadsheet of one cell: its formula, evaluated in Python; ``spreadsheet.json`` has what LibreOffice says of the same formulas."""

import math
import re

FUNCTIONS = {
    "IF": lambda condition, yes, no: yes if condition else no,
    "AND": lambda *values: all(values),
    "OR": lambda *values: any(values),
    "NOT": lambda value: not value,
    "EXACT": lambda one, other: str(one) == str(other),
    "ISNUMBER": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "ISBLANK": lambda value: value is None,
    "ISTEXT": lambda value: isinstance(value, str),
    "NA": lambda: math.nan,
    "INT": math.floor, "EXP": math.exp, "SQRT": math.sqrt, "ABS": abs, "MIN": min, "MAX": max, "ATANH": math.atanh,
    "LN": lambda x: math.log(x) if isinstance(x, (int, float)) and x > 0 else math.nan,
    "POWER": lambda x, y: float(x) ** y if x != "" else math.nan,
    "ATAN2": lambda x, y: math.atan2(y, x),
    "NORMSDIST": lambda x: 0.5 * math.erfc(-x / math.sqrt(2.0)),
}  # fmt: skip


def evaluated(formula, cells):
    """Return the value of a formula, given those of the cells; NaN for #N/A."""
    pieces = re.split(r'("(?:[^"]|"")*")', formula.removeprefix("="))
    for i in range(0, len(pieces), 2):
        text = pieces[i].replace("TRUE", "True").replace("FALSE", "False").replace("<>", "!=")
        pieces[i] = re.sub(r"(?<![<>!])=", "==", text)
    for i in range(1, len(pieces), 2):
        pieces[i] = repr(pieces[i][1:-1].replace('""', '"'))
    condition = re.match(r"IF\(AND\(", pieces[0])
    text = "".join(pieces)
    if condition:  # a spreadsheet computes the value only where the condition is true
        end = _closing(text, len("IF(AND"))
        try:
            known = eval(text[3 : end + 1], FUNCTIONS, cells)
        except TypeError:  # an empty cell was compared with a number
            known = False
        if not known:
            return math.nan
    return eval(text, FUNCTIONS, cells)


def _closing(text, start):
    """Return the place of the bracket that closes the one at a place."""
    depth = 0
    for place in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place
    raise ValueError("a bracket is open")
