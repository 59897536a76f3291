"""The current iterate of a fit in a file, so that an interrupted fit can go on."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gevglm._files import check_target, write_text
from gevglm.exceptions import InvalidOptionError, listed

SECONDS = 1.0  # at least, between two writings


class Checkpoint:
    """The last coefficients of each fit that an estimate consists of (one for every shape that is tried), in a file.

    The file is read if it exists, so that the fit goes on from there. Fits in several threads may share it.
    """

    def __init__(self, path: str | Path, names: list[str]):
        self.path = check_target(path)
        self.names = [str(name) for name in names]
        self._left: dict[str, list[float]] = self._read() if self.path.exists() else {}
        self._iterates = dict(self._left)
        self._written = time.monotonic()
        self._ended = False
        self._lock = threading.RLock()

    def start(self, fit: str) -> NDArray | None:
        """Return where a fit was left when the file was written, once."""
        left = self._left.pop(fit, None)
        return None if left is None else np.array(left)

    def keep(self, fit: str, params: NDArray) -> None:
        """Keep an iterate, if it is one of these coefficients and the estimate has not ended."""
        if len(params) != len(self.names):
            return
        with self._lock:
            if self._ended:
                return
            self._iterates[fit] = [float(value) for value in params]
            if time.monotonic() - self._written > SECONDS:
                self.write()

    def write(self) -> None:
        """Write the file, which is replaced when it is complete."""
        with self._lock:
            if self._iterates:
                write_text(self.path, json.dumps({"coefficients": self.names, "iterates": self._iterates}))
                self._written = time.monotonic()

    def remove(self) -> None:
        """Remove the file for good, after the estimate has ended."""
        with self._lock:
            self._ended = True
            self.path.unlink(missing_ok=True)

    def _read(self) -> dict[str, list[float]]:
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
            names, iterates = content["coefficients"], dict(content["iterates"])
        except (ValueError, KeyError, TypeError):
            raise InvalidOptionError(
                f"resume={str(self.path)!r} is not a checkpoint of a fit; give the name of one, or of a new file."
            ) from None
        if names != self.names:
            raise InvalidOptionError(
                f"resume={str(self.path)!r} is the checkpoint of another model, with the coefficients {listed(names)}; "
                f"this one has {listed(self.names)}. Remove the file, or give another name."
            )
        for fit, iterate in iterates.items():
            if not _is_iterate(iterate, len(names)):
                raise InvalidOptionError(
                    f"resume={str(self.path)!r} is damaged: the iterate of {fit!r} is {str(iterate)[:60]}, where there should be a number for each of "
                    f"the {len(names)} coefficients. Remove the file, and the fit begins anew."
                )
        return iterates


def _is_iterate(values: Any, length: int) -> bool:
    """Whether what a file holds is one number for each coefficient; a fit that went astray may have left infinite ones."""
    return isinstance(values, list) and len(values) == length and all(type(value) in (int, float) for value in values)
