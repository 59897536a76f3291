"""Batches that arrive: AdaClassWeight that goes on against one that is fitted again, and what a prediction takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import table
from gevglm.weighting import AdaClassWeight, DiffBoost
from replications.class_weighting.data import repeated
from replications.class_weighting.scoring import RESULTS, brief, headed

STREAMS, BATCHES, ROWS, WINDOW, TESTED = 3, 100, 250, 5_000, 20_000
PREDICTED, TIMES = 1_000, 20


def risk(X: NDArray, t: float) -> NDArray:
    """Return the share of faults that rises and falls along the stream, with effects that grow."""
    v = -3.2 + 1.2 * np.sin(2.0 * np.pi * t) + X @ [1.0 + 0.5 * t, 0.8, -0.5]
    return 1.0 / (1.0 + np.exp(-v))


def _drawn(rng: np.random.Generator, n: int, t: float) -> tuple[NDArray, NDArray]:
    X = rng.normal(size=(n, 3))
    return X, (rng.random(n) < risk(X, t)).astype(int)


def _rates(model: AdaClassWeight, X: NDArray, y: NDArray) -> NDArray:
    says = model.predict(X) == 1
    return np.array([says[y == 1].mean(), (y[says] == 1).mean()])


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _one_stream(rng: np.random.Generator) -> Iterator[dict]:
    stream, seen = AdaClassWeight(window=WINDOW), []
    for batch in range(BATCHES):
        t = batch / BATCHES
        X, y = _drawn(rng, ROWS, t)
        seen.append((X, y))
        rows, labels = (np.concatenate(part)[-WINDOW:] for part in zip(*seen, strict=True))
        again = AdaClassWeight()
        went_on = _seconds(lambda X=X, y=y: stream.partial_fit(X, y, classes=[0, 1]))
        refitted = _seconds(lambda again=again, rows=rows, labels=labels: again.fit(rows, labels))
        test = _drawn(rng, TESTED, t)
        (recall, precision), (recall_again, precision_again) = _rates(stream, *test), _rates(again, *test)
        yield {
            "batch": batch,
            "seconds": went_on,
            "seconds_refit": refitted,
            "recall": recall,
            "precision": precision,
        } | {
            "recall_refit": recall_again,
            "precision_refit": precision_again,
        }


def _latency(rng: np.random.Generator) -> Iterator[dict]:
    X, y = _drawn(rng, WINDOW, 0.25)
    for method in (AdaClassWeight(), DiffBoost()):
        model = method.fit(X, y)
        for rows in (1, PREDICTED):
            took = min(_seconds(lambda model=model, rows=rows: model.predict(X[:rows])) for _ in range(TIMES))
            facts = {"method": type(method).__name__, "learners": len(model.members_), "rows": rows}
            yield facts | {"microseconds": 1e6 * took / rows}


def streams() -> str:
    """Return how far a stream is from refits on the same window, in errors and in time, and what a row takes to predict."""
    found = repeated(_one_stream, STREAMS, RESULTS / "streams.csv.gz")
    rows = []
    for measure in ("recall", "precision"):
        gap = (found[measure] - found[f"{measure}_refit"]).abs()
        largest = gap.groupby(found["draw"]).max()
        level = found.groupby("draw")[[measure, f"{measure}_refit"]].mean()
        cells = (level[measure], level[f"{measure}_refit"], gap.groupby(found["draw"]).mean(), largest)
        rows.append([measure, *map(brief, cells), f"{gap.max():.3f}"])
    later = found[found["batch"] > 0].groupby("draw")[["seconds", "seconds_refit"]].sum()
    ratio = later["seconds_refit"] / later["seconds"]
    head = ["on test rows", "stream", "refit", "mean distance", "largest of a stream", "largest of all"]
    text = (
        f"{BATCHES} batches of {ROWS} cases, whose share of faults rises and falls; the last {WINDOW:,} cases count. After every batch `AdaClassWeight.partial_fit` is set "
        f"beside an `AdaClassWeight` fitted to the same window, on {TESTED:,} other cases.\n\n{table(head, rows)}\n\nBatches after the first took the refit "
        f"{brief(ratio, 1)} times as much processor time (at least {ratio.min():.1f} times)."
    )
    taken = repeated(_latency, STREAMS, RESULTS / "latency.csv.gz")
    by = taken.groupby(["method", "rows"], sort=False)
    lines = [
        [
            method,
            f"{part['learners'].mean():.0f}",
            f"{rows:,}",
            f"{part['microseconds'].mean():.2f} ({part['microseconds'].sem():.2f})",
        ]
        for (method, rows), part in by
    ]
    latency = table(["method", "learners", "rows predicted at once", "processor microseconds per row"], lines)
    return headed("Streams", found, f"{text}\n\n{latency}")
