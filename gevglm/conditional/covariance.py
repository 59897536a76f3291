r"""Covariances of a conditional fit: the inverse information, or the sandwich of the scores of sets or of clusters of sets.

A set is the smallest unit that has a score: the outcomes of its rows depend on each other, so that nothing here is about single rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gevglm.conditional.sets import MatchedSets
from gevglm.data.design import Design
from gevglm.engine.cholesky import sandwich, symmetrised
from gevglm.exceptions import InvalidDataError, InvalidOptionError, unknown_option

COV_TYPES = ("nonrobust", "HC0", "linearized", "cluster")
KINDS = ("CR1", "CR0")


class SetCovariance(NamedTuple):
    """How the covariance of the coefficients is computed."""

    name: str
    description: str
    codes: NDArray | None = None  # the cluster of each set; None where the model is believed
    corrected: bool = False  # whether it is multiplied by G/(G - 1), for G clusters

    def matrix(self, scores: NDArray, weight: NDArray, inverse: NDArray) -> NDArray:
        """Return the covariance, given the scores of the sets, how many sets each stands for, and the inverse information."""
        if self.codes is None:
            return inverse
        if self.name == "cluster":
            summed = np.zeros((int(self.codes.max()) + 1, scores.shape[1]))
            np.add.at(summed, self.codes, weight[:, None] * scores)
            meat, count = summed.T @ summed, float(len(summed))
        else:
            meat, count = (scores.T * weight) @ scores, float(weight.sum())
        return symmetrised(sandwich(inverse, meat)) * (count / (count - 1.0) if self.corrected else 1.0)


def covariance_of(cov_type: Any, cov_kwds: dict[str, Any] | None, design: Design, sets: MatchedSets) -> SetCovariance:
    """Return the covariance that a user's words ask for."""
    words = {word.lower(): word for word in COV_TYPES}
    name = words.get(str("nonrobust" if cov_type is None else cov_type).lower())
    if name is None:
        if str(cov_type).lower() in ("robust", "hc1", "hc2", "hc3", "hac"):
            raise InvalidOptionError(
                f"cov_type={cov_type!r} is about single rows, which have no scores of their own in a conditional likelihood; use 'HC0' (scores of sets), "
                "'linearized' (times G/(G - 1), as Stata has it) or 'cluster'."
            )
        raise unknown_option("cov_type", cov_type, COV_TYPES)
    options = dict(cov_kwds or {})
    kind = options.pop("kind", "CR1") if name == "cluster" else None
    groups = options.pop("groups", None) if name == "cluster" else None
    if options:
        raise InvalidOptionError(f"cov_kwds has {sorted(options)}, which cov_type={name!r} does not take with strata=.")
    every_set = np.arange(len(sets.sizes))
    if name == "nonrobust":
        return SetCovariance(name, "Standard errors assume that the model is correctly specified.")
    if name != "cluster":
        text = "" if name == "HC0" else " times G/(G - 1)"
        return SetCovariance(
            name, f"Standard errors are robust, by the scores of sets{text}.", every_set, name != "HC0"
        )
    if groups is None:
        raise InvalidOptionError("cov_type='cluster' needs cov_kwds={'groups': column name or array}.")
    if kind not in KINDS:
        raise unknown_option("kind", kind, KINDS)
    codes = _clusters_of_sets(design, groups, sets)
    count = int(codes.max()) + 1
    text = f"Standard errors are robust to clustering ({count} clusters{'' if kind == 'CR1' else '; CR0'})."
    return SetCovariance(name, text, codes, kind == "CR1")


def _clusters_of_sets(design: Design, groups: Any, sets: MatchedSets) -> NDArray:
    """Return the cluster of each set, numbered from zero, those of sets with both outcomes first."""
    grouping = design.grouping(groups)
    if len(grouping.ways) > 1:
        raise InvalidOptionError("with strata=, clusters are one-way; give one column.")
    rows = grouping.ways[0][1][grouping.codes]
    first = np.zeros(len(sets.sizes), dtype=np.intp)
    first[sets.codes[::-1]] = rows[::-1]
    split = np.unique(sets.codes[rows != first[sets.codes]])
    if len(split):
        raise InvalidDataError(
            f"{len(split)} of {len(sets.sizes)} sets have rows in more than one cluster; a set has one score, and belongs to one cluster."
        )
    codes = np.unique(first, return_inverse=True)[1]
    if codes.max() == 0:
        raise InvalidDataError("all sets are in one cluster; cluster-robust errors need at least two.")
    return codes
