"""Files to write: refused before anything is computed, if that can be known, with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from gevglm.exceptions import GevglmError, InvalidOptionError


def check_target(path: str | Path) -> Path:
    """Return the path of a file to write, or say why it cannot be one.

    Parameters
    ----------
    path : path
    """
    path = Path(path)
    try:
        if path.is_dir():
            raise InvalidOptionError(f"{str(path)!r} is a folder; give the name of a file in it.")
        if not path.parent.is_dir():
            raise InvalidOptionError(
                f"there is no folder {str(path.parent)!r} to write {path.name!r} to; create it first."
            )
    except OSError as error:  # a name that is too long, say
        raise unwritable(path, error) from None
    return path


@contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file beside the one to write, which takes its place when it is complete: nothing is left half written.

    Parameters
    ----------
    path : path
        What is not a file (a pipe, a terminal) is written to directly.
    """
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        with open(target, "wb") as file:
            yield file
        return
    unfinished = target.with_name(f".{target.name}.unfinished")
    try:
        with open(unfinished, "wb") as file:
            yield file
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def write_text(path: str | Path, text: str) -> None:
    """Write a text file, as UTF-8.

    Parameters
    ----------
    path : path
    text : str
    """
    try:
        with replacing(path) as file:
            file.write(text.encode("utf-8"))
    except OSError as error:
        raise unwritable(path, error) from None


def unwritable(path: str | Path, error: OSError) -> GevglmError:
    """Return what to raise where a file could not be written."""
    return GevglmError(f"{str(path)!r} could not be written: {error.strerror or error}.")
