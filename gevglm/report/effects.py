"""What each variable goes with, on the scale of the risk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.effects.linear import Uncertainty
from gevglm.effects.rows import Rows, shifts, variables
from gevglm.effects.standardised import contrast_of, contrast_table
from gevglm.exceptions import GevglmError
from gevglm.report.numbers import level

if TYPE_CHECKING:
    from gevglm.results import BinaryGLMResults

MOST_VARIABLES = 30


@dataclass(frozen=True)
class Effect:
    """The standardised risks of a variable, compared."""

    variable: str
    kind: str  # "binary", "levels" (all with the first), "quartiles" (the third with the first) or "sd" (half a standard deviation around each row)
    levels: list[str]  # the values compared, the first being the reference
    risks: pd.DataFrame
    differences: pd.DataFrame  # one row for each value but the first: ``estimate``, ``se``, ``ci_lower``, ``ci_upper``
    ratios: pd.DataFrame
    pvalues: pd.Series  # that a difference is zero
    joint: float  # p-value of the hypothesis that all differences are zero


@dataclass(frozen=True)
class Effects:
    """The effects of all variables."""

    known: list[Effect]
    missing: dict[str, str]  # why a variable has none

    def by_evidence(self) -> list[Effect]:
        """Return the effects, the clearest first."""
        return sorted(self.known, key=lambda effect: (np.nan_to_num(effect.joint, nan=1.0), -_size(effect)))


def predictors(results: BinaryGLMResults) -> list[str]:
    """Return the variables whose effects are shown: all but offsets, exposures, and a constant that is a column of the design."""
    design, constant = results.model.design, results.model.data.const_idx
    aside = [*shifts(design), *([design.names[constant]] if design.recipe is None and constant is not None else [])]
    return [name for name in variables(design) if name not in aside]


def effects_of(results: BinaryGLMResults, alpha: float) -> Effects:
    """Return the effects of all variables of a model whose rows are in memory."""
    known, missing = [], {}
    rows, names = Rows.of(results), predictors(results)
    for name in names[:MOST_VARIABLES]:
        try:
            known.append(_effect(results, rows, name, alpha))
        except GevglmError as error:
            missing[name] = str(error)
    for name in names[MOST_VARIABLES:]:
        missing[name] = f"only the first {MOST_VARIABLES} variables are shown"
    return Effects(known, missing)


def _effect(results: BinaryGLMResults, rows: Rows, name: str, alpha: float) -> Effect:
    at, kind = _comparison(rows, name)
    found = results.risk(name, at, alpha=alpha)
    levels = _levels([scenario.label for scenario in found.scenarios])
    pairs = [(0, j) for j in range(1, len(levels))]
    risks = found.risks["estimate"].to_numpy()
    index = pd.Index(levels[1:])
    ratios, _ = contrast_table(contrast_of("ratio"), risks, found.uncertainty, pairs, index, alpha)
    if kind == "levels" and len(levels) == 2:
        kind = "binary"
    of_levels, differences = found.risks.set_axis(levels), found.summary_frame().set_axis(index)
    pvalues, joint = found.pvalues.set_axis(index), _joint(risks, found.uncertainty)
    return Effect(name, kind, levels, of_levels, differences, ratios, pvalues, joint)


def _comparison(rows: Rows, name: str) -> tuple[str | None, str]:
    """Return what to compare, as ``at`` of :meth:`risk`, and its kind: levels, quartiles of a continuous variable, or a standard deviation where they are equal."""
    if rows.scenarios(name, None)[0].shift is None:
        return None, "levels"
    first, third = rows.scenarios(name, "iqr")
    return ("iqr", "quartiles") if first.label != third.label else ("sd", "sd")


def _levels(texts: list[str]) -> list[str]:
    """Return values as they are shown: shortened, unless that makes two of them the same."""
    short = [level(text) for text in texts]
    return short if len(set(short)) == len(set(texts)) else texts


def _joint(risks: NDArray, known: Uncertainty) -> float:
    """Return the p-value of Wald's test that all risks are equal."""
    contrast = np.hstack([-np.ones((len(risks) - 1, 1)), np.eye(len(risks) - 1)])
    return known.combined(contrast).joint_pvalue(contrast @ risks)


def _size(effect: Effect) -> float:
    return float(effect.differences["estimate"].abs().max())
