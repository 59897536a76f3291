"""However the same observations are written down, every public method gives the same answer.

The methods are collected from the class: a new one is compared here as soon as it is added, or has to be left out by name.
"""

import inspect
import warnings
from dataclasses import dataclass, fields, is_dataclass
from functools import cache

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from numpy.testing import assert_allclose
from scipy.special import expit

import gevglm
from gevglm.data.row_weights import RowWeights
from gevglm.exceptions import GevglmError, GevglmWarning

pytest.importorskip("matplotlib").use("Agg")

OBSERVATIONS = 900
VARIABLES = ["age", "smoker", "group", "clinic"]
FORMULA = "age + smoker + C(group)"
FITS = {
    "logit": {"link": "logit"},
    "firth": {"link": "logit", "bias": "firth"},
    "ridge": {"link": "logit", "alpha": 2.0, "standardize": True},
    "gev": {"xi": 0.3},
    "gev log": {"xi": 0.2, "loss": "log", "cov_type": "HC0"},
    "clusters": {"link": "cloglog", "cov_type": "cluster", "cov_kwds": {"groups": "clinic"}},
    "shape": {"link": "gev", "loss": "log", "xi": "ml"},
    "sampled": {"link": "logit", "prevalence": 0.05},
    "class weights": {"xi": 0.3, "class_weight": "balanced"},
}

# -- the same observations, written down in several ways -----------------------------------------


@cache
def repeated() -> pd.DataFrame:
    """One row per observation; few distinct ones."""
    rng = np.random.default_rng(5)
    data = pd.DataFrame(
        {
            "age": rng.integers(-1, 2, OBSERVATIONS).astype(float),
            "smoker": (rng.random(OBSERVATIONS) < 0.3).astype(int),
            "group": rng.choice(["a", "b"], OBSERVATIONS),
            "clinic": rng.integers(0, 6, OBSERVATIONS),
        }
    )
    risk = expit(-1.6 + 0.5 * data["age"] + 0.6 * data["smoker"] + 0.2 * (data["group"] == "b"))
    return data.assign(event=(rng.random(OBSERVATIONS) < risk).astype(int))


@cache
def weighted() -> pd.DataFrame:
    """The distinct rows, and how often each is repeated."""
    return repeated().groupby(["event", *VARIABLES]).size().rename("copies").reset_index()


def counted() -> pd.DataFrame:
    """The distinct rows but for the outcome, with numbers of events and of others."""
    cells = repeated().groupby(VARIABLES)["event"].agg(["sum", "size"]).reset_index()
    return cells.assign(events=cells["sum"], others=cells["size"] - cells["sum"])


def with_rows_of_weight_zero() -> pd.DataFrame:
    """Rows of weight zero that would change everything if they counted, a level and a cluster of their own among them."""
    far = pd.DataFrame(
        {"event": [1, 0, 1], "age": [50.0, -80.0, 3.0], "smoker": [7, 0, 1], "group": list("aba"), "clinic": [9, 0, 1]}
    )
    return pd.concat([weighted(), far.assign(copies=0)], ignore_index=True).sample(frac=1.0, random_state=3)


def later() -> pd.DataFrame:
    """New rows, with the columns that each of the ways asks for."""
    event = repeated()["event"].to_numpy()[::-1]
    month = np.arange(OBSERVATIONS) // 300
    return repeated().assign(event=event, events=event, others=1 - event, copies=1, month=month)


@dataclass(frozen=True)
class Written:
    """The observations in one of the ways, fitted."""

    results: object
    new: pd.DataFrame  # rows to predict


