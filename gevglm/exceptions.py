"""The tree of errors and warnings; every message says what, what was seen, and what to do."""

from __future__ import annotations

import difflib
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Integral
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import Any

import statsmodels
from statsmodels.tools.sm_exceptions import HessianInversionWarning, ModelWarning

_TYPED_NUMBER = re.compile(r"\bnp\.(?:u?int|float|bool|str|bytes)\w*\(([^()]*)\)")


def without_types(text: str) -> str:
    """Return a text in which numbers of NumPy look like numbers: 1 in place of np.int64(1)."""
    return _TYPED_NUMBER.sub(r"\1", text)


class GevglmError(Exception):
    """Base of every error gevglm raises on purpose."""

    def __init__(self, *args: Any):
        super().__init__(*(without_types(arg) if isinstance(arg, str) else arg for arg in args))


class InvalidOptionError(GevglmError, ValueError):
    """An option has a value that is not among the allowed ones."""


class UnknownArgumentError(InvalidOptionError, TypeError):
    """A function was given an argument that it does not have; the message names the one that is meant."""


class InvalidDataError(GevglmError, ValueError):
    """The data cannot be used as they are; the message names the column, rows or value."""


class CollinearityError(InvalidDataError):
    """Columns of the design are exact linear combinations of others.

    Attributes
    ----------
    columns : dict of int to tuple of int
        The positions of the columns that can be left out, each with those it is a combination of; none of these if it is zero in every row.
    """

    columns: Mapping[int, tuple[int, ...]] = MappingProxyType({})


class SupportError(GevglmError, ValueError):
    """No coefficients keep every observation inside the support of the link."""


class IncompatibleOptionsError(GevglmError, ValueError):
    """Two options were given that exclude each other."""


class NotDefinedForLoss(GevglmError, AttributeError):
    """A statistic that the loss of this fit does not define; the message names the alternative."""


class MissingDatasetError(GevglmError, LookupError):
    """A public data set is not at hand; the message says what was tried and what to do."""


class GevglmWarning(ModelWarning):
    """Base of every warning gevglm issues."""


class ConvergenceWarning(GevglmWarning):
    """The iteration ended before the convergence criterion was met."""


class CollinearityWarning(GevglmWarning, HessianInversionWarning):
    """Columns were left out of the fit, because they are exact linear combinations of others."""


class SeparationWarning(GevglmWarning):
    """A combination of columns predicts the outcome perfectly in part of the data."""


class SupportWarning(GevglmWarning):
    """Observations lie outside the support of the fitted link."""


class FewEventsWarning(GevglmWarning):
    """There are few events for the number of coefficients."""


class WeakShapeWarning(GevglmWarning):
    """The data hardly determine the shape parameter xi."""


class MissingRowsWarning(GevglmWarning):
    """Rows were dropped because of missing values."""


class SuspectDataWarning(GevglmWarning):
    """The data are probably not what was meant: text that is nearly numbers, or imputations given as pieces of one table."""


