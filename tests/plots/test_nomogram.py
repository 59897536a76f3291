"""Pictures of nomograms."""

from pathlib import Path

import pandas as pd
import pytest

import gevglm

pytest.importorskip("matplotlib")
DATA = pd.read_csv(Path(__file__).parents[1] / "golden" / "nomogram.csv")


def test_a_nomogram_has_a_labelled_axis_for_each_variant_and_no_labels_that_touch():
    ax = gevglm.fit("y ~ rcs(pressure, 4) + stage * age + smoker", DATA, link="logit").plot_nomogram()
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[:3] == ["points", "pressure", "age (stage = early)"]
    assert names[-4:] == ["smoker", "total points", "linear predictor", "risk"]
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
