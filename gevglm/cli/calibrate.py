"""``gevglm calibrate``."""

from __future__ import annotations

import argparse
from typing import Any

from gevglm.cli.messages import say
from gevglm.cli.options import Words, add_command, add_reading

EXAMPLES = """examples:
  gevglm calibrate scored.csv --outcome default --score risk
      check predicted probabilities against what happened
  gevglm calibrate scored.csv --outcome default --score risk --plot reliability.png
      and draw the reliability diagram
  gevglm calibrate scores.csv --outcome y --score s --method isotonic --apply new.csv -o calibrated.csv
      turn scores of any kind into probabilities: learn from scores.csv, add 'calibrated' to new.csv
"""


def add_to(commands: Any, title: str) -> None:
    """Add the command, with its title among all commands, to the parser."""
    text = "Check predicted probabilities in a table ({formats}), of any model, or calibrate scores."
    parser = add_command(commands, "calibrate", run, EXAMPLES, title, text)
    parser.add_argument("data", help="file with outcomes and predictions")
    parser.add_argument("--outcome", default="y", metavar="COLUMN", help="0 or 1 (default: y)")
    score = "predicted probability, or with --method any score (default: risk)"
    parser.add_argument("--score", default="risk", metavar="COLUMN", help=score)
    parser.add_argument("--event", help="the level of the outcome that is the event, if that is not plainly 1")
    parser.add_argument("--weights", metavar="COLUMN", help="how many observations each row stands for")
    parser.add_argument("--cluster", metavar="COLUMN", help="intervals and tests robust to clusters")
    known = Words("gevglm.calibration.calibrators", "CALIBRATORS")
    parser.add_argument("--method", choices=known, metavar="METHOD", help="learn a calibrator: %(choices)s")
    parser.add_argument("--apply", metavar="FILE", help="rows to calibrate (default: the same, which flatters)")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="where the rows go with a column 'calibrated'; - for stdout"
    )
    parser.add_argument("--plot", metavar="FILE", help="draw the reliability diagram")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    add_reading(parser)


def run(options: argparse.Namespace) -> None:
    """Assess, and calibrate if asked to."""
    from gevglm._files import check_target, refuse_overwriting
    from gevglm.calibration import assess
    from gevglm.cli.pictures import save_picture
    from gevglm.cli.tables import check_output, read_table
    from gevglm.data.tables import column
    from gevglm.exceptions import IncompatibleOptionsError

    if (options.apply or options.output) and not options.method:
        raise IncompatibleOptionsError("--apply and -o go with --method, the calibrator to learn.")
    if options.cluster and options.method:
        raise IncompatibleOptionsError("--cluster is for the check of probabilities; leave --method out.")
    if options.plot and options.method:
        raise IncompatibleOptionsError("--plot draws predictions unchanged; leave --method out.")
    check_output(options.output or "-")
    if options.plot:
        check_target(options.plot)
    read = [name for name in (options.data, options.apply) if name]
    refuse_overwriting({"-o": options.output, "--plot": options.plot}, read)
    frame = read_table(options.data, options)
    y, score, weights = _columns(frame, options)
    if options.method:
        _calibrate(options, frame, y, score, weights)
        return
    clusters = None if options.cluster is None else column(frame, options.cluster, "--cluster").to_numpy()
    assessed = assess(y, score, weights, groups=clusters, rng=0)
    print(assessed, flush=True)
    if options.plot:
        save_picture(assessed.plot(), options.plot)
        say(f"picture: {options.plot}", options.quiet)


def _columns(frame: Any, options: argparse.Namespace) -> tuple[Any, Any, Any]:
    from gevglm.cli.options import level_named
    from gevglm.data.outcome import resolve
    from gevglm.data.tables import column

    outcome = column(frame, options.outcome, "--outcome")
    event = None if options.event is None else level_named(options.event, options.outcome, frame)
    y = resolve(outcome.to_numpy(), event, options.outcome, None, None).y
    weights = None if options.weights is None else column(frame, options.weights, "--weights").to_numpy()
    return y, column(frame, options.score, "--score").to_numpy(), weights


def _calibrate(options: argparse.Namespace, frame: Any, y: Any, score: Any, weights: Any) -> None:
    from gevglm.calibration.calibrators import calibrator_of
    from gevglm.cli.tables import read_table, write_table
    from gevglm.data.tables import column
    from gevglm.exceptions import InvalidDataError

    calibrator = calibrator_of(options.method).fit(score, y, weights)
    rows = frame
    if options.apply:
        rows = read_table(options.apply, options)
    else:
        say(
            "the calibrator is applied to the rows it was learned from, where it looks better than it is", options.quiet
        )
    if "calibrated" in rows.columns:
        raise InvalidDataError("there is a column 'calibrated' already; rename it first.")
    calibrated = calibrator.predict(column(rows, options.score, "--score").to_numpy())
    write_table(rows.assign(calibrated=calibrated), options.output or "-")
