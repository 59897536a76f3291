"""Every writer: killed, on a full disk or refused, it leaves the earlier file whole and nothing that could be taken for data."""

import errno
import io
import os
import pickle
import signal
import stat
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import gevglm
from gevglm import _files
from gevglm._files import check_target, refuse_overwriting, replacing, write_text
from gevglm.cli.pictures import save_picture
from gevglm.cli.tables import write_table
from gevglm.data.sources import as_source
from gevglm.datasets import simulate_study
from gevglm.engine.checkpoint import Checkpoint
from gevglm.exceptions import GevglmError, InvalidDataError, InvalidOptionError
from gevglm.plots.axes import new_axes

FORMULA = "event ~ age + smoker"
KILLED = 12  # times, for each writer
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")


@pytest.fixture(scope="module")
def study():
    return simulate_study(n=600, rng=1)


@pytest.fixture(scope="module")
def results(study):
    return gevglm.fit(FORMULA, study, link="logit")


def checkpoint(path):
    one = Checkpoint(path.with_name("new.checkpoint"), ["a", "b"])
    one.path = path
    one.keep("fit", np.ones(2))
    one.write()


WRITERS = {
    "model.pkl": lambda res, data, path: res.save(path),
    "report.html": lambda res, data, path: res.report(path),
    "scored.parquet": lambda res, data, path: res.predict([data.head(300), data.tail(300)], to=path),
    "table.csv": lambda res, data, path: write_table(data, str(path)),
    "table.csv.gz": lambda res, data, path: write_table(data, str(path)),
    "table.parquet": lambda res, data, path: write_table(data, str(path)),
    "table.feather": lambda res, data, path: write_table(data, str(path)),
    "table.dta": lambda res, data, path: write_table(data, str(path)),
    "picture.png": lambda res, data, path: save_picture(new_axes(), path),
    "fit.checkpoint": lambda res, data, path: checkpoint(path),
    "numbers.json": lambda res, data, path: write_text(path, "{}" * 2_000),
}


class FullDisk(io.FileIO):
    """A file on a disk that has room for a few bytes only."""

    def write(self, content):
        if self.tell() + len(content) > 20:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(content)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of files that other packages left open
@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_leaves_the_earlier_file(name, results, study, tmp_path, monkeypatch):
    path = tmp_path / name
    path.write_bytes(b"the earlier file")
    monkeypatch.setattr(_files, "open", lambda *args: io.BufferedWriter(FullDisk(*args)), raising=False)
    with pytest.raises(GevglmError, match=rf"{name}' could not be written: No space left on device"):
        WRITERS[name](results, study, path)
    assert path.read_bytes() == b"the earlier file" and list(tmp_path.iterdir()) == [path]
    monkeypatch.undo()
    WRITERS[name](results, study, path)
    assert path.stat().st_size > 50 and list(tmp_path.iterdir()) == [path]


def events_of(call):
    """Return how many functions, Python's own included, are called and returned from."""
    count = 0

    def follow(frame, event, argument):
        nonlocal count
        count += 1

    sys.setprofile(follow)
    try:
        call()
    finally:
        sys.setprofile(None)
    return count


def killed_at(event, call):
    """Run something in a forked child, which is killed in the midst of it."""
    with warnings.catch_warnings():  # of Python 3.12 and later, where the process has threads
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        left = event

        def follow(frame, event, argument):
            nonlocal left
            left -= 1
            if left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.setprofile(follow)
        try:
            call()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


READERS = {".pkl": lambda path: gevglm.load(path).params, ".parquet": pd.read_parquet, ".csv": pd.read_csv}


