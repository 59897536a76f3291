"""``gevglm calculator``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from gevglm.cli.messages import say
from gevglm.cli.options import add_command, add_reading, check_level
from gevglm.cli.predict import load_model

EXAMPLES = """examples:
  gevglm calculator stroke.pkl risk.html
      one page to open in a browser: it needs no network, and holds no rows of the data
  gevglm calculator stroke.pkl risk.html --title "Risk of stroke within a year" --label age=Age smoker="Smokes daily" --unit age=years
      in words that its users know
  gevglm calculator stroke.pkl risk.html --value smoker:0=no smoker:1=yes --reference age=50 --note "For adults without a stroke so far."
      what the values 0 and 1 mean, whom those typed are compared with, and whom the page is for

A saved model is a Python pickle: loading it runs code that is in the file. Load only models that you, or someone you trust, saved.
"""


def add_to(commands: Any, title: str) -> None:
    """Add the command, with its title among all commands, to the parser."""
    text = "Write a page with a calculator of the risk, its interval and what moved it, by a model saved with 'gevglm fit --save'."
    parser = add_command(commands, "calculator", run, EXAMPLES, title, text)
    parser.add_argument("model", help="file written by --save; only from people you trust")
    parser.add_argument("page", help="file to write, such as risk.html")
    parser.add_argument("--title", help="title of the page")
    pairs: dict[str, Any] = {"nargs": "+", "default": [], "action": "extend"}
    parser.add_argument(
        "--label", metavar="COLUMN=TEXT", **pairs, help="what columns, and the outcome, are called on the page"
    )
    parser.add_argument("--unit", metavar="COLUMN=UNIT", **pairs, help="units of columns")
    parser.add_argument("--value", metavar="COLUMN:VALUE=TEXT", **pairs, help="what values are called")
    parser.add_argument(
        "--reference", metavar="COLUMN=VALUE", **pairs, help="values that those typed are compared with"
    )
    parser.add_argument("--note", default="", help="what users should know: whom the model is for, who made it")
    parser.add_argument(
        "--data", metavar="FILE", help="rows that ranges are taken from, if the model does not know them"
    )
    parser.add_argument("--level", type=float, default=0.95, help="coverage of the interval (default: 0.95)")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    add_reading(parser)


def run(options: argparse.Namespace) -> None:
    """Load the model and write the page."""
    from gevglm._files import check_target, refuse_overwriting
    from gevglm.cli.tables import read_table
    from gevglm.exceptions import InvalidOptionError

    check_level(options.level)
    check_target(options.page)
    refuse_overwriting({"page": options.page}, [options.model, *([options.data] if options.data else [])])
    results = load_model(options.model)
    if not hasattr(results, "scoring_formula"):
        raise InvalidOptionError(
            f"{options.model!r} holds a {type(results).__name__}, whose risks have no limits in a formula; save a fit with 'gevglm fit --save'."
        )
    inputs = {each.column.name: each for each in results.scoring_formula.inputs}
    levels: dict[str, dict[Any, str]] = {}
    for place, word in _pairs("--value", options.value):
        name, colon, value = place.partition(":")
        if not colon:
            raise InvalidOptionError(f"--value {place}={word} is not of the form COLUMN:VALUE=TEXT.")
        levels.setdefault(name, {})[_typed(inputs.get(name), value)] = word
    reference = {name: _typed(inputs.get(name), value) for name, value in _pairs("--reference", options.reference)}
    path = results.calculator(
        options.page,
        title=options.title,
        labels=dict(_pairs("--label", options.label)),
        units=dict(_pairs("--unit", options.unit)),
        levels=levels,
        reference=reference,
        note=options.note,
        alpha=round(1.0 - options.level, 12),
        data=read_table(options.data, options) if options.data else None,
    )
    say(f"calculator: {path}", options.quiet)


def _pairs(option: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    """Return names with what is given for them."""
    from gevglm.exceptions import InvalidOptionError

    found = [text.partition("=") for text in texts]
    for name, sign, value in found:
        if not sign:
            raise InvalidOptionError(f"{option} {name}{value} is not of the form NAME=TEXT.")
    return [(name, value) for name, _, value in found]


def _typed(column: Any, text: str) -> Any:
    """Return a value in the type of its column."""
    if column is None or column.column.kind == "text":
        return text
    if column.column.kind == "boolean":
        return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(text.lower(), text)
    try:
        return float(text)
    except ValueError:
        return text
