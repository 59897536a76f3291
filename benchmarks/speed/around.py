"""What is around a fit: risks, margins, effect curves and summaries of many rows, in fits and in tables; imports and the command line."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import gevglm
from benchmarks.speed.memory import resident
from benchmarks.speed.record import OURS, Task

ROWS = 3_000_000
ONE_FIT, TABLE = "one fit", "the table"
ASKED = ("risk", "get_margeff", "plot_effect", "summary")
AFTER = "import statsmodels.api, time; t = time.perf_counter(); import gevglm; print(time.perf_counter() - t)"


def tasks(tiny: bool = False) -> list[Task]:
    """Return the time and the memory of each method, and the imports."""
    n, size = 2_000 if tiny else ROWS, f"{ROWS:,} x 3"
    found = [Task(name, size, partial(_times, name, n), {ONE_FIT: 1 / 3}) for name in ASKED]
    found += [
        Task(f"{name}, memory", size, partial(_memory, name, n), {TABLE: 1.0}, unit="MB", measured=True)
        for name in ASKED
    ]
    after = Task("import gevglm", "after statsmodels.api", _imports_after, limit=0.1, measured=True)
    return [
        *found,
        after,
        *(Task("start", words, partial(_starts, words), goals) for words, goals in _COMMANDS.items()),
    ]


_COMMANDS = {
    "import gevglm": {"import statsmodels.api": 1.0},
    "gevglm --help": {"import statsmodels.api": 1.0},
    "gevglm fit of a small csv": {"import statsmodels.api": 0.8},
}


def simulated(n: int) -> pd.DataFrame:
    """Return a table with 2 % events."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"x1": rng.standard_normal(n), "x2": rng.standard_normal(n)})
    linear = 4.0 - 0.5 * data["x1"] - 0.3 * data["x2"]
    return data.assign(y=(rng.random(n) < 1.0 / (1.0 + np.exp(linear))).astype(float))


def fitted(data: pd.DataFrame) -> Any:
    """Return the fit that everything is asked of."""
    return gevglm.fit("y ~ x1 + x2", data, link="logit")


def ask(results: Any, name: str) -> Any:
    """Ask a fit for one of the things of ``ASKED``, as if for the first time."""
    if name == "plot_effect":
        import matplotlib.pyplot as plt

        axes = results.plot_effect("x1")
        plt.close(axes.figure)
        return axes
    getattr(results, "_results", results).__dict__.pop("_scalars", None)  # behind statsmodels' wrapper
    return getattr(results, name)(*(["x1"] if name == "risk" else []))


def _times(name: str, n: int) -> Mapping[str, Callable[[], Any]]:
    data = simulated(n)
    results = fitted(data)
    return {OURS: lambda: ask(results, name), ONE_FIT: lambda: fitted(data).bse}


def _memory(name: str, n: int) -> Mapping[str, Callable[[], float]]:
    command = [sys.executable, "-m", "benchmarks.speed.around", name, str(n)]
    table = float(simulated(10).memory_usage(index=False).sum()) / 10 * n / 1e6
    return {OURS: lambda: float(_output(command)), TABLE: lambda: table}


def extra_megabytes(name: str, n: int) -> float:
    """Return the peak memory of a method in this process beyond what the fit left, after the same was asked of a small fit."""
    ask(fitted(simulated(2_000)), name)
    results = fitted(simulated(n))
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here on
    ask(results, name)
    return max(resident("VmHWM") - before, 1) / 1e6


def _imports_after() -> Mapping[str, Callable[[], float]]:
    return {OURS: lambda: float(_output([sys.executable, "-c", AFTER]))}


def _starts(words: str) -> Mapping[str, Callable[[], str]]:
    python, folder = sys.executable, tempfile.TemporaryDirectory()
    name = str(Path(folder.name) / "small.csv")
    simulated(2_000).to_csv(name, index=False)
    commands = {
        "import gevglm": ["-c", "import gevglm"],
        "gevglm --help": ["-m", "gevglm", "--help"],
        "gevglm fit of a small csv": ["-m", "gevglm", "fit", "y ~ x1 + x2", name, "--quiet"],
    }
    return {
        OURS: lambda folder=folder: _output([python, *commands[words]]),
        "import statsmodels.api": lambda: _output([python, "-c", "import statsmodels.api"]),
    }


def _output(command: list[str]) -> str:
    compiled = os.environ | {"PYTHONDONTWRITEBYTECODE": ""}  # as an installed package is
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=compiled).stdout


if __name__ == "__main__":
    print(extra_megabytes(sys.argv[1], int(sys.argv[2])))
