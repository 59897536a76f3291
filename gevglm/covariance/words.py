"""The words for covariances, as statsmodels has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gevglm.covariance.autocorrelation import HAC
from gevglm.covariance.base import Covariance
from gevglm.covariance.clusters import Cluster
from gevglm.covariance.rows import HC, Linearized, Nonrobust
from gevglm.covariance.survey import NAME as SURVEY
from gevglm.covariance.survey import survey_covariance
from gevglm.exceptions import IncompatibleOptionsError, InvalidOptionError, unknown_option

if TYPE_CHECKING:
    from gevglm.data.grouping import Grouping


def _cluster_kind(options: dict[str, Any]) -> str:
    """Return the small-sample factor by its name; statsmodels' `use_correction` is all of it or none."""
    corrected = _switch(options, "use_correction", True)
    if "kind" not in options:
        return "CR1S" if corrected else "CR0"
    if "use_correction" in options:
        raise IncompatibleOptionsError("cov_kwds has both kind and use_correction; leave use_correction out.")
    return options["kind"]


def _switch(options: dict[str, Any], name: str, default: bool) -> bool:
    value = options.get(name, default)
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidOptionError(
            f"cov_kwds has {name}={value!r}, which must be True or False; the factors of clusters by name are kind='CR0', 'CR1' and 'CR1S'."
        )
    return bool(value)


COV_TYPES = ("nonrobust", "HC0", "HC1", "HC2", "HC3", "linearized", "cluster", "HAC")
COV_ALIASES = {"robust": "HC1"}  # as Stata's regress has it
_COV_WORDS = {word.lower(): word for word in COV_TYPES} | COV_ALIASES
_COV_KWDS = {"cluster": {"groups", "kind", "use_correction"}, "HAC": {"maxlags", "kernel", "use_correction"}}


def covariance_of(
    cov_type: Any, cov_kwds: dict[str, Any] | None, grouping: Callable[[Any], Grouping], sample: Any = None
) -> Covariance:
    """Turn statsmodels' words into a covariance; `grouping` turns column names or arrays into the clusters of the rows of the model.

    `sample` is the survey design of the model, which has a covariance of its own.
    """
    if isinstance(cov_type, Covariance):
        return cov_type
    if sample is not None:
        if str(cov_type).lower() != SURVEY:
            raise IncompatibleOptionsError(
                f"cov_type={cov_type!r} and a survey design cannot be combined: the design says how rows depend on each other. Leave cov_type out, "
                "or give sampling_weights= instead of design=."
            )
        return survey_covariance(sample)
    word = _COV_WORDS.get(str(cov_type).lower())
    if word is None:
        raise unknown_option("cov_type", cov_type, COV_TYPES)
    options = dict(cov_kwds or {})
    allowed = _COV_KWDS.get(word, set())
    unknown = set(options) - allowed - {"scaling_factor", "df_correction"}
    if unknown:
        raise InvalidOptionError(
            f"cov_kwds has {sorted(unknown)}, which cov_type={word!r} does not take"
            + (f"; it takes {sorted(allowed)}." if allowed else ".")
        )
    if word == "cluster":
        if options.get("groups") is None:
            raise InvalidOptionError("cov_type='cluster' needs cov_kwds={'groups': column name or array}.")
        kind = _cluster_kind(options)
        return Cluster(grouping(options["groups"]), kind)
    if word == "HAC":
        if "maxlags" not in options:
            raise InvalidOptionError("cov_type='HAC' needs cov_kwds={'maxlags': number}.")
        _switch(options, "use_correction", False)
        return HAC(**{name: options[name] for name in allowed if name in options})
    if word == "linearized":
        return Linearized()
    return Nonrobust() if word == "nonrobust" else HC(int(word[2]))
