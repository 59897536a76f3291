"""What is said on the side: progress, warnings and errors, on stderr."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


def say(text: str, quiet: bool = False) -> None:
    """Print a line on stderr."""
    if not quiet:
        print(text, file=sys.stderr, flush=True)


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Show warnings of the package as plain sentences, once each."""
    from gevglm.exceptions import GevglmWarning

    with warnings.catch_warnings():
        warnings.simplefilter("once", GevglmWarning)
        shown = warnings.showwarning

        def show(message, category, filename, lineno, file=None, line=None):
            if issubclass(category, GevglmWarning):
                say(f"warning: {message}")
            else:
                shown(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield
