"""Make ``spreadsheet.json``: the formulas of cells that the tests export, and what LibreOffice says of them.

It needs LibreOffice Calc (Debian's ``libreoffice-calc``) and the packages of the tests:

    python -m tests.golden.make_spreadsheet
"""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import openpyxl
import pandas as pd

import gevglm
from gevglm.export import scoring_formula
from gevglm.export.spreadsheet import to_cell
from tests.export.test_scoring import FORMULAS, LINKS, made
from tests.support.javascript import plain

FILE = Path(__file__).with_name("spreadsheet.json")
ABOUT = "Formulas of cells, as to_excel_formula writes them, and what a spreadsheet makes of them: null is #N/A."
STORED = (
    "LibreOffice Calc read the formulas from an .xlsx file, recalculated them and wrote their values in full; it is not part of the test environment. "
    "Made by make_spreadsheet.py."
)
OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
X = np.linspace(-9.0, 9.0, 13)
ROWS = 6  # of each kind of term, and one of empty cells


def formulas():
    """Yield formulas with the cells of some rows."""
    layout = gevglm.fit("y ~ x", pd.DataFrame({"x": np.arange(60.0), "y": np.arange(60) % 2})).model.design.layout
    for link in LINKS:
        formula = scoring_formula(layout, np.array([0.1, 0.9]), link)
        yield to_cell(formula, None), [{"A2": value} for value in [*X.tolist(), None]]
    frame = made()
    for text in FORMULAS.values():
        formula = gevglm.fit(text, frame, alpha=0.1).scoring_formula
        names = [each.column.name for each in formula.inputs]
        rows = [plain(row) for row in frame[names].head(ROWS).to_dict("records")]
        cells = [{f"{chr(65 + j)}2": row[name] for j, name in enumerate(names)} for row in rows]
        yield to_cell(formula, None), [*cells, dict.fromkeys(cells[0])]


def recalculated(asked):
    """Return the values of formulas, each on a sheet of its own, with the version of LibreOffice."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for formula, cells in asked:
        sheet = book.create_sheet()
        for place, value in cells.items():
            sheet[place] = value
        sheet["Z9"] = formula
    soffice = shutil.which("soffice")
    if soffice is None:
        raise SystemExit("there is no soffice: install libreoffice-calc.")
    with tempfile.TemporaryDirectory() as folder:
        book.save(Path(folder) / "book.xlsx")
        words = [soffice, f"-env:UserInstallation=file://{folder}/profile", "--headless", "--convert-to", "fods", "book.xlsx"]  # fmt: skip
        subprocess.run(words, cwd=folder, check=True, capture_output=True)
        sheets = ElementTree.parse(Path(folder) / "book.fods").getroot().iter(f"{TABLE}table")
        found = [value_of(sheet) for sheet in sheets]
    version = subprocess.run([soffice, "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
    return found, version


def value_of(sheet):
    """Return the value of the last formula of a sheet (LibreOffice has truth values as formulas too); None for #N/A."""
    *_, cell = [cell for cell in sheet.iter(f"{TABLE}table-cell") if cell.get(f"{TABLE}formula") is not None]
    shown = "".join(cell.itertext()).strip()
    if shown == "#N/A":
        return None
    if cell.get(f"{OFFICE}value") is None:
        raise ValueError(f"{shown} is the value of {cell.get(f'{TABLE}formula')}")
    return float(cell.get(f"{OFFICE}value"))


def main():
    """Ask LibreOffice, and write the file."""
    every = list(formulas())
    values, version = recalculated([(formula, cells) for formula, rows in every for cells in rows])
    answers = iter(values)
    golden = {
        "about": ABOUT,
        "versions": {"LibreOffice": version},
        "stored": STORED,
        "formulas": [[formula, [[cells, next(answers)] for cells in rows]] for formula, rows in every],
    }
    FILE.write_text(json.dumps(golden, indent=0) + "\n")


if __name__ == "__main__":
    main()
