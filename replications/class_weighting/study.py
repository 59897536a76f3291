"""Replication of He and Cheng (2021): class weights that a learner's errors determine.

Run by ``python -m replications.class_weighting``; writes tables to ``benchmarks/results`` and pictures to ``docs/figures``. Records
are kept draw by draw in ``benchmarks/results/class_weighting``: an interrupted run goes on where it was, and a part whose file is deleted
is run anew.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.replication import class_weighting_figures as figures
from benchmarks.replication import class_weighting_tables as tables
from benchmarks.replication import imbalanced
from replications.class_weighting.learners import LEARNERS
from benchmarks.report import publish

NAME = "class_weighting"

TEXT = """# Class weights learned from the data

He and Cheng (2021), Weighting methods for rare event identification from imbalanced datasets. Means over random draws, standard errors
in brackets; 'paper' is what the paper prints.

{parts}"""


def run() -> str:
    """Return the tables; draw the figures."""
    parts: list[str] = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if imbalanced.available(imbalanced.SPAM):
            X, y = imbalanced.spam()
            run_on_spam = (
                tables.table_1,
                tables.table_2,
                tables.divergence,
                tables.choices,
                tables.rules,
                tables.costs,
                tables.probabilities,
            )
            parts += [part(X, y) for part in run_on_spam]
            split = imbalanced.drawn(X, y, tables.RARE, tables.MAIN, np.random.default_rng(1))
            figures.convergence("Spam", split, LEARNERS, "class_weighting_convergence_spam")
            figures.errors("Spam", [split], LEARNERS["LR"], "class_weighting_errors_spam")
        if imbalanced.available(imbalanced.SIMULATED):
            split = imbalanced.halves(*imbalanced.simulated(), np.random.default_rng(1))
            figures.convergence("authors' simulated data", split, LEARNERS, "class_weighting_convergence_simulated")
        if imbalanced.available(imbalanced.STAND_IN):
            found, text = tables.stand_in()
            parts.append(text)
            rng = np.random.default_rng(1)
            lines = [imbalanced.halves(X, y, rng) for X, y in imbalanced.stand_in(rng)]
            figures.errors("39-bus stand-in", lines, LEARNERS["LR"], "class_weighting_errors_standin")
            figures.roc(lines, tables.methods(LEARNERS["LR"]))
            figures.noise(found)
    if not parts:
        sys.exit("none of the data files is at hand: nothing to do")
    return TEXT.format(parts="\n\n".join(parts))


def main() -> None:
    publish(NAME, run)


if __name__ == "__main__":
    main()
