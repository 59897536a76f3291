"""Every public method of ordinary results, asked of fits within units and within matched sets: it works, or says in a sentence why not."""

import warnings

import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2

import gevglm
from gevglm.exceptions import InvalidOptionError, NotDefinedWithinGroups
from gevglm.results.binary_results import BinaryGLMResults
from gevglm.results.not_within_groups import KIND_OF, OF_UNITS
from tests.panel.test_against_others import DATA

FITS = {
    "panel": {"formula": "y ~ x + z | unit"},
    "two ways": {"formula": "y ~ x + z | unit + year"},
    "conditional": {"formula": "y ~ x + z", "strata": "unit"},
}
WORDS = sorted(name for name in dir(BinaryGLMResults) if not name.startswith("_"))
# what works there with the arguments that it needs
ARGUMENTS = {
    "f_test": ("x = 0",),
    "profile": ("x",),
    "t_test": ("x = 0",),
    "wald_test": ("x = 0",),
}
KEYWORDS = {"wild_test": {"groups": "cluster", "draws": 99}}
REFUSED = {
    "remove_data": "need the rows",
    "t_test_pairwise": "contrast of two levels",
    "wald_test_terms": "anova",
    "xi_conf_int": "xi='ml'",
}
ELSEWHERE = ("initialize", "load", "save")  # which change, read or write


@pytest.fixture(scope="module")
def fits():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: gevglm.fit(options.pop("formula"), DATA, **options) for name, options in FITS.items()}


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("word", WORDS)
def test_it_works_or_says_why_not(fits, fit, word):
    res = fits[fit]
    try:
        found = getattr(res, word)
    except NotDefinedWithinGroups as error:
        text = str(error)
        groups = "sets" if fit == "conditional" else "unit"
        assert text.startswith(f"{word} is not defined for a fit within {groups}") and text.endswith(".")
        assert not hasattr(res, word)
        return
    if not callable(found) or word in ELSEWHERE:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if word in REFUSED:
            with pytest.raises(NotDefinedWithinGroups, match=REFUSED[word]):
                found()
        else:
            found(*ARGUMENTS.get(word, ()), **KEYWORDS.get(word, {}))


def test_a_word_that_nobody_has():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        res = gevglm.fit("y ~ x | unit", DATA)
    with pytest.raises(AttributeError, match=r"no attribute 'sumary'\. Did you mean 'summary'"):
        _ = res.sumary
    with pytest.raises(NotDefinedWithinGroups, match="marginal_effects"):
        res.risk("x")


def test_what_panels_have_and_matched_sets_have_not(fits):
    for word in OF_UNITS:
        assert hasattr(fits["panel"], word)
        with pytest.raises(NotDefinedWithinGroups, match="slopes='conditional' for these slopes"):
            getattr(fits["conditional"], word)


def test_kinds_are_words_that_exist():
    assert not set(KIND_OF) - set(WORDS)


@pytest.mark.parametrize("options", [{"absorb": "unit"}, {"strata": "unit"}])
def test_terms(options):
    data = DATA.assign(third=DATA["year"] % 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        full = gevglm.fit("y ~ x + C(third)", data, **options)
        less = gevglm.fit("y ~ x", data, **options)
        arrays = gevglm.fit(DATA["y"], DATA[["x", "z"]], **{word: DATA[name] for word, name in options.items()})
    table = full.anova().table
    assert sorted(table.index) == ["C(third)", "x"]
    assert_allclose(table.loc["C(third)"], [2, 2 * (full.llf - less.llf), chi2.sf(2 * (full.llf - less.llf), 2)])
    wald = full.anova(test="Wald").table
    assert_allclose(wald.loc["x", "statistic"], full.tvalues["x"] ** 2)
    assert list(arrays.anova().table.index) == ["x", "z"]
    with pytest.raises(InvalidOptionError, match="test="):
        full.anova(test="score")


@pytest.mark.parametrize("options", [{"absorb": "unit"}, {"strata": "unit"}])
def test_files(options, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        res = gevglm.fit("y ~ x + z", DATA, **options)
    res.save(tmp_path / "fit.pickle")
    again = type(res).load(tmp_path / "fit.pickle")
    assert_allclose(again.conf_int(method="profile"), res.conf_int(method="profile"))
    assert repr(again) == repr(res) and "32" in repr(res)
    assert_allclose(again.predict(), res.predict())
