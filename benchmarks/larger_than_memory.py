"""Data larger than memory: rows per second, peak memory and truth, and what users do today, on the same parquet file.

Run it alone with a number of rows and a folder: ``python -m benchmarks.larger_than_memory 100_000_000 /data/clicks``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.memory import _resident
from benchmarks.report import publish, table

COLUMNS = 8
TRUTH = np.array([-1.3, 0.15, -0.12, 0.1, -0.08, 0.06, -0.04, 0.02])  # of the GEV(0.5) link: 2.4 % of events
XI = 0.5
GROUP = 1 << 20
SMALL, LARGE = 1_000_000, 10_000_000
NAMES = [f"x{j}" for j in range(1, COLUMNS)]
FORMULA = "y ~ " + " + ".join(NAMES)

TEXT = """# Data larger than memory

{rows:,} rows x {columns} columns of a parquet file ({size:.1f} GB), from a simulator: GEV(0.5) link, 2.4 % of events. Each line is a
process of its own; peak memory is the highest resident memory above that after the imports, the file cache not counted.

{fits}

Rows per second are those of all passes over the data (the look at the columns included); the goal is a rate within 20 % of that at
1,000,000 rows, and less than 1.5 GB. Truth: the largest distance of an estimate from the true coefficient, in standard errors.

## What users do today, on the same file

Log loss of the logit on all rows, above that of maximum likelihood (a fit that is wrong by one standard error in one coefficient loses
0.5). `sm.GLM`, glum and scikit-learn hold the design in memory; SGD sees the file in pieces, as often as the line says.

{peers}

## Dask

The same 1,000,000 rows in memory: `fit` of a DataFrame, and of a Dask DataFrame of 4 partitions with the threaded scheduler (goal: no
slower than 1.5 times). Two threads against one on a plain blocked X'WX of the machine, and on the fit.

{dask}"""


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
    before = _resident("VmRSS")
    start = time.perf_counter()
    results = gevglm.fit(FORMULA, [path], **options)
    seconds = time.perf_counter() - start
    looked = passes[0] / results.nobs + 1
    return {
        "seconds": seconds,
        "passes": looked,
        "rate": looked * results.nobs / seconds,
        "memory": (_resident("VmHWM") - before) / 1e9,
        "params": list(np.asarray(results.params)),
        "distance": float(np.abs((np.asarray(results.params) - TRUTH) / np.asarray(results.bse)).max()),
    }


def _peer(name: str, path: str, rounds: int = 1) -> dict:
    before = _resident("VmRSS")
    start = time.perf_counter()
    params = PEERS[name](path, rounds)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "memory": (_resident("VmHWM") - before) / 1e9, "params": [float(b) for b in params]}


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


PEERS: dict[str, Callable] = {
    "sm.GLM": _sm,
    "glum": _glum,
    "scikit-learn newton-cholesky": _sklearn,
    "SGD partial_fit": _sgd,
}


def losses(path: str, *candidates: list[float]) -> list[float]:
    """Return the summed log loss of coefficients, by one pass."""
    import gevglm
    from gevglm.engine.base import Block
    from gevglm.links import Logit
    from gevglm.losses import Log
    from gevglm.reducers import ArraySum

    engine = gevglm.BinaryGLM.from_formula(FORMULA, [path], link="logit").engine()
    log = Log(Logit())

    def total(block: Block):
        return np.array([log.value(block.y, block.linear_predictor(np.array(b))).sum() for b in candidates])

    return list(engine.reduce(ArraySum(total)))


def dask_ratio(path: str) -> dict:
    """Time the fit of a table, and of the same table by Dask's threads; and what two threads are worth."""
    import dask
    import dask.dataframe as dd
    from threadpoolctl import threadpool_limits

    import gevglm
    from benchmarks.timing import compare
    from gevglm.engine import MemoryEngine
    from gevglm.links import Logit
    from gevglm.losses import Log
    from gevglm.reducers import WeightedGram

    data = pd.read_parquet(path).head(SMALL)
    parts = dd.from_pandas(data, npartitions=4)

    def by_dask(workers: int):
        with dask.config.set(scheduler="threads", num_workers=workers):
            return gevglm.fit(FORMULA, parts, xi=XI)

    times = compare(
        {"memory": lambda: gevglm.fit(FORMULA, data, xi=XI), "dask": lambda: by_dask(2), "one": lambda: by_dask(1)}, 3
    )
    X = np.asfortranarray(np.column_stack([np.ones(SMALL), data[NAMES]]))
    y = data["y"].to_numpy(float)
    gram = WeightedGram(Log(Logit()), TRUTH, lambda block, point: point.pdf)
    with threadpool_limits(1):
        plain = compare({str(n): lambda n=n: MemoryEngine(X, y, threads=n).reduce(gram) for n in (1, 2)}, 7)
    return {
        "memory": times["memory"].seconds,
        "dask": times["dask"].seconds,
        "dask one": times["one"].seconds,
        "gram speed-up": plain["1"].seconds / plain["2"].seconds,
    }


