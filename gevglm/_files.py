"""Files to write: refused before anything is computed, if that can be known; written aside, and put in place when they are complete."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
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
        if path.exists() and not os.access(path, os.W_OK):
            raise InvalidOptionError(f"{str(path)!r} may not be written to; give another name, or permit it.")
    except OSError as error:  # a name that is too long, say
        raise unwritable(path, error) from None
    return path


def refuse_overwriting(targets: Mapping[str, str | Path | None], sources: Iterable[str | Path]) -> None:
    """Refuse to write over a file that is read, or two files one over the other.

    Parameters
    ----------
    targets : dict
        From the options that name them to the files to write; None, and "-" for stdout, are not files.
    sources : iterable of paths
        The files that are read.
    """
    wanted = {option: Path(name) for option, name in targets.items() if name not in (None, "-")}
    read = [Path(name) for name in sources]
    before: dict[str, Path] = {}
    for option, path in wanted.items():
        if any(_same(path, other) for other in read):
            raise InvalidOptionError(
                f"{option} {str(path)!r} is a file that is read: it would be lost; give another name."
            )
        twice = next((name for name, other in before.items() if _same(path, other)), None)
        if twice is not None:
            raise InvalidOptionError(
                f"{twice} and {option} are the same file, {str(path)!r}: one would overwrite the other."
            )
        before[option] = path


def _same(one: Path, other: Path) -> bool:
    """Whether two names are those of one file; devices and pipes are not files that could be lost."""
    if one.exists() and other.exists():
        return one.is_file() and one.samefile(other)
    return one.resolve() == other.resolve()


@contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file beside the one to write, which takes its place when it is complete and on the disk.

    Whatever goes wrong, the earlier file is whole. The file beside it has a name of its own, which begins with a dot and does not end like data: it
    is removed after an error, and where a process is killed it is left behind, but never read as data.

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
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
    unfinished = target.with_name(f".{target.name[:40]}.{secrets.token_hex(8)}.unfinished")
    try:
        with open(unfinished, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, unfinished)
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


@contextmanager
def writing(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file to write as :func:`replacing` does; errors of the disk become errors that name the file."""
    try:
        with replacing(path) as file:
            yield file
    except OSError as error:
        raise unwritable(path, error) from None


def write_text(path: str | Path, text: str) -> None:
    """Write a text file, as UTF-8.

    Parameters
    ----------
    path : path
    text : str
    """
    with writing(path) as file:
        file.write(text.encode("utf-8"))


def unwritable(path: str | Path, error: OSError) -> GevglmError:
    """Return what to raise where a file could not be written."""
    return GevglmError(f"{str(path)!r} could not be written: {error.strerror or error}.")
