"""The call of :func:`gevglm.fit` behind results, as Python that can be run again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gevglm.results import BinaryGLMResults


def code_of(results: BinaryGLMResults) -> str:
    """Return the call behind results; what was given row by row is a name for the reader to fill in."""
    model = results.model
    first, where = "y, X", "the outcome and the design matrix"
    if model.design.recipe is not None:
        first, where = f"{model.formula!r}, data", "the table"
    words = model.options.code() | results.options.code()
    return (
        f"import gevglm\n\n# {where} as it was fitted\n{call(first, words)}\n"
        "print(results.summary())\nresults.report('report.html')"
    )


def call(first: str, options: Mapping[str, str], function: str = "results = gevglm.fit") -> str:
    """Return the call with its options, one per line."""
    lines = []
    for name, text in options.items():
        value, _, remark = text.partition("  # ")
        lines.append(f"    {name}={value}," + (f"  # {remark}" if remark else ""))
    return f"{function}(\n    " + "\n".join([f"{first},", *lines]) + "\n)"
