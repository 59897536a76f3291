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


def is_meant(module: str, asked: list[str]) -> bool:
    """Whether one of the words is the name of a module, group.name, or a part of it."""
    return not {module, *module.split(".")}.isdisjoint(asked)


def main() -> None:
    """Run the benchmarks that the command names."""
    declared, reports = with_function("tasks"), with_function("run")
    known = [*dict.fromkeys([*declared, *reports])]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "name", nargs="*", help=f"{', '.join(known)}, or one part of a name; the table of speed by default"
    )
    asked = parser.parse_args().name
    unknown = [name for name in asked if not any(is_meant(module, [name]) for module in known)]
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(known)}")
    chosen = [module for module in declared if not asked or is_meant(module, asked)]
    if chosen:
        tasks = [task for module in chosen for task in import_module(f"benchmarks.{module}").tasks()]
        print(record.keep(record.measure(tasks), record.committed()), flush=True)
        claims.update(record.read())
    for module in reports:
        if is_meant(module, asked):
            publish(RESULTS / f"{module.replace('.', '/')}.md", import_module(f"benchmarks.{module}").run)


if __name__ == "__main__":
    try:
        main()
    except ModuleNotFoundError as error:
        raise SystemExit(f"{error}; `make .venv/bench.stamp` installs what gevglm is compared with.") from None
