"""Results whose rows are not in memory: what needs them says so in one sentence, with what to do."""

import inspect

import numpy as np
import pytest

import gevglm
from gevglm.datasets import simulate_study
from gevglm.exceptions import GevglmError, InvalidDataError

FORMULA = "event ~ age + smoker"
SENTENCE = r"^[^;.]+ needs the rows of the fit, which are not in memory \(.*\); [^.]+.*\.$"
NOT_CALLED = {"save", "load", "remove_data", "report", "initialize", "t_test_pairwise"}  # the last needs a term


@pytest.fixture(scope="module")
def study():
    return simulate_study(n=400, rng=4)


def loaded(study, folder, **options):
    gevglm.fit(FORMULA, study, **options).save(folder / "model.pkl")
    return gevglm.load(folder / "model.pkl")


@pytest.fixture(scope="module")
def saved(study, tmp_path_factory):
    return loaded(study, tmp_path_factory.mktemp("model"), link="logit")


ASKED = {
    "get_margeff()": lambda res: res.get_margeff(),
    "resid_deviance": lambda res: res.resid_deviance,
    "resid_pearson": lambda res: res.resid_pearson,
    "fittedvalues": lambda res: res.fittedvalues,
    "predict()": lambda res: res.predict(),
    "get_prediction()": lambda res: res.get_prediction(),
    "get_influence()": lambda res: res.get_influence(),
    "profile limits": lambda res: res.conf_int(method="profile"),
    "lr_tests()": lambda res: res.lr_tests(),
    "calibration()": lambda res: res.calibration(),
    "cross-validation": lambda res: res.calibration(resampling="cv"),
    "bootstrap": lambda res: res.calibration(resampling="bootstrap"),
    "recalibrate()": lambda res: res.recalibrate(),
    "risk": lambda res: res.risk("smoker"),
    "separation": lambda res: res.separation,
    "plot_roc": lambda res: res.plot_roc(),
    "plot_influence": lambda res: res.plot_influence(),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_loaded_model_says_what_it_needs(name, saved):
    with pytest.raises(InvalidDataError, match=SENTENCE):
        ASKED[name](saved)


@pytest.mark.parametrize("name", ["separation", "cross-validation", "get_influence()", "get_margeff()", "predict()"])
def test_so_do_data_in_pieces(name, study):
    results = gevglm.fit(FORMULA, [study.iloc[:200], study.iloc[200:]], link="logit")
    with pytest.raises(InvalidDataError, match=SENTENCE):
        ASKED[name](results)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "options",
    [
        {"link": "logit"},
        {"xi": 0.3, "offset": "risk", "cov_type": "cluster", "cov_kwds": {"groups": "age"}},
        {"link": "gev", "loss": "log", "xi": "ml", "search_kwds": {"grid": [-0.5, 0.0, 0.5]}},
        {"link": "logit", "bias": "firth", "prevalence": 0.01},
    ],
    ids=str,
)
def test_nothing_ends_in_a_bare_error(options, study, tmp_path):
    """Every public attribute, and every method without arguments, answers or refuses on purpose."""
    results = loaded(study, tmp_path, **options)
    for name in sorted(set(dir(type(results._results))) - NOT_CALLED):
        if name.startswith("_"):
            continue
        try:
            value = getattr(results, name)
            parameters = inspect.signature(value).parameters.values() if callable(value) else ()
            if callable(value) and all(one.default is not one.empty or one.kind in (2, 4) for one in parameters):
                value()
        except (GevglmError, NotImplementedError):
            continue


def test_new_data_are_predicted_as_before(study, saved):
    whole = gevglm.fit(FORMULA, study, link="logit")
    np.testing.assert_array_equal(saved.predict(study), whole.predict(study))
    np.testing.assert_array_equal(
        saved.get_prediction(study).summary_frame(), whole.get_prediction(study).summary_frame()
    )
    assert not saved.has_likelihood and whole.has_likelihood
