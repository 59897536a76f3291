r"""Interaction of two exposures on the additive scale: RERI, attributable proportion and synergy index.

With :math:`\theta_{ab}` the ratio (of risks, or of odds) of those with both exposures, :math:`\theta_a` and :math:`\theta_b` of those with one,
all against those with none,

.. math:: RERI = \theta_{ab} - \theta_a - \theta_b + 1, \qquad AP = RERI / \theta_{ab}, \qquad S = \frac{\theta_{ab} - 1}{\theta_a + \theta_b - 2},

and on the multiplicative scale :math:`\theta_{ab} / (\theta_a \theta_b)`. Standard errors are by the delta method from the covariance of the
logarithms of the ratios; limits of S and of the multiplicative ratio are symmetric for their logarithms (Hosmer and Lemeshow 1992).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.display.tables import Part, Shown
from gevglm.effects.linear import Uncertainty

NAMES = ("RERI", "attributable proportion", "synergy index", "multiplicative")


@dataclass(frozen=True, repr=False)
class Interaction(Shown):
    """Two exposures together, against what each of them makes alone.

    Attributes
    ----------
    table : DataFrame
        Rows "RERI", "attributable proportion", "synergy index" and "multiplicative"; columns ``estimate``, ``se``, ``ci_lower`` and ``ci_upper``. The
        standard errors of the last two are those of their logarithms.
    ratios : DataFrame
        Of each exposure alone and of both, against none.
    note : str
    """

    table: pd.DataFrame
    ratios: pd.DataFrame
    note: str

    def summary_frame(self) -> pd.DataFrame:
        """Return the measures of interaction as a table."""
        return self.table

    def _shown_parts(self) -> tuple[str, Sequence[Part], Sequence[str]]:
        title = f"Interaction on the additive scale ({self.note})"
        notes = [
            "Standard errors of the synergy index, the multiplicative interaction and the ratios are those of their logarithms."
        ]
        return title, [Part("", self.table), Part("Ratios", self.ratios)], notes


def interaction_of(logs: NDArray, known: Uncertainty, labels: Sequence[str], alpha: float, note: str) -> Interaction:
    """Return the measures of interaction from the logarithms of the ratios of one exposure, the other, and both."""
    a, b, both = np.exp(logs)
    reri = both - a - b + 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        synergy = (both - 1.0) / (a + b - 2.0)
        gradients = np.array(
            [
                [-a, -b, both],
                [-a / both, -b / both, 1.0 - reri / both],
                [-a / (a + b - 2.0), -b / (a + b - 2.0), both / (both - 1.0)],
                [-1.0, -1.0, 1.0],
            ]
        )
        of_measures = known.combined(gradients)
        errors, reach = of_measures.errors, of_measures.reach(alpha)
        estimates = np.array([reri, reri / both, np.log(synergy), np.log(both / (a * b))])
    numbers = np.column_stack([estimates, estimates - reach, estimates + reach])
    numbers[2:] = np.exp(numbers[2:])
    numbers[2, 0] = (
        synergy  # negative where both together and the sum of each are on different sides of one; it then has no limits
    )
    columns = {"estimate": numbers[:, 0], "se": errors, "ci_lower": numbers[:, 1], "ci_upper": numbers[:, 2]}
    spread, limits = known.errors, known.reach(alpha)
    ratios = {
        "estimate": np.exp(logs),
        "se": spread,
        "ci_lower": np.exp(logs - limits),
        "ci_upper": np.exp(logs + limits),
    }
    return Interaction(pd.DataFrame(columns, index=list(NAMES)), pd.DataFrame(ratios, index=list(labels)), note)
