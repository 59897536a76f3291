"""Power of the test of a coefficient, by simulation with the estimator that will be used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.iolib.summary import Summary

from gevglm.batches.many import PLACE, fit_many
from gevglm.calibration._summary_table import summary_table
from gevglm.calibration.estimates import wilson_limits
from gevglm.data.tables import as_frame
from gevglm.display.brief import Summarised
from gevglm.exceptions import GevglmError, InvalidDataError, InvalidOptionError, listed, silenced, whole_number
from gevglm.links import BinaryLink
from gevglm.model import BinaryGLM
from gevglm.planning.sizes import share, whole

DESIGNS = 20  # draws of covariates, over which the simulations of a size are spread


@dataclass(frozen=True, repr=False)
class Power(Summarised):
    """Power of the test of a coefficient, by size of the study.

    Attributes
    ----------
    frame : DataFrame
        By number of observations: mean number of ``events``, ``power`` with Wilson's limits ``ci_lower`` and ``ci_upper`` for the simulation, ``mean`` and
        ``sd`` of the estimates, and ``failed``, the share of simulations without estimates, which count as not rejected.
    coefficient : str
    effect : float
        Its true value.
    estimator : str
    simulations : int
    alpha : float
        Level of the test.
    """

    frame: pd.DataFrame
    coefficient: str
    effect: float
    estimator: str
    simulations: int
    alpha: float

    def summary_frame(self) -> pd.DataFrame:
        """Return the table."""
        return self.frame

    def summary(self) -> Summary:
        """Summarise."""
        facts = {
            "Coefficient": f"{self.coefficient} = {self.effect:g}",
            "Estimator": self.estimator,
            "Simulations": f"{self.simulations:,} of each size",
            "Level": f"{self.alpha:g}, two-sided (Wald)",
        }
        formats = dict.fromkeys(self.frame.columns, ".3f") | {"events": ".1f"}
        return summary_table("Power by simulation", facts, self.frame, formats=formats)

    def __str__(self) -> str:
        return str(self.summary())

    def _in_a_line(self) -> str:
        shown = ", ".join(f"{row.power:.3f} with n = {n:,}" for n, row in self.frame.iterrows())
        return f"{self.coefficient} = {self.effect:g}: {shown}"


def power(
    formula: str,
    data: Any,
    params: Mapping[str, float],
    *,
    coefficient: str,
    n: Any,
    simulations: int = 1000,
    alpha: float = 0.05,
    rng: Any = 0,
    **options: Any,
) -> Power:
    """Power of the Wald test of a coefficient, by simulation with the estimator that will be used.

    Parameters
    ----------
    formula : str
        The right-hand side, as in ``"~ treated + age"``.
    data : table
        Covariates such as the study will have; rows are drawn from it with replacement.
    params : mapping
        True values of all coefficients, by name.
    coefficient : str
        The one that is tested.
    n : int or list of int
        Sizes of the study.
    simulations : int
        Studies of each size; the error of a power of 0.8 by 1,000 is 0.013.
    alpha : float
        Level of the test.
    rng : int or Generator
    **options
        Of :func:`gevglm.fit_many`, for outcomes and fits alike: `link`, `xi`, `loss`, `bias`, `cov_type`.

    Returns
    -------
    Power

    Examples
    --------
    >>> import gevglm, pandas as pd
    >>> arms = pd.DataFrame({"treated": [0, 1]})
    >>> gevglm.planning.power(
    ...     "~ treated", arms, {"Intercept": -3, "treated": 0.8}, coefficient="treated", n=[500, 1000], simulations=400, bias="firth"
    ... )
    <Power: treated = 0.8: 0.588 with n = 500, 0.910 with n = 1,000>
    """
    generator, level = np.random.default_rng(rng), share("alpha", alpha)
    simulations = whole_number("simulations", simulations, 2)
    right = formula.rpartition("~")[2].strip()
    frame = as_frame(data)
    if not len(frame):
        raise InvalidDataError("data has no rows to draw covariates from.")
    model = BinaryGLM.from_formula(
        f"{PLACE} ~ {right}",
        frame.assign(**{PLACE: np.arange(len(frame)) % 2.0}),
        **{word: options[word] for word in ("link", "xi", "loss") if word in options},
    )
    if model.design.offset is not None:
        raise InvalidOptionError("power() has no place for an offset; leave it out of the formula.")
    names = list(model.exog_names)
    truth = _true_values(params, names, coefficient)
    study = _Study(np.asarray(model.exog), truth, names.index(coefficient), model.link, simulations, level, options)
    rows = {size: study.simulated(size, generator) for size in (whole(each) for each in np.atleast_1d(n).tolist())}
    columns = ["events", "power", "ci_lower", "ci_upper", "mean", "sd", "failed"]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("n")
    words = ", ".join(f"{word}={value!r}" for word, value in options.items()) or "logit"
    return Power(table, coefficient, float(truth[study.place]), words, simulations, level)


@dataclass(frozen=True)
class _Study:
    """What is simulated."""

    X: np.ndarray  # rows to draw from
    truth: np.ndarray
    place: int  # of the coefficient that is tested
    link: BinaryLink
    simulations: int
    level: float
    options: dict[str, Any]

    def simulated(self, size: int, generator: np.random.Generator) -> tuple[float, ...]:
        """Return events, power with its limits, mean and standard deviation of the estimates, and the share without one, for a size."""
        found, events = [], 0.0
        for part in np.array_split(np.arange(self.simulations), min(DESIGNS, self.simulations)):
            drawn = self.X[generator.integers(len(self.X), size=size)]
            risks = self.link.inverse(drawn @ self.truth)[:, None]
            outcomes = (generator.random((size, len(part))) < risks).astype(float)
            events += outcomes.sum()
            found.append(_fits(drawn, outcomes, self.place, self.options))
        estimate, pvalue = np.concatenate(found, axis=1)
        rejected, failed = float((pvalue < self.level).sum()), np.isnan(estimate)
        limits = [float(limit) for limit in wilson_limits(np.array(rejected), np.array(float(self.simulations)))]
        known = estimate[~failed]
        moments = (known.mean(), known.std(ddof=1)) if len(known) > 1 else (np.nan, np.nan)
        return events / self.simulations, rejected / self.simulations, *limits, *moments, failed.mean()


def _fits(X: np.ndarray, outcomes: np.ndarray, place: int, options: dict[str, Any]) -> np.ndarray:
    """Return the estimates of a coefficient and its p-values, missing where a fit has none."""
    try:
        with silenced():
            fits = fit_many(X, outcomes=outcomes, **options)
    except GevglmError as error:
        if isinstance(error, InvalidOptionError):
            raise
        return np.full((2, outcomes.shape[1]), np.nan)
    return np.stack([np.asarray(table)[:, place] for table in (fits.params, fits.pvalues)])


def _true_values(params: Mapping[str, float], names: list[str], coefficient: str) -> np.ndarray:
    missing, unknown = [name for name in names if name not in params], [name for name in params if name not in names]
    if missing or unknown or coefficient not in names:
        wrong = f"without {listed(missing)}" if missing else f"with {listed(unknown)}, which it does not have"
        wrong = wrong if missing or unknown else f"and not {coefficient!r}"
        raise InvalidOptionError(f"the formula has the coefficients {listed(names)}; params are {wrong}.")
    return np.array([params[name] for name in names], dtype=float)
