"""The user's words for links, losses and the fit, turned into objects once."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from gevglm import links, losses
from gevglm.bias import ALIASES, METHODS, BiasReduction
from gevglm.estimation.objective import Penalty, Ridge
from gevglm.exceptions import IncompatibleOptionsError, InvalidOptionError, unknown_option
from gevglm.links.base import BinaryLink

SHAPED = {"gev": links.GEV, "gevc": links.GEVc}
FIXED = {
    "logit": links.Logit,
    "probit": links.Probit,
    "cloglog": links.CLogLog,
    "loglog": links.LogLog,
    "cauchit": links.Cauchit,
}
SHAPE_WORDS = ("ml", "cv")
LOSSES = {"log": losses.Log, "canonical": losses.Canonical}


def resolve_link(link: Any, xi: Any) -> BinaryLink:
    """Return the link for a word or link object and a shape."""
    if np.asarray(xi).dtype == bool:
        raise InvalidOptionError(f"xi={xi!r} is not a shape; give a number, as in xi=0.5.")
    if isinstance(link, str):
        word = link.lower()
        if word in SHAPED:
            if xi is None:
                raise InvalidOptionError(f"link={link!r} has a shape: give xi, as in xi=0.5.")
            return SHAPED[word](xi)
        if word not in FIXED:
            raise unknown_option("link", link, [*SHAPED, *FIXED])
        link = FIXED[word]()
    if link is None:
        return links.Logit() if xi is None else links.GEV(xi)
    if xi is not None:
        raise IncompatibleOptionsError(
            f"xi={xi!r} goes with link='gev' or 'gevc' only, not with {link!r}; leave one of the two out."
        )
    return link


def resolve_shape(link: Any, xi: Any) -> tuple[Any, str | None]:
    """Return the shape to start from, and the word for how it is to be chosen, if it is."""
    if not isinstance(xi, str):
        return xi, None
    if xi.lower() not in SHAPE_WORDS:
        raise InvalidOptionError(f"xi={xi!r} is neither a number nor one of {', '.join(map(repr, SHAPE_WORDS))}.")
    if link is not None and not (isinstance(link, str) and link.lower() in SHAPED):
        raise IncompatibleOptionsError(f"xi={xi!r} goes with link='gev' or 'gevc', not with {link!r}.")
    return 0.0, xi.lower()


def resolve_loss(link: Any = None, loss: Any = None, xi: Any = None) -> losses.Loss:
    """Return the loss for the words of a user.

    Without a word for it, the loss is canonical for links with a shape and log for the rest.
    """
    if isinstance(loss, losses.Loss):
        return loss
    link = resolve_link(link, xi)
    if loss is None:
        loss = "canonical" if getattr(getattr(link, "population", link), "parameters", None) else "log"
    if loss not in LOSSES:
        raise unknown_option("loss", loss, LOSSES)
    return LOSSES[loss](link)


def resolve_penalty(
    alpha: Any, penalize_intercept: bool, n_cols: int, constant: int | None, scale: Any = None
) -> Ridge | None:
    """Return the ridge penalty, or None for none; `scale` multiplies the square of each coefficient."""
    if not (isinstance(alpha, Real) and np.isfinite(alpha) and alpha >= 0):
        raise InvalidOptionError(f"alpha={alpha!r} must be a finite number that is not negative.")
    if alpha == 0:
        return None
    columns = np.ones(n_cols) if scale is None else np.asarray(scale, dtype=float)
    if not penalize_intercept and constant is not None:
        columns[constant] = 0.0
    return Ridge(float(alpha), columns)


def resolve_bias(bias: Any, loss: losses.Loss, constant: int | None, penalty: Penalty | None) -> BiasReduction | None:
    """Return the method for a word, or for a method such as ``LogF(m=2)``, if the loss and the design allow it."""
    if bias is None:
        return None
    if not isinstance(bias, BiasReduction):
        word = ALIASES.get(str(bias).lower(), str(bias).lower())
        if word not in METHODS:
            raise unknown_option("bias", bias, [*METHODS, *ALIASES])
        bias = METHODS[word]()
    if penalty is not None:
        raise IncompatibleOptionsError(
            f"bias={bias.word!r} and alpha cannot be combined: a ridge penalty biases on purpose; leave one of them out."
        )
    bias.refuse(loss, constant)
    return bias


def check_iteration(start: Any, n_cols: int, tol: Any, maxiter: Any) -> None:
    """Refuse starting values, a tolerance or a number of steps that have no meaning."""
    if start is not None and np.shape(start) != (n_cols,):
        raise InvalidOptionError(f"start_params has shape {np.shape(start)}, but there are {n_cols} coefficients.")
    if not (isinstance(tol, Real) and 0 < tol < 1):
        raise InvalidOptionError(f"tol={tol!r} must be a number between 0 and 1.")
    if not (isinstance(maxiter, Integral) and maxiter >= 0):
        raise InvalidOptionError(f"maxiter={maxiter!r} must be a whole number that is not negative.")
