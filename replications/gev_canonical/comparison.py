"""From the records of the splits to the numbers of the tables: means, standard errors, tests, ranks, choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import friedmanchisquare, wilcoxon

from replications.gev_canonical import paper
from replications.gev_canonical.methods import PAPER_METHODS
from replications.gev_canonical.ours import EITHER, VARIANTS
from replications.gev_canonical.protocol import MEASURES
from replications.gev_canonical.splits import TEST_SHARE
from replications.gev_canonical.tasks import TASKS

LEVELS = {"**": 0.05, "*": 0.10}
OURS = "ours"


def complete(records: pd.DataFrame) -> pd.DataFrame:
    """Return the records of splits on which every method was trained."""
    methods = records.groupby(["task", "split"])["method"].transform("nunique")
    return records[methods == len(PAPER_METHODS) + len(VARIANTS)]


def with_choices(records: pd.DataFrame) -> pd.DataFrame:
    """Add the variants that pick, split by split, the one of several with the best cross-validated score."""
    added = [records]
    for name, candidates in EITHER.items():
        part = records[records["method"].isin(candidates)].dropna(subset=["score"])
        chosen = part.loc[part.groupby(["task", "split"])["score"].idxmin()].set_index(["task", "split"])
        inner = part.dropna(subset=["inner_score"])
        inner = inner.loc[inner.groupby(["task", "split"])["inner_score"].idxmin()].set_index(["task", "split"])
        totals = records[records["method"].isin(candidates)].groupby(["task", "split"])[["seconds", "cpu"]].sum()
        chosen = chosen.assign(method=name, validation=inner["validation"], **totals)
        added.append(chosen.reset_index())
    return pd.concat(added, ignore_index=True)


def recommended(records: pd.DataFrame) -> pd.Series:
    """Return the mean rank of every variant by the Brier score of the held-out rows, the best first.

    The test rows have no part in it. A variant that fails is last.
    """
    scores = records[records["method"].isin([*VARIANTS, *EITHER])].pivot(
        index=["task", "split"], columns="method", values="validation"
    )
    ranks = scores.rank(axis=1, na_option="bottom").groupby("task").mean()
    return ranks.mean().sort_values()


def eight(records: pd.DataFrame, eighth: str) -> pd.DataFrame:
    """Return the records of the paper's methods and of one variant, which is called ours."""
    part = records[records["method"].isin([*PAPER_METHODS, eighth])]
    return part.assign(method=part["method"].where(part["method"] != eighth, OURS))


def by_method(records: pd.DataFrame, measure: str) -> dict[str, pd.DataFrame]:
    """Return for every task a table with one row a split and one column a method."""
    order = [name for name in [*PAPER_METHODS, OURS, *VARIANTS, *EITHER] if name in set(records["method"])]
    wide = records.pivot(index=["task", "split"], columns="method", values=measure)[order]
    present = set(wide.index.get_level_values("task"))
    return {task: wide.loc[task] for task in TASKS if task in present}


def means(records: pd.DataFrame, measure: str) -> pd.DataFrame:
    return pd.DataFrame({task: table.mean(skipna=False) for task, table in by_method(records, measure).items()}).T


def standard_errors(records: pd.DataFrame, measure: str) -> pd.DataFrame:
    with np.errstate(invalid="ignore"):
        errors = {task: table.std() / np.sqrt(len(table)) for task, table in by_method(records, measure).items()}
    return pd.DataFrame(errors).T


def marks(records: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return stars against the method with the smallest mean, as in the paper."""
    found = {}
    for task, table in by_method(records, measure).items():
        best = table[table.mean().idxmin()]
        found[task] = {name: stars(signed_rank(column - best)) for name, column in table.items()}
    return pd.DataFrame(found).T


def signed_rank(difference: NDArray | pd.Series) -> float:
    """Return the p-value of the two-sided Wilcoxon signed-rank test; 1 without any difference."""
    difference = np.asarray(difference, dtype=float)
    difference = difference[(difference != 0) & ~np.isnan(difference)]
    return float(wilcoxon(difference).pvalue) if len(difference) else 1.0


def stars(pvalue: float) -> str:
    return next((mark for mark, level in LEVELS.items() if pvalue < level), "")


def ranks(records: pd.DataFrame) -> pd.DataFrame:
    """Return the mean rank of every method over the tasks, by each measure; methods that fail or are infinite share the last ranks."""
    found = {}
    for measure in MEASURES:
        table = means(records, measure).fillna(np.inf)
        found[measure] = table.rank(axis=1).mean()
    return pd.DataFrame(found)


def friedman(records: pd.DataFrame) -> dict[str, float]:
    """Return the p-value of Friedman's test that the methods do not differ, by each measure."""
    tables = {measure: means(records, measure).fillna(np.inf) for measure in MEASURES}
    return {
        measure: float(friedmanchisquare(*table.rank(axis=1).T.to_numpy()).pvalue) for measure, table in tables.items()
    }


def against_paper(records: pd.DataFrame, measure: str = "brier", method: str = "GEV-canonical") -> pd.DataFrame:
    """Return our mean beside the paper's, and their distance in standard errors of ours."""
    table = pd.DataFrame({"ours": means(records, measure)[method], "se": standard_errors(records, measure)[method]})
    table["paper"] = paper.numbers(paper.TABLES[measure])[method]
    table["distance"] = (table["ours"] - table["paper"]) / table["se"]
    return table


def paired(
    records: pd.DataFrame, first: str = "GEV-log", second: str = "GEV-canonical", measure: str = "brier"
) -> pd.DataFrame:
    r"""Return the mean difference of two methods on each task, with its standard errors over the splits.

    Splits share rows, so the plain standard error :math:`s/\sqrt J` is too small. The corrected one, :math:`s \sqrt{1/J + n_2/n_1}` with
    :math:`n_2/n_1` the ratio of test to training rows, is that of Nadeau and Bengio (2003), Inference for the generalization error.
    """
    rows = {}
    for task, table in by_method(records, measure).items():
        table = table[[first, second]].dropna()
        difference = table[first] - table[second]
        spread, count = difference.std(), len(difference)
        rows[task] = {
            first: table[first].mean(),
            second: table[second].mean(),
            "difference": difference.mean(),
            "se": spread / np.sqrt(count),
            "corrected_se": spread * np.sqrt(1 / count + TEST_SHARE / (1 - TEST_SHARE)),
            "splits": count,
            "won": int((difference < 0).sum()),
            "pvalue": signed_rank(difference),
        }
    return pd.DataFrame(rows).T


def variants(records: pd.DataFrame, names: Sequence[str] = (*VARIANTS, *EITHER)) -> pd.DataFrame:
    """Return the mean ranks each variant has when it is the eighth column, and how often it failed."""
    chosen = recommended(records)
    rows: dict[str, Mapping[str, float]] = {}
    for name in names:
        part = records[records["method"] == name]
        rows[name] = {
            "validation": chosen.get(name, np.nan),
            **ranks(eight(records, name)).loc[OURS],
            "failures": int(part["brier"].isna().sum()),
            "infinite": int(np.isinf(part["log_loss"]).sum()),
        }
    return pd.DataFrame(rows).T


def run_times(records: pd.DataFrame) -> pd.DataFrame:
    """Return the mean processor seconds of one training, choice of shape and penalty included."""
    return means(records, "seconds")
