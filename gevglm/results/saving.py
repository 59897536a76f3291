"""Results in files."""

from __future__ import annotations

import pickle
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from gevglm import __version__
from gevglm.exceptions import GevglmWarning, InvalidDataError, warn


def save(shell: Any, results: Any, fname: str | Path | Any, remove_data: bool) -> None:
    """Save results inside their wrapper or without, with the version that wrote them.

    Parameters
    ----------
    shell : object
        What is saved: the results or their wrapper.
    results : BinaryGLMResults
    fname : path or file
    remove_data : bool
        Keep nothing of the length of the data.
    """
    if remove_data:
        results.remove_data()
    results.saved_by = __version__
    with nullcontext(fname) if hasattr(fname, "write") else open(fname, "wb") as file:
        pickle.dump(shell, file)


def load(fname: str | Path | Any):
    """Load results saved by :meth:`BinaryGLMResults.save`.

    Unpickling runs code from the file: load only what you, or somebody you trust, saved.

    Parameters
    ----------
    fname : path or file
    """
    from gevglm.results.core import BinaryGLMResults

    with nullcontext(fname) if hasattr(fname, "read") else open(fname, "rb") as file:
        try:
            loaded = pickle.load(file)
        except (
            pickle.UnpicklingError,
            AttributeError,
            ImportError,
            EOFError,
            IndexError,
            KeyError,
            TypeError,
            ValueError,
        ) as error:
            raise InvalidDataError(
                f"{str(fname)!r} could not be loaded ({type(error).__name__}: {error}): it holds no results of gevglm, or was saved by another "
                f"version than this one, {__version__}."
            ) from None
    results = getattr(loaded, "_results", loaded)
    if not isinstance(results, BinaryGLMResults):
        raise InvalidDataError(f"{str(fname)!r} does not hold results of gevglm but a {type(loaded).__name__}.")
    by = getattr(results, "saved_by", __version__)
    if _parts(by) > _parts(__version__):
        warn(
            f"{str(fname)!r} was saved by gevglm {by}, which is newer than this one, {__version__}: predictions may differ from those of the "
            "version that fitted it; update gevglm.",
            GevglmWarning,
        )
    return loaded


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
