r"""Adjusted scores that push a fit against the wall of its link, where they have no root: what is said of it, and of which rows.

The information of a row at the distance :math:`\epsilon` from the wall grows as :math:`1/\epsilon`, whatever its outcome. A decrement is small there for any
score, so that it proves nothing. Half the logarithm of the determinant grows as :math:`-\frac12 \ln \epsilon`: where the outcomes at the wall are the certain ones, Jeffreys'
penalised likelihood is infinite, and a root inside is a local maximum. The adjustment of mean bias reduction stays finite: with the log link it is
:math:`\frac12 \sum_i h_i x_i`, with leverages :math:`h_i` of one in all for rows at the wall, and points outwards like the score of the events there.
A group of n events only, whose risk would be :math:`(n + 1/2)/(n + 1/2) = 1`, has no root.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gevglm.engine.base import Pass, Passes
from gevglm.estimation.edge_rows import Outermost
from gevglm.estimation.newton import SolverResult
from gevglm.estimation.objective import Adjustment
from gevglm.links.base import AT_THE_END

if TYPE_CHECKING:
    from gevglm.estimation.estimate import Problem

CLOSE = 1e-3  # distance from the wall of rows that an iteration without a root was led to
ROWS_NAMED = 5
NO_ROOT_INSIDE = "no root of the adjusted score was found inside the support, and there may be none"
UNBOUNDED_INSIDE = "the penalised likelihood grows without bound towards the end of the support"


def refused_at_wall(problem: Problem, adjustment: Adjustment, found: SolverResult) -> Passes[SolverResult]:
    """Look at where an iteration ended: at a wall it has found no root, and says which rows are there."""
    problem.passes += 1
    outermost = yield Pass(problem.engine, Outermost(problem.loss, found.params))
    there = outermost.take(outermost.rank > -(AT_THE_END if found.converged else CLOSE))
    if not len(there):
        return found
    count, positions = len(there), np.sort(there.position)[:ROWS_NAMED]
    named = ", ".join(f"{position}" for position in positions) + (", ..." if count > len(positions) else "")
    why = UNBOUNDED_INSIDE if adjustment.has_objective(problem.loss) else NO_ROOT_INSIDE
    reason = (
        f"{why}: the iteration ended where rows have risks of nearly 0 or 1 (counted from 0 among those of the fit: {named}); without bias= "
        "the fit ends on the boundary with its multipliers, and bias='mean' with loss='canonical' has no boundary"
    )
    return replace(found, converged=False, reason=reason)
