"""Bad units and bad sets, line by line: an error or a warning that names what was seen, whatever the estimator."""

import warnings

import numpy as np
import pytest

import gevglm
from gevglm.exceptions import (
    CollinearityWarning,
    GevglmWarning,
    InvalidDataError,
    MissingRowsWarning,
    SeparationWarning,
)
from tests.panel.test_against_others import DATA, quietly

RNG = np.random.default_rng(3)
N = len(DATA)
WAYS = {
    "absorb": ["maximum likelihood", "firth", "firth, all units", "two ways"],
    "strata": ["conditional", "conditional, firth"],
}
EVERY = [(word, way) for word, ways in WAYS.items() for way in ways]
# what the column that tells units apart is, and what is said of it
COLUMNS = {
    "one row per unit": (np.arange(N), r"different values? in (each of the )?192 rows"),
    "no unit varies": (None, "has both outcomes"),
    "a measurement": (RNG.normal(size=N).round(2), "looks like a measurement"),
}


def asked(word, way, data, formula="y ~ x + z", **options):
    bias = "firth" if "firth" in way else None
    columns = ["unit", "year"] if way == "two ways" else "unit"
    if "all units" in way:
        options["units"] = "all"
    return gevglm.fit(formula, data, bias=bias, **{word: columns}, **options)


@pytest.mark.parametrize(("word", "way"), EVERY)
@pytest.mark.parametrize("case", COLUMNS)
def test_columns_that_tell_no_units_apart(word, way, case):
    column, message = COLUMNS[case]
    data = DATA.assign(y=DATA["unit"] % 2) if column is None else DATA.assign(unit=column)
    with pytest.raises(InvalidDataError, match=message):
        asked(word, way, data)


@pytest.mark.parametrize(("word", "way"), EVERY)
def test_units_of_mostly_one_row_are_doubted(word, way):
    cents = np.arange(N)
    cents[-40:] = np.repeat(np.arange(20), 2)  # 152 values in 192 rows
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asked(word, way, DATA.assign(unit=cents), "y ~ x")
    assert "'unit' has 152 different values in 192 rows, so that most units or sets are one row" in str(
        caught[0].message
    )


def test_separation_within_two_factors_is_suspected():
    cents = np.arange(N)
    cents[-40:] = np.repeat(np.arange(20), 2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asked("absorb", "two ways", DATA.assign(unit=cents), "y ~ x")
    assert [one.category for one in caught[1:]] == [SeparationWarning]
    assert "hardly any information is left on x: outcomes seem to be separated within unit and year" in str(
        caught[1].message
    )


@pytest.mark.parametrize("word", WAYS)
def test_units_that_are_no_column(word):
    with pytest.raises(InvalidDataError, match=f"{word}='units' is not a column of the data. Did you mean 'unit'"):
        gevglm.fit("y ~ x", DATA, **{word: "units"})


@pytest.mark.parametrize(("word", "way"), EVERY)
def test_missing_units(word, way):
    data = DATA.assign(unit=DATA["unit"].where(DATA.index >= 5))
    with pytest.raises(InvalidDataError, match="missing in 5 of the 192 rows"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asked(word, way, data, missing="none")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asked(word, way, data)
    assert any(issubclass(one.category, MissingRowsWarning) and "5 of" in str(one.message) for one in caught)


@pytest.mark.parametrize(("word", "way"), EVERY)
def test_a_column_that_is_constant_within_units(word, way):
    data = DATA.assign(size=DATA["unit"] ** 2 / 7)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        res = asked(word, way, data, "y ~ x + size")
    said = [str(one.message) for one in caught if issubclass(one.category, CollinearityWarning)]
    assert len(said) == 1 and "size" in said[0]
    assert res.omitted == ["size"] and "size" in str(res.summary())


@pytest.mark.parametrize(("word", "way"), EVERY)
def test_units_with_one_outcome_are_counted(word, way):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        res = asked(word, way, DATA)
    share = DATA.groupby("unit")["y"].mean()
    one = int((share.isin([0, 1])).sum())
    if word == "strata":
        assert res.n_sets_dropped == one and res.n_rows_dropped == 8 * one
    elif "all units" in way:
        assert res.left_out[0].units == 0 and res.n_units == 24
        return
    else:
        assert res.left_out[0].units == one and (res.left_out[0].never, res.left_out[0].always) == (7, 1)
    assert "one outcome only" in " ".join(str(res.summary()).split())


@pytest.mark.parametrize("formula", ["y ~ x + C(unit) | unit", "y ~ x + unit | unit", "y ~ x + C(year) | unit + year"])
def test_units_twice(formula):
    with pytest.raises(InvalidDataError, match="is absorbed and also among the terms"):
        gevglm.fit(formula, DATA)


@pytest.mark.parametrize("formula", ["y ~ x + C(unit)", "y ~ x + x:C(unit)"])
def test_sets_twice(formula):
    with pytest.raises(InvalidDataError, match="'unit' is strata= and also among the terms"):
        gevglm.fit(formula, DATA, strata="unit")


@pytest.mark.parametrize("bias", [None, "firth"])
def test_robust_errors_of_constants_of_clustered_units(bias):
    for groups in ("unit", "region"):
        res = quietly("y ~ x | unit", DATA, bias=bias, cov_type="cluster", cov_kwds={"groups": groups})
        with pytest.warns(GevglmWarning, match="std_err is missing"):
            assert res.fixed_effects["std_err"].isna().all()
        assert np.isfinite(res.bse).all()


def test_unknown_units_at_prediction():
    res = quietly("y ~ x | unit", DATA, bias="firth")
    with pytest.raises(InvalidDataError, match=r"1 row has a level of unit without a constant"):
        res.predict(DATA.head(1).assign(unit=-5))
    averaged = res.predict(DATA.head(2).assign(unit=[-5, -6]), new_units="average")
    assert averaged.between(0, 1, inclusive="neither").all()
