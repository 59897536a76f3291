"""``gevglm effects``."""

from __future__ import annotations

import argparse
from typing import Any

from gevglm.cli.messages import say
from gevglm.cli.options import add_command, add_link, add_model, add_reading, check_level, fit_words

EXAMPLES = """examples:
  gevglm effects "default ~ income * age + C(region)" loans.csv
      the average effect of every variable on the risk: slopes of numbers, differences of levels
  gevglm effects "default ~ income + age" loans.csv --of income --at 20,40 --contrast ratio
      the risk ratio of an income of 40 and one of 20, everything else unchanged
  gevglm effects "case ~ smoker + age" study.parquet --of smoker --by town --nnt -o effects.csv
      risk differences within towns, the number needed to treat, and the table in a file
"""
MOVES = ("unit", "sd", "iqr", "range")


def add_to(commands: Any, title: str) -> None:
    """Add the command, with its title among all commands, to the parser."""
    text = (
        "Fit a regression to a table ({formats}) and print what its variables do to the risk, averaged over the rows."
    )
    parser = add_command(commands, "effects", run, EXAMPLES, title, text)
    parser.add_argument("formula", help='such as "y ~ x1 + C(group)"')
    parser.add_argument("data", help="file with the table")
    group = parser.add_argument_group("effects")
    which = "variable whose values are compared; without it, average effects of all variables"
    group.add_argument("--of", metavar="VARIABLE", help=which)
    values = f"values to compare, the first being the reference, such as 0,1; or {', '.join(MOVES)}"
    group.add_argument("--at", metavar="VALUES", help=values)
    group.add_argument("--contrast", choices=("difference", "ratio", "odds"), default="difference")
    group.add_argument("--by", action="append", metavar="COLUMN", help="within groups of rows; may be repeated")
    group.add_argument("--nnt", action="store_true", help="the number needed to treat, with --of")
    group.add_argument("--level", type=float, default=0.95, help="coverage of the intervals (default: 0.95)")
    group.add_argument("-o", "--output", metavar="FILE", help="write the table: csv, parquet, feather or dta")
    group.add_argument("--quiet", action="store_true", help="no progress on stderr")
    add_link(parser)
    add_model(parser)
    add_reading(parser)


def run(options: argparse.Namespace) -> None:
    """Fit, and print effects."""
    from gevglm._files import refuse_overwriting
    from gevglm.api import fit
    from gevglm.cli.tables import check_output, read_table, write_table
    from gevglm.exceptions import IncompatibleOptionsError

    check_level(options.level)
    if options.of is None and (options.at or options.nnt or options.contrast != "difference"):
        raise IncompatibleOptionsError("--at, --contrast and --nnt need --of, the variable whose values are compared.")
    if options.output:
        check_output(options.output)
        refuse_overwriting({"-o": options.output}, [options.data])
    frame = read_table(options.data, options)
    say(f"{options.data}: {len(frame):,} rows, {len(frame.columns)} columns", options.quiet)
    results = fit(options.formula, frame, **fit_words(options, frame))
    shared = {"by": _groups(options, frame, results), "alpha": round(1.0 - options.level, 12)}
    if options.of is None:
        found: Any = results.margins(**shared)
    else:
        found = results.risk(options.of, _values(options, frame), contrast=options.contrast, **shared)
    print(found)
    if options.nnt:
        print(f"\nNumber needed to treat\n{found.number_needed['text'].to_string()}")
    if options.output:
        table = (
            found.summary_frame().reset_index().rename(columns=lambda name: str(name).replace("level_", "contrast_"))
        )
        write_table(table.rename(columns={"index": "contrast"}), options.output)
        say(f"table: {options.output}", options.quiet)


def _values(options: argparse.Namespace, frame: Any) -> Any:
    """Return what to compare, in the type of the column."""
    if options.at is None or options.at in MOVES:
        return options.at
    from gevglm.exceptions import InvalidOptionError

    texts = [text.strip() for text in options.at.split(",")]
    known = {str(value): value for value in frame[options.of].dropna().unique()} if options.of in frame else {}
    values = []
    for text in texts:
        try:
            values.append(known[text] if text in known else float(text))
        except ValueError:
            raise InvalidOptionError(
                f"--at {options.at}: {text!r} is neither a value of {options.of!r} nor a number."
            ) from None
    return values


def _groups(options: argparse.Namespace, frame: Any, results: Any) -> Any:
    """Return the groups of the rows of the fit: columns of the data, whether they are in the formula or not."""
    if not options.by:
        return None
    from gevglm.data.tables import column

    inside = getattr(results.model.design.frame, "columns", ())
    if all(name in inside for name in options.by):
        return list(options.by)
    from gevglm.exceptions import InvalidOptionError

    if len(options.by) > 1:
        absent = next(name for name in options.by if name not in inside)
        raise InvalidOptionError(
            f"--by {absent}: several groups are of variables of the formula; {absent!r} is not in it."
        )
    values = column(frame, options.by[0], "--by")
    return values if results.model.design.index is None else values.loc[results.model.design.index]
