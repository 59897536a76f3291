"""Panels of rare events with a constant for each unit: bias and coverage of slopes, and bias of average marginal effects, for four kinds of x."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, ndtr

from benchmarks.report import table
from gevglm.bias import MeanReduction
from gevglm.conditional.likelihood import ConditionalLikelihood
from gevglm.conditional.sets import MatchedSets
from gevglm.engine.cholesky import Cholesky
from gevglm.engine.grouped import Groups, grouped_engine
from gevglm.estimation.absorbed import AbsorbedEstimate, AbsorbedProblem
from gevglm.links import Logit, Probit
from gevglm.losses import Log, Loss
from gevglm.panel.estimation import bias_of
from gevglm.panel.risks import shift_to_share

REPLICATIONS = 400
CELLS = ((2, 0.02, 1500), (2, 0.10, 500), (5, 0.02, 600), (5, 0.10, 300), (20, 0.02, 200), (20, 0.10, 100))
COLUMNS = ("normal", "skewed", "binary", "trending")
SLOPE = {"logit": 0.7, "probit": 0.35}
SPREAD = 0.7  # standard deviation of the constants, in units of the logit
CONDITIONAL = ("conditional", "conditional, Firth")  # of the logit only
METHODS = ("ML", *CONDITIONAL, "Firth, informative", "correction", "Firth, all")
EFFECTS_OF = {"linear": "linear", "ML": "ML", "Firth": "Firth, three steps"} | {
    name: f"{name}, three steps" for name in CONDITIONAL
}
QUANTILE = 1.959963984540054

TEXT = """# Panels of rare events with a constant for each unit

Units with T rows each, a share of events, one column x whose mean in a unit goes with the unit's constant (standard deviation {spread:g}; correlation
about 0.4), {replications} replications. The column is normal; skewed (exponential); binary (30 % of the rows); or trending (the same trend in all units, with a slope
and noise of their own). "ML" is maximum likelihood on the units with both outcomes, "conditional" `strata=`, "conditional, Firth" `strata=` with `bias="firth"`,
"Firth, informative" `bias="firth"`, "correction" `bias="correction"` (Fernandez-Val), "Firth, all" `bias="firth", units="all"`. In each cell: the bias of the slope in per cent of it, its Monte Carlo error, and the
coverage of nominal 95 % Wald intervals (model-based; Monte Carlo error 1.1 percentage points). Estimates that were infinite or did not converge
are left out, and counted in brackets after the coverage where there are any.
"""
EFFECTS = """
## Average marginal effects

