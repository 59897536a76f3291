"""Table 1: calibrators of text classifiers' scores, on Reuters-21578 and on 20 Newsgroups."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import binomtest, ttest_rel

from benchmarks.report import table
from gevglm.calibration import (
    AsymmetricLaplace,
    Calibrator,
    PiecewiseLogistic,
    Platt,
)
from gevglm.exceptions import GevglmWarning, MissingDatasetError
from replications.common.rare_events import at_hand
from replications.piecewise_logistic.corpora import CLASSIFIERS, CORPORA, Corpus, scored
from replications.piecewise_logistic.figures import Fits, fitted_log_odds, laplace_densities

RESULTS = Path(__file__).parent / "results"
WORDS = 1000
LOSSES = ("log_loss", "squared", "wrong")
CALIBRATORS: dict[str, Callable[[], Calibrator]] = {
    "Platt": lambda: Platt(smoothed=False),
    "AL": AsymmetricLaplace,
    "PLR": lambda: PiecewiseLogistic(penalty="holdout"),
    "PLR, auto": lambda: PiecewiseLogistic("auto", penalty="holdout"),
}
COMPARED = ("Platt", "AL", "PLR")
# Table 1 of the paper: log-likelihood ('log-loss'), squared error, 0/1 loss
PAPER = {
    ("NB", "raw"): (-32554.7, 1586.8, 1696),
    ("NB", "Platt"): (-2470.5, 618.1, 828),
    ("NB", "AL"): (-2140.2, 575.8, 788),
    ("NB", "PLR"): (-1964.1, 556.5, 780),
    ("SVM", "raw"): (np.nan, np.nan, 492),
    ("SVM", "Platt"): (-1577.3, 396.3, 511),
    ("SVM", "AL"): (-1604.2, 386.5, 473),
    ("SVM", "PLR"): (-1437.9, 371.8, 472),
    ("LR", "raw"): (-1882.6, 462.3, 612),
    ("LR", "Platt"): (-2819.1, 642.0, 832),
    ("LR", "AL"): (-np.inf, 552.3, 621),
    ("LR", "PLR"): (-1875.9, 457.1, 575),
}
TEXT = """# Calibrators of text classifiers

Sums over all test decisions, one for each document and topic. Calibrators are fitted to five-fold scores of the training documents.
'Log-loss' is the log-likelihood, as in the paper: larger is better. LR scores are probabilities, as in the paper; 'LR, log-odds'
calibrates their log-odds. 'PLR, auto' adds knots by hill climbing with the 1 % rule. Tests are those of the paper: differences of
the sums between PLR and the others (positive: in favour of PLR), their standard errors in brackets, paired t for log-loss and squared
error, sign test for 0/1 loss.

{parts}"""
PART = """## {name}

{topics} topics, {train:,} training and {test:,} test documents, {decisions:,} decisions.

{results}

{tests}

PLR had no falling piece in {monotone} of {fits} fits. By topic, PLR has the best log-loss of the three calibrators in {wins}. Pieces
that 'PLR, auto' chose, and in how many fits:

