"""The worst segment: what was planted is found, calibrated predictions are not blamed more often than they should be."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from gevglm.calibration import worst_segment
from gevglm.exceptions import InvalidDataError, InvalidOptionError


def people(seed, n, extra=0.0):
    """Outcomes, risks and columns; men of at least 61 years have log-odds higher than predicted by `extra`."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {"age": rng.integers(30, 90, n), "sex": rng.choice(["female", "male"], n), "dose": rng.normal(size=n)}
    )
    eta = -2.0 + 0.02 * (table["age"] - 60) + 0.3 * table["dose"]
    planted = (table["age"] >= 61) & (table["sex"] == "male")
    return (rng.random(n) < expit(eta + extra * planted)).to_numpy(float), expit(eta).to_numpy(), table


def test_a_planted_segment_is_found():
    y, p, table = people(1, 4000, 0.9)
    found = worst_segment(y, p, table)
    assert "sex = male" in found.segment
    assert "age >= " in found.segment
    assert found.pvalue == 1 / 200
    assert found.z > 6.0
    assert found.lower > 1.0
    low = float(found.segment.split("age >= ")[1].split(" ")[0])
    inside = (table["age"] >= low) & (table["sex"] == "male")
    assert_allclose([found.n, found.observed, found.expected], [inside.sum(), y[inside].sum(), p[inside].sum()])
    assert_allclose(found.z, (y - p)[inside].sum() / np.sqrt((p * (1 - p))[inside].sum()))
    assert len(found.summary_frame()) == 10
    assert "corrected for the search" in str(found)


def test_the_level_of_calibrated_predictions():
    pvalues = np.array([worst_segment(*people(seed, 500), draws=39, rng=seed).pvalue for seed in range(100)])
    assert (pvalues <= 0.1).sum() <= 20  # 10 expected, standard error 3
    assert 0.4 < pvalues.mean() < 0.62


def test_rows_in_another_order_and_weights_as_repeated_rows():
    y, p, table = people(2, 800)
    found = worst_segment(y, p, table, draws=9)
    order = np.random.default_rng(0).permutation(800)
    moved = worst_segment(y[order], p[order], table.iloc[order], draws=9)
    assert_allclose(np.abs(moved.table["z"]), np.abs(found.table["z"]))
    assert moved.segment == found.segment
    times = np.random.default_rng(1).integers(0, 3, 800)
    once = worst_segment(y, p, table, weights=times, draws=9)
    repeated = worst_segment(
        np.repeat(y, times), np.repeat(p, times), table.loc[np.repeat(table.index, times)], draws=9
    )
    assert once.segment == repeated.segment
    assert_allclose(once.table, repeated.table)


def test_missing_values_are_a_condition():
    y, p, table = people(3, 1000)
    table["dose"] = table["dose"].where(np.arange(1000) >= 200)
    y[:200] = 1.0
    assert worst_segment(y, p, table, draws=9).segment == "dose is missing"


def test_bad_input():
    y, p, table = people(4, 100)
    with pytest.raises(InvalidDataError, match="table has 99 rows, but y has 100"):
        worst_segment(y, p, table.iloc[1:])
    with pytest.raises(InvalidDataError, match="no segment has 1000 of the 100"):
        worst_segment(y, p, table, min_size=1000)
    with pytest.raises(InvalidDataError, match="'name' has 100 levels"):
        worst_segment(y, p, table.assign(name=[f"n{i}" for i in range(100)]))
    with pytest.raises(InvalidDataError, match="no column of table has two values"):
        worst_segment(y, p, pd.DataFrame({"a": np.ones(100)}))
    with pytest.raises(InvalidDataError, match="whole numbers"):
        worst_segment(y, p, table, weights=np.full(100, 1.5))
    with pytest.raises(InvalidDataError, match="DataFrame"):
        worst_segment(y, p, np.ones((100, 2)))
    with pytest.raises(InvalidOptionError, match="min_size"):
        worst_segment(y, p, table, min_size=0)
