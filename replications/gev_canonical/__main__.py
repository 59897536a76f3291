"""Replicate the GEV-canonical paper: records of all splits and draws, tables, pictures.

What is in the files of records is not run again; delete ``replications/gev_canonical/results/*.csv.gz`` to start afresh.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from gevglm.engine.memory import available_cores
from replications.gev_canonical import report, study
from replications.gev_canonical.synthetic import REPETITIONS
from replications.gev_canonical.tasks import TASKS


def main(words: Sequence[str] | None = None) -> None:
    """Run what is missing, then write the tables and pictures."""
    parser = argparse.ArgumentParser(prog="python -m replications.gev_canonical", description=__doc__)
    parser.add_argument(
        "--tasks", nargs="+", choices=list(TASKS), default=list(TASKS), help="UCI tasks; all by default"
    )
    parser.add_argument("--splits", type=int, default=study.SPLITS_OF_A_TASK, help="splits of each task")
    parser.add_argument("--draws", type=int, default=REPETITIONS, help="draws of each synthetic sample; 0 for none")
    parser.add_argument("--processes", type=int, default=available_cores(), help="splits at a time")
    parser.add_argument("--results", type=Path, default=study.RESULTS, help="folder of records and tables")
    options = parser.parse_args(words)
    study.run_splits(options.results, options.tasks, options.splits, options.processes)
    study.run_draws(options.results, options.draws, options.processes)
    report.write(options.results)
    print(f"tables: {options.results}")


if __name__ == "__main__":
    main()