{pieces}"""


def run() -> str:
    """Return the tables of all corpora that are at hand; write them as csv too, and the pictures."""
    parts = []
    for name, (dataset, load, pictured) in CORPORA.items():
        if at_hand(dataset):
            parts.append(_part(name, dataset, load(), pictured))
    if not parts:
        raise MissingDatasetError("none of its corpora is at hand")
    laplace_densities()
    return TEXT.format(parts="\n\n".join(parts))


def _part(name: str, dataset: str, corpus: Corpus, pictured: str) -> str:
    losses, fits = _losses(corpus)
    sums = losses.groupby(["classifier", "method"], sort=False)[list(LOSSES)].sum()
    by_topic = losses.groupby(["classifier", "method", "topic"], sort=False)[list(LOSSES)].sum()
    by_topic.to_csv(RESULTS / f"{dataset}.csv", float_format="%.4f")
    fitted_log_odds(f"piecewise_logistic_{dataset}", pictured, corpus.test_topics[pictured].to_numpy(dtype=float), fits)
    pieces = [fit for (_, method, _), (fit, *_) in fits.items() if method == "PLR"]
    return PART.format(
        name=name,
        topics=corpus.test_topics.shape[1],
        train=len(corpus.train_topics),
        test=len(corpus.test_topics),
        decisions=corpus.test_topics.size,
        results=_results(sums, PAPER if dataset == "reuters" else {}),
        tests=_tests(losses),
        monotone=sum(fit.monotone_ for fit in pieces),
        fits=len(pieces),
        wins=_wins(by_topic["log_loss"]),
        pieces=_pieces(fits),
    )


def _losses(corpus: Corpus) -> tuple[pd.DataFrame, Fits]:
    """Losses of every test decision, and the fitted calibrators with the training and test scores they saw."""
    parts, fits = [], {}
    for classifier, scorer in CLASSIFIERS:
        for topic in corpus.train_topics:
            print(f"{classifier}, {topic}", file=sys.stderr, flush=True)
            within, unseen = scored(corpus, topic, scorer, WORDS)
            seen = {classifier: (within, unseen)}
            if classifier == "LR":
                seen = {"LR": (expit(within), expit(unseen)), "LR, log-odds": (within, unseen)}
            y, outcome = (topics[topic].to_numpy(dtype=float) for topics in (corpus.train_topics, corpus.test_topics))
            for name, (train, test) in seen.items():
                parts.append(_decisions(name, "raw", topic, outcome, unseen))
                for method, make in CALIBRATORS.items():
                    with warnings.catch_warnings():  # AL of probabilities: modes at the ends, which the table shows
                        warnings.simplefilter("ignore", GevglmWarning)
                        calibrator = make().fit(train, y)
                    fits[name, method, topic] = calibrator, train, test
                    parts.append(_decisions(name, method, topic, outcome, calibrator.log_odds(test)))
    losses = pd.concat(parts, ignore_index=True)
    no_probability = (losses["classifier"] == "SVM") & (losses["method"] == "raw")
    losses.loc[no_probability, ["log_loss", "squared"]] = np.nan
    return losses, fits


def _decisions(classifier: str, method: str, topic: str, y: NDArray, log_odds: NDArray) -> pd.DataFrame:
    """Losses from log-odds, which are exact where the probability rounds to 0 or 1."""
    sign = 2.0 * y - 1.0
    return pd.DataFrame(
        {
            "classifier": classifier,
            "method": method,
            "topic": topic,
            "document": np.arange(len(y)),
            "log_loss": -np.logaddexp(0.0, -sign * log_odds),
            "squared": (y - expit(log_odds)) ** 2,
            "wrong": ((log_odds > 0.0) != (y == 1.0)).astype(float),
        }
    )


def _results(sums: pd.DataFrame, paper: Mapping[tuple[str, str], tuple[float, float, float]]) -> str:
    rows = []
    for (classifier, method), own in sums.iterrows():
        ours = [_number(own["log_loss"]), _number(own["squared"]), f"{own['wrong']:.0f}"]
        if classifier == "SVM" and method == "raw":
            ours[:2] = ["", ""]
        if paper:
            log_loss, squared, wrong = paper.get((classifier, method), (np.nan, np.nan, np.nan))
            theirs = [_number(log_loss), _number(squared), f"{wrong:.0f}" if np.isfinite(wrong) else ""]
            ours = [cell for pair in zip(ours, theirs, strict=True) for cell in pair]
        rows.append((f"{classifier}", method, *ours))
    header = ["log-loss", "squared error", "0/1 loss"]
    if paper:
        header = [cell for name in header for cell in (name, "paper")]
    return table(["classifier", "method", *header], rows)


def _number(value: float) -> str:
    return "" if np.isnan(value) else "-inf" if np.isinf(value) else f"{value:.1f}"


def _tests(losses: pd.DataFrame) -> str:
    rows = []
    for classifier, own in losses.groupby("classifier", sort=False):
        wide = own.pivot(index=["topic", "document"], columns="method", values=list(LOSSES))
        for method in ("raw", "Platt", "AL"):
            cells = []
            for measure, sign in (("log_loss", 1.0), ("squared", -1.0)):
                plr, other = sign * wide[measure]["PLR"], sign * wide[measure][method]
                if other.isna().any():
                    cells += ["", ""]
                elif not np.isfinite(other).all():
                    cells += ["inf", ""]
                else:
                    error = (plr - other).std() * np.sqrt(len(plr))
                    cells += [f"{(plr - other).sum():.1f} ({error:.1f})", f"{ttest_rel(plr, other).pvalue:.1g}"]
            saved = wide["wrong"][method] - wide["wrong"]["PLR"]
            moved = int((saved != 0).sum())
            pvalue = binomtest(int((saved > 0).sum()), moved).pvalue if moved else 1.0
            rows.append((str(classifier), method, *cells, f"{saved.sum():.0f} ({np.sqrt(moved):.0f})", f"{pvalue:.1g}"))
    return table(("classifier", "PLR against", "log-loss", "p", "squared error", "p", "0/1 loss", "p"), rows)


def _pieces(fits: Fits) -> str:
    """Return how many pieces the rule chose, by classifier."""
    chosen = pd.Series(
        {(name, topic): len(fit.slopes_) for (name, method, topic), (fit, *_) in fits.items() if method == "PLR, auto"}
    )
    counts = chosen.groupby(level=0, sort=False).value_counts().unstack(fill_value=0).sort_index(axis=1)
    counts = counts.loc[list(dict.fromkeys(chosen.index.get_level_values(0)))]
    return table(
        ["classifier", *map(str, counts.columns)],
        [(str(name), *map(str, row)) for name, row in zip(counts.index, counts.to_numpy(), strict=True)],
    )


def _wins(log_loss: pd.Series) -> str:
    compared = log_loss.unstack("method")[list(COMPARED)]
    best = (compared.idxmax(axis=1) == "PLR").groupby(level="classifier", sort=False).agg(["sum", "size"])
    return ", ".join(f"{won} of {number} ({classifier})" for classifier, won, number in best.itertuples())
