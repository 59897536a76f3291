"""The tests of a scan in a file, so that an interrupted scan can go on."""

from __future__ import annotations

import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gevglm._files import check_target, writing
from gevglm.exceptions import InvalidOptionError

SECONDS = 5.0  # at least, between two writings
SHARE = 20.0  # times as long as the last writing took, at least


class ScanFile:
    """The tables of the chunks that were tested, in their order; in a file, if there is one."""

    def __init__(self, path: Path | None, fingerprint: str):
        self.path, self.fingerprint = path, fingerprint
        self.parts: list[pd.DataFrame] = self._read(path) if path is not None and path.exists() else []
        self._due = time.monotonic() + SECONDS

    @classmethod
    @contextmanager
    def kept(cls, resume: Any, fingerprint: Callable[[], str]) -> Iterator[ScanFile]:
        """Keep tests in a file: read if it exists, written from time to time and when the scan is interrupted, removed at its end."""
        path = None if resume is None else check_target(resume)
        file = cls(path, "" if path is None else fingerprint())
        try:
            yield file
        except BaseException:
            file.write()
            raise
        if path is not None:
            path.unlink(missing_ok=True)

    def keep(self, part: pd.DataFrame) -> None:
        """Keep the tests of one chunk more."""
        self.parts.append(part)
        if self.path is not None and time.monotonic() > self._due:
            self.write()

    def write(self) -> None:
        """Write the file, which is replaced when it is complete."""
        if self.path is None or not self.parts:
            return
        began = time.monotonic()
        arrays: dict[str, Any] = {"fingerprint": self.fingerprint, "lengths": [len(part) for part in self.parts]}
        for name, values in pd.concat(self.parts, ignore_index=True).items():
            if values.dtype.kind == "f":
                arrays[f"numbers {name}"] = values.to_numpy()
            else:
                codes, texts = pd.factorize(values)
                arrays |= {f"codes {name}": codes, f"texts {name}": np.asarray(texts, dtype=str)}
        with writing(self.path) as file:
            np.savez(file, **arrays)
        self._due = time.monotonic() + max(SECONDS, SHARE * (time.monotonic() - began))

    def _read(self, path: Path) -> list[pd.DataFrame]:
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as content:
                arrays = {name: content[name] for name in content.files}
            fingerprint, lengths = str(arrays.pop("fingerprint")), arrays.pop("lengths")
            table = pd.DataFrame(
                {name.partition(" ")[2]: _values(name, arrays) for name in arrays if name[:5] != "texts"}
            )
            ends = np.cumsum(lengths)
            parts = [table.iloc[end - length : end] for end, length in zip(ends, lengths, strict=True)]
        except (ValueError, KeyError, IndexError, EOFError, OSError, zipfile.BadZipFile):
            raise InvalidOptionError(
                f"resume={str(path)!r} is not a file of a scan, or damaged; give the name of one, or of a new file."
            ) from None
        if fingerprint != self.fingerprint:
            raise InvalidOptionError(
                f"resume={str(path)!r} is the file of another scan: of other data, columns or options. Remove it, or give another name."
            )
        return parts


def _values(name: str, arrays: dict[str, Any]) -> Any:
    kind, _, column = name.partition(" ")
    return arrays[name] if kind == "numbers" else arrays[f"texts {column}"][arrays[name]].tolist()
