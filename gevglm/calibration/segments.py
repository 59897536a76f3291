"""Where predictions are furthest from what happened: the worst of all segments of one or two conditions, corrected for the search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from gevglm.calibration.estimates import checked_level, poisson_limits
from gevglm.calibration.sample import Sample, predictions
from gevglm.display.tables import Part, Shown
from gevglm.exceptions import InvalidDataError, InvalidOptionError, whole_number

CUTS = np.arange(1, 10) / 10.0
LEVELS = 50  # of a factor, at most
SHOWN = 10


@dataclass(frozen=True, repr=False)
class WorstSegment(Shown):
    """The segment whose events deviate most from those expected.

    Attributes
    ----------
    segment : str
        Its conditions in words.
    n, observed, expected : float
        Observations, events, and events that were predicted.
    ratio, lower, upper : float
        Observed by expected events, with Poisson limits that know nothing of the search.
    z : float
        Deviation in standard errors.
    pvalue : float
        Share of the outcomes drawn from the predictions whose worst segment is at least as bad.
    table : DataFrame
        The ten segments that deviate most.
    searched : int
        Number of segments.
    """

    segment: str
    n: float
    observed: float
    expected: float
    ratio: float
    lower: float
    upper: float
    z: float
    pvalue: float
    table: pd.DataFrame
    searched: int

    def summary_frame(self) -> pd.DataFrame:
        """Return the segments that deviate most."""
        return self.table

    def _shown_parts(self) -> tuple[str, Sequence[Part], Sequence[str]]:
        found = f"p-value of the worst of {self.searched:,} segments, corrected for the search: {self.pvalue:.3g}."
        return f"Worst segment: {self.segment}", [Part("", self.table)], [found]


def worst_segment(
    y: ArrayLike,
    p: ArrayLike,
    table: pd.DataFrame,
    *,
    weights: ArrayLike | None = None,
    min_size: float = 50,
    draws: int = 199,
    level: float = 0.95,
    rng: int | np.random.Generator | None = 0,
) -> WorstSegment:
    r"""Search all segments of one condition, and of two on different columns, for the one with the worst predictions.

    .. math:: z = \frac{\sum_i w_i (y_i - p_i)}{\big(\sum_i w_i \, p_i (1 - p_i)\big)^{1/2}}

    over the rows of a segment. Conditions are numbers below, and at least, each of up to nine quantiles, levels of a factor, and
    being missing. The p-value draws outcomes from the predictions and searches again each time.

    Parameters
    ----------
    y, p : array_like
        Outcomes, 0 or 1, and probabilities that were not fitted to them.
    table : DataFrame
        The columns that segments are made of, one row for each outcome.
    weights : array_like, optional
        How many observations each row stands for, whole numbers.
    min_size : float
        Observations that a segment has at least.
    draws : int
        Outcomes drawn.
    level : float
        Coverage of the limits of ratios.
    rng : int or Generator, optional
    """
    if not isinstance(table, pd.DataFrame) or not table.shape[1]:
        raise InvalidDataError("table must be a DataFrame with at least one column, of which segments are made.")
    given = predictions(y, p, weights)
    n = len(np.asarray(y))
    if len(table) != n:
        raise InvalidDataError(f"table has {len(table)} rows, but y has {n}.")
    if weights is not None:
        table = table[np.asarray(weights, dtype=float) > 0.0]
    if (given.weight % 1.0 != 0.0).any():
        raise InvalidDataError("weights must be whole numbers of observations here, since outcomes are drawn for them.")
    if not min_size > 0.0:
        raise InvalidOptionError(f"min_size={min_size!r} is not a number of observations.")
    draws, level = whole_number("draws", draws, 1), checked_level(level)
    search = _Search(given, *_conditions(table, given.weight), min_size)
    z = search.deviations(given.weight * given.y)
    worst, generator = np.abs(z).max(), np.random.default_rng(rng)
    sizes = given.weight.astype(int)
    again = [np.abs(search.deviations(generator.binomial(sizes, given.p))).max() for _ in range(draws)]
    exceeded = int((np.array(again) >= worst * (1.0 - 1e-12)).sum())
    frame = search.described(given, z, level)
    n_rows, observed, expected, ratio, lower, upper, deviation = frame.iloc[0].tolist()
    pvalue = (1 + exceeded) / (1 + draws)
    return WorstSegment(
        str(frame.index[0]), n_rows, observed, expected, ratio, lower, upper, deviation, pvalue, frame, len(z)
    )


class _Search:
    """All pairs of conditions with enough rows; a condition with itself is a segment of one condition."""

    def __init__(self, sample: Sample, words: list[str], column: NDArray, Z: NDArray, min_size: float):
        self.words, self.Z, self.expected = words, Z, sample.weight * sample.p
        size, variance = self._sums(sample.weight), self._sums(self.expected * (1.0 - sample.p))
        one, two = np.triu_indices(len(words))
        other = (one == two) | (column[one] != column[two])
        large = (size[one, two] >= min_size) & (variance[one, two] > 0.0) & other
        self.pairs = one[large], two[large]
        if not large.any():
            raise InvalidDataError(
                f"no segment has {min_size:g} of the {sample.total:g} observations and predictions other than 0 and 1; lower min_size."
            )
        self.size, self.scale = size[self.pairs], np.sqrt(variance[self.pairs])

    def _sums(self, values: NDArray) -> NDArray:
        return self.Z.T @ (values[:, None] * self.Z)

    def deviations(self, events: NDArray) -> NDArray:
        """Return z of every segment for numbers of events of the rows."""
        return self._sums(events - self.expected)[self.pairs] / self.scale

    def described(self, sample: Sample, z: NDArray, level: float) -> pd.DataFrame:
        """Return the segments that deviate most."""
        most = np.lexsort((-self.size, -np.abs(z).round(9)))[:SHOWN]
        one, two = (side[most] for side in self.pairs)
        names = [
            self.words[i] if i == j else f"{self.words[i]} and {self.words[j]}" for i, j in zip(one, two, strict=True)
        ]
        inside = self.Z[:, one] * self.Z[:, two]
        observed, expected = (sample.weight * sample.y) @ inside, self.expected @ inside
        lower, upper = (limit / expected for limit in poisson_limits(observed, level))
        return pd.DataFrame(
            {
                "n": self.size[most],
                "observed": observed,
                "expected": expected,
                "O/E": observed / expected,
                "lower": lower,
                "upper": upper,
                "z": z[most],
            },
            index=pd.Index(names, name="segment"),
        )


def _conditions(table: pd.DataFrame, weight: NDArray) -> tuple[list[str], NDArray, NDArray]:
    """Return the words of each condition, the number of its column, and which rows fulfil it."""
    found: list[tuple[str, int, NDArray]] = []
    for number, name in enumerate(table.columns):
        values = table[name]
        missing = values.isna().to_numpy()
        numeric = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
        if numeric and values.nunique() > 2:
            x = values.to_numpy(dtype=float, na_value=np.nan)
            known = np.repeat(x[~missing], weight[~missing].astype(int))
            for cut in np.unique(np.quantile(known, CUTS, method="inverted_cdf")):
                found += [(f"{name} < {cut:.6g}", number, x < cut), (f"{name} >= {cut:.6g}", number, x >= cut)]
        else:
            levels = values.dropna().unique()
            if len(levels) > LEVELS:
                raise InvalidDataError(f"column {name!r} has {len(levels)} levels, more than {LEVELS}; group them.")
            found += [(f"{name} = {label}", number, (values == label).fillna(False).to_numpy(bool)) for label in levels]
        found.append((f"{name} is missing", number, missing))
    found = [part for part in found if 0 < part[2].sum() < len(table)]
    if not found:
        raise InvalidDataError("no column of table has two values, so that there are no segments.")
    words, column, rows = zip(*found, strict=True)
    return list(words), np.array(column), np.column_stack(rows).astype(float)
