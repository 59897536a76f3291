"""Rows, labels and weights, checked the same way by every estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import hstack, issparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, get_tags
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, validate_data

from gevglm.engine.linalg import Matrix
from gevglm.exceptions import InvalidDataError


def classes_of(y: NDArray, *, several: bool = False) -> NDArray:
    """Return the labels in sorted order: two, or with `several` two or more; or say why there are not as many."""
    check_classification_targets(y)
    kind = type_of_target(y, input_name="y")
    if kind not in (("binary", "multiclass") if several else ("binary",)):
        raise InvalidDataError(
            f"Only binary classification is supported. The type of the target is {kind}. The labels are "
            f"{np.unique(y).tolist()[:8]}. AdaClassWeight and RatioWeight around a learner of several classes, such as scikit-learn's "
            "LogisticRegression, take more."
        )
    classes = np.unique(y)
    if len(classes) < 2:
        raise InvalidDataError(f"the outcome has one class only, {classes.tolist()[0]!r}; a classifier needs two.")
    return classes


def knows_several(learner: BaseEstimator) -> bool:
    """Whether a learner takes more than two classes."""
    tags = get_tags(learner).classifier_tags
    return tags is not None and tags.multi_class


def row_weights(sample_weight: ArrayLike | None, X: ArrayLike, y: NDArray) -> NDArray | None:
    """Return weights that leave both classes in the data, or None if none were given."""
    if sample_weight is None:
        return None
    weights = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
    if len(np.unique(y[weights > 0])) < 2:
        raise InvalidDataError("the rows with a positive sample_weight hold one class only; a classifier needs two.")
    return weights


def class_weight_by_event(class_weight: Any, classes: NDArray) -> Any:
    """Return weights of labels as weights of 0 and 1, the second label being the event; a word stays what it is."""
    if not isinstance(class_weight, dict):
        return class_weight
    unknown = [label for label in class_weight if label not in classes]
    if unknown:
        raise InvalidDataError(f"class_weight names {unknown}, but the labels are {classes.tolist()}.")
    return {i: class_weight.get(label, 1.0) for i, label in enumerate(classes)}


def with_constant(X: Matrix) -> Matrix:
    """Return the rows with a column of ones before the others."""
    ones = np.ones((X.shape[0], 1), dtype=X.dtype)
    return hstack([ones, X], format="csr") if issparse(X) else np.column_stack([ones, X])


def checked_rows(owner: BaseEstimator, learner: BaseEstimator, X: ArrayLike, *, reset: bool) -> ArrayLike:
    """Return X for a learner inside `owner`: tables and texts unchanged, the rest as an array; names and number of columns are remembered."""
    tags = get_tags(learner).input_tags
    texts = isinstance(X, list | tuple | np.ndarray) and np.ndim(X) == 1 and np.asarray(X).dtype.kind in "OU"
    if hasattr(X, "iloc") or texts or not tags.two_d_array:
        validate_data(owner, X, reset=reset, skip_check_array=True)
        return X
    sparse = ("csr", "csc") if tags.sparse else False  # of which rows can be taken
    return validate_data(owner, X, reset=reset, dtype=None, ensure_all_finite=False, accept_sparse=sparse)


def as_learner(tags: Tags, learner: BaseEstimator) -> Tags:
    """Return the tags of a binary classifier that takes the rows which the learner inside it takes."""
    tags.classifier_tags.multi_class = False
    inner = get_tags(learner).input_tags
    tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
    tags.input_tags.categorical = inner.categorical
    return tags
