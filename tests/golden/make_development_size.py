"""Sizes of development studies by pmsampsize 0.1.0; run in an environment that has it: `python make_development_size.py`.

An R-squared of Cox and Snell is given, or Nagelkerke's, or an AUC, which the package turns into an R-squared by simulating a million observations with a fixed seed;
its own R-squared is kept beside the sizes, three decimals of it being in its table.
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np

QUOTED = (  # in the help and the tests of the authors' packages in R, Stata and Python
    {"prevalence": 0.174, "parameters": 24, "r2": 0.288},
    {"prevalence": 0.174, "parameters": 24, "auc": 0.89},
    {"prevalence": 0.174, "parameters": 36, "r2": 0.288},
    {"prevalence": 0.25, "parameters": 24, "r2": 0.288},
    {"prevalence": 0.05, "parameters": 30, "r2": 0.05},
    {"prevalence": 0.2, "parameters": 30, "auc": 0.78},
)
WORDS = {"r2": "csrsquared", "nagelkerke": "nagrsquared", "auc": "cstatistic"}


def settings():
    yield from QUOTED
    rng = np.random.default_rng(26)
    for number in range(60):
        case = {
            "prevalence": round(float(rng.uniform(0.01, 0.6)), 3),
            "parameters": int(rng.integers(1, 60)),
            "shrinkage": round(float(rng.uniform(0.8, 0.95)), 2) if number % 3 else 0.9,
        }
        phi = case["prevalence"]
        largest = 1 - (phi**phi * (1 - phi) ** (1 - phi)) ** 2
        share = float(rng.uniform(0.05, 0.6))
        if number % 4 == 1:
            case["nagelkerke"] = round(share, 3)
        elif number % 10 == 2:
            case["auc"] = round(float(rng.uniform(0.6, 0.9)), 2)
        else:
            case["r2"] = round(share * largest, 4)
        yield case


def sizes(case):
    from pmsampsize.pmsampsize import pmsampsize

    options = {WORDS.get(word, word): value for word, value in case.items()}
    found = pmsampsize(type="b", noprint=True, **options)
    rows = [row for row in found["results_table"] if isinstance(row, list) and row[0].startswith("Criteria")]
    return {"sizes": [int(row[1]) for row in rows], "n": int(found["sample_size"]), "r2_shown": float(rows[0][4])}


def main():
    cases = []
    for case in settings():
        cases.append(case | sizes(case))
        print(len(cases), cases[-1])
    golden = {
        "about": "Sizes of studies that develop a model: shrinkage, optimism of R2, overall risk; the largest of them",
        "stored": "made by make_development_size.py beside this file: pmsampsize is no package that the tests need",
        "call": 'pmsampsize(type="b", ...)',
        "versions": {"pmsampsize": version("pmsampsize"), "numpy": version("numpy")},
        "settings": cases,
    }
    Path(__file__).with_name("development_size.json").write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
