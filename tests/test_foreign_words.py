"""Arguments and words of other packages: an error that names ours, of an argument that exists."""

import inspect
import re

import numpy as np
import pytest

import gevglm
from gevglm.covariance import COV_TYPES
from gevglm.exceptions import (
    GevglmError,
    InvalidDataError,
    InvalidOptionError,
    UnknownArgumentError,
    nearest,
    without_types,
)
from gevglm.foreign_words import ARGUMENTS, VALUES

DATA = gevglm.datasets.simulate_study(rng=1)
OURS = {*inspect.signature(gevglm.fit).parameters, "sampling_weights", "contrast", "method", "rng", "groups", "maxlags"}
ASKED_FOR = {
    "weights": "freq_weights=",
    "cluster": "cov_type='cluster', cov_kwds={'groups': 'id'}",
    "vcov": "cov_type=",
    "robust": "cov_type='HC1'",
    "family": "link='logit'",
    "groups": "cov_kwds={'groups': 'id'}",
    "stratum": "strata='set'",
    "fixef": "absorb=",
    "random": "cov_type='cluster'",
    "penalty": "alpha=",
    "l1_ratio": "alpha=",
    "C": "alpha=",
    "method": "bias='firth'",
    "sample_weight": "freq_weights=",
    "max_iter": "maxiter=",
}


@pytest.mark.parametrize("word", ASKED_FOR)
def test_arguments_of_other_packages_name_ours(word):
    for call in (
        lambda: gevglm.fit("event ~ age", DATA, **{word: True}),
        lambda: gevglm.BinaryGLM.from_formula("event ~ age", data=DATA, **{word: True}),
        lambda: gevglm.BinaryGLM(DATA["event"], DATA[["age"]], **{word: True}),
        lambda: gevglm.BinaryGLM(DATA["event"], DATA[["age"]]).fit(**{word: True}),
    ):
        with pytest.raises(UnknownArgumentError) as info:
            call()
        assert repr(word) in str(info.value) and ASKED_FOR[word] in str(info.value)
        assert isinstance(info.value, TypeError) and isinstance(info.value, InvalidOptionError)


def test_the_data_are_the_second_argument():
    with pytest.raises(UnknownArgumentError, match=r"'data': the data are the second argument, fit\('y ~ x', data\)"):
        gevglm.fit("event ~ age", data=DATA)


def test_every_word_that_is_named_exists():
    sentences = [*ARGUMENTS.values(), *(text for words in VALUES.values() for text in words.values())]
    named = {word for text in sentences for word in re.findall(r"(?<![\w'])([a-z_]+)=", text)}
    assert named - OURS - {"alpha"} == set()
    covariances = {word for text in sentences for word in re.findall(r"cov_type='(\w+)'", text)}
    assert covariances <= set(COV_TYPES)
    assert not set(ARGUMENTS).intersection(inspect.signature(gevglm.fit).parameters)


def test_arguments_of_the_model_and_of_the_fit_are_told_apart():
    model = gevglm.BinaryGLM(DATA["event"], DATA[["age"]])
    with pytest.raises(UnknownArgumentError, match="'link': it is an option of the model"):
        model.fit(link="probit")
    with pytest.raises(UnknownArgumentError, match=r"'bias': it is an option of fit\(\)"):
        gevglm.BinaryGLM(DATA["event"], DATA[["age"]], bias="firth")
    with pytest.raises(
        UnknownArgumentError, match=r"fit\(\) has no argument 'freq_weigths'\. Did you mean 'freq_weights'\?"
    ):
        gevglm.fit("event ~ age", DATA, freq_weigths="age")


def test_signatures_are_what_they_were():
    for function in (gevglm.fit, gevglm.BinaryGLM, gevglm.BinaryGLM.fit, gevglm.BinaryGLM.from_formula):
        kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD not in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cov_type": "hetero"}, ["cov_type='HC1'"]),
        ({"cov_type": "CRV1"}, ["cov_type='cluster'"]),
        ({"cov_type": "NW"}, ["cov_type='HAC'"]),
        ({"link": "logistic"}, ["link='logit'"]),
        ({"bias": "lasso"}, ["alpha="]),
        (
            {"prevalence": {3: 0.13, 4: 0.15}},
            ["prevalence={3: 0.13, 4: 0.15}", "shares by group are not combined", "or a range"],
        ),
    ],
)
def test_words_of_other_packages_name_ours(options, words):
    with pytest.raises(InvalidOptionError) as info:
        gevglm.fit("event ~ age", DATA, **options)
    for word in words:
        assert word in str(info.value)
    assert "Did you mean" not in str(info.value)


@pytest.mark.parametrize("word", ["robust", "Robust", "drop", "balanced"])
def test_neither_the_word_itself_nor_its_opposite_is_suggested(word):
    assert nearest(word, [word, f"non{word.lower()}", f"un{word.lower()}"]) == ""


def test_case_is_suggested():
    assert nearest("Yes", ["yes", "no"]) == " Did you mean 'yes'?"


# -- numbers in messages ----------------------------------------------------------------------


def test_numbers_of_numpy_look_like_numbers():
    assert without_types("event=np.int64(1), (np.float64(0.5), np.str_('a'))") == "event=1, (0.5, 'a')"
    assert "np." not in str(GevglmError(f"alpha={np.float64(2.0)!r} and {[np.int64(3)]!r}"))


@pytest.mark.parametrize(
    "options",
    [
        {"event": np.int64(7)},
        {"alpha": np.float64(-1.0)},
        {"prevalence": np.float64(5.0)},
        {"maxiter": np.int64(-1)},
        {"tol": np.float64(2.0)},
        {"class_weight": {np.int64(5): np.float64(1.0)}},
        {"subset": np.array([1.5, 2.5])},
        {"offset": np.array(["a"] * len(DATA))},
    ],
)
def test_messages_show_numbers_without_their_types(options):
    with pytest.raises(GevglmError) as info:
        gevglm.fit("event ~ age", DATA, **options)
    assert "np." not in str(info.value) and "array(" not in str(info.value)


def test_a_typo_is_one_sentence():
    with pytest.raises(InvalidDataError, match="Did you mean 'smoker'") as info:
        gevglm.fit("event ~ age + smokr", DATA, link="logit")
    assert info.value.__cause__ is None and info.value.__suppress_context__