def run(rows: int = LARGE, folder: str | None = None) -> str:
    """Write the files, measure, and return the text."""
    with tempfile.TemporaryDirectory(dir=folder) as home:
        small, large = Path(home) / "small.parquet", Path(home) / "large.parquet"
        write(small, SMALL)
        write(large, rows)
        fits = {
            (n, name): _fresh("streamed", path, **options)
            for n, path in ((SMALL, small), (rows, large))
            for name, options in FITS.items()
        }
        peers = {"gevglm, from the file in pieces": _fresh("streamed", large, link="logit")}
        for name in PEERS:
            for rounds in (1, 5) if name.startswith("SGD") else (1,):
                if rows <= 20_000_000 or name.startswith("SGD"):
                    label = f"{name}, {rounds} rounds" if rounds > 1 else name
                    peers[label] = _fresh("peer", large, name=name, rounds=rounds)
        excess = losses(str(large), *(peer["params"] for peer in peers.values()))
        best = excess[0]
        dask = _fresh("dask", small)
        size = large.stat().st_size / 1e9
    fit_rows = [
        (
            name,
            f"{n:,}",
            f"{m['seconds']:.1f}",
            f"{m['passes']:.1f}",
            f"{m['rate'] / 1e6:.2f}",
            f"{m['rate'] / fits[SMALL, name]['rate']:.2f}",
            f"{m['memory']:.2f}",
            f"{m['distance']:.1f}",
        )
        for (n, name), m in fits.items()
    ]
    mine = peers["gevglm, from the file in pieces"]["seconds"]
    peer_rows = [
        (name, f"{m['seconds']:.1f}", f"{m['seconds'] / mine:.1f}", f"{m['memory']:.2f}", f"{value - best:.2g}")
        for (name, m), value in zip(peers.items(), excess, strict=True)
    ]
    dask_rows = [
        ("in memory", f"{dask['memory']:.2f}", "1.00"),
        ("Dask, 2 threads", f"{dask['dask']:.2f}", f"{dask['dask'] / dask['memory']:.2f}"),
        ("Dask, 1 thread", f"{dask['dask one']:.2f}", f"{dask['dask one'] / dask['memory']:.2f}"),
    ]
    speed = f"\n\nTwo threads are worth {dask['gram speed-up']:.2f} on the plain sum, {dask['dask one'] / dask['dask']:.2f} on the fit by Dask."
    return TEXT.format(
        rows=rows,
        columns=COLUMNS,
        size=size,
        fits=table(
            ("fit", "rows", "seconds", "passes", "million rows / s", "rate / that at 1e6", "peak GB", "truth"), fit_rows
        ),
        peers=table(("logit by", "seconds", "ratio", "peak GB", "loss above ML"), peer_rows),
        dask=table(("fit", "seconds", "ratio"), dask_rows) + speed,
    )


FITS = {
    "xi=0.5": {"xi": XI},
    "xi=0.5, HC3": {"xi": XI, "cov_type": "HC3"},
    "xi=0.5, loss='log'": {"xi": XI, "loss": "log"},
}


def _fresh(what: str, path: Path, **options) -> dict:
    command = [sys.executable, "-m", "benchmarks.larger_than_memory", what, str(path), json.dumps(options)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])


if __name__ == "__main__":
    if sys.argv[1] in ("streamed", "peer", "dask"):
        _, what, path, *rest = sys.argv
        options = json.loads(rest[0]) if rest else {}
        job = {
            "streamed": streamed,
            "peer": lambda path, **o: _peer(o["name"], path, o["rounds"]),
            "dask": lambda path, **o: dask_ratio(path),
        }[what]
        print(json.dumps(job(path, **options)))
    else:
        rows, *folder = sys.argv[1:]
        publish("larger_than_memory", lambda: run(int(rows.replace("_", "")), *folder))
