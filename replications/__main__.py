"""Run every replication, or those named; what cannot be had is named and skipped."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path

from gevglm.exceptions import MissingDatasetError

PAPERS = (
    "gev_canonical",
    "averaging_links",
    "piecewise_logistic",
    "class_weighting",
    "class_weights",
)  # the second uses records of the first


def main() -> None:
    """Run the replications that the command names."""
    parser = argparse.ArgumentParser(prog="python -m replications", description=__doc__)
    parser.add_argument("paper", nargs="*", help=f"{', '.join(PAPERS)}; all of them by default")
    parser.add_argument("--fresh", action="store_true", help="run everything anew, not only what the records lack")
    options = parser.parse_args()
    asked = options.paper or PAPERS
    unknown = [paper for paper in asked if paper not in PAPERS]
    if unknown:
        parser.error(f"no replication is called {', '.join(unknown)}; there are {', '.join(PAPERS)}")
    for paper in asked:
        print(f"== {paper}", file=sys.stderr, flush=True)
        if options.fresh:
            for records in (Path(__file__).parent / paper / "results").glob("*.csv*"):
                records.unlink()
        before = _processor_seconds()
        try:
            import_module(f"replications.{paper}.__main__").main([])
        except MissingDatasetError as missing:
            print(f"{paper} skipped: {missing}", file=sys.stderr, flush=True)
        print(f"{paper}: {(_processor_seconds() - before) / 60:.1f} processor minutes", file=sys.stderr, flush=True)


def _processor_seconds() -> float:
    """Processor time of this process and of those it has waited for."""
    taken = os.times()
    return taken.user + taken.system + taken.children_user + taken.children_system


if __name__ == "__main__":
    main()