def written(how: str, options: dict) -> Written:
    data, formula, words = repeated(), f"event ~ {FORMULA}", {"tol": 1e-11, **options}
    if how == "weighted":
        data, words["freq_weights"] = weighted(), "copies"
    elif how == "counted":
        data, formula = counted(), f"events + others ~ {FORMULA}"
    elif how == "weight zero":
        data, words["freq_weights"] = with_rows_of_weight_zero(), "copies"
    elif how == "permuted":
        data = data.sample(frac=1.0, random_state=1)
    data = data.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GevglmWarning)
        results = gevglm.fit(formula, data, **words)
    if how == "changed later":
        for name in list(data):
            data[name] = data[name].iloc[0]
    return Written(results, repeated().head(7))


shared = cache(lambda how, fit: written(how, FITS[fit]))


# -- every public name, and how it is asked ------------------------------------------------------

ASKED = {
    "add1": lambda r, new: r.add1("age:smoker").table[["df", "statistic", "pvalue"]],
    "anova": lambda r, new: [r.anova(type).table for type in ("I", "II", "III")],
    "drop1": lambda r, new: r.drop1().table[["df", "statistic", "pvalue"]],
    "attributable_fraction": lambda r, new: r.attributable_fraction("smoker", 0),
    "to_sql": lambda r, new: r.to_sql("people"),
    # standard errors of some indices are those of resamples
    "calibration": lambda r, new: r.calibration(band=None).summary_frame()[["estimate", "statistic", "df"]],
    "classification": lambda r, new: r.classification(0.2).summary_frame(),
    "corrected_risk": lambda r, new: r.corrected_risk(new),
    "delta_covariance": lambda r, new: r.delta_covariance(np.eye(len(r.joint_covariance))),
    "leaning": lambda r, new: r.leaning(np.eye(len(r.params)), "it"),
    "without_infinite": lambda r, new: r.without_infinite(r.cov_params_matrix),
    # p-values are those of draws, of clusters in another order
    "wild_test": lambda r, new: r.wild_test(rng=0).table[["estimate", "statistic"]],
    "exp_params": lambda r, new: r.exp_params(),
    "odds_ratios": lambda r, new: r.odds_ratios(),
    "get_distribution": lambda r, new: r.get_distribution(new).mean(),
    "get_margeff": lambda r, new: [
        r.get_margeff(at=at).summary_frame().to_numpy() for at in ("overall", "mean", "median", "zero")
    ],
    "get_prediction": lambda r, new: [
        r.get_prediction(new).summary_frame(),
        r.get_prediction(which="mean", average=True).summary_frame(),
    ],
    "f_test": lambda r, new: [r.f_test("age = 0").fvalue],
    "info_criteria": lambda r, new: [r.info_criteria(word) for word in ("aic", "bic")],
    "conf_int": lambda r, new: [r.conf_int(), r.conf_int(method="wald")],
    "profile": lambda r, new: r.profile("age").limits,
    "pseudo_rsquared": lambda r, new: [r.pseudo_rsquared(kind) for kind in ("cs", "mcf")],
    "predict": lambda r, new: [r.predict(new), r.predict(new, which="linear")],
    "recalibrate": lambda r, new: [r.recalibrate(method=word).predict(new) for word in ("logistic", "isotonic")],
    "risk": lambda r, new: [
        r.risk("smoker").summary_frame(),
        r.risk("age", at="sd", contrast="ratio").summary_frame(),
        r.risk("age", at="iqr", by="group").summary_frame(),
        r.risk("group", covariates="sampled").summary_frame(),
        r.risk(["smoker", "group"], by=["group", "smoker"]).summary_frame(),
    ],
    "margins": lambda r, new: [
        r.margins().summary_frame(),
        r.margins("age", by=["smoker", "group"], covariates="sampled").summary_frame(),
    ],
    "interaction": lambda r, new: [
        r.interaction("smoker", "group", contrast=contrast).summary_frame() for contrast in ("ratio", "odds")
    ],
    "risk_bounds": lambda r, new: r.risk_bounds(new),
    "risk_change": lambda r, new: r.risk_change({"smoker": (0, 1)}, rng=0, draws=500).summary_frame(),
    "monitor": lambda r, new: r.monitor(later(), time="month", draws=500).table,
    "update": lambda r, new: r.update(later(), how="slope").params,
    "worst_segment": lambda r, new: r.worst_segment(later(), ["age", "smoker"], draws=50, rng=0).table,
    "score_test": lambda r, new: r.score_test(r.model.exog[:, list(r.params.index).index("age")] ** 2),
    "t_test": lambda r, new: r.t_test("age = smoker").summary_frame(),
    "t_test_pairwise": lambda r, new: r.t_test_pairwise("C(group)").result_frame,
    "wald_test": lambda r, new: [r.wald_test("age = 0").statistic],
    "wald_test_terms": lambda r, new: r.wald_test_terms().table,
    "separation": lambda r, new: [r.separation.separated, r.separation.complete],
    "xi_conf_int": lambda r, new: r.xi_conf_int(),
    "xi_lr_test": lambda r, new: r.xi_lr_test(0.1),
    "plot_coefficients": lambda r, new: r.plot_coefficients(per="sd"),
    "plot_effect": lambda r, new: [r.plot_effect("age"), r.plot_effect("age", by="smoker", at="reference")],
}
# one entry per row, compared row by row
PER_ROW = {"fittedvalues", "mu", "null", "resid_response", "resid_working"}
# what says how the rows are written down, how the iteration went, or what was asked for; objects that the others read; files
LEFT_OUT = {
    *("alpha", "bias", "cluster_groups", "cov_kwds", "cov_type", "event", "family", "has_data", "has_likelihood"),
    *("known_separation", "link", "loss", "method", "model", "options", "penalty", "reason", "saved_by", "search"),
    *("use_t", "range_fits", "risk_model", "row_weights", "k_constant", "risk_at_estimates", "need_likelihood"),
    "keep_inference",
    *("decrement", "fit_history", "n_iter", "n_passes", "nobs", "n_outside_support", "n_contradicted"),
    *("initialize", "load", "remove_data", "save", "refit", "report", "summary", "summary2", "calculator"),
    # of rows as they stand: residuals of a row with trials differ from those of its trials, as in statsmodels and R
    *("get_hat_matrix_diag", "get_influence", "plot_influence", "resid_anscombe", "resid_anscombe_scaled"),
    *("resid_anscombe_unscaled", "resid_deviance", "resid_pearson", "plot_added_variable", "plot_ceres_residuals"),
    "plot_partial_residuals",
    # the numbers of calibration(), at points of which rounding may merge two
    "plot_calibration",
    # of random resamples, one line per row as it stands
    "stability",
    # of two fits; see tests/results/test_likelihood.py and tests/calibration/test_paired.py
    *("compare_lr_test", "compare_auc"),
}
# so far from zero that rounding in the sums over rows is seen
LOOSE = {
    "add1": 1e-5,
    "anova": 1e-5,
    "drop1": 1e-5,
    "margins": 1e-5,  # slopes by differences
    "profile": 1e-5,
    "lr_tests": 1e-5,
    "xi_conf_int": 1e-4,
    "xi_lr_test": 1e-5,
    "plot_shape": 1e-4,
}
# of grouped rows only their own saturated model is known: deviance and chi-squared are those of the groups, as in R
BY_GROUP = {
    "deviance",
    "pearson_chi2",
    "null_deviance",
    "llf",
    "llnull",
    "llf_scaled",
    "aic",
    "bic",
    "bic_llf",
    "bic_deviance",
}
BY_GROUP |= {"info_criteria", "prsquared", "pseudo_rsquared", "df_resid", "score_test"}
BY_COVARIANCE = {"attributable_fraction", "bse", "conf_int", "corrected_risk", "cov_params", "cov_params_default"}
BY_COVARIANCE |= {"interaction", "margins", "overall_test"}
BY_COVARIANCE |= {"add1", "anova", "delta_covariance", "drop1", "tests", "without_infinite"}
BY_COVARIANCE |= {"cov_params_matrix", "exp_params", "f_test", "get_margeff", "get_prediction", "joint_covariance"}
BY_COVARIANCE |= {
    "pvalues",
    "risk",
    "risk_change",
    "t_test",
    "t_test_pairwise",
    "tests",
    "tvalues",
    "wald_test",
    "wald_test_terms",
}


