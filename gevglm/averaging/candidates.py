"""The links that are averaged over: few, and fixed before any data are seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gevglm.exceptions import InvalidOptionError
from gevglm.links import GEV, CLogLog, GEVc, Logit, LogLog, Probit
from gevglm.losses import Canonical, Log, Loss
from gevglm.options import ModelOptions

SHAPES = (-1.0, -0.6, -0.2567, 0.0, 0.3, 0.6, 1.0)  # of the canonical loss
# of the log loss: maximum likelihood is not regular below -1/2, and has several maxima for large shapes
LOG_SHAPES = (-0.2567, 0.0, 0.3, 0.6)
ALPHAS = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)  # none is zero, so that no candidate is lost to separation
START = 1.0  # of the search among them


def default_candidates() -> dict[str, Loss]:
    """Return the losses of the default candidates by name: logit, probit, and both GEV links with both losses at a few shapes.

    With the log loss, GEV(0) is the log-log and GEVc(0) the complementary log-log link, under whose words they go.
    """
    losses: dict[str, Loss] = {"logit": Log(Logit()), "probit": Log(Probit())}
    for kind in (GEV, GEVc):
        losses |= {f"{kind.word}({xi:g})": Canonical(kind(xi)) for xi in SHAPES}
        losses |= {_log_name(kind, xi): Log(kind(xi)) for xi in LOG_SHAPES}
    return losses


def _log_name(kind: type[GEV] | type[GEVc], xi: float) -> str:
    return f"{kind.word}({xi:g}), log" if xi else str((LogLog if kind is GEV else CLogLog).word)


def candidates_of(links: Any) -> dict[str, Loss]:
    """Return the losses of the links of a user: words or links, or a mapping of names to options of :func:`gevglm.fit`."""
    if links is None:
        return default_candidates()
    if isinstance(links, str) or not isinstance(links, (Mapping, Sequence)) or not len(links):
        raise InvalidOptionError(
            f"links={links!r} is neither a list of links, such as ['logit', gevglm.links.GEV(0.3)], nor a mapping of names to options "
            "such as {'steep': {'link': 'gev', 'xi': 0.3, 'loss': 'log'}}."
        )
    names = [] if isinstance(links, Mapping) else [_name(link) for link in links]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidOptionError(f"links has {', '.join(twice)} twice; a candidate is given once.")
    words = (
        links if isinstance(links, Mapping) else {name: {"link": link} for name, link in zip(names, links, strict=True)}
    )
    found = {}
    for name, given in words.items():
        options = ModelOptions(**{word: given[word] for word in ("link", "loss", "xi") if word in given})
        unknown = [word for word in given if word not in ("link", "loss", "xi")]
        if unknown or options.shape_choice is not None:
            raise InvalidOptionError(
                f"the candidate {name!r} has {unknown or ['xi=' + repr(options.xi)]}; give link, loss and a number for xi, all other options are those of all."
            )
        found[str(name)] = options.resolve()
    return found


def _name(link: Any) -> str:
    return link if isinstance(link, str) else repr(link)
