"""Fits in several threads, which leave BLAS as it was, and in forked children of a process that has fitted."""

import multiprocessing
import os
import threading
import warnings

import pytest
from numpy.testing import assert_array_equal
from threadpoolctl import ThreadpoolController

import gevglm
from gevglm.datasets import simulate_study
from gevglm.engine.blas import _Limit, one_blas_thread

FORMULA = "event ~ age + smoker"
CHILDREN = 50
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")


@pytest.fixture(scope="module")
def study():
    return simulate_study(n=20_000, rng=4)  # more than one block: several threads


def blas():
    return ThreadpoolController().select(user_api="blas").lib_controllers


def set_threads(n):
    for library in blas():
        library.set_num_threads(n)
        getattr(library, "clear_controlling_thread", bool)()


@pytest.fixture
def two_threads():
    """BLAS with two threads, set by nobody in particular."""
    before = [library.num_threads for library in blas()]
    set_threads(2)
    yield lambda: {library.num_threads for library in blas()}
    set_threads(max(before))


def test_blas_has_its_threads_back_after_fits_in_threads(study, two_threads):
    """The thread that leaves last is not always the one that came first."""
    first_is_in, second_is_in, first_is_out, end = (threading.Event() for _ in range(4))

    def first():
        with one_blas_thread():
            first_is_in.set()
            assert second_is_in.wait(60.0)
        first_is_out.set()
        end.wait(60.0)  # threadpoolctl lets a thread that is alive keep what it has set

    thread = threading.Thread(target=first)
    thread.start()
    assert first_is_in.wait(60.0)
    with one_blas_thread():
        second_is_in.set()
        assert two_threads() == {1}
        assert first_is_out.wait(60.0)
        gevglm.fit(FORMULA, study, link="logit")
        assert two_threads() == {1}
    assert two_threads() == {2}
    end.set()
    thread.join()


def test_blas_has_its_threads_back_after_a_bootstrap_in_threads(study, two_threads):
    results = gevglm.fit(FORMULA, study.head(1_000), link="logit")
    results.calibration(resampling="bootstrap", resamples=6, workers=3)
    assert two_threads() == {2}


def test_a_number_that_others_have_set_is_theirs(two_threads):
    set_threads(1)
    with one_blas_thread():
        set_threads(2)
    assert two_threads() == {2}


def test_libraries_with_a_limit_for_each_thread_are_limited_and_restored_in_each():
    class Library:
        """One that is built on OpenMP."""

        def __init__(self):
            self.of = threading.local()

        @property
        def num_threads(self):
            return getattr(self.of, "n", 4)

        def set_num_threads(self, n):
            self.of.n = n

    library, seen = Library(), []
    limits = [_Limit(), _Limit()]

    def elsewhere():
        limits[1].enter([library])
        seen.append(library.num_threads)
        limits[1].leave()
        seen.append(library.num_threads)

    limits[0].enter([library])
    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert library.num_threads == 1
    limits[0].leave()
    assert library.num_threads == 4 and seen == [1, 4]


def fit_in_child(data, answers):
    answers.put(gevglm.fit(FORMULA, data, link="logit").params.to_numpy())


@needs_fork
def test_forked_children_fit(study, two_threads):
    """Pools of threads, locks and limits of BLAS are the parent's; a child that used them would wait for ever."""
    expected = gevglm.fit(FORMULA, study, link="logit").params.to_numpy()
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    entered, left = threading.Event(), threading.Event()

    def busy():
        with one_blas_thread():
            entered.set()
            left.wait(120.0)

    other = threading.Thread(target=busy)
    other.start()
    assert entered.wait(60.0)
    with warnings.catch_warnings():  # of Python 3.12 and later: a process with threads is forked, which is the point
        warnings.simplefilter("ignore", DeprecationWarning)
        for _ in range(CHILDREN // 5):
            children = [context.Process(target=fit_in_child, args=(study, answers)) for _ in range(5)]
            for child in children:
                child.start()
            for child in children:
                child.join(60.0)
                if child.exitcode is None:
                    child.kill()
                assert child.exitcode == 0
            for _ in children:
                assert_array_equal(answers.get(), expected)
    left.set()
    other.join()
    assert two_threads() == {2}
