"""Make prediction_packages.json: needs venn-abers 1.5.4 and dcurves 1.1.7 (with lifelines) from PyPI, which the tests do not."""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd

FOLDER = Path(__file__).parent


def main():
    from dcurves import dca
    from venn_abers import VennAbers

    data = pd.read_csv(FOLDER / "calibration.csv")
    p, y = data["p"].to_numpy(), data["y"].to_numpy()
    rounded, new = p.round(2), np.concatenate([p[:60].round(2), p[60:120], [0.0, 1.0]])
    model = VennAbers()
    model.fit(np.column_stack([1 - rounded, rounded]), y)
    merged, both = model.predict_proba(np.column_stack([1 - new, new]))
    thresholds = [0.05, 0.1, 0.15, 0.2, 0.3, 0.5]
    frame = dca(data=data[["y", "p"]], outcome="y", modelnames=["p"], thresholds=thresholds)
    benefit = {name: frame.loc[frame["model"] == name, "net_benefit"].tolist() for name in ("p", "all")}
    written = {
        "about": "Predictions of calibration.csv by two Python packages",
        "stored": "the packages are none that the tests need: make_prediction_packages.py made these numbers once",
        "versions": {"venn-abers": version("venn-abers"), "dcurves": version("dcurves")},
        "venn_abers": {
            "call": "VennAbers().fit(p rounded to 2 digits, y).predict_proba: rows 1-60 rounded, 61-120 as they are, 0 and 1",
            "p0": both[:, 0].tolist(),
            "p1": both[:, 1].tolist(),
            "probability": merged[:, 1].tolist(),
        },
        "dcurves": {
            "call": "dca(data, 'y', ['p'], thresholds)",
            "thresholds": thresholds,
            "net_benefit": benefit["p"],
            "act_on_all": benefit["all"],
        },
    }
    (FOLDER / "prediction_packages.json").write_text(json.dumps(written, indent=1) + "\n")


if __name__ == "__main__":
    main()
