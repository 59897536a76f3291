"""The tables for users of R, statsmodels and scikit-learn: both columns are run, and have the same numbers.

R's column was run by ``tests/golden/make_translations.R``, which reads it from the page; the formulas of that page are those of
``tests/data/test_typed_formulas.py``. Other packages in Python are run here.
"""

import json
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gevglm
import gevglm.calibration.curves

DOCS = Path(__file__).parents[1] / "docs"
GOLDEN = Path(__file__).parent / "golden"
DATA = pd.read_csv(GOLDEN / "translations.csv")
R = {row["code"]: row.get("numbers") for row in json.loads((GOLDEN / "translations.json").read_text())["rows"]}
PACKAGES = json.loads((GOLDEN / "calibration_packages.json").read_text())
DOTS = '"y ~ x + z", d, link="logit"'


def rows_of(page, without=()):
    """Return the code on the left and on the right of each row of the tables of a page, each as a list of codes."""
    found = []
    for section in re.split(r"^##+ ", (DOCS / page).read_text(), flags=re.M):
        if section.partition("\n")[0] not in without:
            cells = re.findall(r"^\| (.*?) \| (.*) \|$", section, flags=re.M)
            found += [[re.findall(r"`([^`]+)`", cell) for cell in pair] for pair in cells]
    return [(left, right) for left, right in found if left and right]


def numbers_of(value):
    """Return coefficients and standard errors of a fit; the numbers of what is a table, an array or a number."""
    if hasattr(value, "cov_params") and hasattr(value, "bse"):
        return np.concatenate([value.params, value.bse])
    if hasattr(value, "summary_frame") and not isinstance(value, pd.DataFrame):
        value = value.summary_frame()
    if isinstance(value, (pd.DataFrame, pd.Series)):
        value = value.to_numpy()
    return np.ravel(np.asarray(value, dtype=float), order="F")


# -- R ----------------------------------------------------------------------------------------

# which of our numbers R's are, where they are not all of them in their order
OURS_FOR_R = {
    "summary(m)": lambda value, res: np.column_stack([res.params, res.bse, res.tvalues, res.pvalues]),
    'anova(small, large, test = "Chisq")': lambda value, res: value.table.loc["model 2", ["statistic", "pvalue", "df"]],
    'drop1(m, test = "Chisq")': lambda value, res: value.table.loc[["x", "z"], ["statistic", "pvalue"]],
    "exp(coef(m))": lambda value, res: value["odds_ratio"],
    'predict(m, new, type = "response", se.fit = TRUE)': lambda value, res: value[["mean", "mean_se"]],
    "glmx(y ~ x + z, d, family = gev)": lambda value, res: [*value.params, value.xi],
    'stdGlm(m, d, "x")': lambda value, res: value[["estimate", "se"]],
    "val.prob(p, y)": lambda value, res: value.summary_frame()["estimate"][["Brier score", "calibration slope"]],
    "dca(y ~ p, data.frame(y, p), thresholds = 0.2)": lambda value, res: value.net_benefit,
    "val.prob.ci.2(p, y)": lambda value, res: [value.ici, value.eci],
    "reliabilitydiag(p, y = y)": lambda value, res: [value.score, value.mcb, value.dsc, value.unc],
    'givitiCalibrationBelt(y, p, "external")': lambda value, res: [value.test.statistic, value.test.pvalue],
    **dict.fromkeys(
        ("validate(f, B = 200)", "validate(f, B = 200, cluster = d$id)"),
        lambda value, res: value.summary_frame()["corrected"][["calibration slope", "Brier score"]],
    ),
}
# and which of R's
THEIRS_OF_R = {
    "exp(coef(m))": lambda numbers: numbers[1:],  # without the constant
    # the rest are standard errors that differ, which the page says: Zelig's do not know the correction or the prevalence
    "relogit(y ~ x + z, d)": lambda numbers: numbers[:3],
    'relogit(y ~ x + z, d, tau = 0.05, case.control = "weighting", bias.correct = FALSE)': lambda numbers: numbers[:3],
    "svypredmeans(svyglm(y ~ z, svydesign(~ 1, weights = ~ w, data = d), family = quasibinomial), ~ factor(x))": (
        lambda numbers: numbers[:2]
    ),
    "val.prob(p, y)": lambda numbers: [numbers[10], numbers[12]],
    "val.prob.ci.2(p, y)": lambda numbers: [PACKAGES["val_prob_ci_2"]["stats"][name] for name in ("Eavg", "ECI")],
    "reliabilitydiag(p, y = y)": lambda numbers: [
        PACKAGES["reliabilitydiag"]["summary"][name]
        for name in ("mean_score", "miscalibration", "discrimination", "uncertainty")
    ],
    'givitiCalibrationBelt(y, p, "external")': lambda numbers: [
        PACKAGES["giviti"]["external"][name] for name in ("statistic", "p_value")
    ],
}
CLOSE = {
    "confint(m)": 2e-4,  # MASS interpolates the profile
    "confint(logistf(y ~ x + z, d))": 1e-5,
    "glmx(y ~ x + z, d, family = gev)": 1e-5,
    'stdGlm(m, d, "x")': 1e-3,
    **dict.fromkeys(("validate(f, B = 200)", "validate(f, B = 200, cluster = d$id)"), 0.03),  # two bootstraps
}
FROM_R = rows_of("from_r.md", without=("Formulas",))


