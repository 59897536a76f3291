"""A family that watches the iteration of ``sm.GLM``: where it starts, what it shows of itself, and whether it ended well."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from statsmodels.genmod.families import Binomial
from statsmodels.genmod.generalized_linear_model import GLM

from gevglm import losses
from gevglm.exceptions import ConvergenceWarning, GevglmWarning, warn

DIRECTIONS = 3  # early iterates kept: the score must vanish along the way from each of them to the last
IRREGULAR = 1e4  # information of a row about its linear predictor; inside the support it is of the order of one
USUAL = {"method": "IRLS", "maxiter": 100, "tol": 1e-8, "cov_type": None}
SHORT = 1e-4  # of the linear predictor: a way on which nothing but rounding is seen


class Iteration:
    """What the iteration of ``sm.GLM`` shows to a family: its linear predictors, all of them in the space of the columns, and deviances."""

    def __init__(self) -> None:
        self.steps = 0
        self.eta = self.mu = np.empty(0)
        self.early: list[NDArray] = []
        self.deviance = np.inf
        self.said = False

    def stands_still(self, deviance: float, tol: float) -> bool:
        """Take the next deviance, and return whether it is that of the step before."""
        before, self.deviance = self.deviance, deviance
        return abs(deviance - before) <= tol

    def distance(self, score: NDArray, information: NDArray) -> float:
        r"""Return how far the iterate is from a minimum, in standard errors, along what is known of the space of the columns.

        With s the score and W the information of the rows, it is the largest :math:`|d's| / \sqrt{d'Wd}` of the directions d to early
        iterates. It is at most the Newton decrement, and zero at a minimum.
        """
        ways = [self.eta - early for early in self.early]
        ways = [way for way in ways if np.abs(way).max() > SHORT * np.abs(self.eta).max()]
        with np.errstate(all="ignore"):
            return max(
                (abs(way @ score) / np.sqrt(way * information @ way) for way in ways if (way @ score) != 0.0),
                default=0.0,
            )


class Watched(Binomial):
    """Base of the families: the iteration of ``sm.GLM`` starts at the model with a constant only, and is watched.

    Parameters
    ----------
    loss : Loss
        What the iteration is to minimise.
    """

    def __init__(self, loss: losses.Loss):
        self.loss, self._iteration = loss, Iteration()
        super().__init__(link=loss.link)

    def initialize(self, endog, freq_weights):
        """Return outcomes and trials; called for each new model."""
        self._iteration = Iteration()
        return super().initialize(endog, freq_weights)

    def starting_mu(self, y):
        """Return the share of events, which is kept away from 0 and 1 by half an event."""
        self._iteration = Iteration()
        trials = np.broadcast_to(self.n, np.shape(y))
        return np.full(np.shape(y), (trials @ y + 0.5) / (trials.sum() + 1.0))

    def fitted(self, lin_pred):
        """Return the probabilities of linear predictors."""
        mu = super().fitted(lin_pred)
        self._iteration.eta, self._iteration.mu = np.asarray(lin_pred), mu
        return mu

    def weights(self, mu):
        """Return the weights of the rows in a step; none of the log loss outside the support, where a row would outweigh all others."""
        now = self._iteration
        now.steps += 1
        if now.mu is not mu or not self.loss.is_likelihood:
            return super().weights(mu)
        with np.errstate(all="ignore"):
            return self.loss.expected_curvature_at(self.link.at(now.eta))

    def deviance(self, endog, mu, var_weights=1.0, freq_weights=1.0, scale=1.0):
        """Return the deviance; where the iteration of ``sm.GLM`` ends with it, see whether it ended well."""
        value = super().deviance(endog, mu, var_weights, freq_weights, scale)
        call, now = call_of_fit(), self._iteration
        if now.mu is not mu:
            return value
        if call["cov_type"] == "nonrobust":
            self._announce()
        if now.stands_still(value, call["tol"]):
            self._judge(np.asarray(endog), self.n * var_weights * freq_weights, 10.0 * np.sqrt(max(call["tol"], 1e-8)))
        elif now.steps == call["maxiter"] and call["method"].lower() == "irls":
            self._warn(f"the deviance still moves after {now.steps} steps")
        if len(now.early) < DIRECTIONS:
            now.early.append(now.eta)
        return value

    def _judge(self, y: NDArray, size: NDArray | float, far: float) -> None:
        now = self._iteration
        with np.errstate(all="ignore"):
            point = self.link.at(now.eta)
            information = self.loss.expected_curvature_at(point)
            distance = now.distance(size * self.loss.slope(y, now.eta), size * information)
        ruled_out = int((((y > 0) & (point.cdf == 0)) | ((y < 1) & (point.sf == 0))).sum())
        if ruled_out and self.loss.is_likelihood:
            self._warn(f"{ruled_out} of {len(y)} rows have outcomes with a fitted probability of exactly 0")
        elif not distance <= far:
            self._warn(f"the score is {distance:.3g} standard errors away from zero")
        elif information.max() > IRREGULAR:
            end = int((information > IRREGULAR).sum())
            self._warn(
                f"{end} of {len(y)} rows lie at the end of the support, where the likelihood has no regular maximum"
            )

    def _warn(self, seen: str) -> None:
        now = self._iteration
        if not now.said:
            now.said = True
            warn(
                f"the iteration of sm.GLM has not found the minimum of the loss: {seen}, at a deviance of {now.deviance:.6g}. Do not use these estimates; "
                f"gevglm.fit(y, X, link=gevglm.links.{self.link!r}, loss={self.loss.name!r}) minimises the same loss by safer steps.",
                ConvergenceWarning,
            )

    def _announce(self) -> None:
        """Say what is to be known of default standard errors."""

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what was seen of an iteration, which is of the length of the data."""
        return {name: value for name, value in vars(self).items() if name != "_iteration"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _iteration=Iteration())


def call_of_fit() -> Mapping[str, Any]:
    """Return the arguments of the user's call of ``GLM.fit`` that we are in, which a family is not told; the usual ones if there is none.

    Results of statsmodels call it as well, for the model with a constant only.
    """
    code, frame = GLM.fit.__code__, sys._getframe(1)
    while (caller := frame.f_back) is not None:
        if frame.f_code is code and caller.f_code.co_filename != code.co_filename:
            return frame.f_locals
        frame = caller
    return USUAL


@cache
def announce_standard_errors() -> None:
    """Warn of the default standard errors of ``sm.GLM``, once."""
    warn(
        "the default standard errors of sm.GLM are wrong for the canonical loss of this link, 1.02 to 4 times too large as a rule: they assume "
        "Var(y) = V(mu). Use sm.GLM(...).fit(cov_type='HC0'), or gevglm.fit. (This is said once.)",
        GevglmWarning,
    )