def listed(names: Iterable[str], most: int = 8) -> str:
    """Return names joined by commas, the first few of many."""
    names = list(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def nearest(word: object, allowed: Iterable[str]) -> str:
    """Return ``" Did you mean 'x'?"`` for the allowed word nearest to `word`, or an empty string; never the word itself nor its opposite."""
    typed = str(word).lower()
    others = [other for other in allowed if other != str(word) and other.lower() not in (f"non{typed}", f"un{typed}")]
    close = difflib.get_close_matches(typed, others, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def unknown_option(option: str, value: object, allowed: Iterable[str]) -> InvalidOptionError:
    """Build the error for an unknown word: what it is called here, or the allowed ones and the nearest of them."""
    known_elsewhere = VALUES.get(option, {}).get(str(value).lower())
    if known_elsewhere is not None:
        return InvalidOptionError(f"{option}={value!r} is not known: {known_elsewhere}.")
    allowed = list(allowed)
    words = ", ".join(repr(word) for word in allowed)
    return InvalidOptionError(f"{option}={value!r} is not known; use one of {words}.{nearest(value, allowed)}")


def unknown_argument(function: str, word: str, allowed: Iterable[str], elsewhere: str = "") -> UnknownArgumentError:
    """Build the error for an argument that a function does not have: what it is called here, or the nearest."""
    hint = ARGUMENTS.get(word, elsewhere)
    meant = f": {hint}." if hint else f".{nearest(word, allowed)}"
    return UnknownArgumentError(f"{function}() has no argument {word!r}{meant}")


_silent: ContextVar[bool] = ContextVar("gevglm_silent", default=False)


@contextmanager
def silenced() -> Iterator[None]:
    """Issue no warnings of the package from here, in this thread only: the filters of :mod:`warnings` are those of all threads."""
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)


def whole_number(option: str, value: Any, low: int, high: int | None = None) -> int:
    """Return the value of an option that must be a whole number from `low`, or from `low` to `high`."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or value < low or (high is not None and value > high):
        span = f"from {low}" if high is None else f"from {low} to {high}"
        raise InvalidOptionError(f"{option}={value!r} is not possible; give a whole number {span}.")
    return int(value)


def warn(message: str, category: type[GevglmWarning]) -> None:
    """Issue a warning that points at the user's line."""
    if not _silent.get():
        warnings.warn(without_types(message), category, stacklevel=callers_frame()[1])


def callers_frame() -> tuple[FrameType | None, int]:
    """Return the first frame outside the package and statsmodels, which may have called it, and its number above the function that asks."""
    package = str(Path(__file__).parent), str(Path(statsmodels.__file__).parent)
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and frame.f_code.co_filename.startswith(package):
        frame, level = frame.f_back, level + 1
    return frame, level


# -- words that people know from other packages, each with what to write here instead ---------

_CLUSTER = "clusters are cov_type='cluster', cov_kwds={'groups': 'id'}"
_COVARIANCE = "covariances are cov_type='HC1', 'HC3', 'cluster' or 'HAC', with cov_kwds="
_RIDGE = "the penalty is ridge, alpha= (with standardize=True on coefficients of standardised columns); there is no lasso here"
_FIXED = "fixed effects are not absorbed here; C(unit) among the terms has a coefficient for each unit"
_DATA = "the data are the second argument, fit('y ~ x', data)"
_ARRAYS = "outcome and design matrix are the first two arguments, fit(y, X)"
_WEIGHTS = (
    "freq_weights= says how many observations a row stands for, sampling_weights= how many of the population (surveys), "
    "var_weights= is the weight of its loss"
)
_SEED = "random numbers are rng=, where they are drawn: search_kwds={'rng': 1} for a search, rng=1 for a bootstrap"

# arguments of fits, by their names elsewhere
ARGUMENTS = {
    **dict.fromkeys(("weights", "weight", "sample_weight", "sample_weights", "pweights", "fweights", "wt"), _WEIGHTS),
    **dict.fromkeys(("cluster", "clusters", "groups", "id"), _CLUSTER),
    **dict.fromkeys(("vcov", "vce", "se", "cov", "se_type"), _COVARIANCE),
    **dict.fromkeys(("penalty", "l1_ratio", "L1_wt", "lambda_", "lam", "regularization", "l2"), _RIDGE),
    **dict.fromkeys(("absorb", "fixef", "fe", "fixed_effects", "entity_effects", "time_effects"), _FIXED),
    **dict.fromkeys(("data", "df", "frame"), _DATA),
    **dict.fromkeys(("formula", "endog", "exog", "y", "X", "x"), _ARRAYS),
    **dict.fromkeys(("seed", "random_state", "rng"), _SEED),
    "robust": "robust standard errors are cov_type='HC1' (HC0 to HC3), and cov_type='cluster' for clusters",
    "family": "the outcome is binary, so that a family is its link: link='logit', 'probit', 'cloglog', ...",
    "strata": "conditional likelihoods are not fitted; C(stratum) among the terms with bias='firth' has a coefficient for each stratum",
    "random": "random effects are not fitted; cov_type='cluster' gives standard errors for rows that belong together",
    "re_formula": "random effects are not fitted; cov_type='cluster' gives standard errors for rows that belong together",
    "C": "the ridge penalty is alpha=, which is 1 / C of scikit-learn",
    "method": "there is one solver, Newton's; other estimators are bias='firth', 'median', ..., and loss=",
    "solver": "there is one solver, Newton's",
    "optimizer": "there is one solver, Newton's",
    "firth": "it is bias='firth'",
    "pl": "profile limits are res.conf_int(method='profile')",
    "tau": "the share of events in the population is prevalence=",
    "case_control": "it is prevalence=, with sampling='weight' for weighting",
    "na_action": "incomplete rows are missing='drop' or 'raise'",
    "fit_intercept": "a formula has a constant unless it says - 1; a design matrix is taken as it is",
    "intercept": "a formula has a constant unless it says - 1; a design matrix is taken as it is",
    "max_iter": "it is maxiter=",
    "start": "it is start_params=",
    "verbose": "it is disp=True, and progress=True for a bar",
    "trials": "counts are two columns, 's + f ~ x', or shares with the trials as freq_weights=",
    "time": "the length of an interval is exposure='time', with link='cloglog'",
    "contrasts": "contrasts stand in the formula, C(g, Sum)",
    "ref": "the reference stands in the formula, C(g, Treatment('a'))",
    "conf_level": "it is an argument of what is asked for: res.conf_int(alpha=0.05)",
    "level": "it is an argument of what is asked for: res.conf_int(alpha=0.05)",
}

_RATIOS = "ratios and differences of risks, of any link, are res.risk('x', contrast='ratio') and contrast='difference'"
_ROBUST = "robust standard errors are cov_type='HC1', as Stata's regress has them; HC0, HC2 and HC3 are the others"

# values of options
VALUES = {
    "link": {
        **dict.fromkeys(("log", "identity", "linear"), _RATIOS),
        "logistic": "it is link='logit'",
        "cauchy": "it is link='cauchit'",
        "gumbel": "it is link='loglog', or link='cloglog' for the smallest value",
    },
    "cov_type": {
        **dict.fromkeys(("robust", "hetero", "heteroskedastic", "unadjusted robust"), _ROBUST),
        **dict.fromkeys(("white", "sandwich", "hc"), "it is cov_type='HC0', or 'HC1' with the correction n / (n - k)"),
        **dict.fromkeys(("iid", "standard", "unadjusted", "classical"), "it is cov_type='nonrobust'"),
        **dict.fromkeys(("crv1", "clustered", "cl", "panel"), _CLUSTER),
        **dict.fromkeys(("nw", "newey-west", "kernel"), "it is cov_type='HAC', cov_kwds={'maxlags': 4}"),
    },
    "bias": {
        **dict.fromkeys(("l1", "l2", "ridge", "lasso"), _RIDGE),
        "logistf": "it is bias='firth'",
        "relogit": "it is bias='king-zeng'",
    },
}
