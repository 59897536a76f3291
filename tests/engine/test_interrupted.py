"""Fits that are followed, interrupted, and resumed."""

import builtins
import json
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gevglm
from gevglm.data.reader import Reader
from gevglm.engine.checkpoint import Checkpoint
from gevglm.engine.memory import MemoryEngine
from gevglm.engine.streamed import StreamedEngine
from gevglm.exceptions import InvalidOptionError
from gevglm.links import GEV, GEVc, Logit, Sampled
from gevglm.losses import Canonical, Log

FORMULA = "y ~ x0 + x1 + C(group)"
NAMES = ["Intercept", "C(group)[T.b]", "C(group)[T.c]", "C(group)[T.d]", "x0", "x1"]
FITS = {
    "canonical": {"xi": 0.5},
    "log": {"xi": 0.2, "loss": "log"},
    "firth": {"link": "logit", "bias": "firth"},
    "flac": {"link": "logit", "bias": "flac"},
    "shape": {"xi": "ml", "loss": "log", "search_kwds": {"grid": [-1.0, -0.5, -0.2, 0.1]}},
}


@pytest.fixture(scope="module")
def parts(table):
    return [table.iloc[start : start + 1_000] for start in range(0, 6_000, 1_000)]


class Looks:
    """Counts the passes over the rows, and presses Ctrl-C in the midst of one.

    The signal wakes the main thread wherever it waits, and the pass goes on only after it has arrived:
    ``_thread.interrupt_main`` would be noticed some time later, on a busy machine in another pass.
    """

    def __init__(self, monkeypatch):
        self.count, self.stop, self.arrived = 0, None, threading.Event()
        reduce, blocks = StreamedEngine.reduce, Reader.blocks

        def counted(engine, reducer):
            self.count += 1
            return reduce(engine, reducer)

        def pressed(reader, *args):
            if self.count == self.stop:
                self.stop = None
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
                assert self.arrived.wait(60.0)
            return blocks(reader, *args)

        monkeypatch.setattr(StreamedEngine, "reduce", counted)
        monkeypatch.setattr(Reader, "blocks", pressed)

    def ctrl_c(self, number, frame):
        self.arrived.set()
        raise KeyboardInterrupt

    def during(self, call):
        self.count = 0
        return call(), self.count


@pytest.fixture
def looks(monkeypatch):
    found = Looks(monkeypatch)
    before = signal.signal(signal.SIGINT, found.ctrl_c)
    yield found
    signal.signal(signal.SIGINT, before)


def threads():
    return {thread for thread in threading.enumerate() if thread.name.startswith("gevglm")}


def still_there(before):
    """The new threads of fits that do not end by themselves, as one does that Ctrl-C met while it was started."""
    for thread in threads() - before:
        thread.join(5.0)
    return threads() - before


@pytest.mark.parametrize("name", FITS)
def test_an_interrupted_fit_goes_on_where_it_was(name, parts, tmp_path, looks):
    path = tmp_path / "fit.checkpoint"
    fit = partial(gevglm.fit, FORMULA, parts, tol=1e-11, **FITS[name])
    expected, needed = looks.during(fit)
    before = threads()
    looks.stop = needed - needed // 4
    with pytest.raises(KeyboardInterrupt):
        looks.during(partial(fit, resume=path))
    assert not still_there(before)
    assert json.loads(path.read_text())["iterates"]
    found, still_needed = looks.during(partial(fit, resume=path))
    assert_allclose(found.params, expected.params, rtol=1e-8)
    assert_allclose(found.bse, expected.bse, rtol=1e-6)
    assert still_needed < needed
    assert list(tmp_path.iterdir()) == []


def test_a_model_is_as_before_after_an_interrupt(parts, looks):
    model = gevglm.BinaryGLM.from_formula(FORMULA, lambda: iter(parts), xi=0.5)
    expected, needed = looks.during(model.fit)
    looks.stop = needed - 1
    with pytest.raises(KeyboardInterrupt):
        looks.during(model.fit)
    assert_array_equal(model.fit().params, expected.params)


def test_rows_in_memory_resume_too(table, tmp_path, monkeypatch):
    path = tmp_path / "fit.checkpoint"
    data = table.head(6_000)
    looks, reduce = [], MemoryEngine.reduce

    def fails(engine, reducer):
        looks.append(reducer)
        if len(looks) == 5:
            raise MemoryError
        return reduce(engine, reducer)

    monkeypatch.setattr(MemoryEngine, "reduce", fails)
    with pytest.raises(MemoryError):
        gevglm.fit(FORMULA, data, xi=0.5, resume=path)
    monkeypatch.undo()
    again = gevglm.fit(FORMULA, data, xi=0.5, resume=path)
    whole = gevglm.fit(FORMULA, data, xi=0.5)
    assert again.n_iter < whole.n_iter
    assert_allclose(again.params, whole.params, rtol=1e-8)


def test_a_shape_by_maximum_likelihood_is_written_while_it_is_sought(parts, tmp_path, monkeypatch):
    """The fits of all shapes share the file, which is written after every step."""
    monkeypatch.setattr("gevglm.engine.checkpoint.SECONDS", -1.0)
    found = gevglm.fit(FORMULA, lambda: iter(parts), resume=tmp_path / "fit.checkpoint", **FITS["shape"])
    assert_allclose(found.params, gevglm.fit(FORMULA, parts, **FITS["shape"]).params, rtol=1e-8)
    assert list(tmp_path.iterdir()) == []


