"""The power grid: its flows are those of PYPOWER, and outages do what the description says."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gevglm.datasets import simulate_outages
from gevglm.datasets.power_grid import ieee39
from gevglm.exceptions import InvalidOptionError, MissingDatasetError


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("line", [0, 7, 23, 45])
def test_voltages_are_those_of_pypower(line):
    from pypower.api import case39, ppoption, runpf

    case, network = case39(), ieee39()
    if line:
        case["branch"][line - 1, 10] = 0
    found, converged = runpf(case, ppoption(VERBOSE=0, OUT_ALL=0, PF_TOL=1e-12))
    assert converged
    theirs = found["bus"][:, 7] * np.exp(1j * np.deg2rad(found["bus"][:, 8]))
    ours = network.without(line).voltages((network.supply - network.demand)[None])[0]
    turn = theirs[network.slack] / ours[network.slack]
    assert_allclose(ours * turn / np.abs(turn), theirs, rtol=1e-9)


def test_the_stand_in():
    table = simulate_outages(rng=1)
    assert table.shape == (525, 47) and table["line"].value_counts().eq(15).all()
    # the outage of a line is seen most across that line itself
    angles = table.drop(columns="line").abs().groupby(table["line"]).median()
    own = [angles.columns[int(line) - 1] == angles.loc[line].idxmax() for line in angles.index]
    assert np.mean(own) > 0.9
    assert table.equals(simulate_outages(rng=1))


def test_cases_without_an_outage_are_noise_and_cases_stay_in_order():
    lines = [0, 8, 0, 23, 8]
    table = simulate_outages(lines, rng=2)
    assert table["line"].tolist() == lines
    assert_allclose(table.loc[[0, 2]].drop(columns="line"), 0.0, atol=1e-9)
    noisy = simulate_outages(np.zeros(400, dtype=int), noise=0.5, rng=3).drop(columns="line")
    assert noisy.to_numpy().std() == pytest.approx(0.5, rel=0.02)


@pytest.mark.parametrize("lines", [[5], [47], [-1], [1.5], [[1, 2]]])
def test_lines_that_cannot_be_lost_are_refused(lines):
    with pytest.raises(InvalidOptionError, match=r"whole numbers from 1 to 46, or 0 for none, and not \[5, 14,"):
        simulate_outages(lines)


@pytest.mark.parametrize("noise", [-0.1, np.nan, [0.1]])
def test_noise_that_is_no_standard_deviation_is_refused(noise):
    with pytest.raises(InvalidOptionError, match="noise="):
        simulate_outages([0], noise=noise)


def test_without_pypower(monkeypatch):
    monkeypatch.setitem(sys.modules, "pypower.case39", None)
    with pytest.raises(MissingDatasetError, match="pip install pypower"):
        simulate_outages()
