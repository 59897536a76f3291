"""The numbers of a fit, for other programs."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from gevglm import __version__
from gevglm._files import write_text
from gevglm.cli.messages import say
from gevglm.results.summary import notes_of

COLUMNS = ("estimate", "std_err", "z", "pvalue", "ci_lower", "ci_upper")


def numbers_of(results: Any, formula: str, data: str, alpha: float) -> dict[str, Any]:
    """Return what the summary shows as plain numbers and words; numbers that are not finite are None."""
    return {
        "formula": formula,
        "data": data,
        "event": str(results.event),
        "link": type(results.link.population).__name__,
        "xi": None if results.xi is None else number(results.xi),
        "loss": results.loss.name,
        "bias": None if results.bias is None else results.bias.word,
        "cov_type": results.cov_type,
        "observations": number(results.n_trials_total),
        "events": number(results.n_events),
        "rows_left_out": int(results.model.design.n_missing),
        "prevalence": None if results.prevalence is None else number(results.prevalence),
        "converged": bool(results.converged),
        "iterations": int(results.n_iter),
        "log_loss": number(results.log_loss),
        "brier": number(results.brier),
        "auc": number(results.auc),
        "level": 1.0 - alpha,
        "coefficients": _coefficients(results, alpha),
        "notes": notes_of(results, results.inference),
    }


def numbers_within_units(results: Any, formula: str, data: str, alpha: float) -> dict[str, Any]:
    """Return what :func:`numbers_of` does of a fit with absorbed constants."""
    design = results.model.design
    return {
        "formula": formula,
        "data": data,
        "event": str(design.event),
        "link": type(results.link).__name__,
        "xi": number(results.link.xi) if hasattr(results.link, "xi") else None,
        "loss": results.loss.name,
        "bias": None if results.bias is None else results.bias.word,
        "cov_type": results.cov_type,
        "observations": number(results.nobs),
        "events": number(results.n_events),
        "rows_left_out": int(design.n_missing),
        "absorbed": dict(zip(results.absorbed, results.n_levels, strict=True)),
        "levels_with_one_outcome": results.n_units_dropped,
        "rows_with_one_outcome": results.n_rows_dropped,
        "converged": bool(results.converged),
        "iterations": int(results.n_iter),
        "level": 1.0 - alpha,
        "coefficients": _coefficients(results, alpha),
        "notes": results.notes(),
    }


def _coefficients(results: Any, alpha: float) -> list[dict[str, Any]]:
    limits = np.asarray(results.conf_int(alpha=alpha))
    columns = np.column_stack([results.params, results.bse, results.tvalues, results.pvalues, limits])
    return [
        {"name": str(name)} | dict(zip(COLUMNS, map(number, row), strict=True))
        for name, row in zip(results.model.exog_names, columns, strict=True)
    ]


def write_numbers(content: dict[str, Any], name: str, quiet: bool) -> None:
    """Write numbers as JSON to a file, or print them if its name is a dash."""
    text = json.dumps({"gevglm": __version__} | content, indent=2, allow_nan=False)
    if name == "-":
        print(text)
        return
    write_text(name, text + "\n")
    say(f"numbers: {name}", quiet)


def number(value: Any) -> float | None:
    """Return a number, or None where it is not finite."""
    return float(value) if math.isfinite(value) else None
