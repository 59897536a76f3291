"""``gevglm average``."""

from __future__ import annotations

import argparse
from typing import Any

from gevglm.cli.messages import say
from gevglm.cli.options import add_command, add_reading, add_rows, check_level, level_named, number_or, row_words
from gevglm.options import bias_words

EXAMPLES = """examples:
  gevglm average "default ~ income + age" loans.csv
      risks averaged over 24 links, and the weights with which held-out outcomes are predicted best
  gevglm average "default ~ income + age" loans.csv --links logit,probit,cloglog --resamples 50 --save loans.pkl
      three links, saved with 50 resamples of the whole procedure, for 'gevglm predict --interval'
  gevglm average "onset ~ gdp + C(region)" war.dta --links logit,cloglog --cluster country --resamples 20 --html war.html
      countries kept together, and a report to read or print
"""


def add_to(commands: Any, title: str) -> None:
    """Add the command, with its title among all commands, to the parser."""
    text = "Average the risks that several links predict for a table ({formats}), with the weights that predict held-out outcomes best."
    parser = add_command(commands, "average", run, EXAMPLES, title, text)
    parser.add_argument("formula", help='such as "y ~ x1 + C(group)"')
    parser.add_argument("data", help="file with the table")
    group = parser.add_argument_group("average")
    links = "links without a shape, apart from each other by blanks or commas (default: logit, probit and the GEV links at several shapes)"
    group.add_argument("--links", nargs="+", metavar="LINK", help=links)
    what = "what penalties and weights make least on held-out rows"
    group.add_argument(
        "--criterion", choices=("log_loss", "brier"), default="log_loss", help=f"{what} (default: log_loss)"
    )
    group.add_argument("--folds", type=int, default=5, help="of the rows that are held out (default: 5)")
    group.add_argument(
        "--alpha", type=number_or("cv"), default="cv", help="ridge penalty, a number, or cv (the default)"
    )
    group.add_argument(
        "--bias", choices=bias_words(), metavar="METHOD", help=f"with --alpha 0: {', '.join(bias_words())}"
    )
    group.add_argument("--cluster", metavar="COLUMN", help="clusters that folds and resamples keep together")
    group.add_argument("--resamples", type=int, metavar="N", help="of the whole procedure, for intervals")
    group.add_argument("--seed", type=int, default=0, help="of folds and resamples (default: 0)")
    add_rows(parser)
    add_reading(parser)
    group = parser.add_argument_group("output")
    group.add_argument(
        "--level", type=float, default=0.95, help="coverage of the intervals of the report (default: 0.95)"
    )
    group.add_argument("--html", metavar="FILE", help="write a report, one file to read or print; needs --resamples")
    group.add_argument("--title", help="title of the report")
    group.add_argument("--save", metavar="FILE", help="save the average without the data, for 'gevglm predict'")
    group.add_argument("--json", metavar="FILE", help="write the numbers as JSON; - prints them instead of the summary")
    group.add_argument("--quiet", action="store_true", help="no progress on stderr")


def run(options: argparse.Namespace) -> None:
    """Average, print and write."""
    from gevglm._files import check_target, refuse_overwriting
    from gevglm.averaging import average_links
    from gevglm.cli.tables import read_table
    from gevglm.exceptions import InvalidOptionError

    check_level(options.level)
    if options.html and not options.resamples:
        raise InvalidOptionError(
            "--html shows intervals, which take resamples: give --resamples, such as --resamples 100."
        )
    targets = {"--html": options.html, "--save": options.save, "--json": options.json}
    for name in targets.values():
        if name not in (None, "-"):
            check_target(name)
    refuse_overwriting(targets, [options.data])
    frame = read_table(options.data, options)
    say(f"{options.data}: {len(frame):,} rows, {len(frame.columns)} columns", options.quiet)
    average = average_links(options.formula, frame, **_words(options, frame))
    if options.resamples:
        say(f"{options.resamples:,} resamples of the whole procedure", options.quiet)
        average.bootstrap(options.resamples, options.seed, progress=False if options.quiet else None)
    if options.json:
        _write_json(average, options)
    if options.json != "-":
        print(average.summary(), flush=True)
    if options.html:
        shown = {"resamples": options.resamples, "rng": options.seed, "alpha": round(1.0 - options.level, 12)}
        say(f"report: {average.report(options.html, title=options.title, **shown)}", options.quiet)
    if options.save:
        average.save(options.save)
        say(f"model: {options.save}", options.quiet)


def _words(options: argparse.Namespace, frame: Any) -> dict[str, Any]:
    """Return the arguments of :func:`gevglm.average_links` that were given."""
    words = row_words(options)
    words |= {name: getattr(options, name) for name in ("criterion", "alpha", "folds", "bias")}
    words |= {"groups": options.cluster, "rng": options.seed}
    if options.links:
        words["links"] = [link.strip() for word in options.links for link in word.split(",") if link.strip()]
    if options.event is not None:
        words["event"] = level_named(options.event, options.formula, frame)
    return words


def _write_json(average: Any, options: argparse.Namespace) -> None:
    from gevglm.averaging.summary import notes_on
    from gevglm.cli.numbers import number, write_numbers

    numbers = ("xi", "alpha", "weight", "log_loss", "brier")
    candidates = [
        {"name": name, "link": row["link"], "loss": row["loss"]} | {key: number(row[key]) for key in numbers}
        for name, row in average.weights.iterrows()
    ]
    content = {
        "formula": options.formula,
        "data": options.data,
        "criterion": average.criterion,
        "observations": number(average.nobs),
        "events": number(average.n_events),
        "log_loss": number(average.scores["log_loss"]),
        "brier": number(average.scores["brier"]),
        "certificate": number(average.certificate),
        "candidates": candidates,
        "left_out": average.left_out,
        "notes": notes_on(average),
    }
    write_numbers(content, options.json, options.quiet)
