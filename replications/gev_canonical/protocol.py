"""One split of one task: every method trained and judged on the test rows."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gevglm.calibration import brier_score, calibration_loss
from gevglm.exceptions import GevglmError
from gevglm.losses import Log
from replications.gev_canonical.methods import Method, Trained
from replications.gev_canonical.ours import VARIANTS
from replications.gev_canonical.splits import Split, split_of
from replications.gev_canonical.tasks import Data

KEYS = ("task", "split", "method")
MEASURES = ("brier", "calibration", "log_loss")
CHOICES = ("xi", "alpha", "score", "inner_score", "validation")
COLUMNS = (*KEYS, *MEASURES, "ruled_out", *CHOICES, "converged", "seconds", "cpu", "failure")

Record = dict[str, Any]


def judged(trained: Trained, X: np.ndarray, y: np.ndarray) -> Record:
    """Return Brier score, calibration loss, log loss, and how many observed outcomes had probability 0.

    The log loss is infinite where there is such an outcome.
    """
    linear = X @ trained.params
    p = trained.link.inverse(linear)
    log = Log(trained.link).value(y, linear)
    return {
        "brier": brier_score(y, p),
        "calibration": calibration_loss(y, p),
        "log_loss": float(np.mean(log)),
        "ruled_out": int(np.isinf(log).sum()),
    }


def run_split(task: str, data: Data, number: int, methods: Mapping[str, Method]) -> list[Record]:
    """Return one record a method.

    Variants of ours are trained once more without the held-out rows and judged on those too, so that they can be chosen between without
    a look at the test rows. A method that fails says why in its record. ``seconds`` are the processor seconds of training, choice
    of shape and penalty included; ``cpu`` those of everything the record took.
    """
    records = []
    for name, train in methods.items():
        split = split_of(data, number)
        record: Record = dict.fromkeys(COLUMNS, np.nan) | {"task": task, "split": number, "method": name, "failure": ""}
        start = time.process_time()
        try:
            trained = train(split)
            record["seconds"] = time.process_time() - start
            record |= {"xi": trained.xi, "alpha": trained.alpha, "score": trained.score}
            record["converged"] = bool(trained.converged)
            record |= judged(trained, split.X_test, split.y_test)
            if name in VARIANTS:
                record |= _validated(train, split)
        except (GevglmError, np.linalg.LinAlgError) as error:
            record["failure"] = f"{type(error).__name__}: {error}"
        record["cpu"] = time.process_time() - start
        records.append(record)
    return records


def _validated(train: Method, split: Split) -> Record:
    part = replace(split, X=split.X[~split.held], y=split.y[~split.held])
    inner = train(part)
    p = inner.link.inverse(split.X[split.held] @ inner.params)
    return {"inner_score": inner.score, "validation": brier_score(split.y[split.held], p)}
