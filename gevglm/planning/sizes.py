"""StudySize: the observations that each criterion of a study asks for, or what a given number supports."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.iolib.summary import Summary

from gevglm.calibration._summary_table import summary_table
from gevglm.display.brief import Summarised
from gevglm.exceptions import InvalidOptionError

Z = 1.96  # as the published criteria have it; the quantile itself would move sizes by 0.004 %


@dataclass(frozen=True, repr=False)
class StudySize(Summarised):
    """The size of a study.

    Attributes
    ----------
    n, events : int
        Observations, and events expected among them: what the most demanding criterion needs, or what was given.
    frame : DataFrame
        One row per criterion: ``target``, ``n`` and ``events`` that it needs; ``at_n``, what is to be expected at `n`; ``met``.
    facts : dict
        What the study was assumed to be like.
    notes : tuple of str
    """

    title: str
    n: int
    events: int
    frame: pd.DataFrame
    facts: dict[str, str]
    notes: tuple[str, ...] = ()

    def summary_frame(self) -> pd.DataFrame:
        """Return the table of criteria."""
        return self.frame

    def summary(self) -> Summary:
        """Summarise."""
        facts = {"Observations": f"{self.n:,}", "Events": f"{self.events:,}"} | self.facts
        frame = self.frame.assign(met=np.where(self.frame["met"], "yes", "no"))
        return summary_table(self.title, facts, frame, self.notes, {"target": ".4g", "at_n": ".4g"})

    def __str__(self) -> str:
        return str(self.summary())

    def _in_a_line(self) -> str:
        unmet = list(self.frame.index[~self.frame["met"]])
        missed = f"; not enough for {', '.join(unmet)}" if unmet else ""
        return f"{self.n:,} observations with {self.events:,} events{missed}"


def study_size(
    title: str,
    criteria: dict[str, tuple[float, float, Any]],
    prevalence: float,
    n: int | None,
    facts: dict[str, str],
    notes: tuple[str, ...] = (),
) -> StudySize:
    """Put criteria together: each has its target, the size that it needs, and a function from a size to what is to be expected of it."""
    if n is not None:
        n = whole(n)
    needed = {name: int(np.ceil(size - 1e-9 * size)) for name, (_, size, _) in criteria.items()}
    total = max(needed.values()) if n is None else n
    rows = {
        name: (target, needed[name], int(np.ceil(needed[name] * prevalence)), float(at(total)), needed[name] <= total)
        for name, (target, _, at) in criteria.items()
    }
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=["target", "n", "events", "at_n", "met"])
    return StudySize(title, total, int(np.ceil(total * prevalence)), frame, facts, notes)


def whole(n: Any) -> int:
    """Return a number of observations if it is one."""
    if isinstance(n, bool) or not isinstance(n, Integral) or int(n) < 2:
        raise InvalidOptionError(f"n={n!r} is not a number of observations; give a whole number from 2.")
    return int(n)


def share(name: str, value: Any, low: float = 0.0, high: float = 1.0) -> float:
    """Return a number strictly between two others, or say that it is not."""
    if isinstance(value, bool) or not isinstance(value, Real) or not low < float(value) < high:
        raise InvalidOptionError(f"{name}={value!r} must be a number between {low:g} and {high:g}.")
    return float(value)
