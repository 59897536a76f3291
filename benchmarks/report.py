"""Markdown tables, and the conditions they were measured under."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from gevglm.engine.memory import available_cores

RESULTS = Path(__file__).parent / "results"
PACKAGES = {"numpy": "numpy", "scipy": "scipy", "statsmodels": "statsmodels", "scikit-learn": "sklearn", "glum": "glum"}


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a markdown table, its first column aligned left and the others right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def publish(path: Path, benchmark: Callable[[], str]) -> None:
    """Run a benchmark, print its text with the conditions below it, and write both to a file."""
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    text = f"{benchmark()}\n\n{_conditions()}; load before the run {load}.\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    print(text, flush=True)


def _conditions() -> str:
    versions = ", ".join(f"{package} {version(package)}" for package, module in PACKAGES.items() if find_spec(module))
    return f"Python {platform.python_version()}, {versions}; {available_cores()} cores ({platform.machine()})"
