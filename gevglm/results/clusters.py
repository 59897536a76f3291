"""Clusters of the rows of a fit, and of new ones: what resampling keeps together, and intervals take as independent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gevglm.data.observations import one_way
from gevglm.data.tables import as_frame, column
from gevglm.exceptions import InvalidDataError, InvalidOptionError

if TYPE_CHECKING:
    from gevglm.data.grouping import Grouping
    from gevglm.results.core import ResultsCore

UNKNOWN = "Intervals and tests take observations as independent: rows that are not in memory do not know their cluster."
UNITS = "Intervals and tests take the units of the survey design as independent; strata and finite populations, which would make them shorter, are left out."
TWO_KINDS = "Of the two kinds of clusters, intervals and tests know the first; groups= takes the other."


def clusters_of(results: ResultsCore, groups: Any = None) -> Grouping | None:
    """Return the clusters of the rows: as given, else those of a cluster-robust fit; None for rows alone."""
    return results.row_weights.clusters if groups is None else results.model.design.grouping(groups)


def kept_together(results: ResultsCore, groups: Any = None) -> NDArray | None:
    """Return the cluster of each row that resampling keeps together; clusters of two kinds are refused."""
    clusters = clusters_of(results, groups)
    return None if clusters is None else one_way(clusters)


def independent(results: ResultsCore, groups: Any = None) -> tuple[NDArray | None, list[str]]:
    """Return the cluster of each row, of which intervals take the first kind as independent, and what is to be said of them."""
    if not results.has_data:
        refuse_in_pieces(groups)
        return None, [UNKNOWN] if results.cov_type == "cluster" else []
    clusters = clusters_of(results, groups)
    if clusters is None:
        return None, []
    (_, first), *others = clusters.ways
    of_survey = groups is None and results.model.design.sample is not None
    return first[clusters.codes], [TWO_KINDS] if others else [UNITS] if of_survey else []


def of_new_rows(results: ResultsCore, data: Any, groups: Any, n: int) -> NDArray | None:
    """Return the clusters of n new rows: an array or a column that is given, or the (first) column of the fit if they have it."""
    if groups is None and not isinstance(data, np.ndarray):
        name = np.ravel(np.asarray(results.cluster_groups, dtype=object))[0]
        groups = name if isinstance(name, str) and name in as_frame(data).columns else None
    values = column(as_frame(data), groups, "groups").to_numpy() if isinstance(groups, str) else groups
    if values is not None and len(values) != n:
        raise InvalidDataError(f"groups has {len(values)} rows, but the new data have {n}.")
    return None if values is None else np.asarray(values)


def refuse_in_pieces(groups: Any) -> None:
    """Refuse clusters of data in pieces."""
    if groups is not None:
        raise InvalidOptionError("groups= is for rows in memory; of data in pieces, clusters are not known.")


def repeated(groups: NDArray | None, n: int) -> NDArray | None:
    """Return the clusters of n rows, of which the second half are the others of the rows of which the first are the events, if they are more."""
    return None if groups is None else np.resize(groups, n)
