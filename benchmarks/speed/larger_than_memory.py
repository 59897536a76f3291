"""Data larger than memory: rows per second, peak memory and truth, and what users do today, on the same parquet file.

Run it alone with a number of rows and a folder: ``python -m benchmarks.speed.larger_than_memory 100_000_000 /data/clicks``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import chi2

from benchmarks.report import RESULTS, publish, table
from benchmarks.speed.memory import resident

COLUMNS = 8
TRUTH = np.array([-1.1, 0.15, -0.12, 0.1, -0.08, 0.06, -0.04, 0.02])  # of the GEV(0.5) link: 2.2 % of events
XI = 0.5
GROUP = 1 << 20
SMALL, LARGE = 1_000_000, 10_000_000
LEVELS = 5_000
NAMES = [f"x{j}" for j in range(1, COLUMNS)]
FORMULA = "y ~ " + " + ".join(NAMES)
SGD_ROUNDS = (1, 5, 20)

TEXT = """# Data larger than memory

{rows:,} rows x {columns} columns of a parquet file ({size:.1f} GB), from a simulator: GEV(0.5) link, 2.2 % of events. Each line is a
process of its own; peak memory is the highest resident memory of the process, Python and its packages included.

{fits}

Rows per second are those of all passes over the data, the first look at the columns and the covariance included; the goal is a rate within 20 %
of that at 1,000,000 rows, and less than 1.5 GB. Truth: the largest distance of one of the {columns} estimates from the true coefficient, in standard errors; p: of the Wald test of all true coefficients.

## What users do today, on {medium:,} rows of it

Log loss of the logit on all rows, above that of maximum likelihood (a fit that is wrong by one standard error in one coefficient loses 0.5).
`sm.GLM`, glum, scikit-learn and dask-ml hold the data in memory; SGD sees the file in pieces, as often as the line says.

{peers}

## Dask

The same 1,000,000 rows in memory: `fit` of a DataFrame, and of a Dask DataFrame of 4 partitions (goal: no slower than 1.5 times with the threaded
scheduler). Two workers are to get 80 % of the speed-up that two threads give a plain blocked X'WX on the same machine.

{dask}

## A factor of {levels:,} levels

1,000,000 rows, two numbers and a factor: {wide_columns:,} coefficients, whose dense design would take {dense:.0f} GB. The goal is less than 4 GB.

