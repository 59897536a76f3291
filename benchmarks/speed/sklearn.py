"""Speed of the scikit-learn estimator against scikit-learn's logistic regression."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.report import table
from benchmarks.speed.simulate import rare_events
from benchmarks.speed.timing import compare
from gevglm.sklearn import BinaryGLMClassifier

ROWS, COLUMNS = 100_000, 21
SOLVERS = ("lbfgs", "newton-cholesky", "newton-cg")


def run() -> str:
    """Return the table."""
    X, y = rare_events(ROWS, COLUMNS)
    X = np.ascontiguousarray(X[:, 1:])
    calls = {"BinaryGLMClassifier": lambda: BinaryGLMClassifier(link="logit").fit(X, y)}
    for solver in SOLVERS:
        calls[solver] = lambda solver=solver: LogisticRegression(C=np.inf, solver=solver, tol=1e-8, max_iter=1000).fit(
            X, y
        )
    times = compare(calls)
    ours = times["BinaryGLMClassifier"]
    rows = [
        [
            name if name == "BinaryGLMClassifier" else f"LogisticRegression, {name}",
            f"{1e3 * timing.seconds:,.1f}",
            f"{timing.spread:.1f}",
            f"{timing.seconds / ours.seconds:.2f}",
            f"{np.abs(timing.result.coef_ - ours.result.coef_).max():.1e}",
        ]
        for name, timing in times.items()
    ]
    head = [
        "estimator",
        "fit, ms (median)",
        "slowest / fastest run",
        "over ours",
        "largest difference of a coefficient",
    ]
    return (
        f"# Speed of the scikit-learn estimator\n\n{ROWS:,} rows, {COLUMNS - 1} columns and a constant, no penalty, tolerance 1e-8. Ours also has "
        f"the covariance matrix.\n\n{table(head, rows)}"
    )
