"""One simulated study with everything a regression may be given, and the fits most tests run over."""

import gc
import types
from functools import cache

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula

import gevglm
from gevglm.links import GEV

LOSSES = {
    "logit": {"link": "logit"},
    "gev-log": {"link": "gev", "xi": 0.3, "loss": "log"},
    "gev-canonical": {"link": "gev", "xi": 0.3, "loss": "canonical"},
}
FORMULA = "event ~ x + C(group) + smoker + visits"
ROWS = 600

reads_formulaic = pytest.mark.skipif(
    not hasattr(statsmodels.formula, "options"), reason="statsmodels before 0.15 reads the terms of patsy only"
)


@cache
def study() -> pd.DataFrame:
    """Events at a rate of one in seven; offset, exposure, weights of two kinds, and two clusterings."""
    rng = np.random.default_rng(11)
    data = pd.DataFrame(
        {
            "x": rng.normal(size=ROWS),
            "group": rng.choice(["a", "b", "c"], ROWS),
            "smoker": (rng.random(ROWS) < 0.3).astype(int),
            "visits": rng.poisson(1.0, ROWS),
            "shift": rng.uniform(-0.3, 0.3, ROWS),
            "years": rng.uniform(0.8, 1.5, ROWS),
            "copies": rng.integers(1, 4, ROWS),
            "precision": rng.uniform(0.5, 2.0, ROWS),
            "clinic": rng.integers(0, 30, ROWS),
            "year": rng.integers(0, 12, ROWS),
        },
        index=[f"person {i}" for i in range(ROWS)],
    )
    v = -0.85 + 0.25 * data["x"] + 0.2 * data["smoker"] + 0.1 * (data["group"] == "b") + data["shift"]
    data["event"] = (rng.random(ROWS) < GEV(0.3).inverse(v.to_numpy())).astype(int)
    return data


def design(data: pd.DataFrame) -> np.ndarray:
    """The columns of FORMULA."""
    return np.column_stack(
        [np.ones(len(data)), data["group"] == "b", data["group"] == "c", data["x"], data["smoker"], data["visits"]]
    ).astype(float)


@cache
def fitted(loss: str, source: str = "formula", *, extras: bool = False):
    """The fit of one loss, by formula or arrays, with offset and weights or without; shared, so not to be changed."""
    data = study()
    names = {"offset": "shift", "freq_weights": "copies", "var_weights": "precision"} if extras else {}
    if source == "formula":
        return gevglm.fit(FORMULA, data, **LOSSES[loss], **names)
    arrays = {role: data[name].to_numpy() for role, name in names.items()}
    return gevglm.fit(data["event"].to_numpy(), design(data), **LOSSES[loss], **arrays)


def reachable_arrays(root) -> list:
    """Every array, index, series and frame that an object keeps alive."""
    seen, stack, found = set(), [root], []
    while stack:
        thing = stack.pop()
        if id(thing) in seen or isinstance(thing, (type, types.ModuleType, types.FunctionType)):
            continue
        seen.add(id(thing))
        if isinstance(thing, (np.ndarray, pd.Index, pd.Series, pd.DataFrame)):
            found.append(thing)
        stack.extend(gc.get_referents(thing))
    return found


def numeric_jacobian(function, params, step=1e-6):
    """Central differences of a vector function."""
    columns = []
    for j in range(len(params)):
        move = np.zeros(len(params))
        move[j] = step * max(1.0, abs(params[j]))
        columns.append((function(params + move) - function(params - move)) / (2.0 * move[j]))
    return np.column_stack(columns)
