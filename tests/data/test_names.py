"""What the names of formulas and subsets stand for: columns, variables of the caller, functions of formulas."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gevglm
from gevglm import BinaryGLM, fit, fit_links
from gevglm.exceptions import InvalidDataError, MissingRowsWarning

ENGINES = ("formulaic", "patsy")


@pytest.fixture(scope="module")
def study():
    data = gevglm.datasets.simulate_study(n=1500, rng=4)
    return data.assign(**{"a b": data["age"]})


def halves(data):
    return [data.iloc[:700], data.iloc[700:]]


# -- subsets ---------------------------------------------------------------------------------


@pytest.mark.parametrize("pieces", [False, True])
def test_a_subset_sees_variables_of_the_caller(study, pieces):
    limit, clinics = 3.0, [1, 2, 3]
    data = halves(study) if pieces else study
    results = fit("event ~ smoker", data, link="logit", subset="age < @limit & clinic not in @clinics")
    assert results.nobs == ((study["age"] < limit) & ~study["clinic"].isin(clinics)).sum()


def test_a_subset_sees_no_variables_of_the_package(study):
    for name in ("n", "frame", "selected", "subset", "columns"):
        with pytest.raises(InvalidDataError, match=f"there is no variable '{name}'"):
            fit("event ~ smoker", study, link="logit", subset=f"age < @{name}")


def test_a_variable_of_a_subset_may_have_the_name_of_a_column(study):
    age = 2.0
    assert fit("event ~ smoker", study, link="logit", subset="age < @age").nobs == (study["age"] < age).sum()
    model = BinaryGLM.from_formula("event ~ age + smoker", study, link="logit", subset="age < @age")
    assert_array_equal(model.exog[:, 1], study["age"][study["age"] < age])


def test_an_at_within_quotes_is_text(study):
    data = study.assign(mail=np.where(study["smoker"] == 1, "a@b", "c@d"))
    assert fit("event ~ age", data, link="logit", subset="mail == 'a@b'").nobs == study["smoker"].sum()


def test_a_name_without_an_at_is_said_to_need_one(study):
    limit = 3.0
    with pytest.raises(InvalidDataError, match=r"name 'limit' is not defined.*written with an @"):
        fit("event ~ smoker", study, link="logit", subset="age < limit")
    assert limit


# -- variables and functions -----------------------------------------------------------------


def test_comparisons_look_for_names_where_they_are_called(study):
    links = lambda x: x**2  # noqa: E731 - a name that fit_links has too
    data = 2.0
    compared = fit_links("event ~ links(age) + I(data * smoker)", study, links=["logit", "probit"], folds=3)
    for name, results in compared.results.items():
        expected = fit("event ~ I(age**2) + I(2.0 * smoker)", study, link=name)
        assert_allclose(np.asarray(results.params), np.asarray(expected.params), rtol=1e-9)
    assert links(data) == 4.0


def test_names_are_looked_up_above_the_caller_if_asked_for(study):
    def built(depth):
        factor = 2.0
        assert factor
        return BinaryGLM.from_formula("event ~ I(factor * age)", study, link="logit", eval_env=depth).exog[:, 1]

    factor = 3.0
    assert_allclose(built(0), 2.0 * study["age"])
    assert_allclose(built(1), factor * study["age"])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_variable_of_the_caller_hides_no_function(study, engine):
    I = C = Q = np.ones(3)  # noqa: E741
    results = fit("event ~ I(age**2) + C(smoker) + Q('a b')", study, link="logit", formula_engine=engine)
    assert len(results.params) == len(I) + 1 == len(C) + 1 == len(Q) + 1


@pytest.mark.parametrize("engine", ENGINES)
def test_a_function_of_the_caller_does(study, engine):
    def center(x):
        return x - 1.0

    model = BinaryGLM.from_formula("event ~ center(age)", study, link="logit", formula_engine=engine)
    assert_allclose(model.exog[:, 1], study["age"] - 1.0)


@pytest.mark.parametrize(("engine", "pieces"), [("formulaic", False), ("patsy", False), ("formulaic", True)])
def test_a_column_named_like_a_function_is_not_used_by_calling_it(study, engine, pieces):
    holes = study["age"].where(study.index % 2 == 0)
    data = study.assign(I=holes, C=holes, log=holes)
    results = fit(
        "event ~ I(age**2) + C(smoker) + log(age + 50)",
        halves(data) if pieces else data,
        link="logit",
        formula_engine=engine,
    )
    assert results.nobs == len(study)


def test_a_column_may_be_used_and_its_name_called(study):
    data = study.assign(C=study["smoker"])
    assert list(fit("event ~ C(C)", data, link="logit").params.index) == ["Intercept", "C(C)[T.1]"]
    assert len(fit("event ~ C + C(clinic > 3)", data, link="logit").params) == 3


@pytest.mark.parametrize("name", ['Q("a b")', 'Q( "a b" )', "Q( 'a b')", "`a b`"])
@pytest.mark.parametrize("pieces", [False, True])
def test_missing_rows_of_quoted_columns_are_dropped(study, name, pieces):
    data = study.assign(**{"a b": study["age"].where(study.index % 10 > 0)})
    with pytest.warns(MissingRowsWarning, match="150 of 1500"):
        results = fit(f"event ~ {name}", halves(data) if pieces else data, link="logit")
    assert results.nobs == 1350


@pytest.mark.parametrize("right", ["age:1", "age + age:1", "smoker:(age + 1):1"])
def test_formulas_that_cannot_be_read_are_explained_in_pieces_too(study, right):
    messages = []
    for data in (study, halves(study)):
        with pytest.raises(InvalidDataError, match="could not be evaluated: intercept term") as caught:
            fit(f"event ~ {right}", data, link="logit")
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
