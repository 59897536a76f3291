import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def judged():
    """1,000 predictions and outcomes, with the numbers of R packages about them (see shared/reference/README.md)."""
    table = pd.read_csv(DATA / "data_calibration.csv")
    numbers = json.loads((DATA / "g_calibration.json").read_text())["cases"]["calibration"]
    return SimpleNamespace(y=table["y"].to_numpy(), p=table["p"].to_numpy(), r=numbers)


@pytest.fixture(scope="session")
def simulated():
    """Make predictions and outcomes: calibrated, shifted or stretched, with a share of events to choose."""

    def make(n=2000, *, center=-2.0, spread=1.2, shift=0.0, stretch=1.0, seed=0):
        rng = np.random.default_rng(seed)
        eta = rng.normal(center, spread, n)
        return (rng.random(n) < expit(shift + stretch * eta)).astype(float), expit(eta)

    return make