@needs_fork
@pytest.mark.parametrize("name", ["model.pkl", "table.csv", "table.parquet"])
def test_a_killed_writer_leaves_a_whole_file(name, results, study, tmp_path):
    path = tmp_path / name
    write = WRITERS[name]
    write(results, study, path)
    whole = path.read_bytes()
    before, after = READERS[path.suffix](path), None
    last = events_of(lambda: write(results, study.head(300), tmp_path / "other.pkl" if "pkl" in name else path))
    killed = 0
    for event in np.random.default_rng(7).integers(1, last, KILLED):
        path.write_bytes(whole)
        killed += killed_at(int(event), lambda: write(results, study.head(300), path))
        after = READERS[path.suffix](path)
        assert len(after) in (len(before), 300)
    assert killed == KILLED
    strays = [other for other in tmp_path.iterdir() if other.name not in (name, "other.pkl")]
    assert all(other.name.startswith(".") and other.suffix == ".unfinished" for other in strays)
    if name != "model.pkl":
        assert len(as_source(tmp_path).paths) == 1  # what is left behind is not data


def test_writers_of_the_same_file_do_not_meet(results, study, tmp_path):
    tables = [study.iloc[: 100 * (i + 1)] for i in range(4)]
    path = tmp_path / "scored.parquet"
    for _ in range(5):
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(lambda table: results.predict(table, to=path), tables)) == [path] * 4
        assert len(pd.read_parquet(path)) in (100, 200, 300, 400)
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_of_the_user_leaves_the_earlier_file(tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), replacing(tmp_path / "file") as file:
        file.write(b"new")
        raise KeyboardInterrupt
    assert (tmp_path / "file").read_bytes() == b"old" and len(list(tmp_path.iterdir())) == 1


def test_links_to_files_stay_links(tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with replacing(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "file").read_bytes() == b"new"


def test_permissions_stay_and_protect(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write_text(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    monkeypatch.setattr(
        os, "access", lambda path, mode: False
    )  # which the administrator, who runs tests, is never told
    for refused in (lambda: check_target(path), lambda: write_text(path, "newer")):
        with pytest.raises(GevglmError, match=r"may not be written to|Permission denied"):
            refused()
    assert path.read_text() == "new"


def test_long_names_are_written(tmp_path):
    name = "x" * 251 + ".txt"
    write_text(tmp_path / name, "all")
    assert (tmp_path / name).read_text() == "all"


class TestOverwriting:
    def test_predictions_do_not_replace_the_data(self, results, study, tmp_path):
        path = tmp_path / "new.parquet"
        study.to_parquet(path)
        before = path.read_bytes()
        (tmp_path / "link.parquet").symlink_to(path)
        for to in (path, tmp_path / "link.parquet"):
            with pytest.raises(InvalidOptionError, match="is a file that is read: it would be lost"):
                results.predict([path], to=to)
        assert path.read_bytes() == before

    def test_two_files_of_one_name(self, tmp_path):
        with pytest.raises(InvalidOptionError, match="--save and --json are the same file"):
            refuse_overwriting({"--save": tmp_path / "a", "--json": tmp_path / "b" / ".." / "a"}, [])

    def test_what_is_not_a_file_is_written_twice(self):
        refuse_overwriting({"--save": "-", "--json": "-", "--html": None}, ["-"])
        refuse_overwriting({"--save": os.devnull, "--json": os.devnull}, [])

    def test_a_table_to_a_folder_that_is_not_there(self, results, study, tmp_path):
        with pytest.raises(InvalidOptionError, match="there is no folder"):
            results.predict(study, to=tmp_path / "none" / "scored.parquet")


def test_a_table_without_rows_leaves_the_earlier_file(results, study, tmp_path):
    path = tmp_path / "scored.parquet"
    path.write_bytes(b"old")
    with pytest.raises(InvalidDataError):
        results.predict(lambda: iter([]), to=path)
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_compressed_tables_are_what_their_names_say(study, tmp_path):
    for ending in (".csv.gz", ".csv.bz2", ".csv.zip", ".csv.xz", ".tsv.gz"):
        path = tmp_path / f"table{ending}"
        write_table(study, str(path))
        pd.testing.assert_frame_equal(pd.read_csv(path, sep="\t" if "tsv" in ending else ","), study, rtol=1e-12)


def test_pickles_of_the_whole_are_not_changed_by_a_save(results, tmp_path):
    before = pickle.dumps(results)
    results.save(tmp_path / "model.pkl")
    assert len(pickle.dumps(results)) == len(before) and results.has_data
