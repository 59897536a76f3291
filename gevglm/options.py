"""Every word a user may write, turned into objects once: the registries, and the options of a model and of a fit."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from numbers import Integral, Real
from typing import Any, ParamSpec, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from gevglm import losses
from gevglm.bias import BiasReduction
from gevglm.covariance import Covariance, covariance_of
from gevglm.data.selection import ROLES
from gevglm.data.survey import Survey
from gevglm.estimation.objective import Penalty, Ridge
from gevglm.exceptions import IncompatibleOptionsError, InvalidOptionError, unknown_argument, unknown_option
from gevglm.links import GEV, BinaryLink, Logit

P = ParamSpec("P")
T = TypeVar("T")
SHAPE_CHOICES = ("ml", "map", "cv")
ALIASES = {"firth": "mean", "fernandez-val": "correction"}
COLLINEAR = ("drop", "raise")
SATTERTHWAITE = "satterthwaite"
SEPARATION = ("warn", "drop", "ignore")
LOSSES: dict[str, type[losses.Loss]] = {"log": losses.Log, "canonical": losses.Canonical}


def link_words() -> list[str]:
    """Return the words for links, those without a shape first."""
    return sorted(BinaryLink.words, key=lambda word: (BinaryLink.words[word].shape_name is not None, word))


def bias_words() -> list[str]:
    """Return the words for bias reductions, with their aliases."""
    return [*sorted(BiasReduction.words), *ALIASES]


def known_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """Let a function that is given an argument of another package say what it is called here; its signature stays what it is.

    The function then stands one frame further from its caller.
    """
    allowed = [name for name in inspect.signature(function).parameters if name != "self"]
    name = function.__qualname__.removesuffix(".__init__")

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        for word in kwargs:
            if word not in allowed:
                homes = {"the model": ModelOptions.__match_args__, "fit()": FitOptions.__match_args__}
                home = next((f"it is an option of {home}" for home, words in homes.items() if word in words), "")
                raise unknown_argument(name, word, allowed, home)
        return function(*args, **kwargs)

    return checked


@dataclass(frozen=True)
class AsGiven:
    """Stands for values that were given row by row and are not kept; its text is the name a reader may fill in."""

    name: str

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class _Options:
    """Words of a user, as they were given."""

    @classmethod
    def of(cls, words: Mapping[str, Any]) -> Self:
        """Pick these options out of the arguments of a function."""
        names: tuple[str, ...] = cls.__match_args__
        options = cls.__new__(cls)  # the constructor of frozen options takes its time
        options.__dict__.update({name: words[name] for name in names if name in words})
        return options

    def given(self) -> dict[str, Any]:
        """Return the words that differ from their defaults."""
        values = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {
            name: value
            for name, (value, default) in values.items()
            if value is not default and not (np.isscalar(value) and value == default)
        }

    def code(self) -> dict[str, str]:
        """Return the given words as Python, with a remark where values are not kept."""
        return {name: code_of(value, name) for name, value in self.given().items()}


@dataclass(frozen=True)
class ModelOptions(_Options):
    """What is fitted to which rows: the words of :class:`gevglm.BinaryGLM`, described there."""

    link: Any = None
    loss: Any = None
    xi: Any = None
    offset: Any = None
    exposure: Any = None
    freq_weights: Any = None
    var_weights: Any = None
    sampling_weights: Any = None
    n_trials: Any = None
    class_weight: Any = None
    prevalence: Any = None
    sampling: str = "prior"
    event: Any = None
    subset: Any = None
    missing: str = "drop"
    clusters: Any = None  # of a fit that follows at once: rows without one are incomplete
    design: Survey | None = None
    formula_engine: str | None = None

    @classmethod
    def of(cls, words: Mapping[str, Any]) -> ModelOptions:
        """Pick these options out of the arguments of a function; a survey design brings the sampling weights."""
        if words.get("design") is None:
            return super().of(words)
        return super().of({**words, "sampling_weights": _weights_of(words["design"], words)})

    def columns(self) -> dict[str, Any]:
        """Return the words that name columns or rows, for designs of tables and of arrays alike."""
        return {role: getattr(self, role) for role in ("event", *ROLES, "missing", "clusters", "design")}

    def without_rows(self) -> ModelOptions:
        """Return the options without anything of the length of the data."""
        roles = (*ROLES, "n_trials", "subset", "clusters", "design")
        given = {role: value for role in roles if (value := getattr(self, role)) is not None}
        return replace(self, **{role: _as_given(value, role) for role, value in given.items()}) if given else self

    def code(self) -> dict[str, str]:
        """Return the given words as Python; clusters are words of the fit, weights those of a survey design."""
        said = {"clusters"} | ({"sampling_weights"} if self.design is not None else set())
        return {name: text for name, text in super().code().items() if name not in said}

    @property
    def shape_choice(self) -> str | None:
        """How the shape of the link is chosen from the data: "ml", "map" or "cv"; None if it is given, or there is none."""
        if not isinstance(self.xi, str):
            return None
        if self.xi.lower() not in SHAPE_CHOICES:
            raise InvalidOptionError(
                f"xi={self.xi!r} is neither a number nor one of {', '.join(map(repr, SHAPE_CHOICES))}."
            )
        return self.xi.lower()

    def resolve(self) -> losses.Loss:
        """Return the loss in the population, at the first of the shapes if the shape is to be chosen."""
        loss = self.loss if isinstance(self.loss, losses.Loss) else self._loss()
        self._refuse_exposure(loss.link)
        return loss

    def _loss(self) -> losses.Loss:
        link = self._link()
        default = "log" if self.shape_choice == "map" else getattr(link, "default_loss", "log")
        name = default if self.loss is None else self.loss
        if name not in LOSSES:
            raise unknown_option("loss", name, LOSSES)
        return LOSSES[name](link)

    def _link(self) -> BinaryLink:
        xi, choice = self.xi, self.shape_choice
        if np.asarray(xi).dtype == bool:
            raise InvalidOptionError(f"xi={xi!r} is not a shape; give a number, as in xi=0.5.")
        kind: Any = (Logit if xi is None else GEV) if self.link is None else self.link
        if isinstance(kind, str):
            if kind.lower() not in BinaryLink.words:
                raise unknown_option("link", kind, link_words())
            kind = BinaryLink.words[kind.lower()]
        elif self.link is not None:  # a link with its shape; what is not one is refused by losses
            if xi is not None and not (choice and getattr(kind, "shape_name", None)):
                self._refuse_shape()
            return kind
        if kind.shape_name is None:
            if xi is not None:
                self._refuse_shape()
            return kind()
        if xi is None:
            raise InvalidOptionError(f"link={self.link!r} has a shape: give xi, as in xi=0.5.")
        return kind(min(kind.default_grid, key=abs) if choice else xi)

    def _refuse_exposure(self, link: BinaryLink) -> None:
        """Refuse an exposure where the logarithm of a time does not make a rate of its coefficients."""
        if self.exposure is not None and link.exponentiated not in ("hazard_ratio", "risk_ratio"):
            raise IncompatibleOptionsError(
                f"exposure= is the length of an interval, whose logarithm goes with link='cloglog'; with {link!r} it has no meaning. "
                "offset= is added as it is."
            )

    def _refuse_shape(self) -> None:
        shaped = " or ".join(repr(word) for word, kind in BinaryLink.words.items() if kind.shape_name)
        raise IncompatibleOptionsError(
            f"xi={self.xi!r} goes with link={shaped}, not with {self.link!r}; leave one of the two out."
        )


@dataclass(frozen=True)
class FitOptions(_Options):
    """How a model is fitted: the words of :meth:`gevglm.BinaryGLM.fit`, described there."""

    start_params: ArrayLike | None = None
    bias: Any = None
    alpha: Any = 0.0
    penalize_intercept: bool = False
    standardize: bool | None = None
    search_kwds: dict[str, Any] | None = None
    collinear: str = "drop"
    separation: str = "warn"
    cov_type: Any = None
    cov_kwds: dict[str, Any] | None = None
    use_t: Any = None
    maxiter: int = 100
    tol: float = 1e-8
    disp: bool = False
    progress: bool | None = None
    resume: Any = None

    def without_rows(self) -> FitOptions:
        """Return the options without anything of the length of the data, which would not fit other rows."""
        cov_kwds = self.cov_kwds and {name: _as_given(value, name) for name, value in self.cov_kwds.items()}
        given = (self.search_kwds or {}).items()
        search = {name: value for name, value in given if name not in ("folds", "groups") or np.isscalar(value)}
        return replace(self, start_params=None, resume=None, cov_kwds=cov_kwds, search_kwds=search or None)

    def code(self) -> dict[str, str]:
        """Return the given words that matter for the numbers, as Python."""
        return {name: text for name, text in super().code().items() if name not in ("disp", "progress", "resume")}

    def for_other_rows(self) -> FitOptions:
        """Return the options of a refit to other rows: what was estimated in the same way, quietly and without its covariance."""
        return replace(self.without_rows(), cov_type=None, cov_kwds=None, disp=False, progress=False)

    def under_prior(self, coef_scale: float) -> FitOptions:
        """Return the options of a posterior mode, with the prior of the coefficients as penalty; refuse what would not be one."""
        for word in ("bias", "alpha", "cov_type"):
            given = getattr(self, word)
            if given not in (None, 0.0, "nonrobust"):
                instead = "; coef_scale in search_kwds is the prior of the coefficients" if word == "alpha" else ""
                raise IncompatibleOptionsError(
                    f"xi='map' and {word}={given!r} cannot be combined: estimates and errors are those of the posterior{instead}."
                )
        return replace(self, alpha=coef_scale**-2.0, penalize_intercept=False, standardize=True, search_kwds=None)

    def check(self, n_cols: int) -> None:
        """Refuse starting values, a tolerance or a number of steps that have no meaning."""
        shape = None if self.start_params is None else np.shape(self.start_params)
        if shape not in (None, (n_cols,)):
            raise InvalidOptionError(f"start_params has shape {shape}, but there are {n_cols} coefficients.")
        if shape is not None and not np.isfinite(np.asarray(self.start_params, dtype=float)).all():
            count = int((~np.isfinite(np.asarray(self.start_params, dtype=float))).sum())
            verb = "is" if count == 1 else "are"
            raise InvalidOptionError(
                f"{count} of {n_cols} values of start_params {verb} not finite; give numbers, or no start_params."
            )
        if not (isinstance(self.tol, Real) and 0.0 < float(self.tol) < 1.0):
            raise InvalidOptionError(f"tol={self.tol!r} must be a number between 0 and 1.")
        if not (isinstance(self.maxiter, Integral) and self.maxiter >= 0):
            raise InvalidOptionError(f"maxiter={self.maxiter!r} must be a whole number that is not negative.")
        for option, allowed in (("collinear", COLLINEAR), ("separation", SEPARATION)):
            if getattr(self, option) not in allowed:
                raise unknown_option(option, getattr(self, option), allowed)
        if self.use_t not in (None, True, False, SATTERTHWAITE):
            raise InvalidOptionError(f"use_t={self.use_t!r} must be True, False or {SATTERTHWAITE!r}.")
        if not isinstance(self.cov_kwds, (dict, type(None))):
            raise InvalidOptionError(f"cov_kwds must be a dict, such as {{'groups': 'clinic'}}, got {self.cov_kwds!r}.")

    @property
    def standardized(self) -> bool:
        """Whether the penalty is on coefficients of standardised columns: by default where it is chosen from the data."""
        return self.alpha == "cv" if self.standardize is None else bool(self.standardize)

    @property
    def clusters(self) -> Any:
        """The clusters of a cluster-robust fit, as they were given."""
        named = isinstance(self.cov_type, str) and self.cov_type.lower() == "cluster"
        return self.cov_kwds.get("groups") if named and isinstance(self.cov_kwds, dict) else None

    def covariance(self, default: str, grouping: Any, sample: Any = None) -> Covariance:
        """Return the covariance, given the default and what makes clusters of the words for them."""
        return covariance_of(default if self.cov_type is None else self.cov_type, self.cov_kwds, grouping, sample)

    def penalty(self, scale: Any, n_cols: int, constant: int | None) -> Ridge | None:
        """Return the ridge penalty, or None for none; `scale` (None for ones) multiplies the square of each coefficient."""
        alpha = float(self.alpha) if isinstance(self.alpha, Real) else np.nan
        if not 0.0 <= alpha < np.inf:
            raise InvalidOptionError(f"alpha={self.alpha!r} must be a finite number that is not negative.")
        if alpha == 0:
            return None
        columns = np.ones(n_cols) if scale is None else np.array(scale, dtype=float)
        if not self.penalize_intercept and constant is not None:
            columns[constant] = 0.0
        return Ridge(alpha, columns)

    def bias_reduction(self, loss: losses.Loss, constant: int | None, penalty: Penalty | None) -> BiasReduction | None:
        """Return the method of bias reduction, if the loss and the design allow it."""
        bias = self.bias
        if bias is None:
            return None
        if not isinstance(bias, BiasReduction):
            word = ALIASES.get(str(bias).lower(), str(bias).lower())
            if word not in BiasReduction.words:
                raise unknown_option("bias", bias, bias_words())
            bias = BiasReduction.words[word]()
        if penalty is not None:
            raise IncompatibleOptionsError(
                f"bias={bias.word!r} and alpha cannot be combined: a ridge penalty biases on purpose; leave one of them out."
            )
        bias.refuse(loss, constant)
        return bias


def _weights_of(design: Any, words: Mapping[str, Any]) -> Any:
    """Return the weights of a survey design; refuse what does not go with one."""
    if not isinstance(design, Survey):
        raise InvalidOptionError(f"design={design!r} must come from gevglm.survey(weights, strata=..., psu=...).")
    for word in ("sampling_weights", "freq_weights", "strata", "cov_type", "cov_kwds"):
        if words.get(word) is not None:
            raise IncompatibleOptionsError(f"design= and {word}= cannot be combined; leave {word} out.")
    return design.weights


def code_of(value: Any, name: str) -> str:
    """Return a value as Python that gives it again after ``import gevglm``; a name with a remark where that cannot be.

    Examples
    --------
    >>> from gevglm.bias import LogF
    >>> code_of(LogF(m=2), "bias"), code_of({"groups": "clinic"}, "cov_kwds")
    ('gevglm.bias.LogF(m=2)', "{'groups': 'clinic'}")
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (str, bool, int, float)):
        return repr(value)
    if isinstance(value, BinaryLink):
        inner = getattr(value, "link", None)
        arguments = [] if inner is None else [code_of(inner, "link")]
        known = {} if inner is None else inner.parameters
        arguments += [f"{key}={number!r}" for key, number in value.parameters.items() if key not in known]
        return f"{_home(value)}({', '.join(arguments)})"
    if isinstance(value, Survey):
        return f"gevglm.{value!r}"
    if isinstance(value, losses.Loss):
        return f"{_home(value)}({code_of(value.link, 'link')})"
    if is_dataclass(value) and not isinstance(value, AsGiven):
        return f"{_home(value).rpartition('.')[0]}.{value!r}".lstrip(".")
    if isinstance(value, Mapping):
        entries = {key: code_of(entry, str(key)).partition("  # ") for key, entry in value.items()}
        remark = next(("  # " + remark for _, _, remark in entries.values() if remark), "")
        return "{" + ", ".join(f"{key!r}: {text}" for key, (text, _, _) in entries.items()) + "}" + remark
    if isinstance(value, (list, tuple)) and _is_kept(value):
        inside = ", ".join(code_of(entry, name) for entry in value)
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' * (len(value) == 1)})"
    return f"{name}  # as given"


def _home(value: Any) -> str:
    module, *rest = type(value).__module__.split(".")
    return ".".join([module, *rest[:1]] * (module == "gevglm") + [type(value).__name__])


def _is_kept(value: Any) -> bool:
    """Whether a value is not of the length of the data: a number, a word, or a few of them."""
    short = isinstance(value, Sequence) and len(value) <= 100 and all(np.isscalar(entry) for entry in value)
    return value is None or np.isscalar(value) or short


def _as_given(value: Any, name: str) -> Any:
    if isinstance(value, Survey):
        parts = {each.name: _as_given(getattr(value, each.name), each.name) for each in fields(value)}
        return replace(value, **parts)
    named = isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(v, str) for v in value)
    return value if value is None or np.isscalar(value) or (named and len(value) <= 2) else AsGiven(name)
