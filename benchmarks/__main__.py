"""Run benchmarks, print their tables, and keep them in ``benchmarks/results``."""

from __future__ import annotations

import argparse
from importlib import import_module

from benchmarks.report import RESULTS, publish

BENCHMARKS = {
    "speed": (
        "core",
        "model",
        "many",
        "firth",
        "scan",
        "memory",
        "larger_than_memory",
        "search",
        "cli",
        "sklearn",
        "calibration",
    ),
    "simulation": ("convergence", "bias", "calibration", "shape", "effects"),
}


def main() -> None:
    """Run the benchmarks that the command names."""
    known = [f"{group}.{name}" for group, names in BENCHMARKS.items() for name in names]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", nargs="*", help=f"{', '.join([*BENCHMARKS, *known])}; all of them by default")
    asked = parser.parse_args().name or list(BENCHMARKS)
    unknown = [name for name in asked if name not in [*BENCHMARKS, *known]]
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join([*BENCHMARKS, *known])}")
    for name in known:
        if name in asked or name.partition(".")[0] in asked:
            publish(RESULTS / f"{name.replace('.', '/')}.md", import_module(f"benchmarks.{name}").run)


if __name__ == "__main__":
    main()
