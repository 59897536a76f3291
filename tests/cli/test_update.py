"""``gevglm update``: what Python does, saved and said, and what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gevglm

FORMULA = "event ~ age + smoker"


@pytest.fixture(scope="module")
def fitted(study, folder):
    res = gevglm.fit(FORMULA, study)
    gevglm.fit(FORMULA, study).save(folder / "old.pkl")
    rng = np.random.default_rng(4)
    new = study.assign(event=(rng.random(len(study)) < 0.3 * study["event"] + 0.02).astype(int))
    new.to_csv(folder / "later.csv", index=False)
    return res, new


@pytest.mark.parametrize("words", [[], ["--how", "slope"]])
def test_the_update_is_that_of_python(call, folder, fitted, words):
    res, new = fitted
    code, out, err = call("update", "old.pkl", "later.csv", *words, "--save", "newer.pkl")
    updated = res.update(new, words[1] if words else "auto")
    assert code == 0
    assert "model: newer.pkl" in err
    assert "Done:" in out
    loaded = gevglm.load(folder / "newer.pkl")
    assert loaded.updated.how == updated.updated.how
    assert_allclose(loaded.params, updated.params, rtol=1e-6)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["old.pkl", "later.csv", "--save", "later.csv"], "is a file that is read"),
        (["old.pkl", "later.csv", "--alpha", "2"], "alpha"),
        (["old.pkl", "later.csv", "--cluster", "hospital"], "hospital"),
        (["none.pkl", "later.csv"], "there is no file"),
    ],
)
def test_bad_words(call, fitted, words, message):
    code, _, err = call("update", *words)
    assert code in (1, 2)
    assert message in err
