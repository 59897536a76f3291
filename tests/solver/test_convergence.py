"""Two thousand random problems, judged by the gradient and not by a flag."""

import numpy as np
import pytest
from problems import random_problem, relative_score, unit_step_irls

from gevglm.engine import MemoryEngine
from gevglm.estimation import estimate
from gevglm.links import GEVc
from gevglm.losses import Canonical, Log

CHUNKS, PER_CHUNK = 20, 100


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_canonical_fit_reaches_its_minimum(chunk):
    rng = np.random.default_rng([2014, chunk])
    for _ in range(PER_CHUNK):
        X, y, link = random_problem(rng)
        found = estimate(MemoryEngine(X, y), Canonical(link), constant=0)
        assert found.converged
        assert relative_score(X, link.inverse(X @ found.params) - y) < 1e-10


@pytest.mark.parametrize("chunk", range(10))
def test_every_log_fit_is_stationary_and_a_minimum_or_says_that_it_is_not(chunk):
    rng = np.random.default_rng([2010, chunk])
    claimed = 0
    for _ in range(20):
        X, y, link = random_problem(rng)
        loss = Log(link)
        found = estimate(MemoryEngine(X, y), loss, constant=0)
        if found.converged and found.positive_definite:
            claimed += 1
            v = X @ found.params
            assert relative_score(X, loss.slope(y, v)) < 1e-5
            assert np.linalg.eigvalsh((X.T * loss.curvature(y, v)) @ X).min() > 0
        else:
            assert found.reason
    assert claimed >= 10


def test_unit_steps_fail_where_damped_steps_do_not():
    rng = np.random.default_rng(1)
    solved = []
    for _ in range(25):
        X, y, _ = random_problem(rng)
        link = GEVc(1.5)
        ours = estimate(MemoryEngine(X, y), Canonical(link), constant=0).params
        plain = unit_step_irls(X, y, link)
        solved.append([relative_score(X, link.inverse(X @ b) - y) < 1e-8 for b in (ours, plain)])
    share_ours, share_plain = np.mean(solved, axis=0)
    assert share_ours == 1.0
    assert share_plain < 0.7
