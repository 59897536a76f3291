"""Simulated studies whose truth is known."""

from __future__ import annotations

import numpy as np
import pandas as pd

from gevglm.links import GEV, Logit

STUDY_TRUTH = {"Intercept": -0.95, "age": 0.012, "smoker": 0.25}
STUDY_XI = 0.5


def simulate_study(n: int = 5000, rng: np.random.Generator | int | None = None) -> pd.DataFrame:
    r"""A cohort with a rare event, whose probability follows a GEV link.

    Parameters
    ----------
    n : int
        Persons.
    rng : Generator or int, optional
        Source of randomness.

    Returns
    -------
    DataFrame
        ``event`` (0/1), ``age`` (years above 50), ``smoker`` (0/1, one in four), ``clinic`` (40 clinics), and ``risk``, the true probability
        :math:`F(-0.95 + 0.012\,\mathrm{age} + 0.25\,\mathrm{smoker})` with F the GEV distribution function at xi = 0.5. About one person in 22 has the event.
    """
    rng = np.random.default_rng(rng)
    age = rng.normal(0.0, 10.0, n).clip(-30.0, 35.0)
    smoker = (rng.random(n) < 0.25).astype(int)
    v = STUDY_TRUTH["Intercept"] + STUDY_TRUTH["age"] * age + STUDY_TRUTH["smoker"] * smoker
    risk = GEV(STUDY_XI).inverse(v)
    event = (rng.random(n) < risk).astype(int)
    return pd.DataFrame(
        {"event": event, "age": age.round(1), "smoker": smoker, "clinic": rng.integers(1, 41, n), "risk": risk}
    )


def simulate_cubic(n: int = 1832, rng: np.random.Generator | int | None = None) -> pd.DataFrame:
    r"""The simulated data of He and Cheng (2021): a cubic boundary in three normal variables, about one case in sixty rare.

    .. math:: y = 1\Big(\sum_j x_j - 5 \sum_j x_j^2 + \sum_j x_j^3 + e \ge 0\Big), \quad e \sim N(0, 3^2)

    Parameters
    ----------
    n : int
        Rows; the paper has 1,832.
    rng : Generator or int, optional
        Source of randomness.

    Returns
    -------
    DataFrame
        ``x1``, ``x2``, ``x3``, of means 0, 1, -2 and standard deviations 1, 2, 1.5, and ``y`` (0/1).

    References
    ----------
    He and Cheng (2021), Weighting methods for rare event identification from imbalanced datasets, Frontiers in Big Data 4, section 3.1.
    """
    rng = np.random.default_rng(rng)
    x = rng.normal([0.0, 1.0, -2.0], [1.0, 2.0, 1.5], (n, 3))
    v = (x - 5.0 * x**2 + x**3).sum(axis=1) + rng.normal(0.0, 3.0, n)
    return pd.DataFrame(x, columns=["x1", "x2", "x3"]).assign(y=(v >= 0.0).astype(int))


CLICKS_TRUTH = {
    "Intercept": -4.6,
    "log(position)": -0.9,
    "phone": 0.0,
    "desktop": -0.35,
    "tablet": 0.25,
    "evening": 0.4,
}
CLICKS_SITES = 60
CLICKS_SITE_SD = 0.5


def simulate_clicks(n: int = 100_000, days: int = 14, rng: np.random.Generator | int | None = None) -> pd.DataFrame:
    r"""A log of advertisements shown, few of which are clicked.

    The log odds of a click are :math:`-4.6 - 0.9 \ln(\mathrm{position})`, less 0.35 on a desktop and 0.25 more on a tablet than on a phone, 0.4
    more from 18 to 23 o'clock, plus an effect of the site, normal with a standard deviation of 0.5. Busy sites have many rows, others few.

    Parameters
    ----------
    n : int
        Advertisements shown, in all.
    days : int
        Days of the log.
    rng : Generator or int, optional
        Source of randomness.

    Returns
    -------
    DataFrame
        In order of time: ``day`` (from 1), ``hour`` (0 to 23), ``site`` (60 names), ``device`` (phone, desktop, tablet), ``position`` on the page
        (1 to 6), ``click`` (0/1), and ``risk``, the true probability. About one in 200 is clicked.

    Examples
    --------
    >>> from gevglm.datasets import simulate_clicks
    >>> log = simulate_clicks(n=50_000, rng=1)
    >>> len(log), int(log["click"].sum())
    (50000, 254)
    """
    rng = np.random.default_rng(rng)
    effect = rng.normal(0.0, CLICKS_SITE_SD, CLICKS_SITES)
    busy = 1.0 / np.arange(1, CLICKS_SITES + 1)
    site = rng.choice(CLICKS_SITES, n, p=busy / busy.sum())
    hour = rng.integers(0, 24, n)
    position = rng.integers(1, 7, n)
    device = rng.choice(["phone", "desktop", "tablet"], n, p=[0.6, 0.33, 0.07])
    v = CLICKS_TRUTH["Intercept"] + CLICKS_TRUTH["log(position)"] * np.log(position) + effect[site]
    v += pd.Series(device).map(CLICKS_TRUTH).to_numpy() + CLICKS_TRUTH["evening"] * (hour >= 18)
    risk = Logit().inverse(v)
    log = pd.DataFrame(
        {
            "day": rng.integers(1, days + 1, n),
            "hour": hour,
            "site": [f"site{number:02d}" for number in site],
            "device": device,
            "position": position,
            "click": (rng.random(n) < risk).astype(int),
            "risk": risk,
        }
    )
    return log.sort_values(["day", "hour"], kind="stable", ignore_index=True)
