"""Records of draws in compressed csv files that grow as draws are finished."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pandas as pd


def append(path: Path, records: pd.DataFrame, **options: Any) -> None:
    """Add rows to a ``.csv.gz`` file; options are those of ``to_csv``.

    The file is replaced as a whole: an interrupted run leaves a whole file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    before = gzip.decompress(path.read_bytes()) if path.exists() else b""
    rows = records.to_csv(index=False, header=not before, **options).encode()
    aside = path.with_name(f"{path.name}.part")
    aside.write_bytes(gzip.compress(before + rows, mtime=0))  # the same bytes whenever it is written
    aside.replace(path)
