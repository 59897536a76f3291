"""Figures 1 to 4 of the class-weighting study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.base import clone
from sklearn.metrics import roc_auc_score, roc_curve

from gevglm.weighting import AdaClassWeight, DiffBoost
from replications.class_weighting.data import Split
from replications.common.figures import save

ROUNDS = 40
COLORS = {
    "unweighted": "0.45",
    "ratio": "#e69f00",
    "AdaBoost": "#009e73",
    "AdaClassWeight": "#0072b2",
    "DiffBoost": "#d55e00",
}
GRID = np.linspace(0.0, 1.0, 201)


def _panels(count: int, height: float = 3.4) -> tuple[Figure, list]:
    figure = Figure(figsize=(3.6 * count, height), layout="constrained")
    axes = list(np.atleast_1d(figure.subplots(1, count, sharey=True)))
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes


def convergence(title: str, split: Split, learners: Mapping[str, Any], name: str) -> None:
    """Figure 1: the bound of DiffBoost and the training error of the rare class."""
    figure, axes = _panels(len(learners))
    for ax, (learner, base) in zip(axes, learners.items(), strict=True):
        h = DiffBoost(clone(base), rounds=ROUNDS, early_stopping=False).fit(split.X, split.y).history_
        ax.plot(h.index, h["bound"], "--", color=COLORS["DiffBoost"], label="bound")
        ax.plot(h.index, h["training_error_rare"], color=COLORS["DiffBoost"], label="training error")
        ax.set(title=f"{title}, {learner}", xlabel="round", ylim=(-0.02, 1.05))
    axes[0].set_ylabel("rare class")
    axes[0].legend(frameon=False)
    save(figure, name)


def errors(title: str, splits: Sequence[Split], learner: Any, name: str) -> None:
    """Figure 2: training and test error of the rare class, round by round, averaged over problems."""
    figure, axes = _panels(2)
    at = np.arange(1, ROUNDS + 1, 3)
    for ax, method in zip(axes, (AdaClassWeight, DiffBoost), strict=True):
        found = np.empty((len(splits), len(at), 2))
        for i, split in enumerate(splits):
            for j, rounds in enumerate(at):
                model = method(clone(learner), rounds=int(rounds), early_stopping=False).fit(split.X, split.y)
                for part, (X, y) in enumerate(((split.X, split.y), (split.X_test, split.y_test))):
                    found[i, j, part] = (model.predict(X)[y == 1] != 1).mean()
        train, test = found.mean(axis=0).T
        ax.plot(at, test, color=COLORS[method.__name__], label="test")
        ax.plot(at, train, "--", color=COLORS[method.__name__], label="training")
        ax.set(title=f"{title}, {method.__name__}", xlabel="rounds", ylim=(-0.02, 1.05))
        ax.legend(frameon=False)
    axes[0].set_ylabel("error of the rare class")
    save(figure, name)


def roc(lines: Sequence[Split], models: Mapping[str, Any]) -> None:
    """Figure 3: ROC curves on the stand-in, averaged over its lines."""
    figure, axes = _panels(2, 3.8)
    for name, model in models.items():
        curves, areas = ([], []), ([], [])
        for split in lines:
            fitted = clone(model).fit(split.X, split.y)
            for part, (X, y) in enumerate(((split.X, split.y), (split.X_test, split.y_test))):
                score = fitted.decision_function(X)
                false, true, _ = roc_curve(y, score)
                curves[part].append(np.interp(GRID, false, true))
                areas[part].append(roc_auc_score(y, score))
        for ax, curve, area in zip(axes, curves, areas, strict=True):
            ax.plot(GRID, np.mean(curve, axis=0), color=COLORS[name], label=f"{name}, area {np.mean(area):.3f}")
    for ax, title in zip(axes, ("training", "test"), strict=True):
        ax.plot([0, 1], [0, 1], color="0.8", linewidth=0.8)
        ax.set(title=f"39-bus stand-in, {title}", xlabel="false positive rate")
        ax.legend(frameon=False, loc="lower right")
    axes[0].set_ylabel("true positive rate")
    save(figure, "class_weighting_roc")


def noise(found: pd.DataFrame) -> None:
    """Figure 4: what wrong labels do to the errors of both classes on test data with true labels."""
    figure, axes = _panels(2)
    logistic = found[found["learner"] == "LR"].assign(error=lambda f: 1.0 - f["test_recall"])
    for ax, (column, title) in zip(axes, {"error": "rare class", "test_false": "main class"}.items(), strict=True):
        for name, color in COLORS.items():
            by_draw = logistic[logistic["method"] == name].groupby(["noise", "draw"])[column].mean().groupby("noise")
            mean, half = by_draw.mean(), 1.96 * by_draw.sem()
            ax.errorbar(100 * mean.index, mean, half, fmt="o-", markersize=3, color=color, label=name, linewidth=1.2)
        ax.set(title=f"39-bus stand-in, {title}", xlabel="training labels flipped, %")
    axes[0].set_ylabel("test error")
    axes[0].set_ylim(bottom=0.0)
    axes[1].legend(frameon=False)
    save(figure, "class_weighting_noise")
