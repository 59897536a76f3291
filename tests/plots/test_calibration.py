import subprocess
import sys

import numpy as np
import pytest

from gevglm import calibration
from gevglm.exceptions import InvalidDataError, InvalidOptionError

pytest.importorskip("matplotlib")
each_scale = pytest.mark.parametrize("scale", ["linear", "log", "logit"])


@pytest.fixture(scope="module")
def assessed(simulated):
    return {name: calibration.assess(*simulated(800, center=center), rng=0) for name, center in (("a", -1), ("b", -4))}


def drawn(ax):
    ax.figure.canvas.draw()
    return ax


@each_scale
def test_a_reliability_diagram_has_curve_band_and_smooth_line(assessed, scale):
    ax = drawn(assessed["a"].plot(scale=scale))
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["isotonic (CORP)", "smooth (spline)", "95 % consistency band"]
    assert ax.get_xscale() == scale and ax.get_xlabel() and ax.get_ylabel()
    assert len(ax.child_axes) == 2


def test_rare_events_get_a_logarithmic_axis_unless_told_otherwise(assessed):
    assert assessed["a"].plot().get_xscale() == "linear"
    assert assessed["b"].plot().get_xscale() == "log"
    assert assessed["b"].plot(scale="linear").get_xscale() == "linear"


def test_notebooks_are_told_how_to_show_a_picture(assessed):
    ax = assessed["a"].plot()
    assert ax._repr_png_()[:4] == ax.figure._repr_png_()[:4] == b"\x89PNG"


def test_the_diagram_is_drawn_into_given_axes(assessed):
    first = assessed["a"].plot()
    assert assessed["b"].plot(ax=first, histogram=False) is first


@each_scale
def test_several_models_share_a_picture(assessed, scale):
    ax = drawn(calibration.plot_reliability(assessed, scale=scale))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "95 % consistency bands"]


@each_scale
def test_optimism_is_drawn_as_two_curves(simulated, scale):
    y, p = simulated(500)
    found = calibration.bootstrap_optimism(lambda rows, y: lambda new: new[:, 0], p[:, None], y, resamples=3, rng=0)
    ax = drawn(found.plot(scale=scale))
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["apparent", "corrected for optimism (3 refits)"] and ax.get_xscale() == scale


def test_optimism_without_a_curve_cannot_be_drawn(simulated):
    y, p = simulated(200)
    indices = {"indices": lambda y, p: {"mean": p.mean()}}
    found = calibration.bootstrap_optimism(
        lambda rows, y: lambda new: np.round(new[:, 0]), p[:, None], y, **indices, rng=0
    )
    with pytest.raises(InvalidDataError, match="no smooth calibration curve"):
        found.plot()


@each_scale
def test_a_belt_shows_its_levels_and_its_test(assessed, scale):
    ax = drawn(calibration.plot_belt(assessed["a"].belt, scale=scale))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["95 % belt", "80 % belt"]
    assert "degree 1, p =" in ax.texts[0].get_text()
    assert assessed["a"].belt.plot(scale=scale).get_xscale() == scale


@each_scale
@pytest.mark.parametrize("corrected", [False, True])
def test_loss_calibration_curves_share_a_picture(simulated, scale, corrected):
    y, p = simulated(3000, center=-7.0)
    curves = {
        f"{b}": calibration.loss_calibration_curve(y, calibration.optimal_score(p, b), b) for b in (0.5, 0.9, 0.99)
    }
    assert curves["0.5"].n_without_events > 0
    ax = drawn(calibration.plot_loss_calibration(curves, scale=scale, corrected=corrected))
    theory = [] if corrected else ["if loss-calibrated"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [*theory, "0.5", "0.9", "0.99"]
    assert drawn(curves["0.9"].plot()).get_xscale() == "log"


def test_points_and_theory_of_loss_calibration_can_be_left_out(simulated):
    y, p = simulated(3000)
    curve = {"0.9": calibration.loss_calibration_curve(y, calibration.optimal_score(p, 0.9), 0.9)}
    bare, theory = (drawn(calibration.plot_loss_calibration(curve, **{o: False})) for o in ("theory", "points"))
    assert len(bare.containers) == 1 and len(theory.containers) == 0
    assert [text.get_text() for text in theory.get_legend().get_texts()] == ["0.9"]


def test_calibrators_are_drawn_beside_the_empirical_log_odds(simulated):
    y, p = simulated(800)
    fitted = {"Platt": calibration.Platt().fit(p, y), "isotonic": calibration.Isotonic().fit(p, y)}
    found = calibration.empirical_log_odds(p, y)
    assert (found["events"] == 0).any()
    ax = drawn(calibration.plot_calibrators(fitted, found))
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["empirical", "empirical, no or only events", "Platt", "isotonic"]


def test_exact_zeros_and_ones_can_be_drawn(simulated):
    y, p = simulated(300)
    p[:3], p[3:5] = 0.0, 1.0
    assessed = calibration.assess(y, p, rng=0)
    for scale in ("linear", "log", "logit"):
        drawn(assessed.plot(scale=scale))


def test_unknown_scales_are_refused(assessed):
    with pytest.raises(InvalidOptionError, match="Did you mean 'log'"):
        assessed["a"].plot(scale="logs")


def test_numbers_do_not_import_matplotlib():
    code = (
        "import sys, numpy as np; from gevglm import calibration as c; p = np.linspace(.1, .9, 50);"
        "c.assess(np.arange(50) % 2, p, rng=0).summary(); print('matplotlib' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"
