"""Run benchmarks, print their tables, and keep them in ``benchmarks/results``."""

from __future__ import annotations

import argparse
import pkgutil
from importlib import import_module

import benchmarks.simulation
import benchmarks.speed
from benchmarks import claims
from benchmarks.report import RESULTS, publish
from benchmarks.speed import record

GROUPS = {"speed": benchmarks.speed, "simulation": benchmarks.simulation}


def with_function(name: str) -> list[str]:
    """Return the modules, as group.name, that have a function of that name: ``tasks`` or ``run``."""
    modules = [
        f"{group}.{each.name}" for group, package in GROUPS.items() for each in pkgutil.iter_modules(package.__path__)
    ]
    return [module for module in modules if hasattr(import_module(f"benchmarks.{module}"), name)]


def main() -> None:
    """Run the benchmarks that the command names."""
    declared, reports = with_function("tasks"), with_function("run")
    known = {module.partition(".")[2]: module for module in declared} | {module: module for module in reports}
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", nargs="*", help=f"{', '.join([*known, 'simulation'])}; the table of speed by default")
    asked = parser.parse_args().name or [module.partition(".")[2] for module in declared]
    unknown = [name for name in asked if name not in {*known, "simulation"}]
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join([*known, 'simulation'])}")
    chosen = [known[name] for name in asked if name in known and known[name] in declared]
    if chosen:
        tasks = [task for module in chosen for task in import_module(f"benchmarks.{module}").tasks()]
        before = record.read()
        print(record.keep(record.measure(tasks), before), flush=True)
        claims.update(record.read())
    for module in reports:
        group, _, name = module.partition(".")
        if name in asked or group in asked:
            publish(RESULTS / f"{module.replace('.', '/')}.md", import_module(f"benchmarks.{module}").run)


if __name__ == "__main__":
    main()
