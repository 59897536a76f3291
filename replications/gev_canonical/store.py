"""Jobs in parallel, their records appended to a compressed csv file as they finish; what is in the file is not run again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd

from gevglm.engine.monitor import progress_bar
from replications.common.records import append

Job = tuple[Any, ...]


def finished(path: Path, keys: Sequence[str], methods: Sequence[str]) -> set[Job]:
    """Return the jobs whose records of all methods are in the file."""
    if not path.exists():
        return set()
    found = pd.read_csv(path).groupby(list(keys))["method"].agg(set)
    return {job for job, have in found.items() if have >= set(methods)}


def read(path: Path, columns: Sequence[str], keys: Sequence[str]) -> pd.DataFrame:
    """Return the records in the file, the last one where a job was run again because it got another method."""
    table = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=list(columns))
    return table.drop_duplicates(list(keys), keep="last")


def run(
    path: Path,
    columns: Sequence[str],
    jobs: Sequence[Job],
    work: Callable[..., list[dict]],
    processes: int,
    *,
    progress: bool = True,
) -> None:
    """Run jobs in processes of their own and append their records.

    Parameters
    ----------
    path : Path
        The csv.gz file.
    columns : sequence of str
        Of the file.
    jobs : sequence of tuple
        Arguments of `work`, the longest first.
    work : callable
        Returns the records of a job.
    processes : int
    progress : bool
        Show a bar on stderr.
    """
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        pending = [pool.submit(work, *job) for job in jobs]
        for done in progress_bar(as_completed(pending), len(pending), progress):
            table = pd.DataFrame(done.result(), columns=list(columns))
            append(path, table)
