"""Labels that do not cover each other, and axes that show what there is to see."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("matplotlib")

from gevglm.plots import plot_cooks_distance, plot_shape


@pytest.mark.parametrize("near", [[0, 1], [10, 11, 12, 13, 14], [500, 510, 900, 901, 3]])
def test_labels_of_rows_do_not_overlap(near):
    rows = pd.DataFrame({"position": np.arange(1000), "event": np.arange(1000) % 9 == 0, "cooks_distance": 1e-3})
    rows.loc[near, "cooks_distance"] = 0.01 + 1e-5 * np.arange(len(near))
    ax = plot_cooks_distance(rows)
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts if int(text.get_text()) in near]
    assert len(boxes) == len(near)
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
    top = ax.get_window_extent().y1
    assert all(box.y1 < top + 30 for box in boxes)


def test_the_axis_of_a_narrow_shape_ends_beside_it():
    grid = np.linspace(-1.0, 1.6, 27)
    profile = pd.DataFrame({"xi": grid, "llf": -200.0 * (grid + 0.28) ** 2})
    ax = plot_shape(profile, -0.28, (-0.42, -0.12))
    low, high = ax.get_xlim()
    assert -0.7 < low < -0.42 and -0.12 < high < 0.2
    flat = plot_shape(profile.assign(llf=0.01 * profile["llf"]), -0.28, (-1.0, 1.1))
    assert flat.get_xlim() == pytest.approx((-1.0, 1.6))
