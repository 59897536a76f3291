"""Drawing samples by the outcome: under-sampling the majority class, and case-control samples.

Both return a :class:`Subsample`, which knows how common events were in the data. Give that to :func:`gevglm.fit` as ``prevalence=``, and
coefficients and predictions are those of all the data; probabilities of other models are corrected by :meth:`Subsample.correct`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from gevglm.data import outcome as outcomes
from gevglm.data.tables import as_frame, column
from gevglm.display.tables import Part, as_html
from gevglm.exceptions import InvalidDataError, InvalidOptionError
from gevglm.links.odds import shift_odds


@dataclass(frozen=True, repr=False)
class Subsample:
    """Rows drawn by their outcome.

    Attributes
    ----------
    rows : ndarray of int
        Positions of the rows drawn, in the order of the data.
    data : DataFrame or None
        The rows drawn, if a table was given.
    prevalence : float
        Share of events in the data, for ``fit(..., prevalence=)``.
    sample_mean : float
        Share of events among the rows drawn.
    kept : dict
        Share of the non-events (0) and of the events (1) that were drawn.
    """

    rows: NDArray
    data: pd.DataFrame | None = field(repr=False)
    prevalence: float
    sample_mean: float
    kept: dict[int, float]

    def __repr__(self) -> str:
        events = round(self.sample_mean * len(self.rows))
        return (
            f"<Subsample: {len(self.rows):,} rows, {events:,} of them events ({100 * self.sample_mean:.3g} %, in the data "
            f"{100 * self.prevalence:.3g} %); kept {100 * self.kept[1]:.3g} % of the events, {100 * self.kept[0]:.3g} % of the others>"
        )

    def _repr_html_(self) -> str:
        table = [] if self.data is None else [Part("data, the first rows", self.data.head())]
        return as_html(repr(self), table)

    @property
    def odds_factor(self) -> float:
        """What turns odds in the sample into odds in the data."""
        return self.kept[0] / self.kept[1]

    def correct(self, p: ArrayLike) -> NDArray | float:
        r"""Turn probabilities of a model fitted to the sample into probabilities in the data.

        The odds are multiplied by the share of non-events that was kept over that of events.
        """
        return shift_odds(p, self.odds_factor)


def undersample(
    data: Any, outcome: str | None = None, *, ratio: float = 1.0, event: Any = None, rng: Any = None
) -> Subsample:
    """Keep the rarer class and a random part of the other one.

    Parameters
    ----------
    data : table or array_like
        A table, as :func:`gevglm.fit` takes it, or the outcomes alone.
    outcome : str, optional
        Column of the outcome in the table.
    ratio : float
        Rows of the majority class to keep for each row of the rarer class.
    event : object, optional
        The level of the outcome that is the event, where that is not plainly 1 or True.
    rng : Generator or int, optional
        Source of randomness.

    Examples
    --------
    >>> import gevglm
    >>> data = gevglm.datasets.simulate_study(rng=1)
    >>> part = gevglm.sampling.undersample(data, "event", ratio=2, rng=1)
    >>> len(part.data), round(part.kept[0], 4), part.prevalence
    (678, 0.0947, 0.0452)
    >>> res = gevglm.fit("event ~ age + smoker", part.data, link="logit", prevalence=part.prevalence)
    >>> float(res.predict({"age": 0, "smoker": 0}).round(3).iloc[0])
    0.024
    """
    frame, y = _outcomes(data, outcome, event)
    events = int(y.sum())
    rarer, larger = min(events, len(y) - events), max(events, len(y) - events)
    if isinstance(ratio, bool) or not (isinstance(ratio, Real) and np.isfinite(ratio) and ratio > 0):
        raise InvalidOptionError(
            f"ratio={ratio!r} must be a positive number: rows of the larger class for each of the rarer."
        )
    number = round(ratio * rarer)
    if not 1 <= number <= larger:
        raise InvalidOptionError(
            f"ratio={ratio:g} asks for {number} rows of the larger class, which has {larger}; give a ratio up to {larger / rarer:g}."
        )
    rare_event = events <= len(y) - events
    return _drawn(frame, y, number if rare_event else rarer, rarer if rare_event else number, rng)


def case_control(
    data: Any,
    outcome: str | None = None,
    *,
    cases: Any = None,
    controls: Any = None,
    event: Any = None,
    rng: Any = None,
) -> Subsample:
    """Draw a case-control sample: some of the events and some of the others, each at random.

    Parameters
    ----------
    data, outcome, event, rng
        See :func:`undersample`.
    cases : int or float, optional
        Events to draw: a number of them (int) or a share (float); all by default.
    controls : int or float, optional
        Non-events to draw; as many as cases by default.

    Examples
    --------
    >>> import gevglm
    >>> data = gevglm.datasets.simulate_study(rng=1)
    >>> sample = gevglm.sampling.case_control(data, "event", controls=0.05, rng=1)
    >>> len(sample.data), sample.kept
    (465, {0: 0.05..., 1: 1.0})
    """
    frame, y = _outcomes(data, outcome, event)
    events = int(y.sum())
    n_cases = events if cases is None else _number("cases", cases, events)
    others = len(y) - events
    n_controls = min(n_cases, others) if controls is None else _number("controls", controls, others)
    return _drawn(frame, y, n_controls, n_cases, rng)


def _outcomes(data: Any, outcome: str | None, event: Any) -> tuple[pd.DataFrame | None, NDArray]:
    if outcome is None:
        if np.ndim(data) != 1 or isinstance(data, str):
            raise InvalidOptionError("a table needs the name of its outcome, as in undersample(data, 'y').")
        frame, values, name = None, data, str(getattr(data, "name", None) or "y")
    else:
        frame = as_frame(data)
        values, name = column(frame, outcome, "outcome"), outcome
    y = outcomes.resolve(values, event, name, None, None).y
    if ((y > 0) & (y < 1)).any():
        raise InvalidDataError(
            f"the outcome {name!r} has shares between 0 and 1; sampling by the outcome needs 0 and 1."
        )
    return frame, y


def _number(role: str, given: Any, available: int) -> int:
    """Return how many rows a number or a share asks for."""
    if isinstance(given, bool) or not isinstance(given, Real):
        raise InvalidOptionError(f"{role}={given!r} must be a number of rows (int) or a share of them (float).")
    if isinstance(given, Integral):
        number = int(given)
    elif 0.0 < (share := float(given)) <= 1.0:
        number = round(share * available)
    else:
        raise InvalidOptionError(
            f"{role}={given!r} is not a share: it must lie in (0, 1]; give an int for a number of rows."
        )
    if not 1 <= number <= available:
        raise InvalidOptionError(
            f"{role}={given!r} asks for {number} rows, but there are {available}; ask for 1 to {available}."
        )
    return number


def _drawn(frame: pd.DataFrame | None, y: NDArray, n_others: int, n_events: int, rng: Any) -> Subsample:
    rng = np.random.default_rng(rng)
    others, events = np.flatnonzero(y == 0), np.flatnonzero(y == 1)
    parts = [
        rows if number == len(rows) else rng.choice(rows, number, replace=False)
        for rows, number in ((others, n_others), (events, n_events))
    ]
    rows = np.sort(np.concatenate(parts))
    return Subsample(
        rows,
        None if frame is None else frame.iloc[rows],
        len(events) / len(y),
        n_events / len(rows),
        {0: n_others / len(others), 1: n_events / len(events)},
    )
