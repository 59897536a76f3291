"""Risk ratios by the log link: whether every fit converges, inside or on the boundary, and whether intervals cover."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.report import table
from gevglm.covariance import HC, Fitted
from gevglm.engine import MemoryEngine
from gevglm.estimation.estimate import Problem
from gevglm.inference.boundary_profile import BoundaryLikelihood
from gevglm.links import Log as LogLink
from gevglm.losses import Canonical, Log

SETS = 2_500  # of each setting
QUANTILE = 1.959963984540054
EFFECTS = np.array([np.log(1.5), 1.0])  # of the treatment and of x
TERMS = ("treatment", "x")

TEXT = """# Risk ratios by the log link

{sets:,} data sets of each setting: ln risk = b + ln(1.5) treatment + x, half of the rows treated, the largest risk as given. "Recommended" is the
profile interval with the bounds kept where the fit is on the boundary and Wald's elsewhere, "Wald" that along the boundary, "modified Poisson" the
canonical loss with HC0; "boundary ignored" is Wald's interval by the observed information of the rows that are not at the end, as if they were all there is. Goals:
every fit converges, inside or on the boundary, and 95 % intervals cover in 93 to 97 %; the Monte Carlo error of a share is
0.4 percentage points, and larger where only fits on the boundary are counted.

{rows}

Fits on the boundary are selected by their data, and no interval is made to cover 95 % of what is selected. Where 10 % of the data sets end there, and these are the ones
with the largest estimates, the 2.5 % of all intervals that lie above the truth are among them, which leaves 75 %.

{unconverged} of {total:,} fits did not converge. The smallest multiplier was {smallest:.2g}; the largest difference between score and multipliers {residual:.1g} of the size of the
scores."""


@dataclass(frozen=True)
class Setting:
    """How data are drawn."""

    largest: float
    rows: int
    discrete: bool

    @property
    def label(self) -> str:
        """The setting in words."""
        return f"{self.largest:g}, {'x in 0, 1/2, 1' if self.discrete else 'uniform x'}, {self.rows:,} rows"

    @property
    def truth(self) -> NDArray:
        """The coefficients."""
        return np.array([np.log(self.largest) - EFFECTS.sum(), *EFFECTS])

    def draw(self, rng: np.random.Generator) -> tuple[NDArray, NDArray]:
        """Return a design and outcomes."""
        x = rng.integers(0, 3, self.rows) / 2.0 if self.discrete else rng.random(self.rows)
        X = np.column_stack([np.ones(self.rows), rng.random(self.rows) < 0.5, x])
        return X, (rng.random(self.rows) < np.exp(X @ self.truth)).astype(float)


SETTINGS = (
    Setting(0.98, 300, False),
    Setting(0.98, 300, True),
    Setting(0.98, 1_000, False),
    Setting(0.9, 300, False),
)


def one_set(setting: Setting, X: NDArray, y: NDArray) -> dict[str, float]:
    """Return what a data set shows: how the fit ended, and which intervals cover."""
    engine, truth = MemoryEngine(X, y), setting.truth
    problem = Problem(engine, Log(LogLink()), constant=0)
    fitted = problem.estimate()
    shown: dict[str, float] = {"converged": fitted.converged, "boundary": fitted.boundary is not None}
    off = np.abs(fitted.params - truth)
    covered = off <= QUANTILE * np.sqrt(np.diagonal(fitted.inverse_information))
    recommended = covered
    if fitted.boundary is not None:
        shown |= {"multiplier": fitted.boundary.multipliers.min(), "residual": fitted.boundary.residual}
        likelihood = BoundaryLikelihood.on(problem, fitted.params, fitted.inverse_information)
        ratios = [likelihood.curve([j]).ratio(truth[j : j + 1]) for j in (1, 2)]
        recommended = np.array([False, *(ratio <= QUANTILE**2 for ratio in ratios)])
        ignoring = off <= QUANTILE * np.sqrt(np.diagonal(np.linalg.pinv(observed_information(X, y, fitted.params))))
        shown |= {f"{term} ignoring": ignoring[j] for j, term in enumerate(TERMS, 1)}
    poisson = Problem(engine, Canonical(LogLink()), constant=0).estimate()
    loss, bread = Canonical(LogLink()), poisson.inverse_information
    errors = np.sqrt(np.diagonal(HC(0).matrix(Fitted(engine, loss, poisson.params, bread, len(y)))))
    of_poisson = np.abs(poisson.params - truth) <= QUANTILE * errors
    for j, term in enumerate(TERMS, 1):
        shown |= {f"{term} recommended": recommended[j], f"{term} Wald": covered[j], f"{term} Poisson": of_poisson[j]}
    return shown


def observed_information(X: NDArray, y: NDArray, params: NDArray) -> NDArray:
    """Return the second derivative of the negative log-likelihood, to which events add nothing."""
    others = X[y == 0.0]
    odds = 1.0 / np.expm1(-(others @ params))
    return (others * (odds * (1.0 + odds))[:, None]).T @ others


def run(sets: int = SETS) -> str:
    """Return a row for each setting and coefficient."""
    rows, everything = [], []
    for number, setting in enumerate(SETTINGS):
        rng = np.random.default_rng([23, number])
        found = pd.DataFrame([one_set(setting, *setting.draw(rng)) for _ in range(sets)])
        everything.append(found)
        on, share = found["boundary"].astype(bool), partial(_percent, found)
        for term in TERMS:
            rows.append(
                (
                    setting.label,
                    f"{100 * on.mean():.0f} %",
                    term,
                    share(f"{term} recommended"),
                    _percent(found[on], f"{term} recommended"),
                    share(f"{term} Wald"),
                    share(f"{term} Poisson"),
                    _percent(found[on], f"{term} Poisson"),
                    _percent(found[on], f"{term} ignoring"),
                )
            )
    header = (
        "largest risk",
        "on the boundary",
        "term",
        "recommended",
        "on the boundary only",
        "Wald",
        "modified Poisson",
        "on the boundary only",
        "boundary ignored, on the boundary only",
    )
    together = pd.concat(everything)
    return TEXT.format(
        sets=sets,
        rows=table(header, rows),
        unconverged=int((~together["converged"].astype(bool)).sum()),
        total=len(together),
        smallest=together["multiplier"].min(),
        residual=together["residual"].max(),
    )


def _percent(found: pd.DataFrame, column: str) -> str:
    return f"{100 * found[column].dropna().astype(float).mean():.1f} %"
