"""``gevglm predict``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from gevglm.cli.messages import say
from gevglm.cli.options import add_command, add_reading, check_level

EXAMPLES = """examples:
  gevglm predict war.pkl new.csv -o scored.csv
      the columns of new.csv and 'risk', the predicted probability
  gevglm predict war.pkl new.parquet --interval -o scored.parquet
      also 'risk_lower' and 'risk_upper', its 95 % confidence limits
  gevglm predict war.pkl new.csv | head
      as csv on stdout

A saved model is a Python pickle: loading it runs code that is in the file. Load only models that you, or someone you trust, saved.
"""


def add_to(commands: Any, title: str) -> None:
    """Add the command, with its title among all commands, to the parser."""
    text = "Predict the risk of every row of a table ({formats}) by a model saved with 'gevglm fit --save'."
    parser = add_command(commands, "predict", run, EXAMPLES, title, text)
    parser.add_argument("model", help="file written by --save; only from people you trust")
    parser.add_argument("data", help="file with the new rows")
    parser.add_argument(
        "-o", "--output", default="-", metavar="FILE", help="csv, parquet, feather or dta (default: csv on stdout)"
    )
    parser.add_argument("--interval", action="store_true", help="add confidence limits")
    parser.add_argument("--level", type=float, default=0.95, help="coverage of the limits (default: 0.95)")
    parser.add_argument("--name", default="risk", help="name of the new column (default: risk)")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    add_reading(parser)


def run(options: argparse.Namespace) -> None:
    """Predict and write."""
    from gevglm._files import refuse_overwriting
    from gevglm.cli.tables import check_output, read_table, write_table
    from gevglm.exceptions import InvalidOptionError

    check_level(options.level)
    check_output(options.output)
    refuse_overwriting({"-o": options.output}, [options.model, options.data])
    results = load_model(options.model)
    frame = read_table(options.data, options)
    names = [options.name, f"{options.name}_lower", f"{options.name}_upper"] if options.interval else [options.name]
    taken = [name for name in names if name in frame.columns]
    if taken:
        raise InvalidOptionError(f"{options.data!r} has a column {taken[0]!r} already; choose another --name.")
    if options.interval:
        if not hasattr(results, "get_prediction"):
            raise InvalidOptionError(
                "--interval: risks of a recalibrated model have no confidence limits; leave it out."
            )
        limits = results.get_prediction(frame).summary_frame(alpha=1.0 - options.level)
        columns = dict(zip(names, (limits.iloc[:, j].to_numpy() for j in (0, 2, 3)), strict=True))
    else:
        columns = {options.name: results.predict(frame).to_numpy()}
    scored = frame.assign(**columns)
    write_table(scored, options.output)
    incomplete = int(scored[options.name].isna().sum())
    left = f"; {incomplete:,} incomplete ones have none" if incomplete else ""
    say(f"{len(frame) - incomplete:,} rows predicted{left}", options.quiet)


def load_model(name: str) -> Any:
    """Load a saved model, or say what is wrong with the file."""
    from gevglm.exceptions import InvalidDataError
    from gevglm.results import load

    if not Path(name).exists():
        raise InvalidDataError(f"there is no file {name!r}.")
    return load(name)
