"""Splits of the tasks: the averages, and on the further tasks their peers, trained and judged on the test rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import gevglm
from gevglm.calibration import brier_score, calibration_loss
from gevglm.exceptions import GevglmWarning
from replications.averaging_links.tasks import FURTHER
from replications.common.records import append
from replications.gev_canonical.methods import PAPER_METHODS, Method
from replications.gev_canonical.ours import varying
from replications.gev_canonical.splits import Split, split_of
from replications.gev_canonical.tasks import TASKS

RESULTS = Path(__file__).parent / "results"
COLUMNS = ("task", "split", "method", "brier", "calibration", "log_loss", "ruled_out", "seconds")
Predict = Callable[[Split], NDArray]


def averaged(criterion: str) -> Predict:
    """The average over links, by one criterion."""

    def predict(split: Split) -> NDArray:
        kept = varying(split.X, 1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GevglmWarning)
            found = gevglm.average_links(split.y, split.X[:, kept], criterion=criterion)
            return np.asarray(found.predict(split.X_test[:, kept]))

    return predict


def of_paper(method: Method) -> Predict:
    """A method of the paper."""

    def predict(split: Split) -> NDArray:
        found = method(split)
        with np.errstate(all="ignore"):
            return found.link.inverse(split.X_test @ found.params)

    return predict


def logistic_cv(split: Split) -> NDArray:
    """scikit-learn's LogisticRegressionCV, by log loss."""
    from sklearn.linear_model import LogisticRegressionCV

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegressionCV(Cs=7, cv=5, scoring="neg_log_loss", max_iter=2000).fit(split.X[:, 1:], split.y)
        return model.predict_proba(split.X_test[:, 1:])[:, 1]


def boosted(split: Split) -> NDArray:
    """Histogram gradient boosting, calibrated by scikit-learn's sigmoid."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = CalibratedClassifierCV(HistGradientBoostingClassifier(random_state=0), cv=5)
    return model.fit(split.X[:, 1:], split.y).predict_proba(split.X_test[:, 1:])[:, 1]


OURS = {"average, log loss": averaged("log_loss"), "average, Brier": averaged("brier")}
PEERS = {"LogisticRegressionCV": logistic_cv, "calibrated boosting": boosted}
PAPER = {name: of_paper(method) for name, method in PAPER_METHODS.items()}


def judged(p: NDArray, y: NDArray) -> dict[str, Any]:
    """Return Brier score, calibration loss, log loss, and how many observed outcomes had probability 0."""
    observed = np.where(y == 1, p, 1.0 - p)
    with np.errstate(divide="ignore"):
        log_loss = float(-np.log(observed).mean())
    scores = {"brier": brier_score(y, p), "calibration": calibration_loss(y, p), "log_loss": log_loss}
    return scores | {"ruled_out": int((observed == 0.0).sum())}


def run(path: Path, tasks: dict[str, Any], splits: int, methods: dict[str, Predict]) -> None:
    """Append what is not in the file yet, split by split, so that all tasks have about as many."""
    done = set()
    if path.exists():
        done = set(pd.read_csv(path)[["task", "split", "method"]].itertuples(index=False, name=None))
    for number in range(splits):
        for name, task in tasks.items():
            todo = [method for method in methods if (name, number, method) not in done]
            data = task.load() if todo else None
            records = []
            for method in todo:
                split = split_of(data, number)
                start = time.process_time()
                p = methods[method](split)
                seconds = time.process_time() - start
                records.append(
                    {"task": name, "split": number, "method": method} | judged(p, split.y_test) | {"seconds": seconds}
                )
            if records:
                append(path, pd.DataFrame(records, columns=list(COLUMNS)), float_format="%.8g")


def run_twelve(splits: int) -> None:
    """The tasks of the paper; its methods are in the records of that replication."""
    run(RESULTS / "twelve.csv.gz", TASKS, splits, OURS)


def run_further(splits: int) -> None:
    """Tasks that had no part in any choice."""
    run(RESULTS / "further.csv.gz", FURTHER, splits, OURS | PAPER | PEERS)
