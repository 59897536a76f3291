"""What gevglm would recommend: variants of the canonical fit through the public interface, to be chosen between by validation.

Penalised variants choose xi and lambda together by five-fold cross-validation of all training rows, where the paper uses one part of
them; the constant is not penalised, and the penalty is on standardised columns. Variants with bias reduction are not penalised, so
they leave out levels with few rows and columns that are linear combinations of others.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gevglm
from gevglm.engine.linalg import dependent_columns
from gevglm.exceptions import GevglmWarning
from replications.gev_canonical.methods import LAMBDAS, STEPS, Method, Trained
from replications.gev_canonical.splits import Split

FEWEST = 10  # rows that a level needs to have a coefficient without a penalty


def penalised(criterion: str, **options: Any) -> Method:
    """The canonical fit with a ridge penalty, and xi where the link has one, by cross-validation."""
    words = {"alphas": LAMBDAS, "criterion": criterion}

    def train(split: Split) -> Trained:
        kept = varying(split.X, 1)
        return _trained(split, kept, alpha="cv", standardize=True, search_kwds=words, **options)

    return train


def bias_reduced(**options: Any) -> Method:
    """The canonical fit with mean bias reduction."""

    def train(split: Split) -> Trained:
        kept = varying(split.X, FEWEST)
        X = split.X[:, kept]
        independent = np.setdiff1d(np.arange(len(kept)), dependent_columns(X.T @ X))
        return _trained(split, kept[independent], bias="mean", **options)

    return train


def varying(X: NDArray, fewest: int) -> NDArray:
    """Return the constant, and the columns that differ from their most frequent value in at least so many rows."""
    others = [len(column) - np.unique(column, return_counts=True)[1].max() for column in X.T[1:]]
    return np.append(0, 1 + np.flatnonzero(np.array(others) >= fewest))


def _trained(split: Split, kept: NDArray, **options: Any) -> Trained:
    with warnings.catch_warnings():  # rows beyond the support and undetermined shapes are part of the study
        warnings.simplefilter("ignore", GevglmWarning)
        found = gevglm.fit(split.y, split.X[:, kept], maxiter=STEPS, **options)
    score = np.nan if found.search is None else found.search.best["score"]
    params = np.zeros(split.X.shape[1])
    params[kept] = found.params
    return Trained(found.model.link, params, found.xi, found.alpha, score, found.converged)


VARIANTS: dict[str, Method] = {
    "GEV, cv (Brier)": penalised("brier", link="gev", xi="cv"),
    "GEVc, cv (Brier)": penalised("brier", link="gevc", xi="cv"),
    "GEV, cv (log loss)": penalised("log_loss", link="gev", xi="cv"),
    "logit, cv (log loss)": penalised("log_loss", link="logit"),
    "GEV, cv (Brier), bias reduction": bias_reduced(link="gev", xi="cv", search_kwds={"criterion": "brier"}),
    "GEV, ml, bias reduction": bias_reduced(link="gev", xi="ml"),
}
EITHER: dict[str, tuple[str, ...]] = {  # of several variants, the one with the best cross-validated score
    "GEV or GEVc, cv (Brier)": ("GEV, cv (Brier)", "GEVc, cv (Brier)"),
    "GEV or logit, cv (log loss)": ("GEV, cv (log loss)", "logit, cv (log loss)"),
}
