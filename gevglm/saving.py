"""Results in files."""

from __future__ import annotations

import pickle
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from gevglm._version import __version__
from gevglm.exceptions import InvalidDataError


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
    from gevglm.results import BinaryGLMResults

    with nullcontext(fname) if hasattr(fname, "read") else open(fname, "rb") as file:
        loaded = pickle.load(file)
    if not isinstance(getattr(loaded, "_results", loaded), BinaryGLMResults):
        raise InvalidDataError(f"{str(fname)!r} does not hold results of gevglm but a {type(loaded).__name__}.")
    return loaded
