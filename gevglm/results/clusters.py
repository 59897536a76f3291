"""Clusters of the rows of a fit, and of new ones: what resampling keeps together, and intervals take as independent."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.data.observations import one_way
from gevglm.data.survey import SampleReplicates, SampleUnits, Survey, sample_of
from gevglm.data.tables import as_frame, column
from gevglm.exceptions import InvalidDataError, InvalidOptionError

if TYPE_CHECKING:
    from gevglm.data.grouping import Grouping
    from gevglm.data.row_weights import RowWeights
    from gevglm.results.core import ResultsCore

UNKNOWN = "Intervals and tests take observations as independent: rows that are not in memory do not know their cluster."
TWO_KINDS = "Of the two kinds of clusters, intervals and tests know the first; groups= takes the other."


def clusters_of(results: ResultsCore, groups: Any = None) -> Grouping | None:
    """Return the clusters of the rows: as given, else those of a cluster-robust fit; None for rows alone."""
    return results.row_weights.clusters if groups is None else results.model.design.grouping(groups)


def kept_together(results: ResultsCore, groups: Any = None) -> NDArray | None:
    """Return the cluster of each row that resampling keeps together; clusters of two kinds are refused."""
    clusters = clusters_of(results, groups)
    return None if clusters is None else one_way(clusters)


def kept_rows(results: ResultsCore, groups: Any = None) -> RowWeights:
    """Return what the rows stand for, with the clusters that resampling keeps together; strata are those of the design."""
    weights = replace(results.row_weights, groups=kept_together(results, groups))
    return weights if groups is None else replace(weights, strata=None)


def independent(
    results: ResultsCore, groups: Any = None
) -> tuple[NDArray | SampleUnits | SampleReplicates | None, list[str]]:
    """Return the cluster of each row, of which intervals take the first kind as independent, and what is to be said of them.

    Those of a survey design are its units, in their strata, or replicates of its weights.
    """
    if not results.has_data:
        refuse_in_pieces(groups)
        return None, [UNKNOWN] if results.cov_type == "cluster" or results.model.options.design is not None else []
    sample = results.model.design.sample
    if groups is None and isinstance(sample, SampleUnits) and tells_more(sample, len(results.model.endog)):
        return sample, []
    if groups is None and isinstance(sample, SampleReplicates):
        return sample.relative_to(np.asarray(results.model.design.represents)), []
    clusters = clusters_of(results, groups)
    if clusters is None:
        return None, []
    (_, first), *others = clusters.ways
    return first[clusters.codes], [TWO_KINDS] if others else []


def tells_more(sample: SampleUnits, n: int) -> bool:
    """Return whether a design says more of n rows than that they are independent."""
    return sample.n_units < n or len(sample.fractions) > 1 or sample.finite


def of_new_rows(
    results: ResultsCore, data: Any, groups: Any, n: int
) -> NDArray | SampleUnits | SampleReplicates | None:
    """Return the clusters of n new rows: an array or a column that is given, or the (first) column of the fit if they have it.

    New rows with all columns of the survey design of the fit, of replicate weights those of a pattern, are a sample of that design.
    """
    survey = results.model.options.design
    if groups is None and survey is not None and survey.in_columns(data):
        return _of_design(survey, results.model.design.sample, as_frame(data), n)
    if groups is None and not isinstance(data, np.ndarray):
        name = np.ravel(np.asarray(results.cluster_groups, dtype=object))[0]
        groups = name if isinstance(name, str) and name in as_frame(data).columns else None
    values = column(as_frame(data), groups, "groups").to_numpy() if isinstance(groups, str) else groups
    if values is not None and len(values) != n:
        raise InvalidDataError(f"groups has {len(values)} rows, but the new data have {n}.")
    return None if values is None else np.asarray(values)


def _of_design(survey: Survey, known: Any, frame: pd.DataFrame, n: int) -> SampleUnits | SampleReplicates | None:
    """Return what new rows know of the design of a fit; factors of replicates are those of the fit, if it has its rows."""
    if survey.replicates is None:
        sample = sample_of(survey, frame, n)
        return sample if isinstance(sample, SampleUnits) and tells_more(sample, n) else None
    if not isinstance(known, SampleReplicates):
        return None
    sample = sample_of(replace(survey, rscales=None), frame, n)
    assert isinstance(sample, SampleReplicates)
    sample = replace(sample, factors=known.factors)
    return sample.relative_to(column(frame, survey.weights, "weights").to_numpy(float))


def refuse_in_pieces(groups: Any) -> None:
    """Refuse clusters of data in pieces."""
    if groups is not None:
        raise InvalidOptionError("groups= is for rows in memory; of data in pieces, clusters are not known.")


def repeated(groups: Any, n: int, rows: NDArray | None = None) -> NDArray | SampleUnits | SampleReplicates | None:
    """Return the clusters of n rows, of which the second half are the others of the rows of which the first are the events, if they are more.

    `rows` are the positions of those that are used; all by default.
    """
    if groups is None:
        return None
    if isinstance(groups, (SampleUnits, SampleReplicates)):
        return groups.taken(np.resize(np.arange(groups.n_rows) if rows is None else rows, n))
    return np.resize(groups if rows is None else groups[rows], n)
