"""Run what is missing in the records, then write the tables."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from replications.averaging_links import report, study


def main(words: Sequence[str] | None = None) -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(prog="python -m replications.averaging_links", description=__doc__)
    parser.add_argument("--splits", type=int, default=10, help="of each of the twelve tasks")
    parser.add_argument("--further", type=int, default=10, help="splits of each of the eight further tasks")
    options = parser.parse_args(words)
    study.run_twelve(options.splits)
    study.run_further(options.further)
    report.write(study.RESULTS)


if __name__ == "__main__":
    main()
