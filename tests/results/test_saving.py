"""Saving leaves the object at hand, its model and other results of it as they are; files are replaced when complete."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gevglm
from gevglm.datasets import simulate_study
from gevglm.exceptions import GevglmError, InvalidDataError

pytestmark = pytest.mark.filterwarnings("ignore::gevglm.exceptions.WeakShapeWarning")
FORMULA = "event ~ age + smoker"
OPTIONS = [
    {"link": "logit"},
    {"xi": 0.5, "cov_type": "cluster", "cov_kwds": {"groups": "smoker"}},
    {"link": "gev", "loss": "log", "xi": "ml"},
    {"link": "logit", "prevalence": 0.02},
]


@pytest.fixture
def data():
    return simulate_study(rng=1)


def numbers(res):
    return np.concatenate([np.ravel(res.risk("smoker").table), res.predict()[:5], res.resid_pearson[:5], [res.auc]])


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_saving_changes_nothing_at_hand(data, options, tmp_path):
    fit_options = {key: options[key] for key in ("cov_type", "cov_kwds") if key in options}
    model = gevglm.BinaryGLM.from_formula(FORMULA, data, **{k: v for k, v in options.items() if k not in fit_options})
    res, other = model.fit(**fit_options), model.fit(bias=None if "xi" in options else "firth")
    before = numbers(res), numbers(other), [str(table) for table in res.summary().tables]
    res.save(tmp_path / "res.pkl")
    assert_array_equal(numbers(res), before[0])
    assert_array_equal(numbers(other), before[1])
    assert_allclose(model.fit(**fit_options).params, res.params)
    loaded = gevglm.load(tmp_path / "res.pkl")
    assert not loaded.has_data and res.has_data
    assert [str(table) for table in loaded.summary().tables] == before[2]
    assert_array_equal(loaded.predict(data[:3]), res.predict(data[:3]))


def test_removing_the_data_of_one_result_leaves_those_of_the_others(data):
    model = gevglm.BinaryGLM.from_formula(FORMULA, data, link="gev", loss="log", xi="ml")
    one, other = model.fit(), model.fit()
    before = numbers(other), other.xi_conf_int()
    one.remove_data()
    assert not one.has_data
    with pytest.raises(InvalidDataError, match="not in memory"):
        one.risk("smoker")
    with pytest.raises(InvalidDataError, match="data are gone"):
        one.xi_conf_int()
    assert_array_equal(numbers(other), before[0])
    assert_allclose(other.xi_conf_int(), before[1])
    assert_allclose(model.fit().params, other.params)


def test_pickles_of_other_versions_say_so(tmp_path):
    for module in ("gevglm.statsmodels_wrapper\nBinaryGLMResultsWrapper", "gevglm.results\nOlder"):
        (tmp_path / "old.pkl").write_bytes(f"c{module}\n.".encode())
        with pytest.raises(
            InvalidDataError, match=r"'.*old\.pkl' was saved by another version of gevglm than this one"
        ):
            gevglm.load(tmp_path / "old.pkl")


def test_a_file_is_replaced_when_it_is_complete(data, tmp_path):
    path = tmp_path / "res.pkl"
    res = gevglm.fit(FORMULA, data, link="logit")
    res.save(path)
    first = path.read_bytes()
    half = lambda x: x / 2  # noqa: E731, F841 (which no pickle can hold)
    other = gevglm.fit("event ~ half(age) + smoker", data, link="logit")
    with pytest.raises(GevglmError, match=r"cannot be saved: .*lambda.* define functions by def in a module"):
        other.save(path)
    assert path.read_bytes() == first and list(tmp_path.iterdir()) == [path]
    assert other.has_data and np.isfinite(other.risk("smoker").table).all(axis=None)


@pytest.mark.parametrize("error", ["RuntimeError", "MemoryError", "RecursionError", "ZeroDivisionError"])
def test_whatever_a_broken_file_raises_is_one_sentence(error, tmp_path):
    (tmp_path / "broken.pkl").write_bytes(f"cbuiltins\nexec\n(S'raise {error}(1)'\ntR.".encode())
    with pytest.raises(InvalidDataError, match=rf"broken\.pkl' could not be loaded \({error}: 1\)"):
        gevglm.load(tmp_path / "broken.pkl")


def test_results_can_be_written_to_an_open_file(data, tmp_path):
    res = gevglm.fit(FORMULA, data, link="logit")
    with open(tmp_path / "res.pkl", "wb") as file:
        res.save(file)
    assert_array_equal(gevglm.load(tmp_path / "res.pkl").params, res.params)
