"""Options that several commands share, and how their words become arguments of :func:`gevglm.fit`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from gevglm.covariance import COV_ALIASES, COV_TYPES
from gevglm.options import LOSSES, SHAPE_CHOICES, bias_words, link_words

FORMATS = "csv (also .gz), tsv, parquet, feather, Excel .xlsx, Stata .dta, SAS .sas7bdat and .xpt, SPSS .sav"
ROW_OPTIONS = ("event", "subset", "freq_weights", "var_weights", "sampling_weights", "offset", "exposure", "prevalence", "sampling",
               "class_weight")  # fmt: skip
MODEL_OPTIONS = ("loss", "bias", "alpha", "cov_type")


class Words:
    """Words of a registry, as choices of an option; it is imported when a command needs it."""

    def __init__(self, module: str, name: str):
        self.module, self.name = module, name

    def __iter__(self) -> Iterator[str]:
        return iter(getattr(import_module(self.module), self.name))

    def __contains__(self, word: object) -> bool:
        return word in list(self)


def number_or(*words: str):
    """Return a reader of a number, or one of some words."""

    def read(text: str) -> Any:
        if text in words:
            return text
        try:
            return float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor one of {', '.join(words)}") from None

    return read


def share(text: str) -> Any:
    """Read a prevalence: a number, or a range as LOW,HIGH."""
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a share; give a number such as 0.02, or a range 0.01,0.03"
        ) from None
    return numbers[0] if len(numbers) == 1 else numbers


def check_level(level: float) -> None:
    """Refuse a coverage that is not one, such as 95."""
    from gevglm.exceptions import InvalidOptionError

    if not 0.0 < level < 1.0:
        raise InvalidOptionError(f"--level {level:g} is not a coverage; give a number between 0 and 1, such as 0.95.")


def add_command(commands: Any, name: str, run: Any, examples: str, title: str, text: str) -> argparse.ArgumentParser:
    """Add a command to the parser: what it runs, the examples at the end of its help, its title among all commands, what it does."""
    text, layout = text.format(formats=FORMATS), argparse.RawDescriptionHelpFormatter
    parser = commands.add_parser(name, help=title, description=text, epilog=examples, formatter_class=layout)
    parser.set_defaults(run=run)
    return parser


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add how a table is read."""
    group = parser.add_argument_group("reading the data")
    group.add_argument("--sep", help="separator of a csv file (default: a comma, or a tab for .tsv and .tab)")
    group.add_argument("--encoding", help="encoding of a csv file (default: utf-8)")
    mark = "decimal point of a csv file: '.' (default) or ','"
    group.add_argument("--decimal", choices=(".", ","), default=".", metavar="MARK", help=mark)


def add_link(parser: argparse.ArgumentParser) -> None:
    """Add link and shape."""
    group = parser.add_argument_group("link")
    shape = "shape of the GEV link: a number, ml or cv; alone it means the GEV link with its canonical loss"
    group.add_argument("--xi", type=number_or(*SHAPE_CHOICES), help=shape)
    known = link_words()
    group.add_argument("--link", choices=known, metavar="LINK", help=f"{', '.join(known)} (default: logit)")


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add what is fitted, except for link and shape."""
    group = parser.add_argument_group("model")
    group.add_argument("--loss", choices=tuple(LOSSES), help="default: canonical for GEV links, log for the rest")
    group.add_argument(
        "--bias", choices=bias_words(), metavar="METHOD", help=f"bias reduction: {', '.join(bias_words())}"
    )
    group.add_argument(
        "--alpha", type=number_or("cv"), default=0.0, help="ridge penalty, a number, or cv (on standardised columns)"
    )
    add_rows(parser)
    group = parser.add_argument_group("standard errors")
    covariances = f"{', '.join(COV_TYPES)}; robust is HC1"
    group.add_argument("--cov-type", choices=(*COV_TYPES, *COV_ALIASES), metavar="TYPE", help=covariances)
    clusters = "standard errors robust to clusters; twice for two-way clusters"
    group.add_argument("--cluster", action="append", metavar="COLUMN", help=clusters)
    group.add_argument("--maxlags", type=int, metavar="N", help="for --cov-type HAC")


def add_rows(parser: argparse.ArgumentParser) -> None:
    """Add which rows are used, what they stand for and how they came into the data."""
    group = parser.add_argument_group("rows")
    group.add_argument("--event", help="the level of the outcome that is the event, if that is not plainly 1")
    group.add_argument("--subset", metavar="CONDITION", help='rows to use, such as "age > 40"')
    counts = "frequency weights: how many observations each row stands for"
    group.add_argument("--weights", dest="freq_weights", metavar="COLUMN", help=counts)
    group.add_argument("--var-weights", metavar="COLUMN", help="variance weights, as in statsmodels")
    members = "sampling weights: how many members of the population each row stands for"
    group.add_argument("--sampling-weights", metavar="COLUMN", help=members)
    group.add_argument("--offset", metavar="COLUMN")
    group.add_argument("--exposure", metavar="COLUMN")
    events = "share of events in the population, or a range LOW,HIGH, for rows sampled by their outcome"
    group.add_argument("--prevalence", type=share, metavar="SHARE", help=events)
    group.add_argument(
        "--sampling", choices=("prior", "weight"), default="prior", help="how --prevalence is used (default: prior)"
    )
    group.add_argument(
        "--class-weight", choices=("balanced",), help="weight the classes; predictions are corrected for it"
    )


def model_words(options: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of :func:`gevglm.fit` that were given, in its words."""
    from gevglm.exceptions import IncompatibleOptionsError

    words: dict[str, Any] = {name: getattr(options, name) for name in MODEL_OPTIONS} | row_words(options)
    words["alpha"] = options.alpha or None
    if options.cluster:
        if options.cov_type not in (None, "cluster"):
            raise IncompatibleOptionsError(
                f"--cluster goes with --cov-type cluster, not with {options.cov_type}; leave one out."
            )
        words["cov_type"] = "cluster"
        words["cov_kwds"] = {"groups": options.cluster[0] if len(options.cluster) == 1 else options.cluster}
    elif options.cov_type == "cluster":
        raise IncompatibleOptionsError("--cov-type cluster needs --cluster COLUMN.")
    if options.maxlags is not None:
        words["cov_kwds"] = {"maxlags": options.maxlags}
    return {name: word for name, word in words.items() if word is not None}


def fit_words(options: argparse.Namespace, data: Any) -> dict[str, Any]:
    """Return all arguments of :func:`gevglm.fit` that were given, the event as the data have it."""
    words = {name: word for name, word in (("xi", options.xi), ("link", options.link)) if word is not None}
    words |= model_words(options)
    if options.event is not None:
        words["event"] = level_named(options.event, options.formula, data)
    return words


def row_words(options: argparse.Namespace) -> dict[str, Any]:
    """Return what :func:`add_rows` reads, in the words of :func:`gevglm.fit`."""
    words = {name: getattr(options, name) for name in ROW_OPTIONS}
    words["sampling"] = None if options.sampling == "prior" else options.sampling
    return {name: word for name, word in words.items() if word is not None}


def level_named(text: str, formula: str, frame: Any) -> Any:
    """Return the level of the outcome that is written like `text`: the number 2, say, for "2"."""
    outcome = formula.partition("~")[0].strip().strip("`")
    if outcome not in getattr(frame, "columns", ()):
        return text
    return next((level for level in frame[outcome].dropna().unique() if str(level) == text), text)