Bias in per cent of the average marginal effect in the sample, with its Monte Carlo error: the linear probability model with constants of units; ML with
its own constants, units with one outcome at a risk of 0 or 1; and `marginal_effects()` after bias reduction, by three steps from the slopes of Firth's
method on informative units, or of the conditional likelihood: plain, and with Firth's penalty (`slopes="conditional"`).
"""


def columns(kind: str, constants: NDArray, periods: int, rng: np.random.Generator) -> NDArray:
    """Draw x, one row per unit and period, with variance of about 1."""
    units = len(constants)
    level = 0.4 / SPREAD * (constants - constants.mean())[:, None]
    if kind == "normal":
        return level + 0.9 * rng.normal(size=(units, periods))
    if kind == "skewed":
        return level + 0.9 * (rng.exponential(size=(units, periods)) - 1.0)
    if kind == "binary":
        return (rng.random((units, periods)) < ndtr(-0.52 + 1.2 * level)).astype(float)
    time = np.linspace(-1.7, 1.7, periods) if periods > 2 else np.array([-1.0, 1.0])
    return level + 0.8 * time * (1.0 + 0.3 * rng.normal(size=(units, 1))) + 0.3 * rng.normal(size=(units, periods))


def sample(
    link: str, kind: str, cell: tuple[int, float, int], rng: np.random.Generator
) -> tuple[NDArray, NDArray, NDArray, float]:
    """Draw units, x and outcomes, with the average marginal effect in the sample."""
    periods, share, units = cell
    F = expit if link == "logit" else ndtr
    unit = 1.0 if link == "logit" else 0.5
    constants = SPREAD * unit * rng.normal(size=units)
    x, slope = columns(kind, constants / unit, periods, rng), SLOPE[link]
    at = constants[:, None] + slope * x
    v = at + brentq(lambda shift: F(at + shift).mean() - share, -15.0, 10.0)
    y = (rng.random(v.shape) < F(v)).astype(float)
    density = F(v) * F(-v) if link == "logit" else np.exp(-0.5 * v**2) / np.sqrt(2.0 * np.pi)
    return np.repeat(np.arange(units), periods), x.ravel(), y.ravel(), slope * float(density.mean())


def problem(loss: Loss, codes: NDArray, x: NDArray, y: NDArray, adjusted: bool) -> AbsorbedProblem:
    """Return the fit of one column with a constant for each unit."""
    groups = Groups(np.unique(codes, return_inverse=True)[1])
    centres = groups.sums(x[None]) / groups.sizes
    X = (x[None] - groups.at_rows(centres)).T
    return AbsorbedProblem(grouped_engine(X, y, groups), groups, loss, centres, MeanReduction() if adjusted else None)


def slope_of(found: AbsorbedEstimate) -> tuple[float, float]:
    """Return the slope and its standard error, missing if there is none."""
    usable = found.converged and abs(found.params[-1]) < 20.0
    return (found.params[-1], float(np.sqrt(found.information.inverse[0, 0]))) if usable else (np.nan, np.nan)


def effect(loss: Loss, slope: float, codes: NDArray, x: NDArray, y: NDArray) -> float:
    """Return the average marginal effect by the three steps from a slope."""
    groups = Groups(codes)
    engine = grouped_engine(np.empty((len(y), 0)), y, groups, offset=slope * x)
    constants = AbsorbedProblem(engine, groups, loss, np.empty((0, len(groups))), MeanReduction()).estimate().params
    v = slope * x + groups.at_rows(constants)
    return slope * float(loss.link.at(v + shift_to_share(loss.link, v, y, np.ones(len(y)))).pdf.mean())


def replication(
    link: str, kind: str, cell: tuple[int, float, int], rng: np.random.Generator
) -> dict[str, tuple[float, float]]:
    """Return estimates with standard errors by method, and average marginal effects over the true one."""
    codes, x, y, truth = sample(link, kind, cell, rng)
    loss: Loss = Log(Logit() if link == "logit" else Probit())
    cases = np.bincount(codes, y)
    both = ((cases > 0) & (cases < cell[0]))[codes]
    inside = (codes[both], x[both], y[both])
    plain = problem(loss, *inside, False)
    ml = plain.estimate()
    found = {"ML": slope_of(ml), "Firth, informative": slope_of(problem(loss, *inside, True).estimate())}
    found["Firth, all"] = slope_of(problem(loss, codes, x, y, True).estimate())
    found["correction"] = found["ML"]
    if np.isfinite(found["ML"][0]):
        found["correction"] = slope_of(plain.at(ml, ml.params - bias_of(plain, ml)))
    if link == "logit":
        sets = MatchedSets.of(x[both][:, None], y[both], plain.groups.codes, None, np.ones(len(plain.groups)))
        for name in CONDITIONAL:
            result = ConditionalLikelihood(sets, penalised=name != "conditional").minimise(np.zeros(1), 1e-8, 50)
            error = float(np.sqrt(Cholesky(result.sums.hessian).inverse()[0, 0]))
            found[name] = (float(result.params[0]), error) if result.converged else (np.nan, np.nan)
    groups = Groups(codes)
    within, about = x - groups.at_rows(groups.sums(x) / groups.sizes), y - groups.at_rows(groups.sums(y) / groups.sizes)
    found["effect, linear"] = float(within @ about / (within @ within)) / truth, np.nan
    inner = loss.link.at(plain.engine.X @ ml.params[-1:] + plain.groups.at_rows(ml.params[:-1])).pdf.sum() / len(y)
    found["effect, ML"] = (ml.params[-1] * inner / truth if np.isfinite(found["ML"][0]) else np.nan), np.nan
    for name in ("Firth", *CONDITIONAL):
        method = "Firth, informative" if name == "Firth" else name
        if method in found and np.isfinite(found[method][0]):
            found[f"effect, {name}"] = effect(loss, found[method][0], codes, x, y) / truth, np.nan
    return found


def cells(values: NDArray, truth: float) -> str:
    """Return bias in per cent with its error, and coverage."""
    finite = values[np.isfinite(values[:, 0])]
    bias = 100.0 * (finite[:, 0] / truth - 1.0)
    text = f"{bias.mean():+.0f} ({bias.std(ddof=1) / np.sqrt(len(bias)):.1f})"
    if np.isfinite(finite[:, 1]).all():
        text += f" {np.mean(np.abs(finite[:, 0] - truth) <= QUANTILE * finite[:, 1]):.2f}".replace("0.", ".")
    return text + (f" [{len(values) - len(finite)}]" if len(finite) < len(values) else "")


def rows(link: str, kind: str, replications: int) -> Iterator[tuple[list[str], list[str]]]:
    """Yield a row of slopes and one of effects for each cell."""
    for number, cell in enumerate(CELLS):
        rng = np.random.default_rng([22, COLUMNS.index(kind), number, link == "probit"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            draws = [replication(link, kind, cell, rng) for _ in range(replications)]
        name = f"{cell[0]}, {100 * cell[1]:g} %, {cell[2]}"

        def of(method: str, truth: float, draws=draws) -> str:
            values = [draw.get(method, (np.nan, np.nan)) for draw in draws]
            return cells(np.array(values), truth)

        slopes = [of(method, SLOPE[link]) for method in of_link(METHODS, link)]
        effects = [of(f"effect, {method}", 1.0) for method in of_link(EFFECTS_OF, link)]
        yield [kind, name, *slopes], [kind, name, *effects]


def of_link(names: Iterable[str], link: str) -> list[str]:
    """Return the names of the methods that a link has."""
    return [name for name in names if link == "logit" or name not in CONDITIONAL]


def run(replications: int = REPLICATIONS) -> str:
    """Return the report."""
    text, effects = TEXT.format(spread=SPREAD, replications=replications), EFFECTS
    for link in SLOPE:
        found = [row for kind in COLUMNS for row in rows(link, kind, replications)]
        text += (
            f"\n## Slopes, {link}\n\n"
            + table(("x", "T, share, units", *of_link(METHODS, link)), [slopes for slopes, _ in found])
            + "\n"
        )
        header = ("x", "T, share, units", *(EFFECTS_OF[name] for name in of_link(EFFECTS_OF, link)))
        effects += f"\n{link}:\n\n" + table(header, [row for _, row in found]) + "\n"
    return text + effects
