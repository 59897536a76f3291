"""`xi="map"` against PyMC's posterior, and the coverage of its intervals of the shape.

PyMC is not needed by the package (`pip install pymc`). Its model is written out here, with the formula of the link and the prior of the
documentation, and shares no code with gevglm.
"""

from __future__ import annotations

import os
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from numpy.typing import NDArray

import gevglm
from benchmarks.report import table
from gevglm.links import GEV

SETS = {  # rows, shape, constant and slopes of the truth
    "a: 600 rows, xi 0.3": (600, 0.3, (-0.6, 0.4, 0.3)),
    "b: 1,500 rows, xi 0": (1_500, 0.0, (-1.0, 0.5, 0.2)),
    "c: 1,000 rows, xi -0.4": (1_000, -0.4, (-0.8, 0.5, 0.4)),
}
ROWS, EVENTS = 1_000, 200
REPLICATIONS = {None: 400, -0.6: 100, 0.0: 100, 0.4: 100, 0.8: 100}  # of each true shape; None: drawn from the prior
CHAINS, TUNED, KEPT = 4, 1_000, 3_000
LOW, HIGH = -1.0, 1.5
DRAWS = 1_024  # for each interval of the shape

TEXT = f"""# The posterior of `xi="map"`

Against PyMC (NUTS, {CHAINS} chains of {KEPT:,} draws after {TUNED:,}), the same prior: difference of the posterior means in posterior standard
deviations, and of both ends of the 95 % interval in per cent of its width. GEV link, a standard normal and a binary predictor.

{{peer}}

The coverage of the 95 % interval of xi at {ROWS:,} rows and about {EVENTS} events, its Monte Carlo error in brackets: slopes are
normal, with standard deviation 0.8 as log odds ratios, the constant makes a fifth of the outcomes events. 'Open' are the data sets whose profile interval of `xi="ml"` runs to an
end of its grid. Where the true xi is drawn from the prior (normal, mean 0, standard deviation 0.5, between -1 and 1.5), coverage is 95 % if the
posterior is right and the other priors do not matter; at a given xi it need not be, and the prior pulls towards 0.

{{coverage}}

The smallest number of effective draws was {{effective:.0f}} of {DRAWS:,}.
"""


def run() -> str:
    """Return both parts of the study."""
    rows = [row for name, how in SETS.items() for row in against_pymc(name, *how)]
    header = ("set", "coefficient", "mean, PyMC", "mean, ours", "difference, sd", "lower end, %", "upper end, %")
    shares, effective = coverage()
    return TEXT.format(peer=table(header, rows), coverage=shares, effective=effective)


def simulated(rng: np.random.Generator, rows: int, xi: float, params: NDArray) -> tuple[NDArray, NDArray]:
    """Return outcomes and design of one data set."""
    X = np.column_stack([np.ones(rows), rng.standard_normal(rows), rng.random(rows) < 0.5])
    return (rng.random(rows) < GEV(xi).inverse(X @ params)).astype(float), X


def against_pymc(name: str, rows: int, xi: float, params: tuple[float, ...]) -> list[tuple[str, ...]]:
    """Return a row for each coefficient and the shape of one data set."""
    y, X = simulated(np.random.default_rng([2010, rows]), rows, xi, np.array(params))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = gevglm.fit(y, X, link="gev", xi="map").posterior
    draws = pymc_draws(y, X)
    error, limits = draws.std(axis=0), np.quantile(draws, [0.025, 0.975], axis=0).T
    ends = 100.0 * (ours.intervals() - limits) / np.ptp(limits, axis=1)[:, None]
    return [
        (name, label, f"{m:.4f}", f"{o:.4f}", f"{(o - m) / s:.3f}", f"{low:.1f}", f"{high:.1f}")
        for label, m, o, s, (low, high) in zip(
            ("constant", "x1", "x2", "xi"), draws.mean(axis=0), ours.mean, error, ends, strict=True
        )
    ]


