"""Class weights that a learner's errors determine: all tables and figures.

Records are kept draw by draw in ``results``: an interrupted run goes on where it was, and a part whose file is deleted is run anew.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from gevglm.exceptions import MissingDatasetError
from replications.class_weighting import data, figures, fixed_weights, power_grid, probabilities, streams, table_4
from replications.class_weighting.learners import LEARNERS
from replications.class_weighting.scoring import MAIN, RARE, RESULTS, methods
from replications.common.rare_events import at_hand

__all__ = ["RESULTS", "run"]

TEXT = """# Class weights learned from the data

He and Cheng (2021), Weighting methods for rare event identification from imbalanced datasets. Means over random draws, standard errors
in brackets; 'paper' is what the paper prints.

{parts}"""


def run() -> str:
    """Return the tables; draw the figures."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spam = data.spam() if at_hand("spambase") else None
        parts = [] if spam is None else _on_spam(*spam)
        parts += [probabilities.two_classes(spam), probabilities.several_classes(), streams.streams()]
        what, X, y = data.simulated()
        split = data.halves(X, y, np.random.default_rng(1))
        figures.convergence(what, split, LEARNERS, "class_weighting_convergence_simulated")
        try:
            parts.append(_on_the_grid())
        except MissingDatasetError as missing:
            print(f"skipped: {missing}", file=sys.stderr, flush=True)
    return TEXT.format(parts="\n\n".join(parts))


def _on_spam(X: NDArray, y: NDArray) -> list[str]:
    split = data.drawn(X, y, RARE, MAIN, np.random.default_rng(1))
    figures.convergence("Spam", split, LEARNERS, "class_weighting_convergence_spam")
    figures.errors("Spam", [split], LEARNERS["LR"], "class_weighting_errors_spam")
    tables = (fixed_weights.table_1, fixed_weights.table_2, fixed_weights.divergence)
    return [part(X, y) for part in (*tables, table_4.choices, table_4.rules, table_4.costs)]


def _on_the_grid() -> str:
    found, text = power_grid.stand_in()
    rng = np.random.default_rng(1)
    lines = [data.halves(X, y, rng) for X, y in data.stand_in(rng)]
    figures.errors("39-bus stand-in", lines, LEARNERS["LR"], "class_weighting_errors_standin")
    figures.roc(lines, methods(LEARNERS["LR"]))
    figures.noise(found)
    return text