@pytest.fixture(scope="module")
def names():
    judged = pd.read_csv(GOLDEN / "calibration.csv")
    res, small = (gevglm.fit(formula, DATA, link="logit") for formula in ("y ~ x + z", "y ~ x"))
    fits = {"res": res, "large": res, "small": small, "fit": gevglm.fit, "gevglm": gevglm, "np": np}
    return fits | {"d": DATA, "new": DATA.head(3), "y": judged["y"].to_numpy(), "p": judged["p"].to_numpy()}


def run(code, names):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(code.replace("fit(...", f"fit({DOTS}"), {}, names)


def close(ours, theirs, tolerance):
    ours, theirs = numbers_of(ours), numbers_of(theirs)
    assert len(ours) >= len(theirs) > 0
    assert_allclose(ours[: len(theirs)], theirs, rtol=tolerance, atol=1e-3 * tolerance)


def test_every_line_of_r_was_run():
    codes = [left[0] for left, _ in FROM_R]
    assert codes == list(R) and len(codes) >= 45
    assert {*OURS_FOR_R, *THEIRS_OF_R, *CLOSE} <= {*codes}


@pytest.mark.parametrize(("left", "right"), FROM_R, ids=lambda codes: codes[0])
def test_lines_of_r_have_its_numbers(left, right, names):
    code = left[0]
    value = run(right[0], names)
    ours = OURS_FOR_R[code](value, names["res"]) if code in OURS_FOR_R else value
    theirs = THEIRS_OF_R[code](R[code]) if code in THEIRS_OF_R else R[code]
    close(ours, theirs, CLOSE.get(code, 1e-6))
    for other in right[1:]:
        if re.match(r"(fit|res|large|gevglm)\b.*\)", other):
            run(other, names)


def test_options_beside_a_line_are_the_same():
    both = [gevglm.fit("y ~ x + z", DATA, link="logit", cov_type=word) for word in ("robust", "HC1")]
    assert_allclose(*(res.cov_params() for res in both))
    assert all("(HC1)" in str(res.summary()) for res in both)


# -- statsmodels, scikit-learn, firthmodels ---------------------------------------------------

FIRTHMODELS = json.loads((GOLDEN / "firthmodels.json").read_text())
FROM_PYTHON = [row for row in rows_of("from_python.md") if not row[0][0].startswith("GEV")]


def coefficients(model):
    return [*np.ravel(model.coef_), *np.ravel(model.intercept_)]


def as_arrays(value):
    return np.concatenate([np.asarray(part)[np.isfinite(part)] for part in value])


