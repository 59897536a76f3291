"""The scoring formula as a query, in the dialects of SQLite and DuckDB."""

from __future__ import annotations

from typing import Any

from gevglm.exceptions import unknown_option
from gevglm.export.nodes import Column, Node
from gevglm.export.printer import Printer
from gevglm.export.scoring import Input, ScoringFormula

DIALECTS = ("sqlite", "duckdb")


class SqlPrinter(Printer):
    """SQL; a column is cast to a floating number, so that whole numbers are not divided as such."""

    functions = {"log": "ln"}
    templates = {"neg": "(-{0})", "expm1": "(exp({0}) - 1e0)", "pow": "pow({0}, {1})"}

    def __init__(self, dialect: str):
        self.dialect = dialect
        if dialect == "duckdb":
            self.functions = {"log": "ln", "min": "least", "max": "greatest"}

    def number(self, value: float) -> str:
        text = repr(float(value))
        text = text if "e" in text else f"{text.removesuffix('.0')}e0"  # which no dialect takes for a decimal
        return f"({text})" if value < 0 else text

    def column(self, node: Column) -> str:
        return f"CAST({self.name(node.name)} AS {'REAL' if self.dialect == 'sqlite' else 'DOUBLE'})"

    def name(self, column: str) -> str:
        """Return the name of a column of the table, which SQLite would take for a text if it were alone and unknown."""
        return f"rows.{quoted(column)}"

    def step(self, name: str) -> str:
        return f"{self.prefix}{name}"

    prefix = "_"

    def level(self, level: Any) -> str:
        if isinstance(level, bool):
            return "TRUE" if level else "FALSE"
        return self.number(level) if isinstance(level, (int, float)) else "'" + str(level).replace("'", "''") + "'"

    def same(self, of: Node, level: Any) -> str:
        left = self.name(of.name) if isinstance(of, Column) else self(of)
        return f"{left} = {self.level(level)}"

    def choice(self, condition: str, yes: str, no: str) -> str:
        return self.choices([(condition, yes)], no)

    def choices(self, choices: list[tuple[str, str]], otherwise: str) -> str:
        if not choices:
            return otherwise
        cases = " ".join(f"WHEN {condition} THEN {value}" for condition, value in choices)
        return f"CASE {cases} ELSE {otherwise} END"

    def joined(self, word: str, conditions: list[str]) -> str:
        return f"(NOT {conditions[0]})" if word == "not" else f"({f' {word.upper()} '.join(conditions)})"

    def known(self, each: Input) -> str:
        """Return the condition that a column has a value that the model knows."""
        name = self.name(each.column.name)
        if each.levels:
            return f"{name} IN ({', '.join(map(self.level, each.levels))})"
        if self.dialect == "sqlite" and each.column.kind == "number":
            return f"typeof({name}) IN ('integer', 'real')"
        return f"{name} IS NOT NULL"


def to_sql(formula: ScoringFormula, table: str, dialect: str, name: str = "risk") -> str:
    """Return a query of all rows of a table with their risks; see :meth:`gevglm.BinaryGLMResults.to_sql`."""
    if dialect not in DIALECTS:
        raise unknown_option("dialect", dialect, DIALECTS)
    write = SqlPrinter(dialect)
    conditions = [*map(write.known, formula.inputs), *map(write.condition, formula.conditions)]
    steps = formula.steps()
    linear = write(steps[0][1])
    if conditions:
        linear = f"CASE WHEN {' AND '.join(conditions)} THEN {linear} END"
    query = f"SELECT rows.*, {linear} AS _linear_predictor FROM {quoted(table)} AS rows"
    for step, node in steps[1:-1]:
        query = f"SELECT rows.*, {write(node)} AS _{step} FROM (\n{query}\n) AS rows"
    names = [f"_{step}" for step, _ in steps[:-1]]
    risk = f"CASE WHEN _linear_predictor IS NOT NULL THEN {write(steps[-1][1])} END"
    if dialect == "duckdb":
        return f"SELECT rows.* EXCLUDE ({', '.join(names)}), {risk} AS {quoted(name)} FROM (\n{query}\n) AS rows"
    return f"SELECT rows.*, {risk} AS {quoted(name)} FROM (\n{query}\n) AS rows"


def quoted(name: str) -> str:
    """Return a name in SQL."""
    return '"' + name.replace('"', '""') + '"'
