"""Files of every kind by their path: the tables that pandas reads, the same in Python and on the command line."""

import argparse
import builtins

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gevglm
from gevglm.cli.tables import read_table as read_by_command
from gevglm.data.tables import as_frame
from gevglm.exceptions import InvalidDataError

OPTIONS = argparse.Namespace(sep=None, decimal=".", encoding=None)  # as the command line has them by default


@pytest.fixture(scope="module")
def study():
    study = gevglm.datasets.simulate_study(n=900, rng=2)[["event", "age", "smoker"]]
    study["town"] = pd.Categorical.from_codes(np.arange(900) % 3, ["north", "south", "west"])
    return study


def write_spss(table, path):
    pyreadstat = pytest.importorskip("pyreadstat")
    labels = dict(enumerate(table["town"].cat.categories))
    coded = table.assign(town=table["town"].cat.codes.astype(int))
    pyreadstat.write_sav(coded, path, variable_value_labels={"town": labels})


WRITERS = {
    "study.dta": lambda table, path: table.to_stata(path, write_index=False),
    "study.sav": write_spss,
    "study.xlsx": lambda table, path: table.to_excel(path, index=False),
    "study.feather": lambda table, path: table.to_feather(path),
    "study.tsv": lambda table, path: table.to_csv(path, index=False, sep="\t"),
    "study.parquet": lambda table, path: table.to_parquet(path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_fits_by_path(name, study, tmp_path):
    if name.endswith("xlsx"):
        pytest.importorskip("openpyxl")
    path = tmp_path / name
    WRITERS[name](study, path)
    expected = gevglm.fit("event ~ age + smoker + town", study, link="logit")
    for given in (path, str(path)):
        found = gevglm.fit("event ~ age + smoker + town", given, link="logit")
        assert list(found.params.index) == list(expected.params.index)  # value labels are levels
        assert_allclose(found.params, expected.params, rtol=1e-9)
    assert_allclose(found.predict(path), expected.predict(study), rtol=1e-9)
    pd.testing.assert_frame_equal(as_frame(path), read_by_command(str(path), OPTIONS))


@pytest.mark.parametrize("name, package, extra", [("a.xlsx", "openpyxl", "excel"), ("a.sav", "pyreadstat", "spss")])
def test_a_missing_package_is_named(name, package, extra, tmp_path, monkeypatch):
    (tmp_path / name).write_bytes(b"")
    imported = builtins.__import__

    def without(module, *args, **kwargs):
        if module.partition(".")[0] == package:
            raise ImportError(package)
        return imported(module, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.setattr(pd, "read_excel", lambda path: without(package))
    monkeypatch.setattr(pd, "read_spss", lambda path: without(package))
    with pytest.raises(InvalidDataError, match=rf"needs {package}: pip install 'gevglm\[{extra}\]'"):
        gevglm.fit("y ~ x", tmp_path / name, link="logit")


def test_what_to_do_is_said_in_the_words_of_the_place(study, tmp_path):
    path = tmp_path / "study.csv"
    study.to_csv(path, index=False, sep=";")
    with pytest.raises(InvalidDataError, match=r"as in pd.read_csv\(.*study.csv', sep=';'\)"):
        gevglm.fit("event ~ age", path, link="logit")
    with pytest.raises(InvalidDataError, match="Give --sep ';'"):
        read_by_command(str(path), OPTIONS)
    path.write_bytes("event,name\n1,Zoé\n".encode("latin-1"))
    with pytest.raises(InvalidDataError, match=r"as in pd.read_csv\(.*encoding='latin-1'\)"):
        gevglm.fit("event ~ name", path, link="logit")


def test_other_files_are_refused(tmp_path):
    (tmp_path / "a.pdf").write_bytes(b"x")
    with pytest.raises(InvalidDataError, match=r"not a table by its name \(.pdf ending\); known are .csv"):
        gevglm.fit("y ~ x", tmp_path / "a.pdf", link="logit")
    (tmp_path / "a.dta").write_bytes(b"not stata")
    with pytest.raises(InvalidDataError, match=r"could not be read as .dta"):
        gevglm.fit("y ~ x", tmp_path / "a.dta", link="logit")
