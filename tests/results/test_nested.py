"""Likelihood-ratio tests between fits: by column space, refused where they mean nothing, and shown by compare."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2

import gevglm
from gevglm.exceptions import GevglmError, InvalidDataError, InvalidOptionError
from tests.support.golden import birthwt

LINK = {"link": "logit"}


@pytest.fixture(scope="module")
def data():
    return birthwt().assign(young=lambda d: (d["age"] < 20).astype(int), pounds=lambda d: 2.0 * d["lwt"] - 7.0)


def fitted(right, data, **options):
    return gevglm.fit(f"low ~ {right}", data, **(LINK | options))


def test_nested_models_are_known_by_their_columns_and_not_by_names(data):
    full = fitted("age + lwt + C(race) + smoke", data)
    expected = 2.0 * (full.llf - fitted("lwt + smoke", data).llf)
    for other in ("lwt + smoke", "pounds + smoke", "I(lwt - 100) + I(1 - smoke)"):  # the same space, other names
        statistic, pvalue, df = full.compare_lr_test(fitted(other, data))
        assert_allclose(statistic, expected, rtol=1e-8)
        assert df == 3 and pvalue == chi2.sf(statistic, 3)
    assert full.compare_lr_test(fitted("I(race == 'black') + lwt", data))[2] == 3
    firth = fitted("age + lwt + C(race) + smoke", data, bias="firth")
    by_name = firth.compare_lr_test(fitted("lwt + smoke", data, bias="firth"))
    assert_allclose(firth.compare_lr_test(fitted("pounds + smoke", data, bias="firth")), by_name, rtol=1e-6)
    with pytest.raises(InvalidOptionError, match="code its factors in the same way"):
        firth.compare_lr_test(fitted("I(age + lwt)", data, bias="firth"))


def test_models_that_are_not_nested_are_refused(data):
    with pytest.raises(InvalidOptionError, match=r"not nested: the restricted model has columns \(lwt\).*Vuong"):
        fitted("age + smoke", data).compare_lr_test(fitted("lwt", data))
    with pytest.raises(InvalidOptionError, match="no fewer coefficients"):
        fitted("lwt", data).compare_lr_test(fitted("pounds", data))


def test_other_rows_weights_and_offsets_are_refused(data):
    full, twice = fitted("age + smoke", data), np.full(len(data), 3.0)
    for role, values in {"freq_weights": twice, "var_weights": twice, "offset": data["lwt"].to_numpy() / 100}.items():
        with pytest.raises(InvalidDataError, match=f"different {role}.* in 189 of 189 rows"):
            full.compare_lr_test(fitted("age", data, **{role: values}))
    assert full.compare_lr_test(fitted("age", data, freq_weights=np.ones(len(data))))[2] == 1
    events = data.sort_values("low", kind="stable")
    turned = events.groupby("low", group_keys=False)[data.columns.tolist()].apply(lambda rows: rows.iloc[::-1])
    assert (turned["low"].to_numpy() == events["low"].to_numpy()).all()  # the same outcomes, of others
    with pytest.raises(InvalidDataError, match="different rows"):
        fitted("age + smoke", events).compare_lr_test(fitted("age", turned))
    with pytest.raises(InvalidOptionError, match=r"not nested.*age"):
        plain = events.reset_index(drop=True)
        fitted("age + smoke", plain).compare_lr_test(fitted("age", turned.reset_index(drop=True)))


@pytest.mark.parametrize("words", [{"cov_type": "cluster", "cov_kwds": {"groups": "age"}}, {"cov_type": "HC1"}])
def test_robust_fits_are_sent_to_the_wald_test(data, words):
    full, restricted = fitted("lwt + smoke", data), fitted("lwt", data)
    for pair in ((fitted("lwt + smoke", data, **words), restricted), (full, fitted("lwt", data, **words))):
        with pytest.raises(InvalidOptionError, match=f"cov_type='{words['cov_type']}'.*wald_test"):
            pair[0].compare_lr_test(pair[1])
    table = gevglm.compare(
        {"small": fitted("lwt", data, **words), "large": fitted("lwt + smoke", data, **words)}, folds=2
    )
    assert table.table.loc["large", ["lr", "vuong"]].isna().all()
    assert "wald_test" in str(table)


def test_no_statistic_is_negative(data):
    full = fitted("age + lwt", data)
    useless = fitted("age + lwt + I(0.5 * smoke)", data)
    useless._results._scalars["bernoulli_llf"] = full.llf - 1e-9
    assert useless.compare_lr_test(full)[:2] == (0.0, 1.0)
    useless._results._scalars["bernoulli_llf"] = full.llf - 1.0
    with pytest.raises(GevglmError, match="larger, by 1, than that of the model it is nested in"):
        useless.compare_lr_test(full)


def test_compare_shows_likelihood_ratios_of_nested_models_and_vuong_of_others(data):
    formulas = {"one": "age + lwt", "two": "age + lwt + smoke + ht + ui", "less": "age", "other": "smoke + ptl"}
    fits = {name: fitted(right, data) for name, right in formulas.items()} | {
        "probit": fitted("age + lwt", data, link="probit")
    }
    found = gevglm.compare(fits, folds=2)
    table = found.table
    assert "lr and vuong: against one." in " ".join(str(found).split())
    assert "vuong" not in str(gevglm.compare({name: fits[name] for name in ("one", "two")}, folds=2))
    assert table.loc["one", ["lr", "lr_df", "lr_p", "vuong", "vuong_p"]].isna().all()
    for name, df in (("two", 3), ("less", 1)):
        expected = 2.0 * abs(fits[name].llf - fits["one"].llf)
        assert_allclose(
            table.loc[name, ["lr", "lr_df", "lr_p"]].astype(float), [expected, df, chi2.sf(expected, df)], rtol=1e-8
        )
        assert np.isnan(table.loc[name, "vuong_p"])
    for name in ("other", "probit"):
        assert table.loc[name, ["lr", "lr_df", "lr_p"]].isna().all() and np.isfinite(table.loc[name, "vuong_p"])


def test_nested_fits_of_the_canonical_loss_are_not_tested_by_vuong(data):
    found = gevglm.compare(
        {"a": gevglm.fit("low ~ age", data, xi=0.3), "b": gevglm.fit("low ~ age + lwt", data, xi=0.3)}, folds=2
    )
    assert found.table.loc["b", ["lr", "vuong_p"]].isna().all()
    assert "not defined for the canonical loss" in str(found)


def test_data_in_pieces_are_compared_by_names_and_roles(data):
    def pieces():
        return (data.iloc[i : i + 60] for i in range(0, 189, 60))

    full = fitted("age + smoke", pieces)
    assert_allclose(
        full.compare_lr_test(fitted("age", pieces)),
        fitted("age + smoke", data).compare_lr_test(fitted("age", data)),
        rtol=1e-6,
    )
    with pytest.raises(InvalidOptionError, match="not nested"):
        full.compare_lr_test(fitted("lwt", pieces))
    with pytest.raises(InvalidDataError, match="different data"):
        full.compare_lr_test(fitted("age", pieces, freq_weights="ui"))
