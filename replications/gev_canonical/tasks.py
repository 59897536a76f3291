"""The twelve UCI tasks of Table 2: which class is the rare one, which columns are categories."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import gevglm


@dataclass(frozen=True)
class Data:
    """A binary outcome and its columns, in an order that does not depend on where they were read.

    Attributes
    ----------
    numeric : ndarray of shape (n, a)
    dummies : ndarray of shape (n, b)
        One column for every level of every categorical column.
    y : ndarray of shape (n,)
    """

    numeric: NDArray
    dummies: NDArray
    y: NDArray

    @property
    def n_features(self) -> int:
        return self.numeric.shape[1] + self.dummies.shape[1]


@dataclass(frozen=True)
class Task:
    """One row of Table 2.

    Attributes
    ----------
    name : str
    dataset, outcome : str
        The data set, and its column of classes.
    positive : tuple
        Values of the rare class.
    categorical : tuple of str
        Columns of categories.
    ignored : tuple of str
        Columns of names.
    """

    name: str
    dataset: str
    outcome: str
    positive: tuple[str | int, ...]
    categorical: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    def load(self) -> Data:
        """Return the data, or raise MissingDatasetError."""
        return self._encoded(gevglm.datasets.load(self.dataset))

    def _encoded(self, table: pd.DataFrame) -> Data:
        numeric = [c for c in table if c not in (self.outcome, *self.categorical, *self.ignored)]
        values = table[numeric].to_numpy(float)
        levels = [(table[c] == level).to_numpy(float) for c in self.categorical for level in sorted(table[c].unique())]
        dummies = np.column_stack(levels) if levels else np.empty((len(table), 0))
        y = table[self.outcome].isin(self.positive).to_numpy(float)
        order = np.lexsort(np.column_stack([values, dummies, y]).T)
        return Data(values[order], dummies[order], y[order])


NURSERY = ("parents", "has_nurs", "form", "children", "housing", "finance", "social", "health")
CAR = ("buying", "maint", "doors", "persons", "lug_boot", "safety")
CMC = ("education", "husband_education", "religion", "working", "husband_occupation", "living", "media")
GERMAN = ("status", "history", "purpose", "savings", "employment", "personal", "debtors")
GERMAN += ("property", "plans", "housing", "job", "telephone", "foreign")
TASKS = {
    task.name: task
    for task in (
        Task("nursery", "nursery", "recommendation", ("very_recom",), NURSERY),
        Task("letter-A", "letter", "letter", ("A",)),
        Task("car", "car", "acceptability", ("good",), CAR),
        Task("glass", "glass", "type", (3,), ignored=("id",)),
        Task("ecoli", "ecoli", "site", ("imU",), ("lip", "chg"), ("name",)),
        Task("letter-vowel", "letter", "letter", tuple("AEIOU")),
        Task("cmc", "cmc", "method", (2,), CMC),
        Task("vehicle", "vehicle", "type", ("opel",)),
        Task("haberman", "haberman", "status", (2,)),
        Task("yeast", "yeast", "site", ("NUC",), ("erl",), ("name",)),
        Task("german", "german", "risk", (2,), GERMAN),
        Task("pima", "pima", "diabetes", (1,)),
    )
}
