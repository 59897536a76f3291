"""Few clusters beside absorbed constants: clubSandwich with dummies, our own fits with dummies, and what leaving out a cluster means."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gevglm.exceptions import IncompatibleOptionsError, InvalidDataError
from tests.panel.test_against_others import BOTH, DATA, PANEL, made, quietly
from tests.support.golden import numbers

GOLDEN = numbers("panel_clusters")
MANY = made(80, 20, 2)
FEW = PANEL[PANEL["unit"] <= 40]
FEW = FEW.assign(region=FEW["unit"] // 6, crossing=(FEW["unit"] * 7 + FEW["period"] * 3) % 11)


def clustered(formula, data=DATA, groups="cluster", kind="CR2", **options):
    words = {"cov_type": "cluster", "cov_kwds": {"groups": groups, "kind": kind}}
    return quietly(formula, data, **words, use_t="satterthwaite", tol=1e-12, **options)


@pytest.mark.parametrize("factors", ["unit", "both"])
@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_clubsandwich(factors, link):
    formula = "y ~ x + z | unit" + (" + period" if factors == "both" else "")
    for case, expected in GOLDEN[factors][link].items():
        res = clustered(formula, FEW, *case.split(), link=link)
        assert_allclose(res.bse, expected["bse"], atol=1e-8)
        assert_allclose(res.df_resid_inference, expected["df"], rtol=1e-7)
        joint = res.wald_test("x = 0, z = 0", scalar=True)
        assert_allclose([joint.statistic, joint.df_denom], [expected["F"], expected["df_joint"]], rtol=1e-7)


@pytest.mark.parametrize("kind", ["CR0", "CR2", "CR3"])
@pytest.mark.parametrize("loss", ["log", "canonical"])
@pytest.mark.parametrize("second", ["", " + year"])
def test_dummies(kind, loss, second):
    ours = clustered(f"y ~ x + z | unit{second}", kind=kind, link="cloglog", loss=loss)
    dummies = "C(unit)" + (" + C(year)" if second else "")
    data = DATA.loc[ours.fittedvalues.index]
    dense = clustered(f"y ~ 0 + x + z + {dummies}", data, kind=kind, link="cloglog", loss=loss)
    assert_allclose(ours.bse, dense.bse[["x", "z"]], rtol=1e-8)
    contrast = "x + 2 * z = 0"
    assert_allclose(ours.t_test(contrast).pvalue, dense.t_test(contrast).pvalue, rtol=1e-7)
    both = [res.wald_test("x = 0, z = 0", scalar=True) for res in (ours, dense)]
    assert_allclose(both[0].pvalue, both[1].pvalue, rtol=1e-7)
    assert ours.fixed_effects["std_err"].isna().all() == (kind != "CR0")


def test_frequency_weights():
    repeated = DATA.loc[np.repeat(DATA.index, DATA["count"])].reset_index(drop=True)
    a = clustered("y ~ x + z | unit", freq_weights="count")
    b = clustered("y ~ x + z | unit", repeated)
    assert_allclose(a.bse, b.bse, rtol=1e-9)
    assert_allclose(a.df_resid_inference, b.df_resid_inference, rtol=1e-8)


def test_a_cluster_is_left_out_with_its_units():
    """One step from the estimates to those without a cluster of whole units, whose constants have moved to their own."""
    res = clustered("y ~ x + z | unit", BOTH, "region", "CR3")
    within = res._fit.within
    X, y = within.fitted.engine.X, within.panel.design.y
    mu = res.link.at(within.linear).cdf
    W = mu * (1 - mu)
    regions = within.panel.factors[0].levels.to_numpy()[within.panel.groups.codes] // 3
    S, steps = X.T @ (W[:, None] * X), []
    for region in np.unique(regions):
        left = regions != region
        rest = S - X[~left].T @ (W[~left, None] * X[~left])
        steps.append(np.linalg.solve(rest, X[left].T @ (y - mu)[left]))
    assert_allclose(res.cov_params(), np.array(steps).T @ np.array(steps), rtol=1e-9)


def test_after_bias_reduction():
    ours = clustered("y ~ x + z | unit", bias="firth")
    dense = clustered("y ~ 0 + x + z + C(unit)", BOTH, bias="firth")
    assert_allclose(ours.bse, dense.bse[["x", "z"]], rtol=1e-7)
    names = list(dense.params.index)
    places = [names.index(name) for name in ("x", "z")]
    assert_allclose(ours.df_resid_inference, dense.df_resid_inference[places], rtol=1e-7)
    assert "Satterthwaite's degrees of freedom: x" in str(ours.summary())


def test_whole_units_after_bias_reduction():
    """Half an event that each constant has been given is no residual: the corrections stay close to no correction, as after maximum likelihood."""
    for bias in (None, "firth"):
        plain, corrected, without = (
            np.asarray(clustered("y ~ x + z | unit", MANY, "unit", kind, bias=bias).bse)
            for kind in ("CR0", "CR2", "CR3")
        )
        assert (np.abs(corrected / plain - 1) < 0.1).all() and (plain < without).all()


def test_columns_that_were_left_out_do_not_count():
    res = clustered("y ~ x + z + size | unit", DATA.assign(size=DATA["unit"] ** 2 / 7))
    known = clustered("y ~ x + z | unit")
    assert_allclose(res.df_resid_inference[:2], known.df_resid_inference, rtol=1e-9)
    joint = [one.wald_test(text, scalar=True).pvalue for one, text in ((res, "x, z, size"), (known, "x, z"))]
    assert_allclose(*joint, rtol=1e-8)


def test_what_is_refused(monkeypatch):
    with pytest.raises(IncompatibleOptionsError, match="use_t='satterthwaite'"):
        quietly("y ~ x | unit", DATA, use_t=True)
    with pytest.raises(IncompatibleOptionsError, match="defined for clusters"):
        quietly("y ~ x | unit", DATA, use_t="satterthwaite")
    with pytest.raises(IncompatibleOptionsError, match="one way"):
        clustered("y ~ x | unit", groups=["cluster", "year"])
    alone = DATA.assign(own=((DATA["cluster"] == 0) & (DATA["year"] > 3)).astype(float))
    with pytest.raises(InvalidDataError, match="without cluster 0"):
        clustered("y ~ x + own | unit", alone, kind="CR3")
    monkeypatch.setattr("gevglm.panel.units.MOST_LEVELS", 2)
    with pytest.raises(IncompatibleOptionsError, match="kind='CR2' needs leverages"):
        clustered("y ~ x | unit + year")
