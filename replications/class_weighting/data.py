"""The data of the class-weighting study: spam, the authors' simulated data, and a stand-in for their power grid."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import gevglm
from replications.common.rare_events import at_hand
from replications.common.records import append

LINES = (7, 8, 15, 23, 30, 39)  # of the authors' code; the stand-in lacks those whose loss splits the network
METER_NOISE = 0.5  # degrees; without any the lines are nearly separable


@dataclass(frozen=True)
class Split:
    """Rows to train with and rows to test with; y is 1 for the rare class."""

    X: NDArray
    y: NDArray
    X_test: NDArray
    y_test: NDArray

    def with_label_noise(self, share: float, rng: np.random.Generator) -> Split:
        """Return the split with this share of each class mislabelled in the training rows."""
        return replace(self, y=flipped(self.y, share, rng))


def spam() -> tuple[NDArray, NDArray]:
    """Return the 4,597 mails of the KEEL file."""
    mails = gevglm.datasets.load("spambase")
    y = mails.pop("spam").to_numpy(dtype=int)
    return mails.to_numpy(dtype=float), y


def simulated() -> tuple[str, NDArray, NDArray]:
    """Return the authors' 1,832 simulated rows, 37 of them of the rare class, and what they are; rows made as theirs where those are not at hand."""
    if at_hand("he_cheng"):
        rows = gevglm.datasets.load("he_cheng")
        return "authors' simulated data", rows[["X1", "X2", "X3"]].to_numpy(), rows["y"].to_numpy()
    rows = gevglm.datasets.simulate_cubic(rng=1)
    return "data simulated as the authors' are", rows[["x1", "x2", "x3"]].to_numpy(), rows["y"].to_numpy()


def stand_in(rng: np.random.Generator) -> list[tuple[NDArray, NDArray]]:
    """Return some lines of the simulated grid, each against the others, with noise on the meters."""
    outages = gevglm.datasets.simulate_outages(noise=METER_NOISE, rng=rng)
    X, lines = outages.filter(regex="^d").to_numpy(), outages["line"].to_numpy()
    return [(X, (lines == line).astype(int)) for line in LINES if line in lines]


def drawn(X: NDArray, y: NDArray, rare: int, main: int, rng: np.random.Generator, tested: int | None = None) -> Split:
    """Return so many rows of each class to train with, and others in the same proportion to test with: at most `tested` main ones, by default as many."""
    of_rare, of_main = (rng.permutation(np.flatnonzero(y == label)) for label in (1, 0))
    tested = min(main if tested is None else tested, len(of_main) - main)
    train = np.concatenate([of_rare[:rare], of_main[:main]])
    test = np.concatenate([of_rare[rare : rare + round(rare * tested / main)], of_main[main : main + tested]])
    return Split(X[train], y[train], X[test], y[test])


def halves(X: NDArray, y: NDArray, rng: np.random.Generator) -> Split:
    """Return half of each class to train with, the other half to test with."""
    sizes = [int((y == label).sum()) // 2 for label in (1, 0)]
    return drawn(X, y, *sizes, rng)


def flipped(y: NDArray, share: float, rng: np.random.Generator) -> NDArray:
    """Return labels of which this share of each class is wrong."""
    wrong = y.copy()
    for label in (0, 1):
        rows = np.flatnonzero(y == label)
        chosen = rng.choice(rows, round(share * len(rows)), replace=False)
        wrong[chosen] = 1 - label
    return wrong


def repeated(study: Callable[[np.random.Generator], Iterable[dict]], draws: int, kept: Path) -> pd.DataFrame:
    """Return the records of many random draws, with the number of the draw; draws that the file `kept` has are not run again."""
    for draw in range(draws):
        if kept.exists() and draw in set(pd.read_csv(kept)["draw"]):
            continue
        print(f"\r{kept.stem}: draw {draw + 1} of {draws}", end="", file=sys.stderr, flush=True)
        found = pd.DataFrame(study(np.random.default_rng([2021, draw]))).assign(draw=draw)
        append(kept, found, float_format="%.6g")
    print(file=sys.stderr)
    found = pd.read_csv(kept)
    return found[found["draw"] < draws]
