"""Files of public data sets as DataFrames: csv, columns between blanks, ARFF and KEEL."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence

import pandas as pd

MISSING = ["?", "", "NA"]
ORANGE_KINDS = {"d", "c", "s", "discrete", "continuous", "string"}
ATTRIBUTE = re.compile(r"@attribute\s+('[^']+'|[^\s{]+)", flags=re.I)


def read_rows(content: str, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read a table whose fields stand between commas or blanks.

    ARFF and KEEL files have the names of columns in ``@attribute`` lines and their rows after ``@data``; in others the first line has the
    names, unless they are given. A first column without a name becomes the index.
    """
    header, mark, body = _parts(content)
    if mark and columns is None:
        columns = [name.strip("'") for name in ATTRIBUTE.findall(header)]
    separator = "," if "," in body.lstrip().partition("\n")[0] else r"\s+"
    first_line, comment = "infer" if columns is None else None, "%" if mark else None
    fields = {"sep": separator, "skipinitialspace": True, "keep_default_na": False, "na_values": MISSING}
    frame = pd.read_csv(io.StringIO(body), header=first_line, names=columns, comment=comment, **fields)
    first = frame.columns[0]
    return frame.set_index(first).rename_axis(None) if str(first).startswith("Unnamed") else frame


def _parts(content: str) -> tuple[str, bool, str]:
    """Return what stands before ``@data``, whether that line is there, and the rows."""
    mark = re.search(r"^@data\s*$", content, flags=re.I | re.M)
    return (content[: mark.start()], True, content[mark.end() :]) if mark else ("", False, content)


def read_text(content: str, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read columns of free text between tabs, below a line with their names.

    Tables of Orange have two further lines, with the kinds and the roles of the columns, and rows without anything.
    """
    lines = content.split("\n", 2)
    of_orange = len(lines) == 3 and set(lines[1].split("\t")) <= ORANGE_KINDS
    frame = pd.read_csv(
        io.StringIO(content),
        sep="\t",
        quoting=csv.QUOTE_NONE,
        keep_default_na=False,
        skiprows=[1, 2] if of_orange else None,
    )
    if of_orange:
        frame = frame[(frame != "").any(axis=1)].reset_index(drop=True)
    return frame if columns is None else frame.set_axis(list(columns), axis=1)


def relabelled(frame: pd.DataFrame, outcome: str | None, labels: Mapping[str, int] | None) -> pd.DataFrame:
    """Return the frame with the labels of its outcome replaced by the values they stand for."""
    if outcome is None or labels is None:
        return frame
    return frame.assign(**{outcome: [labels[str(value)] for value in frame[outcome]]})