{wide}"""


def write(path: Path, rows: int, seed: int = 0) -> None:
    """Write the simulated rows to a parquet file, one row group at a time."""
    import pyarrow as pa
    from pyarrow import parquet

    from gevglm.links import GEV

    rng, link, writer = np.random.default_rng(seed), GEV(XI), None
    for start in range(0, rows, GROUP):
        n = min(GROUP, rows - start)
        X = rng.standard_normal((n, COLUMNS - 1))
        y = rng.random(n) < link.inverse(TRUTH[0] + X @ TRUTH[1:])
        part = pa.table({"y": y.astype(np.int8), **{name: X[:, j] for j, name in enumerate(NAMES)}})
        writer = writer or parquet.ParquetWriter(path, part.schema)
        writer.write_table(part, row_group_size=GROUP)
    writer.close()


def streamed(path: str, **options) -> dict:
    """Fit from the file in pieces."""
    import gevglm
    from gevglm.engine.streamed import StreamedEngine

    gevglm.fit("y ~ x", [pd.DataFrame({"y": [0, 1, 0, 1], "x": [0.0, 1.0, 2.0, 0.5]})], link="logit", alpha=1.0)
    passes, reduce = [0.0], StreamedEngine.reduce

    def counted(engine, reducer):
        passes[0] += engine.n_rows
        return reduce(engine, reducer)

    StreamedEngine.reduce = counted
    start = time.perf_counter()
    results = gevglm.fit(FORMULA, [path], **options)
    seconds = time.perf_counter() - start
    looked = passes[0] / results.nobs + 1
    off = np.asarray(results.params) - TRUTH
    wald = float(off @ np.linalg.solve(np.asarray(results.cov_params()), off))
    return {
        "seconds": seconds,
        "passes": looked,
        "rate": looked * results.nobs / seconds,
        "memory": resident("VmHWM") / 1e9,
        "params": list(np.asarray(results.params)),
        "distance": float(np.abs(off / np.asarray(results.bse)).max()),
        "pvalue": float(chi2.sf(wald, len(TRUTH))),
    }


def _peer(path: str, name: str, rounds: int = 1) -> dict:
    start = time.perf_counter()
    params = PEERS[name](path, rounds)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "memory": resident("VmHWM") / 1e9, "params": [float(b) for b in params]}


def _sm(path: str, rounds: int):
    import statsmodels.formula.api as smf
    from statsmodels import api as sm

    return smf.glm(FORMULA, pd.read_parquet(path), family=sm.families.Binomial()).fit().params


def _glum(path: str, rounds: int):
    from glum import GeneralizedLinearRegressor

    data = pd.read_parquet(path)
    model = GeneralizedLinearRegressor(family="binomial", alpha=0, gradient_tol=1e-7).fit(data[NAMES], data["y"])
    return [model.intercept_, *model.coef_]


def _sklearn(path: str, rounds: int):
    from sklearn.linear_model import LogisticRegression

    data = pd.read_parquet(path)
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-6).fit(
        data[NAMES].to_numpy(), data["y"].to_numpy()
    )
    return [*model.intercept_, *model.coef_[0]]


def _sgd(path: str, rounds: int):
    from pyarrow import parquet
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(loss="log_loss", penalty=None, average=True, random_state=0)
    for _ in range(rounds):
        for batch in parquet.ParquetFile(path).iter_batches(batch_size=1 << 18):
            part = batch.to_pandas()
            model.partial_fit(part[NAMES].to_numpy(), part["y"].to_numpy(), classes=[0, 1])
    return [*model.intercept_, *model.coef_[0]]


def _dask_ml(path: str, rounds: int):
    import dask.dataframe as dd
    from dask_ml.linear_model import LogisticRegression

    data = dd.read_parquet(path, split_row_groups=True).persist()  # dask-ml needs to know the lengths of partitions
    X, y = data[NAMES].to_dask_array(lengths=True), data["y"].to_dask_array(lengths=True)
    model = LogisticRegression(solver="newton", C=1e10, tol=1e-8).fit(X, y)
    return [float(np.ravel(model.intercept_)[0]), *np.ravel(model.coef_)]


PEERS: dict[str, Callable] = {
    "sm.GLM": _sm,
    "glum": _glum,
    "scikit-learn newton-cholesky": _sklearn,
    "SGD partial_fit": _sgd,
    **({"dask-ml newton": _dask_ml} if find_spec("dask_ml") else {}),
}


def losses(path: str, *candidates: list[float]) -> list[float]:
    """Return the summed log loss of coefficients, by one pass."""
    import gevglm
    from gevglm.engine.base import ArraySum, Block
    from gevglm.links import Logit
    from gevglm.losses import Log

    engine = gevglm.BinaryGLM.from_formula(FORMULA, [path], link="logit").engine()
    log = Log(Logit())

    def total(block: Block):
        return np.array([log.value(block.y, block.linear_predictor(np.array(b))).sum() for b in candidates])

    return list(engine.reduce(ArraySum(total)))


def dask_ratio(path: str) -> dict:
    """Time the fit of a table, and of the same table by Dask; and what two threads are worth on a plain sum."""
    import dask
    import dask.dataframe as dd
    from distributed import Client, LocalCluster
    from threadpoolctl import threadpool_limits

    import gevglm
    from benchmarks.speed.timing import compare
    from gevglm.engine import MemoryEngine
    from gevglm.estimation.sums import WeightedGram
    from gevglm.links import Logit
    from gevglm.losses import Log

    data = pd.read_parquet(path).head(SMALL)
    parts = dd.from_pandas(data, npartitions=4)

    def by_threads(workers: int):
        with dask.config.set(scheduler="threads", num_workers=workers):
            return gevglm.fit(FORMULA, parts, xi=XI)

    calls = {"memory": lambda: gevglm.fit(FORMULA, data, xi=XI)}
    calls |= {f"threads {n}": lambda n=n: by_threads(n) for n in (1, 2)}
    seconds = {name: timing.seconds for name, timing in compare(calls, 5).items()}
    for n in (1, 2):
        with (
            LocalCluster(n_workers=n, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
            Client(cluster) as client,
        ):
            held = client.persist(parts)
            seconds[f"processes {n}"] = compare({"": lambda held=held: gevglm.fit(FORMULA, held, xi=XI)}, 5)[""].seconds
    X = np.asfortranarray(np.column_stack([np.ones(len(data)), data[NAMES]]))
    y = data["y"].to_numpy(float)
    gram = WeightedGram(Log(Logit()), TRUTH, lambda block, point: point.pdf)
    with threadpool_limits(1):
        plain = compare({f"plain {n}": lambda n=n: MemoryEngine(X, y, threads=n).reduce(gram) for n in (1, 2)}, 9)
    return seconds | {name: timing.seconds for name, timing in plain.items()}


def wide(path: str, name: str) -> dict:
    """Fit a factor of many levels."""
    import gevglm

    source = {"gevglm, DataFrame": lambda: pd.read_parquet(path), "gevglm, parquet file in pieces": lambda: [path]}
    start = time.perf_counter()
    if name in source:
        results = gevglm.fit("y ~ x1 + x2 + C(level)", source[name](), link="logit")
        params, error = results.params[["x1", "x2"]], results.bse[["x1", "x2"]]
    else:
        from glum import GeneralizedLinearRegressor

        data = pd.read_parquet(path).astype({"level": "category"})
        model = GeneralizedLinearRegressor(family="binomial", alpha=0, drop_first=True, gradient_tol=1e-7)
        model.fit(data[["x1", "x2", "level"]], data["y"])
        params, error = model.coef_[:2], np.full(2, np.nan)
    seconds = time.perf_counter() - start
    memory = resident("VmHWM") / 1e9
    return {"seconds": seconds, "memory": memory, "params": list(map(float, params)), "error": list(map(float, error))}


def write_wide(path: Path, rows: int = SMALL, seed: int = 1) -> None:
    """Write rows with a factor of many levels; the effects of x1 and x2 on the logit are 0.3 and 0."""
    rng = np.random.default_rng(seed)
    level, x1, x2 = rng.integers(0, LEVELS, rows), rng.standard_normal(rows), rng.standard_normal(rows)
    linear = -1.5 + 0.3 * x1 + rng.normal(0.0, 0.3, LEVELS)[level]
    y = (rng.random(rows) < 1.0 / (1.0 + np.exp(-linear))).astype(np.int8)
    frame = pd.DataFrame({"y": y, "x1": x1, "x2": x2, "level": level})
    frame.to_parquet(path, row_group_size=GROUP // 4)


def run(rows: int = LARGE, folder: str | None = None) -> str:
    """Write the files, measure, and return the text."""
    with tempfile.TemporaryDirectory(dir=folder) as home:
        small, medium, large, many = (Path(home) / f"{name}.parquet" for name in ("small", "medium", "large", "wide"))
        write(small, SMALL)
        write(large, rows)
        if rows > LARGE:
            write(medium, LARGE)
        else:
            medium = large
        write_wide(many)
        fits = {
            (n, name): _fresh("streamed", path, **options)
            for n, path in ((SMALL, small), (rows, large))
            for name, options in FITS.items()
        }
        peers = {"gevglm, from the file in pieces": _fresh("streamed", medium, link="logit")}
        for name in PEERS:
            for rounds in SGD_ROUNDS if name.startswith("SGD") else (1,):
                label = f"{name}, {rounds} rounds" if rounds > 1 else name
                peers[label] = _fresh("peer", medium, name=name, rounds=rounds)
        excess = losses(str(medium), *(peer["params"] for peer in peers.values()))
        dask = _fresh("dask", small)
        names = ("gevglm, DataFrame", "gevglm, parquet file in pieces", "glum, DataFrame")
        factor = {name: _fresh("wide", many, name=name) for name in names}
        size = large.stat().st_size / 1e9
    return TEXT.format(
        rows=rows,
        columns=COLUMNS,
        size=size,
        fits=_fits_table(fits),
        medium=min(rows, LARGE),
        peers=_peers_table(peers, excess),
        dask=_dask_table(dask),
        levels=LEVELS,
        wide_columns=LEVELS + 2,
        dense=8 * SMALL * (LEVELS + 2) / 1e9,
        wide=_wide_table(factor),
    )


def _fits_table(fits: dict) -> str:
    rows = [
        (
            name,
            f"{n:,}",
            f"{m['seconds']:.1f}",
            f"{m['passes']:.1f}",
            f"{m['rate'] / 1e6:.2f}",
            f"{m['rate'] / fits[SMALL, name]['rate']:.2f}",
            f"{m['memory']:.2f}",
            f"{m['distance']:.1f}",
            f"{m['pvalue']:.2f}",
        )
        for (n, name), m in fits.items()
    ]
    return table(
        ("fit", "rows", "seconds", "passes", "million rows / s", "rate / that at 1e6", "peak GB", "truth", "p"), rows
    )


def _peers_table(peers: dict, excess: list[float]) -> str:
    mine = next(iter(peers.values()))["seconds"]
    rows = [
        (name, f"{m['seconds']:.1f}", f"{m['seconds'] / mine:.1f}", f"{m['memory']:.2f}", f"{value - excess[0]:.2g}")
        for (name, m), value in zip(peers.items(), excess, strict=True)
    ]
    return table(("logit by", "seconds", "ratio", "peak GB", "loss above ML"), rows)


def _dask_table(seconds: dict[str, float]) -> str:
    lines = {
        "DataFrame in memory": "memory",
        "Dask, 2 threads": "threads 2",
        "Dask, 1 thread": "threads 1",
        "Dask, 2 processes": "processes 2",
        "Dask, 1 process": "processes 1",
    }
    rows = [(text, f"{seconds[name]:.2f}", f"{seconds[name] / seconds['memory']:.2f}") for text, name in lines.items()]
    gains = {kind: seconds[f"{kind} 1"] / seconds[f"{kind} 2"] for kind in ("plain", "threads", "processes")}
    return (
        table(("fit", "seconds", "ratio"), rows)
        + f"\n\nTwice the workers are worth {gains['plain']:.2f} on the plain sum; on the fit by Dask {gains['threads']:.2f} in threads "
        f"({gains['threads'] / gains['plain']:.0%} of it) and {gains['processes']:.2f} in processes ({gains['processes'] / gains['plain']:.0%})."
    )


def _wide_table(factor: dict) -> str:
    rows = [
        (name, f"{m['seconds']:.1f}", f"{m['memory']:.2f}", *(f"{b:.6f}" for b in m["params"]), f"{m['error'][0]:.6f}")
        for name, m in factor.items()
    ]
    return table(("fit", "seconds", "peak GB", "x1", "x2", "s.e. of x1"), rows)


FITS = {
    "xi=0.5": {"xi": XI},
    "xi=0.5, HC3": {"xi": XI, "cov_type": "HC3"},
    "xi=0.5, loss='log'": {"xi": XI, "loss": "log"},
}
JOBS: dict[str, Callable] = {"streamed": streamed, "peer": _peer, "dask": dask_ratio, "wide": wide}


def _fresh(what: str, path: Path, **options) -> dict:
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "benchmarks.speed.larger_than_memory",
        what,
        str(path),
        json.dumps(options),
    ]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])


if __name__ == "__main__":
    if sys.argv[1] in JOBS:
        _, what, path, options = sys.argv
        print(json.dumps(JOBS[what](path, **json.loads(options))))
    else:
        rows, *folder = sys.argv[1:]
        publish(RESULTS / "speed" / "larger_than_memory.md", lambda: run(int(rows.replace("_", "")), *folder))
