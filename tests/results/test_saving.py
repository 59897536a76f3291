"""Saving leaves the object at hand, its model and other results of it as they are; files are replaced when complete."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gevglm
from gevglm._files import replacing
from gevglm.datasets import simulate_study
from gevglm.exceptions import InvalidDataError

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
    res._results.cannot = lambda: None  # which no pickle can hold
    with pytest.raises((AttributeError, pickle.PicklingError)):
        res.save(path)
    assert path.read_bytes() == first and list(tmp_path.iterdir()) == [path]


def test_links_to_files_stay_links(tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with replacing(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "file").read_bytes() == b"new"


def test_results_can_be_written_to_an_open_file(data, tmp_path):
    res = gevglm.fit(FORMULA, data, link="logit")
    with open(tmp_path / "res.pkl", "wb") as file:
        res.save(file)
    assert_array_equal(gevglm.load(tmp_path / "res.pkl").params, res.params)
