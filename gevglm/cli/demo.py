"""``gevglm demo``."""

from __future__ import annotations

import argparse
from typing import Any


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "demo",
        help="simulate a rare-event study, fit it, write pictures and a report",
        description="Simulate a rare-event study, fit it, print the summary, save pictures and a report.",
    )
    parser.add_argument("--folder", default="demo-output", help="where pictures and report go (default: demo-output)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Run the demo."""
    from gevglm.cli.demonstration import run as run_demo

    run_demo(options.folder)
