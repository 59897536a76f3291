"""Corpora as classifiers see them: documents, chosen words, and scores of documents that a classifier has not seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.special import entr
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import SVC

import gevglm

TOPICS = ("earn", "acq", "money-fx", "grain", "crude", "trade", "interest", "wheat", "ship", "corn")
SHARED = ("wheat", "corn")  # topics that no document has alone
RAREST = 3  # occurrences in the training documents below which a word is left out
FOLDS = 5

Scorer = Callable[[csr_matrix, NDArray, csr_matrix], NDArray]


@dataclass(frozen=True)
class Corpus:
    """Word counts of documents, and their topics.

    Attributes
    ----------
    train, test : sparse matrix
        One row per document, one column per word that is not a stop word.
    train_topics, test_topics : DataFrame of bool
        One column per topic.
    """

    train: csr_matrix
    test: csr_matrix
    train_topics: pd.DataFrame
    test_topics: pd.DataFrame


def reuters() -> Corpus:
    """The ModApte split of Reuters-21578, as in the paper."""
    table = gevglm.datasets.load("reuters")
    labels = table["topics"].str.split().map(set)
    topics = pd.DataFrame({topic: labels.map(lambda own, topic=topic: topic in own) for topic in TOPICS})
    return _counted(table["title"] + " " + table["body"], topics, table["split"])


def one_topic(name: str, topics: Sequence[str] | None = None) -> Corpus:
    """A corpus whose documents have one topic each; all topics by default."""
    table = gevglm.datasets.load(name)
    found = pd.get_dummies(table["topic"])
    return _counted(table["text"], found if topics is None else found[list(topics)], table["split"])


def _counted(text: pd.Series, topics: pd.DataFrame, split: pd.Series) -> Corpus:
    """Count the words of documents; words of letters only, for numbers are many and rare."""
    training = (split == "train").to_numpy()
    counter = CountVectorizer(stop_words="english", token_pattern=r"(?u)\b[a-zA-Z][a-zA-Z]+\b")
    train = counter.fit_transform(text[training])
    common = np.asarray(train.sum(axis=0)).ravel() >= RAREST
    test = counter.transform(text[~training])
    return Corpus(train[:, common], test[:, common], topics[training], topics[~training])


# the data set of each corpus, how it is read, and a topic to draw
CORPORA: dict[str, tuple[str, Callable[[], Corpus], str]] = {
    "Reuters-21578": ("reuters", reuters, "earn"),
    "Reuters-21578, documents with one topic": (
        "reuters_r52",
        lambda: one_topic("reuters_r52", [topic for topic in TOPICS if topic not in SHARED]),
        "earn",
    ),
    "20 Newsgroups": ("newsgroups", lambda: one_topic("newsgroups"), "sci.space"),
}


def information_gain(counts: csr_matrix, y: NDArray) -> NDArray:
    r"""Entropy of the outcome that the presence of each word explains.

    .. math:: H(y) - P(t) H(y \mid t) - P(\bar t) H(y \mid \bar t)
    """
    present = (counts > 0).astype(float)
    n, events = len(y), float(y.sum())
    docs, joint = np.asarray(present.sum(axis=0)).ravel(), present.T @ y

    def entropy(positive: NDArray, total: NDArray) -> NDArray:
        share = np.divide(positive, total, out=np.zeros_like(positive), where=total > 0)
        return entr(share) + entr(1.0 - share)

    without = n - docs
    whole = entropy(np.array([events]), np.array([float(n)]))
    return whole - (docs * entropy(joint, docs) + without * entropy(events - joint, without)) / n


def scored(corpus: Corpus, topic: str, scorer: Scorer, words: int) -> tuple[NDArray, NDArray]:
    """Return scores of the training documents, each by a classifier fitted to the other folds, and of the test documents.

    The words are chosen anew from the documents that each classifier is fitted to.
    """
    y = corpus.train_topics[topic].to_numpy(dtype=float)

    def score(rows: NDArray, others: csr_matrix) -> NDArray:
        gain = information_gain(corpus.train[rows], y[rows])
        chosen = np.sort(np.argsort(-gain, kind="stable")[:words])
        return scorer(corpus.train[rows][:, chosen], y[rows], others[:, chosen])

    within = np.empty(len(y))
    for rows, held in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(y, y):
        within[held] = score(rows, corpus.train[held])
    return within, score(np.arange(len(y)), corpus.test)


# -- classifiers -------------------------------------------------------------------------------


def naive_bayes(counts: csr_matrix, y: NDArray, others: csr_matrix) -> NDArray:
    """Log-odds by multinomial naive Bayes on word counts with Laplace smoothing."""
    joint = MultinomialNB(alpha=1.0).fit(counts, y).predict_joint_log_proba(others)
    return joint[:, 1] - joint[:, 0]


def linear_svm(counts: csr_matrix, y: NDArray, others: csr_matrix) -> NDArray:
    """Distance from the plane of a linear SVM on present words, with SVM-light's default cost."""
    present, unseen = _present(counts), _present(others)
    cost = np.sqrt(present.sum(axis=1)).mean() ** -2
    return SVC(C=cost, kernel="linear", cache_size=1000).fit(present, y).decision_function(unseen)


def logistic(counts: csr_matrix, y: NDArray, others: csr_matrix) -> NDArray:
    """Log-odds by ridge logistic regression on present words, with scikit-learn's default penalty."""
    return LogisticRegression(max_iter=2000).fit(_present(counts), y).decision_function(_present(others))


def _present(counts: csr_matrix) -> csr_matrix:
    return (counts > 0).astype(float)


CLASSIFIERS: Sequence[tuple[str, Scorer]] = (("NB", naive_bayes), ("SVM", linear_svm), ("LR", logistic))