def public_names() -> list[str]:
    results = shared("repeated", "logit").results._results
    return [name for name in dir(results) if not name.startswith("_")]


def answer(subject: Written, name: str):
    """What a public name answers: numbers, or the kind of its refusal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if name in ASKED:
                return numbers(ASKED[name](subject.results, subject.new))
            value = getattr(subject.results, name)
            return numbers(value() if callable(value) else value)
        except (GevglmError, AttributeError) as error:
            return type(error).__name__


def numbers(value) -> list[np.ndarray]:
    """All numbers of an answer, as arrays."""
    if value is None or isinstance(value, str):
        return []
    if isinstance(value, Axes):
        return [np.asarray(line.get_xydata(), dtype=float) for line in value.lines]
    if isinstance(value, pd.DataFrame):
        return [value.select_dtypes("number").to_numpy(float)]
    if is_dataclass(value):
        return [part for field in fields(value) for part in numbers(getattr(value, field.name))]
    if isinstance(value, (list, tuple)):
        return [part for entry in value for part in numbers(entry)]
    if isinstance(value, dict):
        return numbers(list(value.values()))
    if isinstance(value, RowWeights) or not np.issubdtype(np.asarray(value).dtype, np.number):
        return []
    return [np.asarray(value, dtype=float)]


def assert_same(found, expected, tolerance):
    if isinstance(expected, str) or isinstance(found, str):
        assert found == expected
        return
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        scale = np.abs(other[np.isfinite(other)]).max(initial=0.0)
        assert_allclose(one, other, rtol=tolerance, atol=tolerance * min(1.0, scale) + 1e-12)


def test_every_public_name_is_compared_or_left_out_by_name():
    """Attributes, and methods that need no argument, are asked as they are."""
    known = set(ASKED) | PER_ROW | LEFT_OUT
    methods = {name: getattr(gevglm.BinaryGLMResults, name, None) for name in set(public_names()) - known}
    assert [name for name, method in methods.items() if callable(method) and needs_arguments(method)] == []
    assert known <= set(public_names())


def needs_arguments(method) -> bool:
    parameters = list(inspect.signature(method).parameters.values())[1:]
    return any(p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in parameters)


COMPARED = [name for name in public_names() if name not in LEFT_OUT]


WAYS = ["weighted", "counted", "weight zero", "permuted", "changed later"]
OF_SINGLE_OUTCOMES = ("sampled", "class weights")  # refused for counts
PAIRS = [(fit, how) for fit in FITS for how in WAYS if not (how == "counted" and fit in OF_SINGLE_OUTCOMES)]


@pytest.mark.parametrize(("fit", "how"), PAIRS)
def test_the_same_observations_give_the_same_answers(fit, how):
    first, other = shared("repeated", fit), shared(how, fit)
    wrong = {}
    for name in COMPARED:
        if (how == "counted" and name in left_out_of_counts(fit)) or (fit, name) == ("sampled", "plot_link"):
            continue  # the picture has bins at quantiles, which of weights that are not counts have several definitions
        expected, found = answer(first, name), answer(other, name)
        if name in PER_ROW:
            expected, found = (row_by_row(part, name) for part in (first, other))
        try:
            assert_same(found, expected, LOOSE.get(name, 1e-7))
        except AssertionError as error:
            wrong[name] = str(error).strip()[:300]
    assert not wrong, "\n".join(f"{name}: {message}" for name, message in wrong.items())


def left_out_of_counts(fit: str) -> set[str]:
    """A row of counts is one unit of a robust covariance, as in R's sandwich: it may be overdispersed."""
    return BY_GROUP | PER_ROW | (BY_COVARIANCE if fit in ("gev log", "clusters") else set())