def pymc_draws(y: NDArray, X: NDArray) -> NDArray:
    """Return draws of PyMC from the posterior, coefficients first."""
    import pymc as pm
    import pytensor.tensor as pt

    sd, share = X[:, 1:].std(axis=0, ddof=1), y.mean()
    tail = -np.log(share)
    with pm.Model():
        xi = pm.TruncatedNormal("xi", 0.0, 0.5, lower=LOW, upper=HIGH)
        scale = (1.0 - share) * pt.pow(tail, -1.0 - xi)
        level, ratios = pm.Flat("level"), pm.Normal("ratios", 0.0, 2.5 / sd, shape=X.shape[1] - 1)
        constant = pm.Deterministic("constant", (pt.pow(tail, -xi) - 1.0) / xi + scale * level)
        slopes = pm.Deterministic("slopes", scale * ratios)
        z = 1.0 + xi * (constant + pt.dot(X[:, 1:], slopes))
        inside = pt.gt(z, 0.0)
        power = pt.switch(inside, pt.switch(inside, z, 1.0) ** (-1.0 / xi), pt.switch(pt.gt(xi, 0.0), np.inf, 0.0))
        value = pt.switch(pt.eq(y, 1.0), -power, pt.log(-pt.expm1(-power)))
        pm.Potential("likelihood", pt.sum(value))
        begin = {"level": 0.0, "ratios": np.zeros(X.shape[1] - 1), "xi": 0.1}
        trace = pm.sample(
            KEPT,
            tune=TUNED,
            chains=CHAINS,
            cores=1,
            random_seed=1,
            initvals=begin,
            progressbar=False,
            target_accept=0.95,
        )
    found = trace.posterior
    columns = [found["constant"].values.ravel()[:, None], found["slopes"].values.reshape(-1, X.shape[1] - 1)]
    return np.hstack([*columns, found["xi"].values.ravel()[:, None]])


def coverage() -> tuple[str, float]:
    """Return in what share of data sets the interval holds the true shape, as a table, and the smallest number of effective draws."""
    rows, least = [], np.inf
    for xi, number in REPLICATIONS.items():
        with ProcessPoolExecutor(os.cpu_count()) as pool:
            found = np.array(list(pool.map(replicate, range(number), [xi] * number, chunksize=10)))
        covered, is_open = found[:, 0], found[:, 1] > 0
        shares = [_share(part) for part in (covered, covered[is_open], found[:, 2][is_open])]
        rows.append(("from the prior" if xi is None else f"{xi:g}", f"{number:,}", f"{is_open.sum():,}", *shares))
        least = min(least, found[:, 3].min())
    header = (
        "true xi",
        "data sets",
        "open",
        'covered, all, "map"',
        'covered, open, "map"',
        'covered, open, "ml" by profile',
    )
    return table(header, rows), least


def _share(covered: NDArray) -> str:
    share = covered.mean()
    return f"{100 * share:.1f} ({100 * np.sqrt(share * (1 - share) / len(covered)):.1f})"


def replicate(seed: int, xi: float | None) -> tuple[float, float, float, float]:
    """Return whether the interval holds the truth, whether the profile runs to an end of its grid and holds it, and the effective draws."""
    rng = np.random.default_rng([19, seed])
    while xi is None or not LOW < xi < HIGH:
        xi = 0.5 * rng.standard_normal()
    share = EVENTS / ROWS
    slope = (
        share * (1.0 - share) / GEV(xi).at_probability(np.array([share])).pdf[0]
    )  # of the linear predictor in the log odds
    y, X = _with_events(rng, xi, 0.8 * slope * rng.standard_normal(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = gevglm.fit(y, X, link="gev", xi="map", search_kwds={"draws": DRAWS})
        low, high = gevglm.fit(y, X, link="gev", loss="log", xi="ml").xi_conf_int()
    lower, upper = fitted.xi_conf_int()
    at_end = low <= LOW + 1e-6 or high >= HIGH - 1e-6
    return float(lower <= xi <= upper), float(at_end), float(low <= xi <= high), fitted.posterior.effective_draws


def _with_events(rng: np.random.Generator, xi: float, slopes: NDArray) -> tuple[NDArray, NDArray]:
    """Return outcomes of which a fifth are expected to be events."""
    X = np.column_stack([np.ones(ROWS), rng.standard_normal(ROWS), rng.random(ROWS) < 0.5])
    low, high = -10.0, 10.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        share = GEV(xi).inverse(X @ np.append(middle, slopes)).mean()
        low, high = (middle, high) if share < EVENTS / ROWS else (low, middle)
    return (rng.random(ROWS) < GEV(xi).inverse(X @ np.append(middle, slopes))).astype(float), X


if __name__ == "__main__":
    sys.stdout.write(run())
