"""Tables 1 and 2: logistic regression under fixed class weights, and where R's glm ends on these data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import log_loss

from benchmarks.report import table
from gevglm.weighting import RatioWeight
from replications.class_weighting.data import drawn, repeated
from replications.class_weighting.learners import CHOICES, CONVERGED, SHRUNK, UNDAMPED
from replications.class_weighting.scoring import DRAWS, MAIN, RARE, RESULTS, brief, headed, scores

MANY_DRAWS = 400  # of two rare cases, of which twenty draws decide nothing
TABLE_1 = {
    2: (0.819, 0.804, 0.776, 0.752),
    5: (0.91, 0.716, 0.87, 0.676),
    7.5: (0.92, 0.668, 0.887, 0.627),
    10: (0.924, 0.491, 0.897, 0.44),
}
TABLE_2 = {
    5: (0.8, 0.559, 0.58, 0.239),
    7.5: (0.95, 0.388, 0.62, 0.223),
    10: (1.0, 0.382, 0.64, 0.206),
    12: (1.0, 0.382, 0.66, 0.183),
}


def fixed_ratios(
    X: NDArray, y: NDArray, rare: int, main: int, paper: dict, number: int, names: tuple, draws: int = DRAWS
) -> str:
    def study(rng: np.random.Generator) -> Iterator[dict]:
        split = drawn(X, y, rare, main, rng, tested=1000)
        for name in names:
            for ratio in paper:
                yield {"learner": name, "ratio": ratio} | scores(RatioWeight(CHOICES[name], ratio=ratio), split)

    found = repeated(study, draws, RESULTS / f"table_{number}.csv.gz")
    columns = ["train_recall", "train_precision", "test_recall", "test_precision"]
    rows = []
    for ratio, printed in paper.items():
        rows.append([f"{ratio:g}", "**paper**", *(f"**{value:.3f}**" for value in printed)])
        for name in names:
            part = found[(found["ratio"] == ratio) & (found["learner"] == name)]
            rows.append([f"{ratio:g}", name, *(brief(part[column]) for column in columns)])
    head = ["w+/w-", "logistic regression", *(column.replace("_", " ") for column in columns)]
    return headed(f"Table {number}: {rare} rare and {main} main cases to train with", found, table(head, rows))


def table_1(X: NDArray, y: NDArray) -> str:
    names = (UNDAMPED, CONVERGED, "columns as they are, C = 1", "columns as they are, stopped after 50 iterations")
    return fixed_ratios(X, y, 200, 2000, TABLE_1, 1, names)


def table_2(X: NDArray, y: NDArray) -> str:
    names = (UNDAMPED, "columns as they are, C = 1", "columns as they are, C = 0.01", SHRUNK)
    return fixed_ratios(X, y, 2, 10, TABLE_2, 2, names, MANY_DRAWS)


def divergence(X: NDArray, y: NDArray) -> str:
    def study(rng: np.random.Generator) -> Iterator[dict]:
        for (rare, main), ratios in {(RARE, MAIN): (1.0, 5.0, 12.0), (200, 2000): (2.0, 10.0)}.items():
            split = drawn(X, y, rare, main, rng)
            for ratio in ratios:
                weight = np.where(split.y == 1, ratio, 1.0)
                undamped, converged = (
                    clone(CHOICES[name]).fit(split.X, split.y, weight) for name in (UNDAMPED, CONVERGED)
                )
                least = 2.0 * weight.sum() * log_loss(split.y, converged.predict_proba(split.X), sample_weight=weight)
                yield {"rare": rare, "main": main, "ratio": ratio, "times": undamped.deviance_ / least}

    found = repeated(study, DRAWS, RESULTS / "divergence.csv.gz")
    rows = [
        [f"{rare} and {main}", f"{ratio:g}", f"{(part > 2.0).sum()} of {len(part)}", f"{part[part > 2.0].median():.0f}"]
        for (rare, main, ratio), part in found.groupby(["rare", "main", "ratio"])["times"]
    ]
    head = [
        "rare and main cases",
        "w+/w-",
        "fits above twice the least deviance",
        "median of these, times the least deviance",
    ]
    return headed("Where undamped Fisher scoring (R's glm) ends on the spam data", found, table(head, rows))
