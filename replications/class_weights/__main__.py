"""Run the replication; its tables go to ``replications/class_weights/results``, its pictures to ``docs/figures``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from benchmarks.report import publish
from replications.class_weights.study import RESULTS, run


def main(words: Sequence[str] | None = None) -> None:
    """Run everything, and write the tables and pictures."""
    argparse.ArgumentParser(prog="python -m replications.class_weights", description=__doc__).parse_args(words)
    publish(RESULTS / "tables.md", run)


if __name__ == "__main__":
    main()