def row_by_row(subject: Written, name: str) -> list[np.ndarray]:
    """The distinct values of a quantity that each row has, of rows that count."""
    values = np.asarray(getattr(subject.results, name), dtype=float)
    used = subject.results.row_weights.observations > 0
    return [np.unique(np.round(values[used], 9))]


# -- what draws or holds out rows: the same up to chance ------------------------------------------


@pytest.mark.parametrize("how", ["weighted", "counted", "weight zero"])
def test_resampling_draws_observations(how):
    first, other = shared("repeated", "logit").results, shared(how, "logit").results
    errors = [
        float(r.risk("smoker", method="bootstrap", draws=200, rng=1).summary_frame()["se"].iloc[0])
        for r in (first, other)
    ]
    assert_allclose(errors[1] / errors[0], 1.0, atol=0.3)
    for resampling in ("cv", "bootstrap"):
        tables = [
            r.calibration(resampling=resampling, rng=1, **({"resamples": 40} if resampling == "bootstrap" else {}))
            for r in (first, other)
        ]
        rows = [table.summary_frame().loc["calibration slope"] for table in tables]
        slopes = [float(row["corrected" if resampling == "bootstrap" else "estimate"]) for row in rows]
        assert_allclose(slopes[1], slopes[0], atol=0.15)


