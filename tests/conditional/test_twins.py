"""Twins: the concordance of pairs, and its error, are those of a fit whose clusters are pairs."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gevglm


@pytest.mark.parametrize(("both", "one", "neither"), [(43, 484, 8222), (63, 227, 5183), (2, 9, 40)])
def test_concordance_is_the_closed_form(both, one, neither):
    """2C/(2C + D), with the error by the delta method from multinomial numbers of pairs."""
    first = np.repeat([1, 1, 0], [both, one, neither])
    second = np.repeat([1, 0, 0], [both, one, neither])
    pair = np.arange(len(first))
    rows = [{"pair": pair, "y": y, "brother": other} for y, other in ((first, second), (second, first))]
    twins = pd.concat([pd.DataFrame(columns) for columns in rows])
    clusters = {"cov_type": "cluster", "cov_kwds": {"groups": "pair", "kind": "CR0"}}
    res = gevglm.fit("y ~ brother", twins, link="logit", separation="ignore", **clusters)
    found = res.get_prediction(pd.DataFrame({"brother": [1]})).summary_frame().iloc[0]
    assert_allclose(found["mean"], 2 * both / (2 * both + one), rtol=1e-9)
    assert_allclose(found["mean_se"], 2 * np.sqrt(both * one * (both + one)) / (2 * both + one) ** 2, rtol=1e-8)
