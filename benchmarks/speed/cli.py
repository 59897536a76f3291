"""The command line from a cold start: reading a csv, fitting, printing, beside the imports and the reading alone."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import gevglm
from benchmarks.report import table
from benchmarks.speed.timing import OthersLoad, compare

REPEATS = 7
LIMIT = 3.0
READING = "import statsmodels.api, pandas; pandas.read_csv({name!r})"
BARE = "import statsmodels, pandas; pandas.read_csv({name!r})"
SOME = "y ~ age + balance + duration + campaign + C(job)"
ALL = (
    "y ~ age + job + marital + education + default + balance + housing + loan + contact + day + month + duration + "
    "campaign + pdays + previous + poutcome"
)

TEXT = """# The command line from a cold start

A new process each time: `gevglm fit FORMULA bank-full.csv --event yes` with its summary printed (45,211 rows), beside a Python that
imports statsmodels and pandas and reads the same csv. Medians of {repeats} rounds, in which all take turns. The limit is {limit:g} times
the first row. `import statsmodels` alone loads no model; the row is there for scale.

{rows}

Cores that other processes used meanwhile: {others:.2f}."""


def run() -> str:
    """Return a row for each command."""
    others = OthersLoad()
    with tempfile.TemporaryDirectory() as folder:
        name = str(Path(folder) / "bank-full.csv")
        gevglm.datasets.load("bank").to_csv(name, index=False)
        timings = compare(_commands(name), REPEATS)
    base = timings["import statsmodels.api and pandas, read the csv"].seconds
    rows = [
        (task, f"{timing.seconds:.2f}", f"{timing.seconds / base:.2f}", f"{timing.spread:.2f}")
        for task, timing in timings.items()
    ]
    header = ("command", "seconds", "ratio to the first", "slowest / fastest run")
    return TEXT.format(repeats=REPEATS, limit=LIMIT, rows=table(header, rows), others=others.cores())


def _commands(name: str) -> dict[str, Callable[[], None]]:
    def fit(formula: str, *options: str) -> Callable[[], None]:
        return _process("-m", "gevglm", "fit", formula, name, "--event", "yes", "--quiet", *options)

    return {
        "import statsmodels.api and pandas, read the csv": _process("-c", READING.format(name=name)),
        "import statsmodels and pandas, read the csv": _process("-c", BARE.format(name=name)),
        "fit, logit, 5 variables (16 coefficients)": fit(SOME, "--link", "logit"),
        "fit, --xi 0.5, 5 variables (16 coefficients)": fit(SOME, "--xi", "0.5"),
        "fit, logit, all 16 variables (43 coefficients)": fit(ALL, "--link", "logit"),
        "gevglm --help": _process("-m", "gevglm", "--help"),
    }


def _process(*words: str) -> Callable[[], None]:
    return lambda: subprocess.run([sys.executable, *words], check=True, capture_output=True) and None
