"""What the tables share: methods, recall and precision with their times, means with standard errors."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gevglm.weighting import AdaBoost, AdaClassWeight, DiffBoost, RatioWeight
from replications.class_weighting.data import Split

RESULTS = Path(__file__).parent / "results"
DRAWS = 20
RARE, MAIN = 58, 695  # half of 1,506 mails, 12 to 1


def methods(learner: Any) -> dict[str, Any]:
    return {
        "unweighted": RatioWeight(learner, ratio=1.0),
        "ratio": RatioWeight(learner),
        "AdaBoost": AdaBoost(learner, rounds=10),
        "AdaClassWeight": AdaClassWeight(learner),
        "DiffBoost": DiffBoost(learner),
    }


def scores(model: Any, split: Split) -> dict[str, float]:
    """Return recall, precision and false positive rate on both parts, and processor seconds of training and of predicting the test rows."""
    start = time.process_time()
    model.fit(split.X, split.y)
    found: dict[str, float] = {"train_seconds": time.process_time() - start}
    for part, X, y in (("train", split.X, split.y), ("test", split.X_test, split.y_test)):
        start = time.process_time()
        says = model.predict(X) == 1
        found["test_seconds"] = time.process_time() - start
        found[f"{part}_recall"] = says[y == 1].mean()
        found[f"{part}_precision"] = (y[says] == 1).mean() if says.any() else 0.0
        found[f"{part}_false"] = says[y == 0].mean()
    return found


def brief(values: pd.Series, digits: int = 3) -> str:
    """Return mean and standard error."""
    return f"{values.mean():.{digits}f} ({values.std(ddof=1) / np.sqrt(len(values)):.{digits}f})"


def headed(title: str, found: pd.DataFrame, text: str) -> str:
    """Return a text under a title that says how many draws there were."""
    return f"## {title} ({found['draw'].nunique()} draws)\n\n{text}"


def pair(part: pd.DataFrame) -> str:
    """Return recall and precision on test data."""
    return f"{brief(part['test_recall'])} / {brief(part['test_precision'])}"
