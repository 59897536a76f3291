"""Class weights that a learner's errors determine: all tables and figures.

Records are kept draw by draw in ``results``: an interrupted run goes on where it was, and a part whose file is deleted is run anew.
"""

from __future__ import annotations

import warnings

import numpy as np
from threadpoolctl import threadpool_limits

from gevglm.exceptions import MissingDatasetError
from replications.class_weighting import data, figures, tables
from replications.class_weighting.learners import LEARNERS
from replications.class_weighting.tables import RESULTS
from replications.common.rare_events import at_hand

__all__ = ["RESULTS", "run"]

TEXT = """# Class weights learned from the data

He and Cheng (2021), Weighting methods for rare event identification from imbalanced datasets. Means over random draws, standard errors
in brackets; 'paper' is what the paper prints.

{parts}"""


def run() -> str:
    """Return the tables; draw the figures."""
    parts: list[str] = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if at_hand("spambase"):
            X, y = data.spam()
            on_spam = (tables.table_1, tables.table_2, tables.divergence, tables.choices, tables.rules, tables.costs)
            parts += [part(X, y) for part in on_spam]
            if at_hand("bank", "mammography"):
                parts.append(tables.probabilities(X, y))
            split = data.drawn(X, y, tables.RARE, tables.MAIN, np.random.default_rng(1))
            figures.convergence("Spam", split, LEARNERS, "class_weighting_convergence_spam")
            figures.errors("Spam", [split], LEARNERS["LR"], "class_weighting_errors_spam")
        what, X, y = data.simulated()
        split = data.halves(X, y, np.random.default_rng(1))
        figures.convergence(what, split, LEARNERS, "class_weighting_convergence_simulated")
        if at_hand("ieee39_outages"):
            found, text = tables.stand_in()
            parts.append(text)
            rng = np.random.default_rng(1)
            lines = [data.halves(X, y, rng) for X, y in data.stand_in(rng)]
            figures.errors("39-bus stand-in", lines, LEARNERS["LR"], "class_weighting_errors_standin")
            figures.roc(lines, tables.methods(LEARNERS["LR"]))
            figures.noise(found)
    if not parts:
        raise MissingDatasetError("none of its data sets is at hand")
    return TEXT.format(parts="\n\n".join(parts))
