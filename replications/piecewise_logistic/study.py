"""Table 1 and Figure 2: calibrators of text classifiers' scores on Reuters-21578."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
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
    empirical_log_odds,
    plot_calibrators,
)
from gevglm.exceptions import GevglmWarning
from replications.common.figures import save
from replications.piecewise_logistic.reuters import CLASSIFIERS, TOPICS, Corpus, load, scored

RESULTS = Path(__file__).parent / "results"
WORDS = 1000
PICTURED = "earn"
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
TEXT = """# Calibrators of text classifiers, Reuters-21578

Sums over the {decisions:,} test decisions (ten topics, 3,299 documents). Calibrators are fitted to five-fold scores of the
9,603 training documents. 'Log-loss' is the log-likelihood, as in the paper: larger is better. LR scores are probabilities, as
in the paper; 'LR, log-odds' calibrates their log-odds. 'PLR, auto' adds knots by hill climbing with the 1 % rule.

{results}

Differences of the sums between PLR and the others, with tests as in the paper: paired t for log-loss and squared error, sign test
for 0/1 loss. Positive differences are in favour of PLR.

{tests}

PLR had no falling piece in {monotone} of {fits} fits. By topic, PLR has the best log-loss of the three calibrators in {wins}."""


def run() -> str:
    """Return the tables; write them as csv too, and the picture."""
    corpus = load()
    losses, fits = _losses(corpus)
    sums = losses.groupby(["classifier", "method"], sort=False)[["log_loss", "squared", "wrong"]].sum()
    by_topic = losses.groupby(["classifier", "method", "topic"], sort=False)[["log_loss", "squared", "wrong"]].sum()
    by_topic.to_csv(RESULTS / "losses.csv", float_format="%.4f")
    _picture(corpus, fits)
    pieces = [fit for (_, method, _), (fit, *_) in fits.items() if method == "PLR"]
    return TEXT.format(
        decisions=len(corpus.test_topics) * len(TOPICS),
        results=_results(sums),
        tests=_tests(losses),
        monotone=sum(fit.monotone_ for fit in pieces),
        fits=len(pieces),
        wins=_wins(by_topic["log_loss"]),
    )


Fits = dict[tuple[str, str, str], tuple[Calibrator, NDArray, NDArray]]


def _losses(corpus: Corpus) -> tuple[pd.DataFrame, Fits]:
    """Losses of every test decision, and the fitted calibrators with the training and test scores they saw."""
    parts, fits = [], {}
    for classifier, scorer in CLASSIFIERS:
        for topic in TOPICS:
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


def _results(sums: pd.DataFrame) -> str:
    rows = []
    for (classifier, method), own in sums.iterrows():
        ours = [_number(own["log_loss"]), _number(own["squared"]), f"{own['wrong']:.0f}"]
        theirs = ["", "", ""]
        if (classifier, method) in PAPER:
            log_loss, squared, wrong = PAPER[classifier, method]
            theirs = [_number(log_loss), _number(squared), f"{wrong}"]
        if classifier == "SVM" and method == "raw":
            ours[:2] = ["", ""]
        rows.append((f"{classifier}", method, *(cell for pair in zip(ours, theirs, strict=True) for cell in pair)))
    header = ("classifier", "method", "log-loss", "paper", "squared error", "paper", "0/1 loss", "paper")
    return table(header, rows)


def _number(value: float) -> str:
    return "" if np.isnan(value) else "-inf" if np.isinf(value) else f"{value:.1f}"


def _tests(losses: pd.DataFrame) -> str:
    rows = []
    for classifier, own in losses.groupby("classifier", sort=False):
        wide = own.pivot(index=["topic", "document"], columns="method", values=["log_loss", "squared", "wrong"])
        for method in ("raw", "Platt", "AL"):
            cells = []
            for measure, sign in (("log_loss", 1.0), ("squared", -1.0)):
                plr, other = sign * wide[measure]["PLR"], sign * wide[measure][method]
                if other.isna().any():
                    cells += ["", ""]
                    continue
                finite = np.isfinite(other).all()
                pvalue = f"{ttest_rel(plr, other).pvalue:.1g}" if finite else ""
                cells += [f"{(plr - other).sum():.1f}" if finite else "inf", pvalue]
            saved = wide["wrong"][method] - wide["wrong"]["PLR"]
            moved = int((saved != 0).sum())
            pvalue = binomtest(int((saved > 0).sum()), moved).pvalue if moved else 1.0
            rows.append((str(classifier), method, *cells, f"{saved.sum():.0f}", f"{pvalue:.1g}"))
    return table(("classifier", "PLR against", "log-loss", "p", "squared error", "p", "0/1 loss", "p"), rows)


def _wins(log_loss: pd.Series) -> str:
    compared = log_loss.unstack("method")[list(COMPARED)]
    best = (compared.idxmax(axis=1) == "PLR").groupby(level="classifier", sort=False).sum()
    return ", ".join(f"{number} of {len(TOPICS)} ({classifier})" for classifier, number in best.items())


def _picture(corpus: Corpus, fits: Fits) -> None:
    """Figure 2 of the paper: fitted log-odds beside those of the test documents, for one topic."""
    import matplotlib.pyplot as plt

    labels = {"Platt": "Platt", "AL": "asymmetric Laplace", "PLR": "piecewise logistic"}
    titles = {"SVM": "linear SVM", "NB": "naive Bayes", "LR, log-odds": "logistic regression"}
    y = corpus.test_topics[PICTURED].to_numpy(dtype=float)
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.6), layout="constrained")
    for ax, (classifier, title) in zip(axes, titles.items(), strict=True):
        fitted = {label: fits[classifier, method, PICTURED][0] for method, label in labels.items()}
        test = fits[classifier, "PLR", PICTURED][2]
        plot_calibrators(fitted, empirical_log_odds(test, y, bins=25), ax=ax)
        ax.set_title(title, fontsize="medium")
        if ax is not axes[0]:
            ax.set_ylabel("")
            ax.get_legend().remove()
    save(figure, "piecewise_logistic")
