"""Eight tasks that had no part in any choice: missing numbers are the median of their column, missing categories a level of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

import gevglm
from replications.gev_canonical.tasks import Data, Task

MOST = 10.0  # standard deviations from the median that a number may be away; ratios of balance sheets are further


@dataclass(frozen=True)
class FurtherTask(Task):
    """A task whose columns may have missing values; text columns are categories, columns that are alike in all rows are left out."""

    def load(self) -> Data:
        """Return the data, or raise MissingDatasetError."""
        table = gevglm.datasets.load(self.dataset).drop(columns=list(self.ignored))
        known = table.drop(columns=self.outcome)
        words = [c for c in known if not pd.api.types.is_numeric_dtype(known[c])]
        numbers = known.drop(columns=words)
        numbers = numbers.fillna(numbers.median()).loc[:, numbers.nunique() > 1]
        spread, middle = MOST * numbers.std(), numbers.median()
        numbers = numbers.clip(middle - spread, middle + spread, axis=1)
        texts = known[words].fillna("missing").astype(str)
        texts = texts.loc[:, texts.nunique() > 1]
        levels = [(texts[c] == level).to_numpy(float) for c in texts for level in sorted(texts[c].unique())]
        dummies = np.column_stack(levels) if levels else np.empty((len(table), 0))
        y = table[self.outcome].isin(self.positive).to_numpy(float)
        values = numbers.to_numpy(float)
        order = np.lexsort(np.column_stack([values, dummies, y]).T)
        return Data(values[order], dummies[order], y[order])


FURTHER = {
    task.name: task
    for task in (
        FurtherTask("abalone-19", "abalone", "rings", (19,)),
        FurtherTask("mammography", "mammography", "calcification", (1,)),
        FurtherTask("oil-spill", "oil_spill", "spill", (1,), ignored=("patch",)),
        FurtherTask("phoneme", "phoneme", "oral", (1,)),
        FurtherTask("sick", "sick", "Class", ("sick",)),
        FurtherTask("wine-red", "wine_quality_red", "quality", (3, 4)),
        FurtherTask("wine-white", "wine_quality_white", "quality", (3, 4)),
        FurtherTask("bankruptcy", "polish_bankruptcy", "class", (1,)),
    )
}
