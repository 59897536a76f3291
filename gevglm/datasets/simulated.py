"""Simulated studies whose truth is known."""

from __future__ import annotations

import numpy as np
import pandas as pd

from gevglm.links import GEV

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
