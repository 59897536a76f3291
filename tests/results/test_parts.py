"""The parts of results are thin and independent: no order among them, no name twice, one core below them."""

import inspect
from itertools import combinations

import numpy as np
import pytest

import gevglm
from gevglm.datasets import simulate_study
from gevglm.results.core import ResultsCore

pytestmark = pytest.mark.filterwarnings("ignore::gevglm.exceptions.WeakShapeWarning")
PARTS = gevglm.BinaryGLMResults.__bases__


def own_names(part):
    return {name for name in vars(part) if not (name.startswith("__") and name.endswith("__"))}


def test_every_part_stands_on_the_core():
    assert len(PARTS) > 5
    for part in PARTS:
        *shared, core = part.__bases__  # shared with results of other kinds
        assert core is ResultsCore
        assert all(one.__bases__ == (object,) for one in shared)


@pytest.mark.parametrize(("one", "other"), list(combinations(PARTS, 2)), ids=lambda part: part.__name__)
def test_no_two_parts_define_the_same_name(one, other):
    assert own_names(one) & own_names(other) == set()


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_no_part_replaces_what_the_core_defines(part):
    assert own_names(part) & own_names(ResultsCore) == set()


@pytest.mark.parametrize("shift", range(len(PARTS)))
def test_the_order_of_the_parts_has_no_meaning(shift):
    bases = PARTS[shift:] + PARTS[:shift]
    for order in (bases, bases[::-1]):
        other = type("Other", order, {})
        for part in PARTS:
            for name in own_names(part):
                found = inspect.getattr_static(gevglm.BinaryGLMResults, name)
                if name not in vars(gevglm.BinaryGLMResults):
                    assert inspect.getattr_static(other, name) is found


@pytest.mark.parametrize(
    "options", [{"sampling": "weight", "prevalence": 0.02}, {"class_weight": "balanced"}], ids=["weight", "classes"]
)
def test_what_a_weighted_likelihood_does_not_define_is_refused_by_the_sampling(options):
    data = simulate_study(rng=1)
    res = gevglm.fit("event ~ age", data, link="gev", loss="log", xi="ml", **options)
    assert not res.has_likelihood
    for use in (lambda: res.aic, res.lr_tests, lambda: res.xi_lr_test(0.0), lambda: res.profile("age")):
        with pytest.raises(gevglm.exceptions.InvalidOptionError, match="weighted by their outcome"):
            use()
    np.testing.assert_array_equal(res.xi_conf_int(), res.xi_conf_int(method="wald"))
