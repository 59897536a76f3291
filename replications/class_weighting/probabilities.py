"""Probabilities of weighted learners, corrected for the weights: of two classes and of five."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss

from benchmarks.report import table
from gevglm.weighting import AdaClassWeight, RatioWeight
from replications.class_weighting.data import Split, drawn, halves, repeated
from replications.class_weighting.learners import CHOICES, CONVERGED, LOGARITHMS
from replications.class_weighting.scoring import DRAWS, MAIN, RARE, RESULTS, brief, headed, methods
from replications.common.rare_events import at_hand, bank, mammography

CONSTANTS = np.array([0.0, -3.0, -3.3, -3.6, -4.0])  # of the five classes
SLOPES = np.array([[0.0, 1.2, -1.2, 0.3, 0.3], [0.0, 0.2, 0.2, 1.5, -1.5]])
TRAINED, TESTED = 10_000, 20_000


def simulated_logistic(rng: np.random.Generator) -> Split:
    """Return rows of a logistic truth with 3 % events: 10,000 to train with, 20,000 to test with."""
    X = rng.normal(size=(30_000, 3))
    y = (rng.random(len(X)) < 1.0 / (1.0 + np.exp(4.2 - X @ [1.0, 0.8, -0.5]))).astype(int)
    return Split(X[:10_000], y[:10_000], X[10_000:], y[10_000:])


def two_classes(spam: tuple[NDArray, NDArray] | None) -> str:
    loaders = {"bank": ("bank marketing", bank), "mammography": ("mammography", mammography)}
    real = {title: load() for name, (title, load) in loaders.items() if at_hand(name)}

    def study(rng: np.random.Generator) -> Iterator[dict]:
        problems = {"logistic truth, 3 % events; ours": (simulated_logistic(rng), CHOICES[CONVERGED])}
        for title, events in real.items():
            rows = events.x, events.y.astype(int)
            split = drawn(*rows, 1000, 7548, rng) if title == "bank marketing" else halves(*rows, rng)
            problems[f"{title}, {100 * events.y.mean():.2g} % events; ours"] = split, CHOICES[CONVERGED]
        if spam is not None:
            problems["spam, 12 to 1; logarithms, C = 1"] = drawn(*spam, RARE, MAIN, rng), CHOICES[LOGARITHMS]
        for problem, (split, learner) in problems.items():
            for method in ("unweighted", "ratio", "AdaClassWeight", "DiffBoost"):
                model = methods(learner)[method].fit(split.X, split.y)
                for corrected in (True, False):
                    p = model.set_params(corrected=corrected).predict_proba(split.X_test)[:, 1]
                    yield {
                        "problem": problem,
                        "method": method,
                        "corrected": corrected,
                        "brier": brier_score_loss(split.y_test, p),
                        "log_loss": log_loss(split.y_test, np.clip(p, 1e-12, 1 - 1e-12)),
                    }

    found = repeated(study, DRAWS, RESULTS / "probabilities.csv.gz")
    plain = found[(found["method"] == "unweighted") & found["corrected"]].set_index(["problem", "draw"])
    rows = []
    for (problem, method), part in found.groupby(["problem", "method"], sort=False):
        by, base = part.set_index(["corrected", "draw"]), plain.loc[problem]
        cells = [
            brief(by.loc[flag, column] / base[column]) for column in ("brier", "log_loss") for flag in (True, False)
        ]
        rows.append([problem, method, *cells])
    head = ["data; base learner", "method", "Brier, corrected", "Brier, raw", "log loss, corrected", "log loss, raw"]
    text = "Scores over those of the unweighted learner in the same draw: 1 is as good, 2 is twice as bad."
    return headed("Probabilities on test data", found, f"{text}\n\n{table(head, rows)}")


def several_classes() -> str:
    """Five classes, four of them rare, whose probabilities are known: how far those of weighted learners are from them."""
    learner = LogisticRegression(C=np.inf, solver="newton-cholesky")
    models = {
        "unweighted": learner,
        "ratio": RatioWeight(learner),
        "AdaClassWeight": AdaClassWeight(learner),
    }

    def study(rng: np.random.Generator) -> Iterator[dict]:
        X = rng.normal(size=(TRAINED + TESTED, 2))
        truth = softmax(CONSTANTS + X @ SLOPES, axis=1)
        y = (rng.random((len(X), 1)) > np.cumsum(truth, axis=1)).sum(axis=1)
        for method, model in models.items():
            model.fit(X[:TRAINED], y[:TRAINED])
            rare = y[TRAINED:] > 0
            recall = (model.predict(X[TRAINED:]) == y[TRAINED:])[rare].mean()
            for corrected in (True,) if model is learner else (True, False):
                told = model if model is learner else model.set_params(corrected=corrected)
                p = told.predict_proba(X[TRAINED:])
                distance = np.abs(p - truth[TRAINED:]).mean(axis=0)
                facts = {"method": method, "corrected": corrected, "recall": recall}
                yield facts | {f"class_{k}": value for k, value in enumerate(distance)}

    found = repeated(study, DRAWS, RESULTS / "several_classes.csv.gz")
    rows = [
        [
            method,
            "" if method == "unweighted" else "corrected" if corrected else "raw",
            *(brief(part[f"class_{k}"], 4) for k in range(len(CONSTANTS))),
            brief(part["recall"]),
        ]
        for (method, corrected), part in found.groupby(["method", "corrected"], sort=False)
    ]
    shares = ["main", *(f"rare {k}" for k in range(1, len(CONSTANTS)))]
    text = (
        f"Mean distance from the true probability on {TESTED:,} test rows, by class; multinomial logistic regression trained with {TRAINED:,} rows under a weight "
        "for each class. The last column is the share of cases of the rare classes that are called by their class."
    )
    return headed(
        "Probabilities of five classes",
        found,
        f"{text}\n\n{table(['method', 'probabilities', *shares, 'recall, rare'], rows)}",
    )
