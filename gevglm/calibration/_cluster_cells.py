"""Clusters over groups of neighbouring predictions: resamples of whole clusters, and outcomes that are calibrated but correlated in clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gevglm.calibration.bins import Groups
from gevglm.calibration.sample import Sample


@dataclass(frozen=True)
class ClusterCells:
    """Rows in clusters, of which each is in a group of neighbouring predictions."""

    sample: Sample
    place: NDArray  # group of each row
    n_groups: int

    @classmethod
    def of(cls, sample: Sample, groups: Groups) -> ClusterCells:
        """Return the cells of a sample with clusters."""
        return cls(sample, groups.places(sample.p), len(groups.score))

    @property
    def clusters(self) -> NDArray:
        """The cluster of each row."""
        assert self.sample.groups is not None
        return self.sample.groups

    def drawn(self, resamples: int, rng: np.random.Generator) -> NDArray:
        """Return events and others of each group in resamples of whole clusters; shape (resamples, 2, groups).

        Units of a survey are drawn in each stratum, see :meth:`gevglm.data.survey.SampleUnits.resampled`.
        """
        sample, number = self.sample, self.sample.n_clusters
        cell = np.where(sample.y > 0.0, self.place, self.place + self.n_groups)
        counts = csr_array((sample.weight, (cell, self.clusters)), shape=(2 * self.n_groups, number))
        if sample.units is not None:
            times = (sample.units.resampled(rng) for _ in range(resamples))
        else:
            times = (np.bincount(rng.integers(number, size=number), minlength=number) for _ in range(resamples))
        return np.array([counts @ chosen for chosen in times], dtype=float).reshape(resamples, 2, -1)

    def calibrated(self, resamples: int, rng: np.random.Generator) -> NDArray:
        """Return events and others of each group where outcomes are drawn from the predictions; shape (resamples, 2, groups)."""
        sample, share = self.sample, np.sqrt(max(intraclass_correlation(self.sample), 0.0))
        size = np.maximum(np.rint(sample.weight), 1.0).astype(np.int64)
        total = np.bincount(self.place, sample.weight, minlength=self.n_groups)
        answers = np.empty((resamples, 2, self.n_groups))
        for answer in answers:
            together = rng.binomial(size, share)
            common = rng.random(sample.n_clusters)[self.clusters] < sample.p
            events = (together * common + rng.binomial(size - together, sample.p)) * (sample.weight / size)
            answer[0] = np.bincount(self.place, events, minlength=self.n_groups)
            answer[1] = total - answer[0]
        return answers


def intraclass_correlation(sample: Sample) -> float:
    r"""Return the correlation of outcomes in the same cluster, given the predictions.

    .. math:: \frac{\sum_c \left[ (\sum_i r_i)^2 - \sum_i r_i^2 \right]}{\sum_c \left[ (\sum_i s_i)^2 - \sum_i s_i^2 \right]}

    over observations i of a cluster c, with :math:`r = y - p` and :math:`s = \sqrt{p (1 - p)}`; at most 1.
    """
    pairs = [
        (sample.cluster_sums(values) ** 2).sum() - sample.weight @ values**2
        for values in (sample.y - sample.p, np.sqrt(sample.p * (1.0 - sample.p)))
    ]
    return float(min(pairs[0] / pairs[1], 1.0)) if pairs[1] > 0.0 else 0.0
