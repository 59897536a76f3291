"""Run benchmarks, print their tables, and keep them in ``benchmarks/results``."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from benchmarks import (
    bias_simulation,
    calibration_inference,
    calibration_speed,
    cli_speed,
    convergence,
    core_speed,
    effects_simulation,
    firth_speed,
    larger_than_memory,
    memory,
    model_speed,
    search_speed,
    shape_simulation,
    sklearn_speed,
)
from benchmarks.report import publish

BENCHMARKS: dict[str, Callable[[], str]] = {
    "core_speed": core_speed.run,
    "model_speed": model_speed.run,
    "firth_speed": firth_speed.run,
    "memory": memory.run,
    "larger_than_memory": larger_than_memory.run,
    "convergence": convergence.run,
    "search_speed": search_speed.run,
    "cli_speed": cli_speed.run,
    "sklearn_speed": sklearn_speed.run,
    "calibration_speed": calibration_speed.run,
    "bias_simulation": bias_simulation.run,
    "calibration_inference": calibration_inference.run,
    "shape_simulation": shape_simulation.run,
    "effects_simulation": effects_simulation.run,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", nargs="*", help=f"{', '.join(BENCHMARKS)}; all of them by default")
    names = parser.parse_args().name or list(BENCHMARKS)
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    for name in names:
        publish(name, BENCHMARKS[name])


if __name__ == "__main__":
    main()
