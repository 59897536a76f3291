"""The user's words for links and losses, turned into objects once."""

from __future__ import annotations

from typing import Any

from gevglm import links, losses
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
LOSSES = {"log": losses.Log, "canonical": losses.Canonical}


def resolve_link(link: Any, xi: Any) -> BinaryLink:
    """Return the link for a word or link object and a shape."""
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


def resolve_loss(link: Any = None, loss: Any = None, xi: Any = None) -> losses.Loss:
    """Return the loss for the words of a user.

    Without a word for it, the loss is canonical for links with a shape and log for the rest.
    """
    if isinstance(loss, losses.Loss):
        return loss
    link = resolve_link(link, xi)
    if loss is None:
        loss = "canonical" if getattr(link, "parameters", None) else "log"
    if loss not in LOSSES:
        raise unknown_option("loss", loss, LOSSES)
    return LOSSES[loss](link)
