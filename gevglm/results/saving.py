"""Results in files, and results without their data."""

from __future__ import annotations

import pickle
import re
from contextlib import nullcontext
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from statsmodels.base.model import LikelihoodModelResults
from statsmodels.base.wrapper import ResultsWrapper

from gevglm import __version__
from gevglm._files import writing
from gevglm.effects.seen import MOST_COLUMNS, Seen
from gevglm.exceptions import GevglmError, GevglmWarning, InvalidDataError, warn

if TYPE_CHECKING:
    from gevglm.model import BinaryGLM
    from gevglm.results.calibration import Recalibrated
    from gevglm.results.core import ResultsCore

ROW_DATA = ("_endog", "_freq_weights", "_var_weights", "_iweights", "_n_trials")  # of statsmodels' results
TABLES = ("frame", "orig_endog", "orig_exog", "endog", "exog")  # of statsmodels' data
NAMES = ("xnames", "ynames")  # what statsmodels' data read off their tables, once


def save(shell: Any, fname: str | Path | Any, remove_data: bool) -> None:
    """Save results inside their wrapper or without, with the version that wrote them; the results at hand are unchanged."""
    write(to_save(shell, remove_data), fname)


def save_recalibrated(recalibrated: Recalibrated, fname: str | Path | Any, remove_data: bool) -> None:
    """Save results together with the calibrator that corrects their probabilities; those at hand are unchanged."""
    write(replace(recalibrated, results=to_save(recalibrated.results, remove_data)), fname)


def to_save(shell: Any, remove_data: bool) -> Any:
    """Return a copy of results as a file has it, inside their wrapper or without."""
    results = getattr(shell, "_results", shell)
    if remove_data:
        _keep_scalars(results)
    results = copy(results)
    if remove_data:
        results.remove_data()
    results.saved_by = __version__
    return type(shell)(results) if isinstance(shell, ResultsWrapper) else results


def write(content: Any, fname: str | Path | Any) -> None:
    """Write what holds results to a file."""
    with nullcontext(fname) if hasattr(fname, "write") else writing(fname) as file:
        try:
            pickle.dump(content, file)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise GevglmError(
                f"the results cannot be saved: {error}. What the formula and the options name has to be importable; define functions by def in a "
                "module rather than as lambdas, and links and losses likewise."
            ) from error


def strip(results: ResultsCore) -> None:
    """Take everything of the length of the data from results; they get a model of their own, without rows."""
    _keep_scalars(results)
    if results._shape is not None:
        results._shape = results._shape.without_rows()
    results.model = without_rows(results.model)
    results.family = results.model.family
    results._data_attr = [*results._data_attr, *(name for name in results.model._data_attr if "_data." not in name)]
    results._cache = {}  # of statsmodels: residuals and fitted values among others
    LikelihoodModelResults.remove_data(results)  # that of GLMResults recurses endlessly in statsmodels 0.14
    for name in ROW_DATA:
        setattr(results, name, None)
    refuse_rows(results.model)
    results.__dict__.pop("null", None)
    results._cov_words = (results.cov_type, None)
    results.options = results.options.without_rows()


def _keep_scalars(results: ResultsCore) -> None:
    """Compute what summaries show, which needs the rows."""
    if not results.model.design.readable:
        return
    _ = results._scalars
    results.keep_inference()
    if results._seen is None and results.has_data and results.k_params <= MOST_COLUMNS:
        results._seen = Seen.of(results)
    if results.loss.is_likelihood:
        _ = results._log_coefficients
    _ = results.overall_test
    if results.loss.is_likelihood and results.model.design.constant is not None:
        _ = results.llnull


def without_rows(model: BinaryGLM) -> BinaryGLM:
    """Return a copy of the model without anything of the length of the data."""
    model = copy(model)
    model.design = model.design.without_rows()
    model.family = copy(model.family)
    model.family.n = 1
    data = object.__new__(type(model.data))  # a copy by statsmodels would read the formula again
    data.__dict__.update({k: None if k in TABLES else v for k, v in model.data.__dict__.items()})
    data._cache = {name: getattr(model.data, name) for name in NAMES}  # and not the labels of the rows
    model.data = data
    return model


def refuse_rows(model: BinaryGLM) -> None:
    """Put what says that it needs the rows in the place of each of statsmodels' arrays of their length."""
    design = model.design
    vectors = dict.fromkeys(("endog", "freq_weights", "var_weights", "iweights", "n_trials"), design.y)
    offset = {"offset": design.offset, "_offset_exposure": 0.0 if design.offset is None else design.offset}
    for name, stand_in in (vectors | offset | {"exog": design.X}).items():
        setattr(model, name, stand_in)


def load(fname: str | Path | Any):
    """Load results saved by their ``save``: of a fit, of a fit with a calibrator, or of an average over links.

    Unpickling runs code from the file: load only what you, or someone you trust, saved.

    Parameters
    ----------
    fname : path or file
    """
    from gevglm.results.core import ResultsCore

    context: Any = nullcontext(fname) if hasattr(fname, "read") else open(fname, "rb")
    with context as file:
        try:
            loaded = pickle.load(file)
        except Exception as error:  # a file that is no pickle of ours may raise anything
            raise _unreadable(fname, error) from None
    results = getattr(loaded, "results", loaded)  # of what holds results: a calibrator, an average over links
    results = getattr(results, "_results", results)
    if not isinstance(results, ResultsCore):
        raise InvalidDataError(f"{str(fname)!r} does not hold results of gevglm but a {type(loaded).__name__}.")
    by = results.saved_by or __version__
    if _parts(by) > _parts(__version__):
        warn(
            f"{str(fname)!r} was saved by gevglm {by}, which is newer than this one, {__version__}: predictions may differ from those of the "
            "version that fitted it; update gevglm.",
            GevglmWarning,
        )
    return loaded


def _unreadable(fname: Any, error: Exception) -> InvalidDataError:
    if isinstance(error, (AttributeError, ImportError)) and "gevglm" in str(error):
        return InvalidDataError(
            f"{str(fname)!r} was saved by another version of gevglm than this one, {__version__} ({error}): load it with that version, "
            "or fit and save again."
        )
    return InvalidDataError(
        f"{str(fname)!r} could not be loaded ({type(error).__name__}: {error}): it does not hold results of gevglm, or was saved by "
        f"another version than this one, {__version__}."
    )


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
