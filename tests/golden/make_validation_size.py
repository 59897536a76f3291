"""Sizes of validation studies by pmvalsampsize 0.2.1; run in an environment that has it: `python make_validation_size.py`.

The package searches standard errors in steps of 1e-4 and rounds that of the net benefit to three decimals: the widths asked for here are those of standard errors
that it can reach, so that its sizes are the exact ones. Sensitivity and specificity are those that it finds by simulation: 0.2.1 stops with an error where they are given.
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np

SEED, SIMULATED = 123456, 20_000
NEARLY = 1.0 - 1e-9  # so that a sum of steps reaches the width


def settings():
    rng = np.random.default_rng(25)
    for number in range(50):
        prevalence, auc = round(rng.uniform(0.01, 0.5), 3), round(rng.uniform(0.6, 0.92), 3)
        sd = round(rng.uniform(0.5, 2.0), 2)
        oe, steps = round(rng.uniform(0.8, 1.25), 2), int(rng.integers(400, 1000))
        case = {
            "prevalence": prevalence,
            "auc": auc,
            "linear": [round(float(np.log(prevalence / (1 - prevalence))), 2), sd],
            "oe": oe,
            "oe_width": float(2 * oe * np.sinh(1.96 * steps / 1e4) * NEARLY),
            "slope_width": round(rng.uniform(0.15, 0.5), 3),
            "auc_width": round(rng.uniform(0.05, 0.2), 3),
        }
        if number % 2:
            case |= {
                "threshold": round(rng.uniform(0.02, 0.4), 2),
                "net_benefit_width": float(2 * 1.96 * int(rng.integers(30, 90)) / 1e3 * NEARLY),
            }
        yield case


def sizes(case):
    from pmvalsampsize.pmvalsampsize import pmvalsampsize

    words = {
        "threshold": "threshold",
        "net_benefit_width": "nbciwidth",
        "auc": "cstatistic",
        "oe_width": "oeciwidth",
        "oe": "oe",
    }
    words |= {"slope_width": "csciwidth", "auc_width": "cstatciwidth", "prevalence": "prevalence"}
    options = {words[word]: value for word, value in case.items() if word in words}
    found = pmvalsampsize(
        type="b", lpnormal=tuple(case["linear"]), simobs=SIMULATED, seed=SEED, noprint=True, **options
    )
    rows = [row for row in found["results_table"] if isinstance(row, list) and row[0].startswith("Criteria")]
    of_threshold = {word: float(found[word]) for word in ("sensitivity", "specificity") if word in found}
    return of_threshold | {"sizes": [int(row[1]) for row in rows], "n": int(found["sample_size"])}


def main():
    cases = []
    for case in settings():
        cases.append(case | sizes(case))
        print(len(cases), cases[-1])
    golden = {
        "about": "Sizes of studies that validate a model: O/E, calibration slope, AUC, net benefit; the largest of them",
        "stored": "made by make_validation_size.py beside this file: pmvalsampsize is no package that the tests need",
        "call": f'pmvalsampsize(type="b", lpnormal=linear, simobs={SIMULATED}, seed={SEED}, ...)',
        "versions": {"pmvalsampsize": version("pmvalsampsize"), "numpy": version("numpy")},
        "seed": SEED,
        "simulated": SIMULATED,
        "settings": cases,
    }
    Path(__file__).with_name("validation_size.json").write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
