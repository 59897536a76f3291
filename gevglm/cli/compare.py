"""``gevglm compare``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gevglm.cli.messages import say
from gevglm.cli.options import add_command, add_model, add_reading, level_named, model_words

EXAMPLES = """examples:
  gevglm compare "default ~ income + age" loans.csv
      logit, cloglog and the GEV links side by side, with cross-validated scores
  gevglm compare "default ~ income + age" loans.csv --links logit,"GEV canonical" --coefficients
      two links, and the table of their coefficients
  gevglm compare "default ~ age" --also "default ~ age + income" loans.csv --links logit --odds-ratios -o table.tex
      nested models; the table for a paper, as LaTeX (.tex), HTML (.html), Markdown (.md) or for Word (.docx)
"""
FORMATS_OF_TABLES: dict[str, Callable[[Any], str]] = {
    ".tex": lambda table: table.to_latex(),
    ".html": lambda table: table.to_html(),
    ".md": lambda table: table.to_markdown(),
    ".txt": str,
}
WORD = ".docx"
DEFAULT = ("logit", "cloglog", "GEV log", "GEV canonical")


def add_to(commands: Any, title: str) -> None:
    """Add the command, with its title among all commands, to the parser."""
    text = "Fit several links, or several formulas, to the same table ({formats}) and compare them by cross-validation."
    parser = add_command(commands, "compare", run, EXAMPLES, title, text)
    parser.add_argument("formula", help='such as "y ~ x1 + C(group)"')
    parser.add_argument("data", help="file with the table")
    parser.add_argument(
        "--also", action="append", default=[], metavar="FORMULA", help="another formula; may be repeated"
    )
    links = f"names of gevglm.fit_links, apart from each other by blanks or commas (default: {', '.join(DEFAULT)})"
    parser.add_argument("--links", nargs="+", default=list(DEFAULT), metavar="LINK", help=links)
    parser.add_argument("--folds", type=int, default=5, help="of the cross-validation (default: 5)")
    ratios = "odds ratios (logit) or hazard ratios (cloglog) in the table of coefficients"
    parser.add_argument("--odds-ratios", action="store_true", help=ratios)
    parser.add_argument("--coefficients", action="store_true", help="print the table of coefficients too")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write the table of coefficients: .tex, .html, .md, .docx or .txt"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    add_model(parser)
    add_reading(parser)


def run(options: argparse.Namespace) -> None:
    """Fit, compare and print."""
    from gevglm._files import check_target, refuse_overwriting, write_text
    from gevglm.cli.tables import read_table
    from gevglm.exceptions import InvalidOptionError

    if options.loss is not None:
        raise InvalidOptionError("--loss is part of the names of --links here, such as 'GEV log' and 'GEV canonical'.")
    words = model_words(options)
    if options.output:
        if Path(options.output).suffix not in (*FORMATS_OF_TABLES, WORD):
            known = ", ".join((*FORMATS_OF_TABLES, WORD))
            raise InvalidOptionError(f"-o {options.output!r}: the table is written as {known}.")
        check_target(options.output)
        refuse_overwriting({"-o": options.output}, [options.data])
    frame = read_table(options.data, options)
    say(f"{options.data}: {len(frame):,} rows, {len(frame.columns)} columns", options.quiet)
    if options.event is not None:
        words["event"] = level_named(options.event, options.formula, frame)
    comparison = _compared(options, frame, words)
    print(comparison)
    if options.coefficients:
        print(f"\n{comparison.summary(exp=options.odds_ratios)}")
    if options.output:
        table, kind = comparison.summary(exp=options.odds_ratios), Path(options.output).suffix
        if kind == WORD:
            table.to_docx(options.output)
        else:
            write_text(options.output, FORMATS_OF_TABLES[kind](table) + "\n")
        say(f"table: {options.output}", options.quiet)


def _compared(options: argparse.Namespace, frame: Any, words: dict[str, Any]) -> Any:
    from gevglm.comparison import LINKS, compare, fit_links

    links = [link.strip() for word in options.links for link in word.split(",") if link.strip()]
    if not options.also:
        return fit_links(options.formula, frame, links=links, folds=options.folds, **words)
    from gevglm.api import fit
    from gevglm.exceptions import unknown_option

    results = {}
    for link in links:
        if link not in LINKS:
            raise unknown_option("--links", link, LINKS)
        for i, formula in enumerate([options.formula, *options.also], 1):
            say(f"fitting {formula!r}, {link}", options.quiet)
            results[f"({i}) {link}"] = fit(formula, frame, **LINKS[link], **words)
    return compare(results, folds=options.folds)
