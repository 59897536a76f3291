"""The training rows as the weighting algorithms see them: which class each row is in, and what it counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gevglm.exceptions import InvalidOptionError


@dataclass(frozen=True)
class ClassSample:
    """The class of each row, the main class first, and how many observations each row stands for."""

    labels: tuple[Any, ...]  # of the classes, the main class first
    codes: NDArray  # the place of each row's class in `labels`
    weight: NDArray  # observations each row stands for
    weighted: bool = False  # whether these were given

    @property
    def rare(self) -> NDArray:
        """Whether each row is of a rare class."""
        return self.codes > 0

    @cached_property
    def sizes(self) -> NDArray:
        r"""Observations of each class; of two, :math:`N^-` and :math:`N^+`."""
        return self.sums(self.weight)

    def by_class(self, values: Iterable[float]) -> NDArray:
        """Return a number for each row: that of its class."""
        return np.asarray(values)[self.codes]

    def sums(self, values: NDArray) -> NDArray:
        """Return the sums over each class."""
        return np.bincount(self.codes, weights=values, minlength=len(self.labels))

    def rates(self, values: NDArray) -> NDArray:
        """Return the weighted mean over each class, zero for a class without rows."""
        return self.sums(self.weight * values) / np.maximum(self.sizes, np.finfo(float).tiny)

    def named(self, prefix: str, values: Iterable[float]) -> dict[str, float]:
        """Return a number per class under names for a table: of two classes "rare" and "main", of more their labels."""
        by_label = dict(zip(self.labels, map(float, values), strict=True))
        if len(by_label) == 2:
            main, rare = by_label.values()
            return {f"{prefix}_rare": rare, f"{prefix}_main": main}
        return {f"{prefix}_{label}": value for label, value in by_label.items()}


def main_class_first(y: NDArray, weight: NDArray, classes: NDArray, rare: Any = None) -> tuple[Any, ...]:
    """Return the labels with the main class first.

    Of two classes the rare one is that named, else the less frequent, else the second; of more the most frequent one is the main class.
    """
    labels = classes.tolist()
    if rare is not None:
        if rare not in labels:
            raise InvalidOptionError(f"rare={rare!r} is not a label; the labels are {labels}.")
        if len(labels) > 2:
            raise InvalidOptionError(
                f"rare={rare!r} names one of two classes, but there are {len(labels)}: the most frequent one is the main class, all others are rare; "
                "leave rare out."
            )
        return (*(label for label in labels if label != rare), rare)
    sizes = [weight[y == label].sum() for label in classes]
    main = labels[int(np.argmax(sizes))]
    return (main, *(label for label in labels if label != main))


def sample_of(y: NDArray, labels: tuple[Any, ...], weight: NDArray | None) -> ClassSample:
    """Return the sample of rows with these outcomes, all of which are among the labels."""
    codes = np.zeros(len(y), dtype=np.intp)
    for place, label in enumerate(labels):
        codes[y == label] = place
    return ClassSample(labels, codes, np.ones(len(y)) if weight is None else weight, weight is not None)
