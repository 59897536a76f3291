"""One split of one task: every method trained and judged on the test rows."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.replication.gev_canonical.methods import PAPER_METHODS, Method, Trained
from benchmarks.replication.gev_canonical.ours import VARIANTS
from benchmarks.replication.gev_canonical.splits import Split, split_of
from benchmarks.replication.gev_canonical.tasks import Data
from gevglm.calibration import brier_score, calibration_loss
from gevglm.exceptions import GevglmError
from gevglm.losses import Log

MEASURES = ("brier", "calibration", "log_loss")
KEYS = ("task", "split", "method")
COLUMNS = (*KEYS, *MEASURES, "xi", "alpha", "score", "inner_score", "validation", "seconds", "failure")

Record = dict[str, Any]


def judged(trained: Trained, X: np.ndarray, y: np.ndarray) -> Record:
    """Return Brier score, calibration loss and log loss; the last is infinite where an observed outcome was ruled out."""
    linear = X @ trained.params
    p = trained.link.inverse(linear)
    return {
        "brier": brier_score(y, p),
        "calibration": calibration_loss(y, p),
        "log_loss": float(np.mean(Log(trained.link).value(y, linear))),
    }


def run_split(
    task: str,
    data: Data,
    number: int,
    methods: Mapping[str, Method] = PAPER_METHODS,
    variants: Mapping[str, Method] = VARIANTS,
) -> list[Record]:
    """Return one record a method.

    Variants are trained once more without the held-out rows and judged on those too, so that they can be chosen between without
    a look at the test rows. A method that fails says why in its record.
    """
    records = []
    for name, train in {**methods, **variants}.items():
        split = split_of(data, number)
        record: Record = dict.fromkeys(COLUMNS, np.nan) | {
            "task": task,
            "split": number,
            "method": name,
            "failure": "",
        }
        try:
            start = time.perf_counter()
            trained = train(split)
            record["seconds"] = time.perf_counter() - start
            record |= {"xi": trained.xi, "alpha": trained.alpha, "score": trained.score}
            record |= judged(trained, split.X_test, split.y_test)
            if name in variants:
                record |= _validated(train, split)
        except (GevglmError, np.linalg.LinAlgError) as error:
            record["failure"] = f"{type(error).__name__}: {error}"
        records.append(record)
    return records


def _validated(train: Method, split: Split) -> Record:
    part = replace(split, X=split.X[~split.held], y=split.y[~split.held])
    inner = train(part)
    p = inner.link.inverse(split.X[split.held] @ inner.params)
    return {"inner_score": inner.score, "validation": brier_score(split.y[split.held], p)}
