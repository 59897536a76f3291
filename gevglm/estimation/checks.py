"""Whether an iteration has ended at a solution, what else is looked at after a fit, and what the user is warned of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gevglm.engine import Block, Engine, Reducer
from gevglm.engine.base import ArraySum, Pass, Passes, make_pass, run
from gevglm.engine.linalg import Matrix, column_squares
from gevglm.estimation.adjusted_walls import NO_ROOT_INSIDE, UNBOUNDED_INSIDE
from gevglm.estimation.newton import UNBOUNDED, SolverResult
from gevglm.exceptions import ConvergenceWarning, FewEventsWarning, SeparationWarning, SupportWarning, listed, warn
from gevglm.links.base import AT_THE_END, BinaryLink

if TYPE_CHECKING:
    from gevglm.estimation.boundary import Boundary
    from gevglm.estimation.estimate import Estimate, Problem
    from gevglm.inference.separation import Separation
    from gevglm.model import BinaryGLM
    from gevglm.options import FitOptions

THINNEST = 16  # a part of the rows is never less than one block in this many
GROWING = 1e-3  # relative change of a coefficient, and change of a linear predictor, too large for a last step
ROUGH_TOL = 1e-6  # beyond, the last step of a solution says nothing
VANISHED = 1e-8  # share of the null model's information on a column below which its coefficient is infinite
TIGHTER, MANY_STEPS = 1e-4, 20  # tolerance and steps of a second look at a solution that still moves
FEW_EVENTS_PER_PARAMETER = 5
UNIDENTIFIED = 1e-6  # such a share below which separation is looked for
ROWS_NAMED = 5


# -- whether a solution is one: on the way to infinity the Newton decrement vanishes too -----------


def check_convergence(problem: Problem, result: SolverResult) -> Passes[tuple[SolverResult, bool, str, float | None]]:
    """Look at a solution, a second time if it still moves; find the solution, whether it is one, why (not), and :func:`least_information`.

    On the way to infinity the last step still moves the linear predictor, or hardly any information is left.
    """
    loss = problem.loss
    if result.boundary is not None:
        return result, result.converged, result.reason, None
    if not result.converged:
        edge = " (it may lie at the end of the support, where the log loss is not smooth)"
        stuck = result.reason.startswith("no step") and loss.is_likelihood and np.isfinite(loss.link.support).any()
        return result, False, result.reason + (edge if stuck else ""), None
    if problem.tol > ROUGH_TOL:
        return result, True, result.reason, None
    moving = yield from _still_moving(problem.engine, result)
    if moving:  # towards infinity, or just slowly
        tol = TIGHTER * problem.tol
        second = yield from problem.minimise(result.params, falling=not loss.convex, tol=tol, maxiter=MANY_STEPS)
        if second.converged:
            result, moving = second, (yield from _still_moving(problem.engine, second))
    null = float(loss.expected_curvature_at(problem.null_point)[0])
    least = yield from least_information(problem.engine, result.sums.hessian.diagonal(), null)
    if moving or least < VANISHED:
        return result, False, UNBOUNDED, least
    return result, True, result.reason, least


def least_information(engine: Engine, information: NDArray, null: float) -> Passes[float]:
    """Find the smallest of :func:`information_left`; on a part of the rows, unless there is hardly any."""
    part = engine.subsample_blocks(THINNEST)
    left = yield from information_left(part, part.n_rows / engine.n_rows * information, null)
    if part is not engine and (left < UNIDENTIFIED).any():
        left = yield from information_left(engine, information, null)
    return float(np.fmin.reduce(left))


def _still_moving(engine: Engine, result: SolverResult) -> Passes[bool]:
    """Find out whether the last step still changed the linear predictor."""
    if not (np.abs(result.step) > GROWING * np.abs(result.params)).any():
        return False
    change = yield Pass(engine, ArraySum(lambda block: ((_used_rows(block) @ result.step) ** 2).sum()))
    return bool(change > GROWING**2)


def information_left(engine: Engine, information: NDArray, null: float) -> Passes[NDArray]:
    """Find the information on each column as a share of that in the null model, whose curvature is given."""
    squares = yield Pass(engine, ArraySum(lambda block: column_squares(block.X, block.weight)))
    return information / (squares * null)


def _used_rows(block: Block) -> Matrix:
    return block.X if block.weight is None else block.X[block.weight > 0]


# -- after a fit -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Support:
    """The rows with a fitted probability of exactly 0 or 1."""

    outside: int = 0  # all of them
    # those with events at a probability of 0, with non-events at one of 1; grouped rows count once
    impossible_events: int = 0
    impossible_nonevents: int = 0
    # the first few positions of the latter two
    event_rows: tuple[int, ...] = ()
    nonevent_rows: tuple[int, ...] = ()

    @property
    def contradicted(self) -> int:
        """Rows whose outcome the fit declares impossible."""
        return self.impossible_events + self.impossible_nonevents


class FirstRows(Reducer[list[int]]):
    """The positions of the first few rows with some property, given by a function from a block to booleans."""

    def __init__(self, function: Callable[[Block], NDArray], most: int = ROWS_NAMED):
        self.function = function
        self.most = most

    def zero(self) -> list[int]:
        return []

    def map(self, block: Block) -> list[int]:
        with np.errstate(all="ignore"):
            return (block.start + np.flatnonzero(self.function(block))[: self.most]).tolist()

    def combine(self, total: list[int], part: list[int]) -> list[int]:
        return (total + part)[: self.most]


def known_support(problem: Problem, fitted: Estimate) -> Support | None:
    """Return what :func:`check_support` would find where the fit itself says it: behind walls, all rows but those on them are inside."""
    if not (problem.has_walls and fitted.converged):
        return None
    return Support(outside=0 if fitted.boundary is None else len(fitted.boundary.rows))


def check_support(engine: Engine, link: BinaryLink, params: NDArray) -> Support:
    """Count the rows outside the support of the link, and look for those that contradict it.

    Rows of weight zero do not count. A second pass, for the positions, is made only where there are contradictions.
    """
    lower, upper = link.support
    if lower == -np.inf and upper == np.inf:
        return Support()

    def sides(block: Block) -> tuple[NDArray, NDArray, NDArray]:
        v = block.linear_predictor(params)
        margin = AT_THE_END if link.edge else 0.0
        below, above = v <= lower + margin, v >= upper - margin
        weight = block.weight
        if weight is not None:
            below, above = below & (weight > 0), above & (weight > 0)
        return below | above, below & (v <= lower) & (block.y > 0), above & (v >= upper) & (block.y < 1)

    outside, events, nonevents = engine.reduce(ArraySum(lambda block: np.array([rows.sum() for rows in sides(block)])))
    event_rows = engine.reduce(FirstRows(lambda block: sides(block)[1])) if events else []
    nonevent_rows = engine.reduce(FirstRows(lambda block: sides(block)[2])) if nonevents else []
    return Support(int(outside), int(events), int(nonevents), tuple(event_rows), tuple(nonevent_rows))


def suspected_separation(model: BinaryGLM, engine: Engine, fitted: Estimate) -> Separation | None:
    """Look for separation by linear programming, if the fit shows its symptoms: no convergence, or vanished information."""
    if not model.design.has_rows:
        return None
    return model.separation() if not fitted.converged or _is_uninformed(model, engine, fitted) else None


def _is_uninformed(model: BinaryGLM, engine: Engine, fitted: Estimate) -> bool:
    """Whether hardly any information is left on some column."""
    least = fitted.least_information
    if least is None:
        least = run(least_information(engine, fitted.information, _null_curvature(model, fitted)), make_pass)
    return least < UNIDENTIFIED


def _null_curvature(model: BinaryGLM, fitted: Estimate) -> float:
    null = model.link.at_probability(np.array([fitted.events / fitted.weight]))
    return float(model.loss.expected_curvature_at(null)[0])


def separation_symptoms(model: BinaryGLM, fitted: Estimate) -> list[str]:
    """Return the columns of data in pieces on which hardly any information is left."""
    if model.design.has_rows:
        return []
    engine = model.engine()
    if not _is_uninformed(model, engine, fitted):
        return []
    left = run(information_left(engine, fitted.information, _null_curvature(model, fitted)), make_pass)
    return [model.exog_names[j] for j in np.flatnonzero(left < UNIDENTIFIED)]


def warn_of_problems(
    model: BinaryGLM,
    fitted: Estimate,
    support: Support,
    separation: Separation | None,
    options: FitOptions,
    plain: bool,
) -> None:
    """Issue every warning that a fit calls for; `plain` if nothing was done against bias.

    An iteration that was not asked for (`maxiter` of 0) does not call for a warning, nor does one towards infinity where separation is ignored.
    """
    ignored = options.separation == "ignore"
    on_its_way = (
        fitted.reason == UNBOUNDED or fitted.decrement <= options.tol**2
    )  # to infinity, where the loss hardly falls
    if separation is not None and not separation.separated:
        separation = None
    if separation is not None:
        kind = "completely" if separation.complete else "quasi-completely"
        finite = "" if separation.complete else "Finite coefficients are those of maximum likelihood. "
        warn(
            f"the outcomes are {kind} separated ({separation.rows} of {separation.n_rows} rows are predicted perfectly): the estimates of "
            f"{listed(separation.infinite)} are infinite, and what is reported for them is where the iteration ended. {finite}"
            "Use bias='firth', separation='drop' for levels with one outcome only, or look at their cross-table with the outcome.",
            SeparationWarning,
        )
    elif plain and not ignored and (columns := separation_symptoms(model, fitted)):
        warn(
            f"the fit shows the symptoms of separation: hardly any information is left on {listed(columns)}, whose maximum-likelihood "
            "estimates may be infinite. Use bias='firth', or look at the cross-table with the outcome.",
            SeparationWarning,
        )
    elif not fitted.converged and options.maxiter > 0 and not (ignored and on_its_way):
        steps = f"{fitted.n_iter} step{'' if fitted.n_iter == 1 else 's'}"
        shape = model.link.shape_name
        causes = "Too small a maxiter" + (
            f" and a {shape} that does not suit the data are the usual causes." if shape else " is the usual cause."
        )
        if fitted.reason.startswith((NO_ROOT_INSIDE, UNBOUNDED_INSIDE)):  # no number of steps would help
            warn(f"the fit has not converged: {fitted.reason}.", ConvergenceWarning)
        else:
            how_far = f"decrement {fitted.decrement:.2g} after {steps}"
            warn(f"the fit has not converged: {fitted.reason} ({how_far}). {causes}", ConvergenceWarning)
    elif not fitted.positive_definite and not ignored:
        warn(
            "the second derivative of the loss is not positive definite at the solution, which may not be a minimum; "
            "try other start_params, or loss='canonical'.",
            ConvergenceWarning,
        )
    warn_of_support(model, support, fitted.boundary)
    rarer = min(model.design.n_events, model.design.n_total - model.design.n_events)
    if plain and separation is None and rarer < FEW_EVENTS_PER_PARAMETER * (model.df_model + 1):
        warn(
            f"{rarer:g} observations of the rarer outcome for {model.df_model + 1} coefficients are few; "
            "estimates are biased away from zero and intervals unreliable. Consider bias='firth'.",
            FewEventsWarning,
        )


def warn_of_support(model: BinaryGLM, support: Support, boundary: Boundary | None = None) -> None:
    """Warn of rows at and outside the end of the support of the link, and name those whose outcome contradicts it."""
    if boundary is not None:
        warn(
            f"the fit ends on the boundary: {boundary_text(model, boundary)}; conf_int(method='profile') has the intervals to report of independent rows.",
            SupportWarning,
        )
    if not support.outside or (boundary is not None and support.outside == len(boundary.rows)):
        return
    if model.link.edge == "wall" and not model.loss.is_likelihood:
        warn(
            f"{support.outside} observations have a fitted mean that no risk can have, beyond 0 or 1: the canonical loss of {model.link.population!r} has "
            "no bounds. Predicted risks are exactly 0 or 1 there; loss='log' keeps all of them between.",
            SupportWarning,
        )
        return
    where = f"outside the support of {model.link.population!r}"
    if not support.contradicted:
        warn(f"{support.outside} observations lie {where}: their fitted probability is exactly 0 or 1.", SupportWarning)
        return
    grouped = model.design.freq is not None or model.design.trials is not None
    events = _counted("event", support.impossible_events, grouped)
    nonevents = _counted("non-event", support.impossible_nonevents, grouped)
    warn(
        f"{events} a fitted probability of exactly 0{_named(model, support.impossible_events, support.event_rows)} "
        f"and {nonevents} one of exactly 1{_named(model, support.impossible_nonevents, support.nonevent_rows)}; "
        f"{support.outside} observations in all lie {where}, where it is exactly 0 or 1. "
        f"The fit rules out what was observed: try another {model.link.shape_name or 'link'}.",
        SupportWarning,
    )


def boundary_text(model: BinaryGLM, boundary: Boundary) -> str:
    """Return which rows a fit holds to be certain, what proves it, and what its standard errors are, in words."""
    rows, ends = boundary.rows, np.isfinite(model.link.support)
    certain = " or ".join(risk for risk, finite in zip("01", ends, strict=True) if finite)
    named = _named(model, len(rows), tuple(rows[:ROWS_NAMED].tolist()))
    count, smallest = len(boundary.active), f"{boundary.multipliers.min(initial=np.inf):.2g}"
    proof = f"a multiplier of {smallest}" if count == 1 else f"{count} multipliers (the smallest {smallest})"
    return (
        f"{len(rows)} row{' has' if len(rows) == 1 else 's have'} a fitted probability of exactly {certain}, the outcome that was observed{named}, certified by "
        f"{proof}. Standard errors are those along the boundary"
    )


def _counted(noun: str, count: int, grouped: bool) -> str:
    if grouped:
        return f"1 row with {noun}s has" if count == 1 else f"{count} rows with {noun}s have"
    return f"1 {noun} has" if count == 1 else f"{count} {noun}s have"


def _named(model: BinaryGLM, count: int, rows: tuple[int, ...]) -> str:
    """Return the rows in brackets, by the labels the user knows them by."""
    if not rows:
        return ""
    more = f" and {count - len(rows)} more" if count > len(rows) else ""
    return f" ({'row' if count == 1 else 'rows'} {', '.join(model.design.labels_of(list(rows)))}{more})"
