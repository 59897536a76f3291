"""What all values of a column tell a function of a formula, also where they come in pieces: quantiles, ends, sums.

Kept are distinct values and how often each occurs: at most a column of numbers, and a few where the column has few values. The
answers are those of the whole column, whatever the pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class ValueCounts:
    """Distinct values in order, and how often each occurs."""

    def __init__(self, values: NDArray, counts: NDArray):
        self.values = values
        self.counts = counts
        self.n = int(counts.sum())
        self._last = np.cumsum(counts)

    @classmethod
    def of(cls, x: Any) -> ValueCounts:
        """Count the values of a column of numbers."""
        x = np.asarray(x, dtype=float)
        if x.ndim != 1:
            raise ValueError(f"it needs one column of numbers, not {x.shape[1]}")
        if not np.isfinite(x).all():
            raise ValueError(f"its column is not finite in {int((~np.isfinite(x)).sum())} rows")
        return cls(*np.unique(x, return_counts=True))

    @classmethod
    def joined(cls, parts: Sequence[ValueCounts]) -> ValueCounts:
        """Return the counts of all rows behind some counts."""
        if len(parts) == 1:
            return parts[0]
        values, places = np.unique(np.concatenate([part.values for part in parts]), return_inverse=True)
        counts = np.bincount(places, weights=np.concatenate([part.counts for part in parts]))
        return cls(values, counts.astype(np.intp))

    @property
    def ends(self) -> NDArray:
        """The smallest and the largest value."""
        return self.values[[0, -1]]

    def nth(self, places: Any) -> NDArray:
        """Return the values at some places (from 0) among all values in order."""
        return self.values[np.searchsorted(self._last, places, side="right")]

    def quantiles(self, shares: Any) -> NDArray:
        """Return quantiles as R does by default (type 7): linear between the values at places (n - 1) p."""
        place = (self.n - 1) * np.asarray(shares, dtype=float)
        low = np.floor(place)
        below, above = self.nth(low), self.nth(np.ceil(place))
        return np.where(below == above, below, (1.0 - (place - low)) * below + (place - low) * above)

    def between(self, low: float, high: float) -> ValueCounts:
        """Return the counts of the values within two bounds, themselves included."""
        inside = (self.values >= low) & (self.values <= high)
        return ValueCounts(self.values[inside], self.counts[inside])


class FromAllValues:
    """A stateful function, by patsy's contract, that learns from all values of its first argument.

    Subclasses have ``learn(seen, **options)``, given the :class:`ValueCounts` and the other arguments of the call by their names in
    `arguments`, and ``columns(x)``, which may use what they have set on themselves.
    """

    arguments: dict[str, Any]  # names of the arguments after the first, with their defaults
    name: str
    learn: Any
    parts: Sequence[ValueCounts] = ()

    def memorize_chunk(self, x: Any, *args: Any, **options: Any) -> None:
        """Look at rows."""
        self.parts = [*self.parts, ValueCounts.of(x)]
        self.options = self._named(args, options)

    def merge(self, other: dict[str, Any]) -> None:
        """Add rows seen by another; parts are joined when they outgrow the first."""
        parts: list[ValueCounts] = [*self.parts, *other["parts"]]
        grown = sum(len(part.values) for part in parts[1:]) > len(parts[0].values)
        self.parts = [ValueCounts.joined(parts)] if grown else parts

    def memorize_finish(self) -> None:
        """Draw the conclusions."""
        seen = ValueCounts.joined(self.parts)
        del self.parts
        self.learn(seen, **self.options)

    def transform(self, x: Any, *args: Any, **options: Any) -> Any:
        """Return the columns of rows."""
        return self.columns(np.asarray(x, dtype=float))

    def columns(self, x: NDArray) -> Any:
        """Return the columns of values of the first argument."""
        raise NotImplementedError

    def _named(self, args: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
        unknown = [name for name in options if name not in self.arguments]
        if unknown or len(args) > len(self.arguments):
            listed = ", ".join(self.arguments)
            raise ValueError(f"{self.name}() takes a column and {listed}, not {(unknown or ['more'])[0]}")
        return {**self.arguments, **dict(zip(self.arguments, args, strict=False)), **options}
