"""Data that are probably not what was meant are announced, or refused with the way to say what is meant."""

import numpy as np
import pandas as pd
import pytest

import gevglm
from gevglm import fit
from gevglm.exceptions import InvalidDataError, SuspectDataWarning

ENGINES = ("formulaic", "patsy")
N = 1500


def study():
    rng = np.random.default_rng(3)
    data = gevglm.datasets.simulate_study(n=N, rng=4)
    whole = data["age"].round().astype(int)
    data["cell"] = whole.astype(str)
    data["cells"] = data["cell"]
    data.loc[3, "cell"] = "?"
    data.loc[[3, 4, 5], "cells"] = ["?", "unknown", "?"]
    data["comma"] = [f"{value:.1f}".replace(".", ",") for value in whole / 2]
    data["word"] = [f"w{i}" for i in rng.integers(0, 60, N)]
    data["few"] = rng.choice(["1", "2", "3", "other"], N)
    data["band"] = rng.choice(["0-9", "10-19", "20-29", "30+"], N)
    data["zero_padded"] = [f"{i:02d}" for i in rng.integers(1, 9, N)]
    data["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 4, N), "D")
    return data


STUDY = study()


def pieces(data):
    return [data.iloc[:700], data.iloc[700:]]


@pytest.mark.parametrize("form", ["formulaic", "patsy", "pieces"])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "cell",
            r"'cell' is text because of '\?', though its \d\d other values are numbers, and becomes a factor with \d\d levels.*to_numeric",
        ),
        ("cells", r"'cells' is text because of 2 values, the first of them '\?'"),
        ("comma", r"'comma' is text of numbers with decimal commas \('.*,.'\).*decimal=','"),
        ("word", r"'word' is text and becomes a factor with 60 levels.*C\(word\) says that it is meant"),
    ],
)
def test_text_that_is_hardly_meant_as_a_factor_is_announced(name, message, form):
    words = {"link": "logit", "alpha": 1.0} | ({} if form == "pieces" else {"formula_engine": form})
    with pytest.warns(SuspectDataWarning, match=message):
        fit(f"event ~ {name}", pieces(STUDY) if form == "pieces" else STUDY, **words)


@pytest.mark.parametrize("right", ["C(cell)", "C(comma)", "C(word)", "few", "band", "zero_padded", "kept"])
def test_factors_that_are_meant_pass_in_silence(right):
    fit(f"event ~ {right}", STUDY.assign(kept=STUDY["word"].astype("category")), link="logit", alpha=1.0)


def dates():
    day = STUDY["day"]
    return {
        "datetime64": day,
        "time zone": day.dt.tz_localize("UTC"),
        "date objects": day.dt.date.astype(object),
        "periods": day.dt.to_period("D"),
    }


@pytest.mark.parametrize("form", ["formulaic", "patsy", "pieces"])
@pytest.mark.parametrize("kind", dates())
def test_dates_are_refused_with_what_to_write(kind, form):
    data = STUDY.assign(day=dates()[kind])
    words = {"link": "logit"} | ({} if form == "pieces" else {"formula_engine": form})
    table = pieces(data) if form == "pieces" else data
    with pytest.raises(InvalidDataError, match=r"dates are not numbers.*Timedelta\('1 day'\).*C\(date\)"):
        fit("event ~ age + day", table, **words)
    assert len(fit("event ~ C(day)", table, **words).params) == 4


def test_days_are_counted_as_the_message_says():
    results = fit("event ~ I((day - pd.Timestamp('2020-01-01')) / pd.Timedelta('1 day'))", STUDY, link="logit")
    assert np.isclose(
        results.params.iloc[1], fit("event ~ n", STUDY.assign(n=STUDY["day"].dt.day), link="logit").params.iloc[1]
    )


def imputed(number):
    rng = np.random.default_rng(9)
    absent = rng.random((N, 2)) < 0.3
    return [
        STUDY[["event"]].assign(
            age=STUDY["age"].where(~absent[:, 0], rng.normal(size=N)),
            smoker=STUDY["smoker"].where(~absent[:, 1], rng.integers(0, 2, N)),
        )
        for _ in range(number)
    ]


def test_imputations_given_as_a_list_are_announced():
    with pytest.warns(
        SuspectDataWarning,
        match=r"the 5 tables look like versions of one table.*with 7500 rows.*fit each table by itself",
    ):
        fit("event ~ age + smoker", imputed(5), link="logit")


def test_pieces_of_one_table_pass_in_silence():
    parts = [STUDY.iloc[300 * i : 300 * (i + 1)].reset_index(drop=True) for i in range(5)]
    hours = [part.assign(hour=np.arange(300) % 24) for part in parts]
    assert fit("event ~ age + hour", hours, link="logit").nobs == N
    binary = [part[["event", "smoker"]] for part in parts]
    assert fit("event ~ smoker", binary, link="logit").nobs == N
