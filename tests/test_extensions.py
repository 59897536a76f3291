"""What a user may define outside the package, and where it must then work: a link with a shape of its own, a covariance, a source."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import stdtr

import gevglm
from gevglm.cli import main
from gevglm.covariance import Covariance
from gevglm.exceptions import GevglmWarning, IncompatibleOptionsError, InvalidDataError, InvalidOptionError
from gevglm.report.code import code_of
from tests.support.student_t import StudentT

TRUTH = np.array([-1.0, 1.5, 0.8])


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(7)
    n = 3000
    frame = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n)})
    linear = TRUTH[0] + TRUTH[1] * frame["x"] + TRUTH[2] * frame["z"]
    return frame.assign(y=(rng.random(n) < stdtr(2.0, linear)).astype(int))


def minus_log_likelihood(params, data, df):
    v = params[0] + params[1] * data["x"].to_numpy() + params[2] * data["z"].to_numpy()
    y = data["y"].to_numpy()
    return -np.log(np.where(y == 1, stdtr(df, v), stdtr(df, -v))).sum()


@pytest.fixture(scope="module")
def by_likelihood(data):
    return gevglm.fit("y ~ x + z", data, link="gosset", xi="ml")


def test_a_link_with_a_given_shape_has_its_default_loss(data):
    by_object, by_word = (
        gevglm.fit("y ~ x + z", data, link=StudentT(3.0)),
        gevglm.fit("y ~ x + z", data, link="gosset", xi=3.0),
    )
    best = minimize(minus_log_likelihood, TRUTH, (data, 3.0), method="BFGS", options={"gtol": 1e-6})
    assert by_object.loss.name == "log"
    assert_allclose(by_object.params, best.x, rtol=1e-4)
    assert_allclose(by_object.llf, -best.fun, rtol=1e-12)
    assert_allclose(by_word.params, by_object.params, rtol=1e-12)
    assert by_word.xi == 3.0


def test_its_shape_is_estimated_by_maximum_likelihood(data, by_likelihood):
    best = minimize(
        lambda theta: minus_log_likelihood(theta[:3], data, np.exp(theta[3])),
        [*TRUTH, np.log(2.0)],
        method="BFGS",
        options={"gtol": 1e-6},
    )
    assert_allclose(by_likelihood.xi, np.exp(best.x[3]), rtol=1e-3)
    assert_allclose(by_likelihood.params, best.x[:3], rtol=1e-3)
    assert_allclose(by_likelihood.llf, -best.fun, rtol=1e-9)
    lower, upper = by_likelihood.xi_conf_int()
    assert lower < by_likelihood.xi < upper
    assert abs(by_likelihood.xi - 2.0) < 4.0 * by_likelihood.xi_bse
    statistic, _ = by_likelihood.xi_lr_test(2.0)
    at_two = gevglm.fit("y ~ x + z", data, link=StudentT(2.0))
    assert_allclose(statistic, 2.0 * (by_likelihood.llf - at_two.llf), atol=1e-6)


def test_a_link_object_is_where_the_search_for_its_shape_starts(data, by_likelihood):
    found = gevglm.fit("y ~ x + z", data, link=StudentT(5.0), xi="ml", search_kwds={"grid": [1.0, 2.0, 4.0, 8.0]})
    assert_allclose(found.xi, by_likelihood.xi, rtol=1e-5)
    with pytest.raises(IncompatibleOptionsError, match="leave one of the two out"):
        gevglm.fit("y ~ x + z", data, link=StudentT(5.0), xi=3.0)
    with pytest.raises(InvalidOptionError, match="df=-1"):
        gevglm.fit("y ~ x + z", data, link="gosset", xi=-1.0)
    with pytest.raises(InvalidOptionError, match="df=0"):
        gevglm.fit("y ~ x + z", data, link="gosset", xi="ml", search_kwds={"grid": [0.0, 1.0]})


def test_summary_and_comparison_name_its_shape(data, by_likelihood):
    text = str(by_likelihood.summary())
    assert "StudentT(df=" in text
    assert f"df = {by_likelihood.xi:.4g} was estimated by maximum likelihood" in text
    links = {"logit": {"link": "logit"}, "t": {"link": "gosset", "xi": "ml"}}
    table = gevglm.fit_links("y ~ x + z", data, links=links).table
    assert_allclose(table.loc["t", "xi"], by_likelihood.xi, rtol=1e-8)
    assert "StudentT" in str(gevglm.compare({"t": by_likelihood}).summary())


def test_the_call_in_the_report_runs_and_gives_the_same_fit(data, by_likelihood, tmp_path):
    pytest.importorskip("matplotlib")
    for results in (by_likelihood, gevglm.fit("y ~ x + z", data, link=StudentT(2.5), cov_type="HC1", use_t=True)):
        page = results.report(tmp_path / "report.html")
        assert "StudentT(df=" in page.read_text()
        call = code_of(results).partition("print(")[0]
        scope = {"data": data, "StudentT": StudentT}
        exec(call, scope)
        assert_allclose(scope["results"].params, results.params, rtol=1e-12)
        assert_allclose(scope["results"].bse, results.bse, rtol=1e-12)
        assert scope["results"].use_t == results.use_t


def test_it_is_saved_and_predicts(data, by_likelihood, tmp_path):
    by_likelihood.save(tmp_path / "t.pickle")
    loaded = gevglm.load(tmp_path / "t.pickle")
    assert_allclose(loaded.predict(data.head()), by_likelihood.predict(data.head()), rtol=1e-14)
    assert_allclose(loaded.get_prediction(data.head()).se, by_likelihood.get_prediction(data.head()).se, rtol=1e-10)


def test_the_classifier_takes_it(data):
    pytest.importorskip("sklearn")
    from sklearn.base import clone

    X, y = data[["x", "z"]].to_numpy(), data["y"].to_numpy()
    model = clone(gevglm.sklearn.BinaryGLMClassifier(link="gosset", xi=3.0)).fit(X, y)
    expected = gevglm.fit("y ~ x + z", data, link=StudentT(3.0))
    assert_allclose(model.predict_proba(X)[:, 1], expected.predict(), rtol=1e-10)
    assert clone(model.set_params(link=StudentT(3.0), xi=None)).fit(X, y).results_.xi == 3.0


def test_the_command_line_knows_its_word(data, tmp_path, capsys):
    data.to_csv(tmp_path / "data.csv", index=False)
    with pytest.raises(SystemExit):
        main(["fit", "y ~ x", str(tmp_path / "data.csv"), "--link", "t"])
    assert "'gosset'" in capsys.readouterr().err
    assert main(["fit", "y ~ x", str(tmp_path / "data.csv"), "--link", "gosset"]) == 2
    assert "has a shape: give xi" in capsys.readouterr().err
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GevglmWarning)
        assert main(["fit", "y ~ x", str(tmp_path / "data.csv"), "--link", "gosset", "--xi", "3"]) == 0
    assert "StudentT(df=3)" in capsys.readouterr().out


class HalfHC0(Covariance):
    """A covariance of one's own: half of HC0's."""

    name = "half HC0"
    description = "Standard errors are those of half of HC0."

    def meat(self, fit):
        from gevglm.covariance import HC

        return 0.5 * HC(0).meat(fit)


def test_a_covariance_of_ones_own(data, tmp_path):
    own, hc0 = (gevglm.fit("y ~ x + z", data, link="logit", cov_type=how) for how in (HalfHC0(), "HC0"))
    assert_allclose(own.bse, np.sqrt(0.5) * hc0.bse, rtol=1e-12)
    assert "half HC0" in str(own.summary())
    own.save(tmp_path / "own.pickle")
    assert_allclose(gevglm.load(tmp_path / "own.pickle").bse, own.bse)


class Halves(gevglm.sources.Source):
    """A source of one's own: a table in two pieces."""

    def __init__(self, frame):
        self.name, self.columns, self.frame = "two halves", list(frame.columns), frame

    def map(self, function, columns, every=1):
        middle = len(self.frame) // 2
        for piece, rows in list(enumerate((slice(0, middle), slice(middle, None))))[::every]:
            yield (piece, 0), function(self.frame.iloc[rows][list(columns)], (piece, 0))


def test_a_source_of_ones_own(data):
    own = gevglm.fit("y ~ x + z", Halves(data), link="logit")
    whole = gevglm.fit("y ~ x + z", data, link="logit")
    assert_allclose(own.params, whole.params, rtol=1e-12)
    assert_allclose(own.bse, whole.bse, rtol=1e-7)
    with pytest.raises(InvalidDataError, match="nothing"):
        gevglm.fit("y ~ x + nothing", Halves(data), link="logit")
