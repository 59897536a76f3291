"""One population, samples drawn from it by the outcome, and how to refuse."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from gevglm.sampling import case_control

SIZE = 20_000


@cache
def population() -> pd.DataFrame:
    """Events at a rate of one in eighteen, by a logit."""
    rng = np.random.default_rng(3)
    data = pd.DataFrame(
        {
            "x": rng.normal(size=SIZE),
            "smoker": (rng.random(SIZE) < 0.3).astype(int),
            "group": rng.choice(["a", "b", "c"], SIZE, p=[0.5, 0.3, 0.2]),
            "shift": rng.uniform(-0.3, 0.3, SIZE),
        }
    )
    v = -3.5 + 0.7 * data["x"] + 0.6 * data["smoker"] + 0.4 * (data["group"] == "b") + data["shift"]
    data["y"] = (rng.random(SIZE) < expit(v)).astype(int)
    return data


@cache
def drawn():
    """All cases and one control in fifteen."""
    return case_control(population(), "y", controls=1 / 15, rng=4)


def arrays(data: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Outcome and design matrix with a constant."""
    return data["y"].to_numpy(), np.column_stack([np.ones(len(data)), data["x"], data["smoker"]]).astype(float)


def refused(error, *words):
    """Expect an error whose message holds all the words, on one line."""
    pattern = "".join(f"(?=.*(?:{word}))" for word in words)
    return pytest.raises(error, match=rf"\A{pattern}[^\x1b\n]*\Z")
