"""FLIC and FLAC (Puhr et al. 2017): Firth's method with predicted risks that average to the observed rate."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gevglm.bias.adjusted import MeanReduction
from gevglm.bias.base import BiasReduction, at_params
from gevglm.engine.base import Block, MappedEngine
from gevglm.engine.factored_matrix import restricted
from gevglm.engine.linalg import hstack_columns, quadratic_forms, vstack_rows
from gevglm.estimation.estimate import Estimate, Problem
from gevglm.estimation.objective import Objective
from gevglm.losses import Loss


@dataclass(frozen=True)
class Flic(BiasReduction):
    """Firth's slopes with the constant estimated anew, so that the predicted risks average to the observed rate.

    They do so exactly for the logit and for every canonical loss, nearly for the log loss of other links.
    """

    word = "flic"
    own_constant = needs_constant = True
    title = "Firth with intercept correction (FLIC)"

    def estimate(self, problem: Problem) -> Estimate:
        firth = MeanReduction().estimate(problem)
        if not firth.converged:
            return firth
        slopes = firth.params.copy()
        slopes[problem.constant] = 0.0

        def constant_only(block: Block) -> Block:
            return replace(block, X=np.ones((len(block.y), 1)), offset=block.linear_predictor(slopes))

        alone = replace(
            problem, engine=MappedEngine(problem.engine, constant_only, 1), constant=0, omitted=(), start=None
        )
        slopes[problem.constant] = alone.estimate().params[0]
        return at_params(problem, firth, slopes)

    def maximises_likelihood(self, loss: Loss) -> bool:
        return MeanReduction().maximises_likelihood(loss)

    def penalised_likelihood(self, problem: Problem, params: NDArray) -> tuple[Objective, NDArray]:
        firth = MeanReduction()
        return firth.penalised_likelihood(problem, firth.estimate(problem).params)


@dataclass(frozen=True)
class Flac(BiasReduction):
    """Maximum likelihood on data augmented by Firth's pseudo-observations, which a column of their own marks."""

    word = "flac"
    title = "Firth with added covariate (FLAC)"
    needs_constant = needs_logit = True
    instead = "use bias='flic' or bias='mean'"

    def estimate(self, problem: Problem) -> Estimate:
        firth = MeanReduction().estimate(problem)
        if not firth.converged:
            return firth
        augmented = self._augmented(problem, firth).estimate()
        k = len(firth.params)
        return replace(
            augmented,
            params=augmented.params[:k],
            information=augmented.information[:k],
            inverse_information=restricted(augmented.inverse_information, np.arange(k)),
            weight=firth.weight,
            events=firth.events,
            n_iter=firth.n_iter + augmented.n_iter,
            n_passes=firth.n_passes + augmented.n_passes,
        )

    def maximises_likelihood(self, loss: Loss) -> bool:
        return True

    def penalised_likelihood(self, problem: Problem, params: NDArray) -> tuple[Objective, NDArray]:
        augmented = self._augmented(problem, MeanReduction().estimate(problem))
        return augmented.objective(), augmented.estimate().params

    def _augmented(self, problem: Problem, firth: Estimate) -> Problem:
        """Each row a second time, with outcome 1/2 and its leverage for a weight, marked by a column."""

        def augment(block: Block) -> Block:
            rows = len(block.y)
            point = problem.loss.link.at(block.linear_predictor(firth.params))
            variance = problem.loss.expected_curvature_at(point)
            leverage = block.weighted(variance * quadratic_forms(block.X, firth.inverse_information))
            X = vstack_rows(hstack_columns(block.X, np.zeros(rows)), hstack_columns(block.X, np.ones(rows)))
            weight = np.ones(rows) if block.weight is None else block.weight
            offset = None if block.offset is None else np.tile(block.offset, 2)
            y = np.concatenate([block.y, np.full(rows, 0.5)])
            return Block(block.start, X, y, freq=np.concatenate([weight, leverage]), offset=offset)

        engine = MappedEngine(problem.engine, augment, problem.engine.n_cols + 1)
        names = None if problem.names is None else [*problem.names, "pseudo-observation"]
        return replace(problem, engine=engine, start=None, names=names)
