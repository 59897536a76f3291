"""``gevglm fit``."""

from __future__ import annotations

import argparse
from typing import Any

from gevglm.cli.messages import say
from gevglm.cli.options import add_command, add_link, add_model, add_reading, check_level, fit_words, model_words
from gevglm.options import code_of

EXAMPLES = """examples:
  gevglm fit "default ~ income + age" loans.csv --xi 0.5
      GEV link with its canonical loss, the summary on stdout
  gevglm fit "default ~ income + age" loans.csv --link logit --bias firth --html report.html
      logistic regression with reduced bias, and a report to read or print
  gevglm fit "onset ~ gdp + C(region)" war.dta --xi ml --loss log --cluster country --save war.pkl
      the shape by maximum likelihood, errors clustered by country, the model saved for 'gevglm predict'
  gevglm fit "default ~ income + C(region)" loans.csv --link logit --odds-ratios --anova
      odds ratios, and a test of each term; of a region as a whole
  gevglm fit "onset ~ gdp | country" war.dta --link logit --bias firth
      a constant for each country, estimated and not shown
  gevglm fit "case ~ smoker + age" study.parquet --link cloglog --prevalence 0.02 --json study.json
      a case-control sample, coefficients and risks of a population with 2 % cases
"""


def add_to(commands: Any, title: str) -> None:
    """Add the command, with its title among all commands, to the parser."""
    text = (
        "Fit a regression of a binary outcome to a table: {formats}; or to a folder or pattern of csv or parquet files."
    )
    parser = add_command(commands, "fit", run, EXAMPLES, title, text)
    parser.add_argument("formula", help='such as "y ~ x1 + C(group)"')
    parser.add_argument("data", help="file with the table")
    add_link(parser)
    add_model(parser)
    add_reading(parser)
    group = parser.add_argument_group("output")
    group.add_argument("--level", type=float, default=0.95, help="coverage of the intervals (default: 0.95)")
    ratios = "odds ratios (logit) or hazard ratios (cloglog) instead of coefficients"
    group.add_argument("--odds-ratios", action="store_true", help=ratios)
    terms = "test the terms of the formula too: I, II (default) or III"
    group.add_argument("--anova", nargs="?", const="II", choices=("I", "II", "III"), metavar="TYPE", help=terms)
    group.add_argument("--html", metavar="FILE", help="write a report, one file to read or print")
    group.add_argument("--title", help="title of the report")
    group.add_argument("--checklist", choices=("tripod+ai",), help="a reporting guideline that the report answers")
    group.add_argument("--save", metavar="FILE", help="save the model without the data, for 'gevglm predict'")
    group.add_argument("--json", metavar="FILE", help="write the numbers as JSON; - prints them instead of the summary")
    group.add_argument("--quiet", action="store_true", help="no progress on stderr")


def _absorbs(options: argparse.Namespace) -> bool:
    """Whether the formula has constants after a |; what goes with coefficients of all terms is then refused."""
    from gevglm.data.dialect import parts_by_bar
    from gevglm.exceptions import IncompatibleOptionsError

    if len(parts_by_bar(options.formula.partition("~")[2])) < 2:
        return False
    for word in ("html", "save", "anova", "odds_ratios"):
        if getattr(options, word):
            raise IncompatibleOptionsError(
                f"--{word.replace('_', '-')} does not go with constants after a |; leave it out, or have C(unit) among the terms."
            )
    return True


def run(options: argparse.Namespace) -> None:
    """Fit, print and write."""
    from gevglm._files import check_target, refuse_overwriting
    from gevglm.cli.tables import files_of

    check_level(options.level)
    targets = {"--html": options.html, "--save": options.save, "--json": options.json}
    for name in targets.values():
        if name not in (None, "-"):
            check_target(name)
    refuse_overwriting(targets, files_of(options.data))
    model_words(options)  # refused before the data are read
    absorbs = _absorbs(options)
    data = _data(options, whole=absorbs)
    words = fit_words(options, data)
    from gevglm.api import fit

    results = fit(options.formula, data, **words)
    alpha = round(1.0 - options.level, 12)
    if options.json:
        from gevglm.cli.numbers import numbers_of, numbers_within_units, write_numbers

        numbers = numbers_within_units if absorbs else numbers_of
        write_numbers(numbers(results, options.formula, options.data, alpha), options.json, options.quiet)
    if options.json != "-":
        shown = {} if absorbs else {"exponentiate": options.odds_ratios}
        print(results.summary(alpha=alpha, **shown), flush=True)
        if options.anova:
            print(f"\n{results.anova(options.anova)}", flush=True)
    if options.html:
        say("writing the report", options.quiet)
        shown = {
            "title": options.title,
            "alpha": alpha,
            "checklist": options.checklist,
            "progress": False if options.quiet else None,
        }
        path = results.report(options.html, code=_code(options, data, words), **shown)
        say(f"report: {path}", options.quiet)
    if options.save:
        results.save(options.save)
        say(f"model: {options.save}", options.quiet)


def _data(options: argparse.Namespace, *, whole: bool = False) -> Any:
    from gevglm.cli.tables import comes_in_pieces, read_table

    plain = (options.sep, options.encoding, options.decimal) == (None, None, ".")
    if plain and not whole and comes_in_pieces(options.data):
        say(f"{options.data} is read in pieces", options.quiet)
        return options.data
    frame = read_table(options.data, options)
    say(f"{options.data}: {len(frame):,} rows, {len(frame.columns)} columns", options.quiet)
    return frame


def _code(options: argparse.Namespace, data: Any, words: dict[str, Any]) -> str:
    """Return the Python that does the same."""
    from gevglm.cli.tables import reading_code
    from gevglm.report.code import call

    options_of_fit = {name: code_of(word, name) for name, word in words.items()}
    if isinstance(data, str):
        lines = ["import gevglm", "", call(f"{options.formula!r}, {data!r}", options_of_fit)]
    else:
        reading = f"data = {reading_code(options.data, options.sep, options.encoding, options.decimal)}"
        fitting = call(f"{options.formula!r}, data", options_of_fit)
        lines = ["import gevglm", "import pandas as pd", "", reading, fitting]
    return "\n".join([*lines, "print(results.summary())", f"results.report({options.html!r})"])
