"""The ratios of two exposures alone and together, from standardised risks or from coefficients: what measures of interaction are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gevglm.effects.interaction import Interaction, interaction_of
from gevglm.effects.linear import Uncertainty
from gevglm.effects.rows import RowGroups, Rows, Scenario, reference_row, variables
from gevglm.effects.sampled import average_uncertainty, influence_for
from gevglm.effects.standardised import averages, contrast_of
from gevglm.effects.worlds import Worlds
from gevglm.engine.linalg import dense
from gevglm.exceptions import InvalidOptionError, unknown_option

if TYPE_CHECKING:
    from gevglm.results.core import ResultsCore

SCALES = ("ratio", "odds", "coefficients")
AGAINST_NONE = np.array(
    [[-1.0, 0.0, 1.0, 0.0], [-1.0, 1.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 1.0]]
)  # of none, second, first, both


def interaction_in(
    results: ResultsCore, first: str, second: str, at: Any, contrast: str, data: Any, alpha: float
) -> Interaction:
    """Return the interaction of two exposures; see :meth:`gevglm.BinaryGLMResults.interaction`."""
    if contrast not in SCALES:
        raise unknown_option("contrast", contrast, SCALES)
    if first == second:
        raise InvalidOptionError(f"{first!r} is named twice; give two exposures.")
    rows = Rows.of(results, data)
    joint = rows.joint_scenarios([first, second], at)
    if len(joint) != 4 or any(each.shift is not None for _, world in joint for each in world.values()):
        raise InvalidOptionError(
            f"an interaction is of two values of {first!r} and two of {second!r}; give them, as in at={{{first!r}: (0, 1), {second!r}: (0, 1)}}."
        )
    worlds = [world for _, world in joint]
    if contrast == "coefficients":
        logs, known = _by_coefficients(results, rows, worlds)
        note = "odds ratios by the coefficients"
    else:
        logs, known = _by_risks(results, rows, worlds, contrast, data)
        kind = "risk" if contrast == "ratio" else "odds"
        note = f"{kind} ratios of risks averaged over {rows.observations:,.0f} observations"
    labels = [joint[i][0].label for i in (2, 1, 3)]
    return interaction_of(logs, known, labels, alpha, f"{note}; delta method, {results.cov_type} covariance")


def _by_risks(
    results: ResultsCore, rows: Rows, worlds: list[Mapping[str, Scenario]], contrast: str, data: Any
) -> tuple[NDArray, Uncertainty]:
    """Return the logarithms of three ratios of standardised risks, or of their odds, and what is known of them."""
    moved, everybody = Worlds.of(rows, worlds), RowGroups()
    found = averages(moved, results.risk_at_estimates, everybody)
    known = average_uncertainty(results, moved, everybody, found, influence_for(results, None, data), "an interaction")
    rule = contrast_of(contrast)
    combine = AGAINST_NONE * rule.slope(found.risks)
    return AGAINST_NONE @ rule.scale(found.risks), known.combined(combine)


def _by_coefficients(
    results: ResultsCore, rows: Rows, worlds: list[Mapping[str, Scenario]]
) -> tuple[NDArray, Uncertainty]:
    """Return the logarithms of three odds ratios by the coefficients of a logit, and what is known of them; other variables are at their reference."""
    link, design = results.model.population_link, results.model.design
    if link.exponentiated != "odds_ratio":
        raise InvalidOptionError(
            f"coefficients of {link!r} are not log odds ratios; use contrast='ratio' or 'odds', of standardised risks."
        )
    held = reference_row(design, (rows.fitted or rows).weights, set(worlds[0]))
    frame = rows.frame.iloc[[0] * 4].reset_index(drop=True)
    known = {name: value for name, value in held.items() if name in frame and name in variables(design)}
    frame = frame.assign(**known)
    for name in worlds[0]:
        parts = [world[name].column(frame[name].iloc[[i]]) for i, world in enumerate(worlds)]
        frame[name] = [np.asarray(part)[0] for part in parts]
    frame = frame.astype({name: rows.frame[name].dtype for name in frame if rows.frame[name].dtype.name == "category"})
    X = frame.to_numpy(float) if design.recipe is None else dense(design.recipe.matrix(frame))
    combine = AGAINST_NONE @ X
    cov = results.delta_covariance(combine, "an interaction")
    return combine @ np.asarray(results.params), Uncertainty(cov, combine, results.degrees)