# what is compared: of theirs, of ours, and how close
PYTHON = {
    'smf.glm("y ~ x", d, family=Binomial())': (lambda model: model.fit(), lambda model: model.fit()),
    "smf.glm(...).fit_regularized(alpha=0.5 / len(d), L1_wt=0)": (lambda fit: fit.params, lambda fit: fit.params, 1e-3),
    'smf.glm(...).fit_constrained("x = 1")': (None, None, 1e-5),
    "sm.GLM(y, X, family=Binomial(link=gevglm.links.GEV(0.5))).fit()": (None, None, 1e-5),
    "sm.GLM(y, X, family=gevglm.families.GEVBinomial(0.5)).fit()": (None, None, 1e-5),
    'smf.logit("y ~ x + z", d).fit().get_margeff().summary_frame()': (
        lambda frame: frame.iloc[:, :2],
        lambda frame: frame.iloc[:, :2],
    ),
    "2 * (large.llf - small.llf)": (None, lambda test: test[:1]),
    "np.exp(res.params[1:])": (None, lambda frame: frame["odds_ratio"]),
    "LogisticRegression(C=np.inf).fit(X, y)": (coefficients, coefficients, 1e-3),
    "LogisticRegression(C=0.5).fit(X, y)": (coefficients, coefficients, 1e-3),
    'LogisticRegressionCV(Cs=[0.01, 0.1, 1], cv=folds, scoring="neg_log_loss").fit(X, y)': (
        lambda model: 1.0 / np.ravel(model.C_),
        lambda model: model.results_.alpha,
    ),
    'LogisticRegression(C=np.inf, class_weight="balanced").fit(X, y)': (
        lambda model: model.coef_,
        lambda model: model.coef_,
        1e-3,
    ),
    'CalibratedClassifierCV(model, method="sigmoid", cv=folds, ensemble=False).fit(X, y)': (
        lambda model: model.predict_proba(np.eye(2)),
        lambda model: model.predict_proba(np.eye(2)),
        1e-2,
    ),
    "roc_curve(y, p, drop_intermediate=False)": (
        as_arrays,
        lambda curve: as_arrays([curve.false_positive_rate, curve.true_positive_rate, curve.threshold]),
    ),
    "precision_recall_curve(y, p)": (
        lambda curve: as_arrays([curve[0][-2::-1], curve[1][-2::-1]]),  # without a point at no recall
        lambda curve: as_arrays([curve.precision, curve.recall]),
    ),
    "FirthLogisticRegression().fit(X, y)": (lambda stored: stored["coef"], coefficients),
    'FirthLogisticRegression().fit(X, y).conf_int(method="pl")': (
        lambda stored: np.asarray(stored["conf_int"]),
        lambda limits: limits.loc[["x", "z", "Intercept"]],
        1e-3,
    ),
    "FirthLogisticRegression().fit(X, y).lrt()": (
        lambda stored: stored["lrt_pvalues"],
        lambda tests: tests["pvalue"][["x", "z", "Intercept"]],
    ),
    "detect_separation(X, y)": (lambda stored: stored["separation"], None),
}


@pytest.fixture(scope="module")
def both_sides(names):
    import statsmodels.api as sm
    import statsmodels.formula.api as smf
    from sklearn import calibration as sklearn_calibration
    from sklearn import linear_model, metrics
    from sklearn.model_selection import KFold
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.families.links import CLogLog

    import gevglm.sklearn  # noqa: F401

    X, y = DATA[["x", "z"]].to_numpy(float), DATA["y"].to_numpy()
    common = {"X": X, "y": y, "s": DATA["s"].to_numpy(), "f": DATA["f"].to_numpy(), "folds": list(KFold(5).split(X))}
    common |= {"p": np.asarray(names["res"].predict()), "model": linear_model.LogisticRegression()}
    packages = {"sm": sm, "smf": smf, "Binomial": Binomial, "CLogLog": CLogLog}
    for module in (linear_model, metrics, sklearn_calibration):
        packages |= {name: getattr(module, name) for name in dir(module) if name[0] != "_"}
    fits = {
        name: smf.glm(formula, DATA, family=Binomial()).fit(tol=1e-12)
        for name, formula in (("res", "y ~ x + z"), ("large", "y ~ x + z"), ("small", "y ~ x"))
    }
    return names | packages | common | fits, names | common


def test_every_line_of_python_is_compared():
    codes = [left[0] for left, _ in FROM_PYTHON]
    assert len(codes) >= 33 and {*PYTHON} <= {*codes}


@pytest.mark.parametrize(("left", "right"), FROM_PYTHON, ids=lambda codes: codes[0])
def test_lines_of_python_have_the_same_numbers(left, right, both_sides):
    code, (theirs, ours) = left[0], both_sides
    of_theirs, of_ours, tolerance = (*PYTHON.get(code, (None, None)), 1e-6)[:3]
    stored = "Firth" in code or code == "detect_separation(X, y)"
    typed = code.replace("glm(...", 'glm("y ~ x + z", d, family=Binomial()')
    their_value = FIRTHMODELS if stored else run(typed, theirs)
    our_value = run(right[0].replace("from_formula(...", 'from_formula("y ~ x + z", d'), ours)
    close(
        our_value if of_ours is None else of_ours(our_value),
        their_value if of_theirs is None else of_theirs(their_value),
        tolerance,
    )
    for other in right[1:]:
        if re.match(r"(fit|res|large|gevglm)\b.*\)", other):
            run(other, ours)