@pytest.mark.parametrize("how", ["weighted", "counted", "weight zero"])
@pytest.mark.parametrize("search", [{"link": "logit", "alpha": "cv"}, {"xi": "cv"}], ids=["alpha", "xi"])
def test_searches_hold_out_observations(how, search):
    options = {**search, "search_kwds": {"rng": 0}}
    scores = [written(way, options).results.search.table["score"].min() for way in ("repeated", how)]
    assert_allclose(scores[1], scores[0], rtol=0.01)


# -- functions of outcomes, probabilities and weights -----------------------------------------------

OF_WEIGHTS = [
    name
    for name in dir(gevglm.calibration)
    if callable(getattr(gevglm.calibration, name))
    and not name.startswith("plot_")
    and not isinstance(getattr(gevglm.calibration, name), type)
    and "weights" in inspect.signature(getattr(gevglm.calibration, name)).parameters
    # weights of classes; and functions of other arguments, compared in tests/calibration/test_decisions.py
    and not name.endswith("_multiclass")
    # two of tables and columns: tests/calibration/test_monitoring.py and test_segments.py
    and name not in ("bootstrap_optimism", "monitor", "worst_segment")
]


@pytest.mark.parametrize("name", OF_WEIGHTS)
def test_functions_of_predictions_take_weights_as_repeated_rows(name):
    rng = np.random.default_rng(8)
    p = np.repeat(np.round(rng.uniform(0.02, 0.6, 60), 3), 2)
    y, weights = np.tile([0, 1], 60), rng.integers(0, 6, 120)
    function = getattr(gevglm.calibration, name)
    words = {"weight": 0.8} if "weight" in inspect.signature(function).parameters else {}
    words |= {"rng": 0} if "rng" in inspect.signature(function).parameters else {}
    rows = np.repeat(np.arange(120), weights)
    given = {"y": y, list(inspect.signature(function).parameters)[0 if name == "empirical_log_odds" else 1]: p}
    given |= (
        {"q": 0.05 + np.abs(p - 0.2)} if "q" in inspect.signature(function).parameters else {}
    )  # another prediction
    given |= {"by": np.repeat(["a", "b", "c"], 40)} if name == "calibration_by_group" else {}
    words |= {"threshold": 0.3} if name == "classification_table" else {}
    words |= {"thresholds": [0.1, 0.3]} if name == "net_benefit_difference" else {}
    found = numbers(function(**given, weights=weights, **words))
    expected = numbers(function(**{name: values[rows] for name, values in given.items()}, **words))
    assert_same(found, expected, 1e-7)
