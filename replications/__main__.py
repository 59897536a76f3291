"""Run every replication, or those named; what cannot be had is named and skipped."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from gevglm.exceptions import MissingDatasetError

PAPERS = ("gev_canonical", "piecewise_logistic", "class_weighting", "class_weights")


def main() -> None:
    """Run the replications that the command names."""
    parser = argparse.ArgumentParser(prog="python -m replications", description=__doc__)
    parser.add_argument("paper", nargs="*", help=f"{', '.join(PAPERS)}; all of them by default")
    asked = parser.parse_args().paper or PAPERS
    unknown = [paper for paper in asked if paper not in PAPERS]
    if unknown:
        parser.error(f"no replication is called {', '.join(unknown)}; there are {', '.join(PAPERS)}")
    for paper in asked:
        print(f"== {paper}", file=sys.stderr, flush=True)
        try:
            import_module(f"replications.{paper}.__main__").main([])
        except MissingDatasetError as missing:
            print(f"{paper} skipped: {missing}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
