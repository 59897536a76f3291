"""The command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        The words after ``gevglm``; those of the process by default.
    """
    parser = argparse.ArgumentParser(
        prog="gevglm", description="Regression for binary outcomes when one class is rare."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="simulate a rare-event study, fit it, print the summary, save a picture")
    demo.add_argument("--folder", default="demo-output", help="where the picture goes (default: demo-output)")
    options = parser.parse_args(argv)

    from gevglm.demo import run

    run(options.folder)
    return 0
