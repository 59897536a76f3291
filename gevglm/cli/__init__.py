"""The command line: one file per command."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from gevglm import __version__

COMMANDS = {  # what each does; its module is imported when it is asked for
    "fit": "fit a model to a table, print its summary",
    "predict": "predict risks by a saved model",
    "update": "bring a saved model up to date with new data",
    "calculator": "write a page that computes risks by a saved model",
    "effects": "fit a model, print effects of its variables on the risk",
    "average": "average the risks of several links, the best way to predict",
    "compare": "fit several links or formulas, compare them",
    "calibrate": "check predicted probabilities, or turn scores into some",
    "demo": "simulate a rare-event study, fit it, write pictures and a report",
    "completion": "print what makes a shell complete commands and options",
}
USAGE, FAILURE, INTERRUPTED = 2, 1, 130  # exit codes


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, 1 if it failed, 2 if it was not understood."""
    argv = sys.argv[1:] if argv is None else list(argv)
    options = parser_for(argv).parse_args(argv)
    from gevglm.cli.messages import in_options, plain_warnings, say
    from gevglm.exceptions import GevglmError, IncompatibleOptionsError, InvalidOptionError

    try:
        with plain_warnings():
            options.run(options)
            sys.stdout.flush()
    except GevglmError as error:
        say(f"gevglm {options.command}: error: {in_options(str(error))}")
        return USAGE if isinstance(error, (InvalidOptionError, IncompatibleOptionsError)) else FAILURE
    except BrokenPipeError:  # the reader of the output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE
    except OSError as error:  # a disk that is full, a file that may not be read
        say(f"gevglm {options.command}: error: {error}")
        return FAILURE
    except KeyboardInterrupt:
        say(f"gevglm {options.command}: interrupted")
        return INTERRUPTED
    return 0


def parser_for(argv: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of a command line: all commands by name, the first word with its options if it is one of them."""
    parser = argparse.ArgumentParser(
        prog="gevglm",
        description="Regression for binary outcomes when one class is rare.",
        epilog="Each command has its own help: gevglm fit --help. Results go to stdout, progress and warnings to stderr.",
    )
    parser.add_argument("--version", action="version", version=f"gevglm {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for name, title in COMMANDS.items():
        if argv[:1] == [name]:
            import_module(f"gevglm.cli.{name}").add_to(commands, title)
        else:
            commands.add_parser(name, help=title)
    return parser
