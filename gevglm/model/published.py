"""from_coefficients(): a model of which a paper gives the coefficients, for use and for validation on new data."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq

from gevglm.data.expressions import names_in, unquoted
from gevglm.data.scope import caller_names
from gevglm.data.tables import as_frame
from gevglm.exceptions import (
    IncompatibleOptionsError,
    InvalidDataError,
    InvalidOptionError,
    listed,
    nearest,
)
from gevglm.links.odds import checked_share
from gevglm.model.binary_glm import BinaryGLM
from gevglm.model.of_formula import CONSTANT, ModelOfFormula
from gevglm.options import FitOptions, ModelOptions, known_arguments
from gevglm.results import BinaryGLMResultsWrapper
from gevglm.results.published import PublishedResults

CONSTANTS = ("const", "constant", "(Intercept)", "intercept", "_cons")  # as other programs call it
OUTCOME = "y"  # where none is named


@known_arguments
def from_coefficients(
    params: Mapping[str, Any],
    formula: str | None = None,
    *,
    odds_ratios: Mapping[str, Any] | None = None,
    link: Any = None,
    xi: float | None = None,
    levels: Mapping[str, Sequence[Any]] | None = None,
    data: Any = None,
    prevalence: float | None = None,
    cov: Any = None,
    bse: Mapping[str, Any] | None = None,
    n: float | None = None,
    n_events: float | None = None,
    event: Any = None,
    offset: str | None = None,
    exposure: str | None = None,
    formula_engine: str | None = None,
) -> BinaryGLMResultsWrapper:
    r"""Return a model that is known by its coefficients, as a paper gives them.

    It predicts, is assessed on new data (``calibration``, with `by` too, ``classification``, decision curves, ``worst_segment``), is updated and
    monitored, saved and exported. What needs the rows of the study, or a covariance that was not given, says so.

    Parameters
    ----------
    params : mapping of str to float
        Coefficients by name, on the scale of the linear predictor; the constant is ``"Intercept"``. Levels of a factor are
        ``"stage[T.III]"``, or ``"stageIII"`` as in R; a term of several columns, a spline for instance, may have a list of numbers.
    formula : str, optional
        As in :func:`gevglm.fit`, ``"died ~ age + stage + age:stage"``. Without it, the columns are the names of the coefficients.
        Splines need the knots that were published, as in ``bs(age, knots=(40, 60), lower_bound=18, upper_bound=90)``.
    odds_ratios : mapping of str to float, optional
        Odds ratios of those coefficients that are given so, for the logit.
    link, xi : str or BinaryLink, float
        The link, with its shape if it has one; the logit by default.
    levels : mapping of str to sequence, optional
        Levels of each factor, the reference first: ``{"stage": ["I", "II", "III"]}``. All other columns are numbers.
    data : table, optional
        Covariates of the population. What formulas learn from data (levels, means, knots) is then learned from them.
    prevalence : float, optional
        Share of events in the population of `data`: the constant is set so that the mean of the risks is this.
    cov : DataFrame or array_like of shape (k, k), optional
        Covariance of the coefficients; an array has the order of `params`, followed by that of `odds_ratios`.
    bse : mapping of str to float, optional
        Standard errors of coefficients (of log odds ratios), where no covariance was published: for tests and limits of coefficients, not of predictions.
    n, n_events : float, optional
        Observations and events of the study, for the summary.
    event : object, optional
        The level of the outcome that is the event, where that is not plainly 1 or True.
    offset, exposure : str, optional
        Columns of new data that have them.
    formula_engine : {"formulaic", "patsy"}, optional

    Returns
    -------
    PublishedResults

    Examples
    --------
    >>> import gevglm
    >>> model = gevglm.from_coefficients({"Intercept": -3.7, "age": 0.055}, odds_ratios={"smoker": 3.6}, formula="event ~ age + smoker")
    >>> new = gevglm.datasets.simulate_study(rng=1)
    >>> model.predict(new.head(3)).round(4).tolist()
    [0.0291, 0.0374, 0.0288]
    """
    coefficients = _coefficients(params, odds_ratios)
    outcome, right = _sides(formula, coefficients)
    scope = caller_names(f"{outcome} ~ {right}")
    words = {"link": link, "xi": xi, "event": event, "offset": offset, "exposure": exposure}
    formed = ModelOfFormula(
        outcome, right, ModelOptions(**words, formula_engine=formula_engine), scope, dict(levels or {})
    )
    model = formed.without_data(coefficients) if data is None else formed.from_data(as_frame(data))
    names, remarks = _Names(list(model.exog_names)), []
    values = names.read(coefficients, "params", free=[CONSTANT] if prevalence is not None else [])
    if odds_ratios:
        _refuse_ratios(model)
        remarks.append(f"The coefficients of {listed(odds_ratios)} are logarithms of the odds ratios that were given.")
    if prevalence is not None:
        values, remark = _at_prevalence(model, values, data is not None, prevalence)
        remarks.append(remark)
    if cov is not None and bse is not None:
        raise IncompatibleOptionsError("cov has the standard errors too; leave bse out.")
    covariance = None if cov is None else _covariance(cov, names, [*params, *(odds_ratios or {})])
    errors = None if bse is None else _errors(bse, names)
    size, events = (np.nan if number is None else float(number) for number in (n, n_events))
    results = PublishedResults(model, values, covariance, errors, size, events, tuple(remarks))
    results.options = FitOptions()
    return BinaryGLMResultsWrapper(results)


def _sides(formula: str | None, coefficients: Mapping[str, Any]) -> tuple[str, str]:
    """Return the name of the outcome and the right-hand side."""
    if formula is not None:
        left, tilde, right = formula.rpartition("~")
        outcome = unquoted(left.strip()) if tilde and left.strip() else OUTCOME
        if not right.strip() or names_in(left, called=False) not in ([], [outcome]):
            raise InvalidOptionError(
                f"formula={formula!r} must be as 'died ~ age + stage', with the name of a column on the left."
            )
        return outcome, right.strip()
    columns = [name for name in coefficients if name != CONSTANT]
    odd = [name for name in columns if re.search(r"[\[\]():*]", name)]
    if odd:
        raise InvalidOptionError(
            f"{listed(odd)}: levels, interactions and splines need the formula that makes them; give formula=."
        )
    return OUTCOME, " + ".join(name if name.isidentifier() else f"`{name}`" for name in columns) or "1"


# -- the numbers -------------------------------------------------------------------------------


def _coefficients(params: Any, odds_ratios: Any) -> dict[str, NDArray]:
    """Return the numbers given for each name, one or as many as a term has columns; odds ratios as their logarithms."""
    found: dict[str, NDArray] = {}
    for word, given in (("params", params), ("odds_ratios", {} if odds_ratios is None else odds_ratios)):
        if not isinstance(given, (Mapping, pd.Series)):
            raise InvalidOptionError(
                f"{word} must be a mapping from names to numbers, such as {{'Intercept': -3.2, 'age': 0.05}}."
            )
        for name, value in given.items():
            numbers = _numbers(f"{word}[{name!r}]", value)
            if word == "odds_ratios":
                if (numbers <= 0.0).any():
                    raise InvalidOptionError(
                        f"odds_ratios[{name!r}]={value!r} must be above 0; a coefficient goes into params."
                    )
                numbers = np.log(numbers)
            name = CONSTANT if name in CONSTANTS else str(name)
            if name in found:
                raise InvalidOptionError(f"there are two numbers for {name!r}; leave one of them out.")
            found[name] = numbers
    if not found:
        raise InvalidOptionError("params has no coefficients.")
    return found


def _numbers(what: str, value: Any) -> NDArray:
    """Return a number, or a sequence of them, as a vector."""
    try:
        numbers = np.atleast_1d(np.asarray(value, dtype=float))
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    if isinstance(value, (bool, str)) or numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise InvalidOptionError(f"{what}={value!r} is not a number.")
    return numbers


class _Names:
    """The names of coefficients, as the formula has them and as people write them."""

    def __init__(self, names: list[str]):
        self.names = names
        self._known = {_bare(re.sub(r"\[(?:T\.)?([^\[\]]*)\]", r"\1", name)): name for name in names}  # as R has them
        self._known |= {_bare(name): name for name in names} | dict.fromkeys(CONSTANTS, CONSTANT)

    def read(self, given: Mapping[str, NDArray], what: str, free: Sequence[str] = (), fill: float = 0.0) -> NDArray:
        """Return a number for each name, or say which of them is missing or unknown; those that are `free` need none."""
        found: dict[str, float] = {}
        unknown = []
        for name, numbers in given.items():
            places = self._places(name, len(numbers))
            unknown += [] if places else [name]
            found |= dict(zip(places, numbers.tolist(), strict=False))
        missing = [name for name in self.names if name not in found and name not in free]
        if unknown or missing:
            raise InvalidOptionError(
                f"the formula has the coefficients {listed(self.names)}; {self._wrong(what, unknown, missing)}"
            )
        return np.array([found.get(name, fill) for name in self.names])

    def _places(self, name: str, number: int) -> list[str]:
        """Return the coefficients of a name that is given so many numbers: itself, or all columns of a term."""
        own = self._known.get(_bare(name))
        if own in self.names and number == 1:
            return [own]
        columns = [
            each
            for each in self.names
            if _bare(each).startswith(f"{_bare(name)}[") and ":" not in _bare(each)[len(_bare(name)) :]
        ]
        return columns if len(columns) == number else []

    def _wrong(self, what: str, unknown: list[str], missing: list[str]) -> str:
        said = [f"{what} has {listed(unknown)}, which is none of them"] if unknown else []
        said += [f"{what} lacks {listed(missing)}"] if missing else []
        advice = nearest(unknown[0], missing or self.names) if unknown else ""
        if missing == [CONSTANT]:
            advice += " Without a constant give prevalence= and data=, or put 0 + into the formula."
        elif unknown:
            advice += " Factors need their levels=, as in levels={'stage': ['I', 'II', 'III']}, the reference first."
        return f"{'; '.join(said)}.{advice}"


def _bare(name: str) -> str:
    return re.sub(r"\s+", "", re.sub(r"Q\((['\"])(.+?)\1\)", r"\2", name))


def _refuse_ratios(model: BinaryGLM) -> None:
    if model.population_link.exponentiated != "odds_ratio":
        raise IncompatibleOptionsError(
            f"odds_ratios goes with the logit; of {model.population_link!r} give the coefficients themselves in params."
        )


def _at_prevalence(model: BinaryGLM, values: NDArray, has_data: bool, prevalence: float) -> tuple[NDArray, str]:
    """Return the coefficients with the constant at which the mean of risks is the prevalence, and what is to be said of it."""
    place = model.design.constant
    if not has_data or place is None:
        lacking = "the covariates of the population as data=" if place is not None else "a formula with a constant"
        raise IncompatibleOptionsError(
            f"prevalence= sets the constant by the mean of risks in a population; give {lacking}."
        )
    target = checked_share("prevalence", prevalence)
    linear = np.asarray(model.predict(values, which="linear"))
    link = model.population_link

    def excess(shift: float) -> float:
        return float(link.inverse(linear + shift).mean()) - target

    reach = 1.0
    while excess(-reach) > 0.0 or excess(reach) < 0.0:
        reach *= 2.0
    moved = values.copy()
    moved[place] += brentq(excess, -reach, reach, xtol=1e-13)
    before = f", instead of {values[place]:.6g}" if values[place] else ""
    return moved, (
        f"The constant was set to {moved[place]:.6g}{before}: the mean risk of the {len(linear):,} rows of data is then prevalence={target:g}."
    )


def _covariance(cov: Any, names: _Names, given: list[str]) -> NDArray:
    """Return a covariance in the order of the coefficients."""
    labels = [str(name) for name in cov.index] if isinstance(cov, pd.DataFrame) else given
    matrix = np.asarray(cov, dtype=float)
    if matrix.shape != (len(labels), len(labels)):
        raise InvalidDataError(f"cov has shape {matrix.shape}, but there are {len(labels)} coefficients.")
    if isinstance(cov, pd.DataFrame) and [str(name) for name in cov.columns] != labels:
        raise InvalidDataError("cov must have the same names, in the same order, in rows and columns.")
    places = names.read({name: np.array([j]) for j, name in enumerate(labels)}, "cov")
    order = places.astype(int)
    matrix = matrix[np.ix_(order, order)]
    symmetric = np.isfinite(matrix).all() and np.allclose(matrix, matrix.T, rtol=1e-6, atol=0.0)
    if not symmetric or np.linalg.eigvalsh(matrix).min() < -1e-8 * np.abs(matrix).max():
        raise InvalidDataError(
            "cov is not a covariance: it must be finite, symmetric and positive semi-definite; were digits lost?"
        )
    return (matrix + matrix.T) / 2.0


def _errors(bse: Any, names: _Names) -> NDArray:
    """Return standard errors in the order of the coefficients, missing where they are not given."""
    given = {str(name): _numbers(f"bse[{name!r}]", value) for name, value in dict(bse).items()}
    wrong = [name for name, numbers in given.items() if not (numbers > 0.0).all()]
    if wrong:
        raise InvalidOptionError(f"bse of {listed(wrong)} must be above 0.")
    return names.read(given, "bse", free=names.names, fill=np.nan)
