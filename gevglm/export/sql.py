"""The scoring formula as a query, in the dialects of SQLite and DuckDB."""

from __future__ import annotations

from gevglm.exceptions import unknown_option
from gevglm.export.printer import SHARED, SIGNS, Printer
from gevglm.export.scoring import ScoringFormula

WORDS = SHARED | {"expm1": "(exp({0}) - 1e0)", "same": "{0} = {1}", "among": "{0} IN ({1})"}
WORDS |= {f"is {kind}": "{0} IS NOT NULL" for kind in ("number", "text", "boolean")}
DIALECTS = {
    "sqlite": WORDS | {"column": "CAST({0} AS REAL)", "is number": "typeof({0}) IN ('integer', 'real')"},
    "duckdb": WORDS | {"column": "CAST({0} AS DOUBLE)", "min": "least({0}, {1})", "max": "greatest({0}, {1})"},
}


class SqlPrinter(Printer):
    """SQL; a column is cast to a floating number, so that whole numbers are not divided as such."""

    signs = SIGNS | {"and": " AND ", "or": " OR "}
    functions = {"log": "ln"}

    def __init__(self, dialect: str):
        self.words = DIALECTS[dialect]

    def number(self, value: float) -> str:
        text = repr(float(value))
        text = text if "e" in text else f"{text.removesuffix('.0')}e0"  # which no dialect takes for a decimal
        return f"({text})" if value < 0 else text

    def name(self, column: str) -> str:
        return f"rows.{quoted(column)}"  # SQLite would take one alone that is unknown for a text

    def step(self, name: str) -> str:
        return f"_{name}"

    def choices(self, choices: list[tuple[str, str]], otherwise: str) -> str:
        cases = " ".join(f"WHEN {condition} THEN {value}" for condition, value in choices)
        return f"CASE {cases} ELSE {otherwise} END" if choices else otherwise


def to_sql(formula: ScoringFormula, table: str, dialect: str, name: str = "risk") -> str:
    """Return a query of all rows of a table with their risks; see :meth:`gevglm.BinaryGLMResults.to_sql`."""
    if dialect not in DIALECTS:
        raise unknown_option("dialect", dialect, DIALECTS)
    write = SqlPrinter(dialect)
    conditions, steps = write.requirements(formula), formula.steps()
    linear = write(steps[0][1])
    if conditions:
        linear = f"CASE WHEN {' AND '.join(conditions)} THEN {linear} END"
    query = f"SELECT rows.*, {linear} AS _linear_predictor FROM {quoted(table)} AS rows"
    for step, node in steps[1:-1]:
        query = f"SELECT rows.*, {write(node)} AS _{step} FROM (\n{query}\n) AS rows"
    risk = f"CASE WHEN _linear_predictor IS NOT NULL THEN {write(steps[-1][1])} END"
    hidden = f" EXCLUDE ({', '.join(f'_{step}' for step, _ in steps[:-1])})" if dialect == "duckdb" else ""
    return f"SELECT rows.*{hidden}, {risk} AS {quoted(name)} FROM (\n{query}\n) AS rows"


def quoted(name: str) -> str:
    """Return a name in SQL."""
    return '"' + name.replace('"', '""') + '"'
