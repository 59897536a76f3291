"""Constants of units absorbed, against pyfixest and against dummies in glum; and units among the terms."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

import gevglm
from benchmarks.speed.record import OURS, Task


def tasks(tiny: bool = False) -> list[Task]:
    """Return Firth's method with many units, maximum likelihood with many rows per unit, and two factors."""

    def shape(units: int, periods: int) -> tuple[int, int]:
        return (40, 12) if tiny else (units, periods)

    return [
        Task("panel, Firth", "100,000 units x 10", lambda: _firth(*shape(100_000, 10)), limit=3.0),
        Task(
            "panel, maximum likelihood",
            "5,000 units x 200",
            lambda: _plain("y ~ x1 + x2 + x3 | unit", *shape(5_000, 200), dummies=True),
            {"pyfixest": 5.0, "glum, dummies": 20.0},
        ),
        Task(
            "panel, units among the terms",
            "5,000 units x 200",
            lambda: _terms(*shape(5_000, 200)),
            {"gevglm, absorbed": 0.2},
        ),
        Task(
            "panel, two ways",
            "10,000 units x 50 years",
            lambda: _plain("y ~ x1 + x2 | unit + year", *shape(10_000, 50)),
            {"pyfixest": 2.0},
        ),
        Task(
            "panel, Firth, cost of a row",
            "1,000,000 units x 5",
            lambda: _cost_of_a_row(*shape(1_000_000, 5)),
            {"a tenth of the units, ten times": 0.67},
        ),
    ]


def simulated(units: int, periods: int, seed: int = 1) -> pd.DataFrame:
    """Return a panel with 6 % of events."""
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(units), periods)
    data = pd.DataFrame(rng.normal(size=(len(unit), 3)), columns=["x1", "x2", "x3"])
    v = rng.normal(-3.2, 0.7, units)[unit] + data.to_numpy() @ [0.7, -0.3, 0.2]
    return data.assign(
        unit=unit, year=np.tile(np.arange(periods), units), y=(rng.random(len(v)) < expit(v)).astype(int)
    )


def _quietly(call: Callable[[], Any]) -> Callable[[], Any]:
    def quiet() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()

    return quiet


def _firth(units: int, periods: int) -> Mapping[str, Callable[[], Any]]:
    data = simulated(units, periods)
    return {OURS: _quietly(lambda: _of_all(data))}


def _cost_of_a_row(units: int, periods: int) -> Mapping[str, Callable[[], Any]]:
    data = simulated(units, periods)
    part = data.iloc[: len(data) // 10]
    again = {"a tenth of the units, ten times": _quietly(lambda: [_of_all(part) for _ in range(10)])}
    return {OURS: _quietly(lambda: _of_all(data)), **again}


def _of_all(data: pd.DataFrame) -> Any:
    return gevglm.fit("y ~ x1 + x2 + x3 | unit", data, bias="firth", units="all").bse


def _terms(units: int, periods: int) -> Mapping[str, Callable[[], Any]]:
    data = simulated(units, periods)
    data = data[data.groupby("unit")["y"].transform("sum").between(1, periods - 1)]
    formulas = {OURS: "y ~ x1 + x2 + x3 + C(unit)", "gevglm, absorbed": "y ~ x1 + x2 + x3 | unit"}
    return {name: _quietly(partial(_errors, formula, data)) for name, formula in formulas.items()}


def _errors(formula: str, data: pd.DataFrame) -> Any:
    return gevglm.fit(formula, data).bse


def _plain(formula: str, units: int, periods: int, dummies: bool = False) -> Mapping[str, Callable[[], Any]]:
    data = simulated(units, periods)

    def pyfixest() -> Any:
        from pyfixest import feglm  # benchmarks alone need it

        return feglm(formula, data, family="logit", vcov="iid").se()

    def glum() -> Any:
        import tabmat
        from glum import GeneralizedLinearRegressor

        both = data[data.groupby("unit")["y"].transform("sum").between(1, periods - 1)]
        numbers = tabmat.DenseMatrix(np.asfortranarray(both[["x1", "x2", "x3"]].to_numpy()))
        X = tabmat.SplitMatrix([numbers, tabmat.CategoricalMatrix(both["unit"].to_numpy())])
        model = GeneralizedLinearRegressor(family="binomial", alpha=0.0, fit_intercept=False, gradient_tol=1e-6)
        return model.fit(X, both["y"].to_numpy(float)).coef_

    calls = {OURS: _quietly(lambda: gevglm.fit(formula, data).bse), "pyfixest": _quietly(pyfixest)}
    return calls | ({"glum, dummies": _quietly(glum)} if dummies else {})
