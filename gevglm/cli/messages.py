"""What is said on the side: progress, warnings and errors, on stderr."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


def say(text: str, quiet: bool = False) -> None:
    """Print a line on stderr."""
    if not quiet:
        print(text, file=sys.stderr, flush=True)


OPTIONS = {"event": "--event", "bias": "--bias", "link": "--link", "loss": "--loss", "xi": "--xi", "alpha": "--alpha",
           "prevalence": "--prevalence", "sampling": "--sampling", "groups": "--cluster", "freq_weights": "--weights",
           "var_weights": "--var-weights", "sampling_weights": "--sampling-weights", "offset": "--offset", "exposure": "--exposure", "subset": "--subset"}  # fmt: skip


def in_options(text: str) -> str:
    """Return a message with arguments of :func:`gevglm.fit` written as options of the command line.

    Examples
    --------
    >>> in_options("say which one is the event, as in event='yes'; or fit with bias='firth'.")
    'say which one is the event, as in --event yes; or fit with --bias firth.'
    """
    words = "|".join(OPTIONS)
    return re.sub(
        rf"(?<![(\w.])({words})=('[^']*'|-?\d[\w.]*)", lambda found: f"{OPTIONS[found[1]]} {_quoted(found[2])}", text
    )


def _quoted(value: str) -> str:
    inside = value.strip("'")
    return inside if re.fullmatch(r"[\w.+-]+", inside) else value


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Show warnings of the package as plain sentences, once each."""
    from gevglm.exceptions import GevglmWarning

    with warnings.catch_warnings():
        warnings.simplefilter("once", GevglmWarning)
        shown = warnings.showwarning

        def show(message, category, filename, lineno, file=None, line=None):
            if issubclass(category, GevglmWarning):
                say(f"warning: {in_options(str(message))}")
            else:
                shown(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield
