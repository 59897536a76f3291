"""What is loaded when: starting costs no more than importing statsmodels, because nothing else is loaded before it is needed. No clocks: names of modules."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

SLOW = ("scipy.signal", "matplotlib", "sklearn", "dask", "pooch", "tqdm", "IPython")


def loaded(code, folder="."):
    """Return the modules that a new Python has after some code, beyond those that it starts with."""
    lines = f"import sys\nbefore = set(sys.modules)\n{code}\nprint(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True, cwd=folder)
    return done.stdout.splitlines()[-1].split()


def packages(modules):
    """Return the packages, other than Python's own, of some modules."""
    return {name.partition(".")[0] for name in modules} - set(sys.stdlib_module_names)


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"y": np.arange(200) % 4 == 0, "x": rng.standard_normal(200), "g": np.arange(200) % 3})
    data.astype(float).to_csv(tmp_path / "small.csv", index=False)
    return tmp_path


def test_the_package_itself_loads_no_module_but_its_own_first():
    modules = loaded("import gevglm")
    assert packages(modules) == {"gevglm"} and [name for name in modules if name.startswith("gevglm")] == ["gevglm"]


def test_help_loads_no_library():
    code = "import gevglm.cli\ntry:\n    gevglm.cli.main(['--help'])\nexcept SystemExit:\n    pass"
    assert packages(loaded(code)) == {"gevglm"}


def test_a_fit_loads_nothing_slow_that_it_does_not_need(folder):
    code = "from gevglm.cli import main; main(['fit', 'y ~ x + C(g)', 'small.csv', '--quiet'])"
    modules = loaded(code, folder)
    assert not [name for name in SLOW if name in modules]
