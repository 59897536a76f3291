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
