"""Base learners: how one takes weights, and training it under them.

Probabilities of a trained learner are those of the weighted rows, which the algorithms correct by shifting their odds. That is exact for a
learner that is right under the weights. A parametric one is right in the population or under the weights, not in both; it says by a
method ``for_class_weights`` how it is right in the population and predicts for the weighted rows
(:meth:`gevglm.sklearn.BinaryGLMClassifier.for_class_weights`).
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from gevglm.exceptions import IncompatibleOptionsError, InvalidOptionError


def check_learner(learner: Any, *, individual: bool) -> None:
    """Refuse a learner that takes no weights of the kind needed, or has class weights of its own.

    With weights of individual rows class weights are not enough.
    """
    name = type(learner).__name__
    for parameter in class_weight_parameters(learner):
        own = learner.get_params()[parameter]
        if own is not None:
            raise IncompatibleOptionsError(
                f"the base learner {name} already has {parameter}={own!r}, which would be multiplied with the weights found here; "
                f"set {parameter}=None."
            )
    if weight_keyword(learner) is not None:
        return
    if individual:
        raise InvalidOptionError(
            f"the base learner {name} takes no sample_weight in fit, but here each row has a weight of its own; "
            "use AdaClassWeight, DiffBoost or RatioWeight with a learner that has class_weight only, or another learner."
        )
    if not class_weight_parameters(learner):
        raise InvalidOptionError(
            f"the base learner {name} takes neither sample_weight in fit nor class_weight; use a learner that can be weighted, "
            "such as gevglm.sklearn.BinaryGLMClassifier, a random forest or a support vector machine."
        )
    for parameter in class_weight_parameters(learner):
        owner = _owner(learner, parameter)
        if hasattr(owner, "for_class_weights"):
            raise IncompatibleOptionsError(
                f"{name} takes no sample_weight in fit, and the {type(owner).__name__} in it corrects its labels for class weights, so that "
                f"weights would change none; give {type(owner).__name__} itself, and put {name} around the whole."
            )


def weight_keyword(learner: Any) -> str | None:
    """Return the keyword of ``fit`` that takes weights of rows; of a pipeline, that of its last step."""
    if has_fit_parameter(learner, "sample_weight"):
        return "sample_weight"
    steps = getattr(learner, "steps", None)
    if steps and has_fit_parameter(steps[-1][1], "sample_weight"):
        return "sample_weight" if get_config()["enable_metadata_routing"] else f"{steps[-1][0]}__sample_weight"
    return None


def class_weight_parameters(learner: Any) -> list[str]:
    """Return the names of the class_weight parameters of a learner and of what it contains."""
    return [name for name in learner.get_params() if name.split("__")[-1] == "class_weight"]


def _owner(learner: Any, parameter: str) -> Any:
    """Return the part of a learner that a parameter belongs to."""
    part = parameter.rpartition("__")[0]
    return learner.get_params()[part] if part else learner


def _for_class_weights(learner: Any, weights: dict[Any, float]) -> Any:
    """Return a copy of the learner; of a pipeline, its last step says what class weights do to it."""
    if hasattr(learner, "for_class_weights"):
        return learner.for_class_weights(weights)
    learner = clone(learner)
    steps = getattr(learner, "steps", None)
    if steps:
        name, last = steps[-1]
        learner.set_params(**{name: _for_class_weights(last, weights)})
    return learner


def trained(
    learner: Any,
    X: ArrayLike,
    y: NDArray,
    weights: NDArray,
    by_label: dict[Any, float],
    counted: bool,
    fit_params: dict,
    last: Any = None,
) -> Any:
    """Return a copy of the learner, fitted under weights of the rows; `by_label` are those of the classes alone.

    `counted` says whether rows stand for several observations. A `last` fitted learner that has ``warm_start`` set is trained again in
    place of a new copy, and starts from what it had found.
    """
    keyword = weight_keyword(learner)
    if keyword is not None:
        fresh, given = _for_class_weights(learner, by_label), {keyword: weights}
    elif counted:
        raise InvalidOptionError(
            f"sample_weight was given, but the base learner {type(learner).__name__} takes class weights only; leave it out."
        )
    else:
        fresh, given = clone(learner).set_params(**dict.fromkeys(class_weight_parameters(learner), by_label)), {}
    options = fresh.get_params(deep=False)
    if last is not None and options.get("warm_start"):
        fresh = last.set_params(**options)
    return fresh.fit(X, y, **given, **fit_params)
