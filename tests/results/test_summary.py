"""The summary: what it says of a fit, its widths, ratios, and what it is silent about."""

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose

import gevglm
from gevglm.datasets import simulate_study
from gevglm.exceptions import ConvergenceWarning, FewEventsWarning, InvalidOptionError


@pytest.fixture(scope="module")
def study():
    return simulate_study(rng=1)


def facts(summary) -> dict[str, str]:
    """The facts above the coefficients."""
    found = {}
    for row in summary.tables[0].data:
        found |= {str(row[i]).strip().rstrip(":"): str(row[i + 1]).strip() for i in (0, 2) if str(row[i]).strip()}
    return found


def test_the_whole_model_as_statsmodels_has_it(study):
    found = facts(gevglm.fit("event ~ age + smoker", study, link="logit").summary())
    peer = sm.Logit(study["event"], sm.add_constant(study[["age", "smoker"]])).fit(disp=False)
    for name, number in {
        "Log-Likelihood": peer.llf,
        "LR chi2 (2)": peer.llr,
        "AIC": peer.aic,
        "BIC": peer.bic,
        "McFadden's R2": peer.prsquared,
    }.items():
        assert_allclose(float(found[name]), number, rtol=5e-5)
    assert found["P-value"] == "< 0.0001"


def test_silent_about_what_there_is_nothing_to_say_of(study):
    text = str(gevglm.fit("event ~ age + smoker", study, link="logit").summary())
    assert "Decrement" not in text and "Outside support" not in text
    with pytest.warns((ConvergenceWarning, FewEventsWarning)):
        stopped = gevglm.fit("event ~ age + smoker", study, link="logit", maxiter=1)
    assert "Decrement" in str(stopped.summary()) and "NOT CONVERGED" in str(stopped.summary())
    with pytest.warns(gevglm.exceptions.SupportWarning):
        beyond = gevglm.fit("event ~ age + smoker", study.head(600), link="gev", loss="canonical", xi=1.5)
    assert facts(beyond.summary())["Outside support"] == str(beyond.n_outside_support)


@pytest.mark.parametrize(
    ("options", "test"),
    [
        ({"link": "logit", "bias": "firth"}, "LR chi2 (2)"),
        ({"link": "logit", "cov_type": "HC1"}, "Wald chi2 (2)"),
        ({"xi": 0.5}, "Wald chi2 (2)"),
        ({"link": "logit", "cov_type": "cluster", "cov_kwds": {"groups": "clinic"}, "use_t": True}, "Wald F (2)"),
        ({"link": "gev", "loss": "log", "xi": "ml"}, "Wald chi2 (2)"),
        ({"link": "logit", "alpha": 1.0}, "Wald chi2 (2)"),
    ],
)
def test_the_test_of_the_whole_model_suits_the_fit(study, options, test):
    res = gevglm.fit("event ~ age + smoker", study, **options)
    found = facts(res.summary())
    assert test in found
    assert ("AIC" in found) == (res.loss.is_likelihood and res.bias is None and not res.alpha)
    if test.startswith("Wald"):
        peer = res.wald_test(np.eye(3)[1:], scalar=True, use_f=test.startswith("Wald F"))
        assert_allclose(res.overall_test.statistic, peer.statistic, rtol=1e-8)
        assert_allclose(res.overall_test.pvalue, peer.pvalue, rtol=1e-6)


def test_models_without_terms_or_constant(study):
    assert gevglm.fit("event ~ 1", study, link="logit").overall_test is None
    without = gevglm.fit("event ~ 0 + age + smoker", study, link="logit")
    assert without.overall_test.name == "Wald chi2"
    str(without.summary())


def test_all_parts_are_equally_wide(study):
    long = study.rename(columns={"age": "a_rather_long_name_for_the_age_of_somebody"})
    summaries = [
        gevglm.fit("event ~ age + smoker", study, link="logit", bias="firth").summary(),
        gevglm.fit("event ~ a_rather_long_name_for_the_age_of_somebody", long, link="logit").summary(),
        gevglm.fit("event ~ age + smoker", study, link="logit").summary(exponentiate=True),
    ]
    for summary in summaries:
        text, _, notes = str(summary).partition("\n\nNotes:")
        assert len({len(line) for line in text.splitlines()}) == 1
        assert max(map(len, notes.splitlines())) <= len(text.splitlines()[1])


@pytest.mark.parametrize("options", [{"link": "logit"}, {"link": "logit", "bias": "firth"}, {"link": "cloglog"}])
def test_ratios(study, options):
    res = gevglm.fit("event ~ age + smoker", study, **options)
    for method in (None, "wald"):
        summary, ratios = res.summary(exponentiate=True, method=method), res.exp_params(method=method)
        rows = {row[0].strip(): [float(cell) for cell in row[1:]] for row in summary.tables[1].data[1:]}
        assert list(rows) == ["age", "smoker"]
        assert summary.tables[1].data[0][1].strip() == ratios.columns[0].replace("_", " ")
        for name, (ratio, error, _, p, lower, upper) in rows.items():
            assert_allclose([ratio, lower, upper], ratios.loc[name].iloc[:3], atol=6e-4)
            assert_allclose(error, np.exp(res.params[name]) * res.bse[name], atol=6e-4)
            assert_allclose(p, ratios.loc[name, "pvalue"], atol=6e-4)
    with pytest.raises(InvalidOptionError, match="has no meaning with Probit"):
        gevglm.fit("event ~ age", study, link="probit").summary(exponentiate=True)


def test_summaries_outlive_the_data(study, tmp_path):
    for i, options in enumerate([{"link": "logit"}, {"link": "logit", "bias": "firth"}, {"xi": 0.5}]):
        res = gevglm.fit("event ~ age + smoker", study, **options)
        res.save(tmp_path / f"{i}.pkl")
        assert str(gevglm.load(tmp_path / f"{i}.pkl").summary()) == str(res.summary())


@pytest.mark.parametrize(
    "options",
    [
        {"link": "logit"},
        {"link": "cloglog", "freq_weights": "n"},
        {"link": "logit", "var_weights": "n"},
        {"link": "logit", "offset": "age"},
        {"link": "logit", "prevalence": 0.02},
        {"link": "gev", "loss": "log", "xi": 0.3},
        {"link": "logit", "class_weight": "balanced"},
        {"link": "logit", "sampling_weights": "n"},
    ],
)
def test_the_model_without_terms_in_closed_form(study, options):
    res = gevglm.fit("event ~ smoker", study.assign(n=1 + np.arange(len(study)) % 3), **options)._results
    assert_allclose(res._bernoulli_llnull, res._null_scalars["bernoulli_llf"], rtol=1e-12)


def test_summaries_of_data_in_pieces(study):
    pieces = gevglm.fit(
        "event ~ age + smoker", lambda: (study.iloc[i : i + 900] for i in range(0, 5000, 900)), link="logit"
    )
    ours, expected = (facts(res.summary()) for res in (pieces, gevglm.fit("event ~ age + smoker", study, link="logit")))
    assert {name: ours[name] for name in expected if name != "Converged"} | {
        "Converged": expected["Converged"]
    } == expected
