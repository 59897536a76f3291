"""What the pages say of the package is true of it: names, equations, equivalent calls, pages that can be reached."""

import copy
import importlib
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gevglm
import gevglm.calibration.curves

DOCS = Path(__file__).parents[1] / "docs"
PACKAGE = Path(gevglm.__file__).parent
PAGES = [page for page in DOCS.rglob("*.md") if not {"generated", "_build"} & set(page.parts)]
MODULES = (
    "",
    "links",
    "losses",
    "families",
    "bias",
    "calibration",
    "planning",
    "weighting",
    "sklearn",
    "sampling",
    "plots",
    "data.sources",
)
NOT_LISTED = {
    "__version__",
    "datasets",
    "exceptions",
    "sources",
    "COLORS",
    "CanonicalVariance",
    "family_of",
    "saturated_loss",
    *MODULES,
}


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_in_the_reference(module):
    if module in ("weighting", "sklearn"):
        pytest.importorskip("sklearn")
    home = importlib.import_module(f"gevglm.{module}".rstrip("."))
    own = [
        name
        for name, value in vars(home).items()
        if name[0] != "_" and getattr(value, "__module__", "") == home.__name__
    ]
    listed = set(re.findall(r"^   ([\w.]+)$", (DOCS / "api.md").read_text(), flags=re.M))
    public = {f"{module}.{name}".lstrip(".") for name in getattr(home, "__all__", own)}
    assert public - listed - {f"{module}.{name}".lstrip(".") for name in NOT_LISTED} == set()


def test_every_name_in_the_reference_is_there():
    for name in re.findall(r"^   ([\w.]+)$", (DOCS / "api.md").read_text(), flags=re.M):
        *modules, last = name.split(".")
        home = gevglm
        for number, module in enumerate(modules, 1):
            if not hasattr(home, module):
                importlib.import_module(".".join(["gevglm", *modules[:number]]))
            home = getattr(home, module)
        assert hasattr(home, last), name


def test_every_module_in_the_reference_is_an_attribute_before_anybody_imports_it(monkeypatch):
    text = (DOCS / "api.md").read_text()
    modules = {name.rpartition(".")[0] for name in re.findall(r"^   ([\w.]+)$", text, flags=re.M)}
    modules |= {name.removeprefix("gevglm.") for name in re.findall(r"automodule:: (gevglm\.[\w.]+)", text)}
    parts = {f"gevglm.{module}" for module in modules if module and not module.startswith(("sklearn", "weighting"))}
    parts |= {part.rpartition(".")[0] for part in parts if part.count(".") > 1}
    assert len(parts) > 30
    for part in sorted(parts):
        package, _, name = part.rpartition(".")
        home, module = importlib.import_module(package), importlib.import_module(part)
        if vars(home).get(name) is module:  # and not a function of that name
            monkeypatch.delattr(home, name)
        assert getattr(home, name) is module, part


def test_modules_that_are_not_there_are_no_attributes():
    for home in (gevglm, gevglm.calibration, gevglm.results):
        with pytest.raises(AttributeError, match=f"module '{home.__name__}' has no attribute 'nothing'"):
            _ = home.nothing


def test_equations_that_docstrings_cite_are_there():
    cited = {label for file in PACKAGE.rglob("*.py") for label in re.findall(r":eq:`([\w-]+)`", file.read_text())}
    given = {label for page in PAGES for label in re.findall(r"^ *\$\$ \(([\w-]+)\)$", page.read_text(), flags=re.M)}
    assert len(cited) >= 12
    assert cited <= given


def test_every_page_is_in_a_table_of_contents():
    inside = set()
    for page in PAGES:
        for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(), flags=re.S):
            entries = [line for line in block.splitlines() if line and not line.startswith(":")]
            inside |= {(page.parent / f"{entry}.md").resolve() for entry in entries}
    assert inside >= {page.resolve() for page in PAGES} - {(DOCS / "index.md").resolve()}
    assert all(page.exists() for page in inside)


FIT = 'fit("y ~ x", d, link="logit", '


def _calls(page: str) -> list[str]:
    """Return the code in the right-hand columns of the tables of a page; options of a fit as a fit with them."""
    cells = re.findall(r"^\| .*? \| (.*) \|$", (DOCS / page).read_text(), flags=re.M)
    codes = [code for cell in cells for code in re.findall(r"`([^`]+)`", cell)]
    calls = [f"{FIT}{code})" if re.match(r"\w+=", code) else code.replace("fit(..., ", FIT) for code in codes]
    return [code for code in calls if re.match(r"(gevglm|fit|res|large|sm)\b.*\)$", code)]


@pytest.fixture
def names():
    pytest.importorskip("sklearn")
    pytest.importorskip("matplotlib")
    import statsmodels.api as sm
    from sklearn.linear_model import LogisticRegression

    import gevglm.sklearn
    import gevglm.weighting

    rng = np.random.default_rng(0)
    n = 400
    x, z = rng.integers(0, 5, n), rng.standard_normal(n)
    y = (rng.random(n) < 0.1 + 0.1 * x).astype(int)
    d = pd.DataFrame({"y": y, "x": x, "z": z, "s": y, "f": 2 - y, "o": 0.1 * z, "w": 1 + (z > 0)})
    d = d.assign(g=np.where(z > 0, "a", "b"), id=np.arange(n) % 40, year=np.arange(n) % 7)
    large, small = (gevglm.fit(formula, d, link="logit") for formula in ("y ~ x + z", "y ~ x"))
    columns = {name: d[name].to_numpy() for name in ("y", "s", "f")}
    results = {"large": large, "small": small, "res": large, "p": np.asarray(large.predict()), "new": d.head(3)}
    packages = {"gevglm": gevglm, "np": np, "sm": sm, "fit": gevglm.fit, "model": LogisticRegression()}
    return {"d": d, "X": np.column_stack([x, z]), **columns, **results, **packages}


@pytest.mark.filterwarnings("ignore::gevglm.exceptions.GevglmWarning")
@pytest.mark.parametrize(("page", "least"), [("sampling.md", 5)])
def test_equivalent_calls_run(page, least, names, tmp_path):
    calls = _calls(page)
    assert len(calls) >= least
    file = tmp_path / "results.pickle"
    names["small"].save(file, remove_data=False)
    for code in calls:
        eval(code, {}, {**names, "res": copy.deepcopy(names["res"]), "file": file})  # saving drops the data
