"""``gevglm update``."""

from __future__ import annotations

import argparse
from typing import Any

from gevglm.cli.messages import say
from gevglm.cli.options import add_command, add_reading

EXAMPLES = """examples:
  gevglm update war.pkl new.csv --save updated.pkl
      test whether the model has to change for new data, and save what it becomes
  gevglm update war.pkl new.csv --how constant --cluster country
      estimate a new constant, with standard errors by clusters

A saved model is a Python pickle: loading it runs code that is in the file. Load only models that you, or someone you trust, saved.
"""
HOW = ("auto", "none", "constant", "slope", "refit")


def add_to(commands: Any, title: str) -> None:
    """Add the command, with its title among all commands, to the parser."""
    text = "Bring a model saved with 'gevglm fit --save' up to date with new rows that have outcomes ({formats})."
    parser = add_command(commands, "update", run, EXAMPLES, title, text)
    parser.add_argument("model", help="file written by --save; only from people you trust")
    parser.add_argument("data", help="file with the new rows and their outcomes")
    how = "what is estimated anew: %(choices)s; by default (auto) a closed test chooses"
    parser.add_argument("--how", choices=HOW, default="auto", metavar="HOW", help=how)
    parser.add_argument("--alpha", type=float, default=0.05, help="level of the tests (default: 0.05)")
    parser.add_argument("--cluster", metavar="COLUMN", help="clusters of the new rows")
    parser.add_argument("--save", metavar="FILE", help="save the updated model without the data")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    add_reading(parser)


def run(options: argparse.Namespace) -> None:
    """Update, print the summary, save if asked to."""
    from gevglm._files import check_target, refuse_overwriting
    from gevglm.cli.predict import load_model
    from gevglm.cli.tables import read_table
    from gevglm.exceptions import InvalidOptionError

    if options.save:
        check_target(options.save)
        refuse_overwriting({"--save": options.save}, [options.data])
    results = load_model(options.model)
    if not hasattr(results, "update"):
        raise InvalidOptionError(
            f"{options.model!r} holds a {type(results).__name__}, which has no coefficients to update; give a fit."
        )
    updated = results.update(
        read_table(options.data, options), options.how, groups=options.cluster, alpha=options.alpha
    )
    print(updated.summary(), flush=True)
    if options.save:
        updated.save(options.save)
        say(f"model: {options.save}", options.quiet)