def test_threads_may_share_a_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr("gevglm.engine.checkpoint.SECONDS", -1.0)
    checkpoint = Checkpoint(tmp_path / "fit.checkpoint", ["a", "b"])
    with ThreadPoolExecutor(8) as pool:
        kept = [pool.submit(checkpoint.keep, f"fit {i}", np.full(2, float(i))) for i in range(100)]
        assert [one.result() for one in kept] == [None] * 100
    checkpoint.write()
    assert len(json.loads((tmp_path / "fit.checkpoint").read_text())["iterates"]) == 100
    assert [path.name for path in tmp_path.iterdir()] == ["fit.checkpoint"]


def test_start_params_are_kept_to(parts):
    whole = gevglm.fit(FORMULA, parts, xi=0.5)
    assert gevglm.fit(FORMULA, parts, xi=0.5, start_params=whole.params).n_passes < whole.n_passes


@pytest.mark.parametrize(
    "content, message",
    [
        ("no json", "not a checkpoint"),
        ("[1, 2]", "not a checkpoint"),
        (
            '{"coefficients": ["Intercept", "age"], "iterates": {}}',
            "another model, with the coefficients Intercept, age",
        ),
        ('{"coefficients": %s, "iterates": [1]}', "not a checkpoint"),
        (
            '{"coefficients": %s, "iterates": {"log": [0.1, 0.2]}}',
            r"the iterate of 'log' is \[0.1, 0.2\], .* 6 coefficients",
        ),
        ('{"coefficients": %s, "iterates": {"log": ["a", 1, 2, 3, 4, 5]}}', "is damaged: .* begins anew"),
        ('{"coefficients": %s, "iterates": {"log": [null, 1, 2, 3, 4, 5]}}', "is damaged"),
        ('{"coefficients": %s, "iterates": {"log": [true, 1, 2, 3, 4, 5]}}', "is damaged"),
        ('{"coefficients": %s, "iterates": {"log": null}}', "is damaged"),
        ('{"coefficients": %s, "iterates": {"log": "012345"}}', "is damaged"),
    ],
)
def test_other_files_are_refused(content, message, parts, tmp_path):
    path = tmp_path / "fit.checkpoint"
    content = content.replace("%s", json.dumps(NAMES))
    path.write_text(content)
    with pytest.raises(InvalidOptionError, match=message):
        gevglm.fit(FORMULA, parts, xi=0.5, resume=path)
    assert path.read_text() == content


def test_fits_are_told_apart_by_all_digits_of_their_parameters():
    losses = [kind(link) for kind in (Log, Canonical) for link in (GEV(0.1), GEV(0.1 + 1e-12), GEVc(0.1), Logit())]
    losses += [Log(Sampled(link, 0.1, 0.5)) for link in (GEV(0.1), GEVc(0.1))]
    assert len({loss.key for loss in losses}) == len(losses)
    assert repr(losses[0]) == repr(losses[1])
    assert Log(GEV(0.1)).key == losses[0].key


def test_a_monitor_is_told_nothing_after_the_fit(parts, tmp_path, monkeypatch, capsys):
    pytest.importorskip("tqdm")
    path = tmp_path / "fit.checkpoint"
    results = gevglm.fit(FORMULA, parts, resume=path, progress=True, **FITS["shape"])
    capsys.readouterr()
    monkeypatch.setattr("gevglm.engine.checkpoint.SECONDS", -1.0)
    assert np.isfinite(results.xi_conf_int()).all()
    assert not path.exists()
    assert capsys.readouterr().err == ""


def test_a_folder_that_is_not_there(parts, tmp_path):
    with pytest.raises(InvalidOptionError, match="there is no folder"):
        gevglm.fit(FORMULA, parts, xi=0.5, resume=tmp_path / "none" / "fit.checkpoint")


class TestProgress:
    def test_passes_rows_and_decrement_are_shown(self, parts, capsys):
        pytest.importorskip("tqdm")
        results = gevglm.fit(FORMULA, parts, xi=0.5, progress=True)
        shown = capsys.readouterr().err
        assert f"pass {results.n_passes}" in shown
        assert "decrement" in shown
        assert "rows/s" in shown
        assert "6.00k" in shown

    @pytest.mark.parametrize("progress", [None, False])
    def test_nothing_is_shown_where_nobody_looks(self, progress, parts, capsys):
        gevglm.fit(FORMULA, parts, xi=0.5, progress=progress)
        assert capsys.readouterr().err == ""

    def test_the_numbers_are_the_same(self, parts, capsys):
        pytest.importorskip("tqdm")
        fits = [gevglm.fit(FORMULA, parts, xi=0.5, progress=progress) for progress in (True, False)]
        assert_array_equal(fits[0].params, fits[1].params)

    def test_without_tqdm(self, parts, monkeypatch):
        load = builtins.__import__

        def no_tqdm(name, *args, **options):
            if name.startswith("tqdm"):
                raise ImportError(name)
            return load(name, *args, **options)

        monkeypatch.setattr(builtins, "__import__", no_tqdm)
        with pytest.raises(InvalidOptionError, match="pip install"):
            gevglm.fit(FORMULA, parts, xi=0.5, progress=True)
        assert np.isfinite(gevglm.fit(FORMULA, parts, xi=0.5).params).all()

    def test_other_words(self, parts):
        with pytest.raises(InvalidOptionError, match="progress='yes'"):
            gevglm.fit(FORMULA, parts, xi=0.5, progress="yes")
