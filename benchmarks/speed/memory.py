"""Peak memory of a fit beyond its data, each fit in a process of its own."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np

from benchmarks.report import table
from benchmarks.speed.simulate import rare_events
from gevglm.engine import MemoryEngine
from gevglm.estimation.estimate import Problem
from gevglm.links import GEV, Logit
from gevglm.losses import Canonical, Log

SIZE = (1_000_000, 20)
LOSSES = {"logit": Log(Logit()), "GEV(0.3) canonical": Canonical(GEV(0.3)), "GEV(0.3) log": Log(GEV(0.3))}
CONTROL = "control: a copy of X"
STATUS = Path("/proc/self/status")

TEXT = """# Peak extra memory

Highest resident memory during a fit less that before it, with the data in place and a tiny fit done, as a share of the
bytes of X (1,000,000 x 20); goal <= 10 %. The last column checks the measurement: copying X must show as 100 %.

{rows}

A pipeline of scikit-learn's `OneHotEncoder` and `BinaryGLMClassifier` (logit) on 100,000 rows of factors with 2,000 levels in all, the encoder included,
as a share of the bytes of the dense design; goal <= 5 %. Memory that was freed is returned to the system at once.

{pipelines}"""
PIPELINES = {
    "8 factors of 250 levels, the first of each left out": ("8", "first", "0"),
    "2 factors of 1,000 levels, the first of each left out": ("2", "first", "0"),
    "8 factors of 250 levels, ridge penalty": ("8", "none", "1"),
}
ROWS, LEVELS = 100_000, 2_000


def run() -> str:
    """Return a row for each layout of the design."""
    columns = (*LOSSES, CONTROL)
    rows = []
    for dtype in ("float64", "float32"):
        for order in "CF":
            shares = [_in_fresh_process(name, order, dtype) for name in columns]
            rows.append((f"{dtype}, {order} order", *(f"{share:.1%}" for share in shares)))
    pipelines = [(name, f"{_in_fresh_process('pipeline', *words):.1%}") for name, words in PIPELINES.items()]
    return TEXT.format(rows=table(("X", *columns), rows), pipelines=table(("design", "peak"), pipelines))


def extra_share(name: str, order: str, dtype: str) -> float:
    """Return the peak extra memory of a fit in this process, as a share of the bytes of X."""
    small = rare_events(2_000, SIZE[1], order=order, dtype=dtype)
    for loss in LOSSES.values():
        Problem(MemoryEngine(*small), loss, constant=0).estimate()
    X, y = rare_events(*SIZE, order=order, dtype=dtype)
    before = resident("VmRSS")
    kept = X.copy(order="K") if name == CONTROL else Problem(MemoryEngine(X, y), LOSSES[name], constant=0).estimate()
    share = (resident("VmHWM") - before) / X.nbytes
    if name != CONTROL and not (kept.converged and np.isfinite(kept.inverse_information).all()):
        raise RuntimeError(f"{name} did not converge: {kept.reason}")
    return share


def pipeline_share(factors: str, drop: str, alpha: str) -> float:
    """Return the peak extra memory of a one-hot pipeline in this process, as a share of the bytes of its dense design."""
    from scipy.linalg import cholesky
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    from gevglm.sklearn import BinaryGLMClassifier

    def pipeline():
        encoder = OneHotEncoder(drop=None if drop == "none" else drop)
        return make_pipeline(encoder, BinaryGLMClassifier(link="logit", alpha=float(alpha)))

    rng, levels = np.random.default_rng(0), LEVELS // int(factors)
    rows = rng.integers(0, levels, (ROWS, int(factors)), dtype=np.int32)
    effects = rng.normal(0.0, 0.3, (int(factors), levels))
    linear = sum(effect[column] for effect, column in zip(effects, rows.T, strict=True)) - 1.0
    y = rng.random(ROWS) < 1.0 / (1.0 + np.exp(-linear))
    pipeline().fit(rows[:3_000, :1] % 5, y[:3_000])
    cholesky(np.eye(1_500) + 0.1) @ np.eye(1_500)  # BLAS keeps the memory it works with
    before = resident("VmRSS")
    fitted = pipeline().fit(rows, y)
    share = (resident("VmHWM") - before) / (8 * ROWS * fitted[-1].coef_.size)
    if not fitted[-1].results_.converged:
        raise RuntimeError(f"the pipeline did not converge: {fitted[-1].results_.reason}")
    return share


def resident(field: str) -> int:
    """Return the bytes resident now (VmRSS) or at most so far (VmHWM); elsewhere than on Linux, the latter for both.

    The peak of getrusage is not enough on Linux: a child begins with the peak of the process that started it.
    """
    if STATUS.exists():
        lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
        return int(lines[field].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _in_fresh_process(*arguments: str) -> float:
    command = [sys.executable, "-m", "benchmarks.speed.memory", *arguments]
    returned = os.environ | {"MALLOC_MMAP_THRESHOLD_": "1000000"}  # the allocator of Linux keeps some of what was freed
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=returned).stdout)


if __name__ == "__main__":
    print(pipeline_share(*sys.argv[2:]) if sys.argv[1] == "pipeline" else extra_share(*sys.argv[1:]))
