import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT.parent / "shared" / "reference"

settings.register_profile("gevglm", deadline=None, derandomize=True, max_examples=30)
settings.register_profile("thorough", deadline=None, max_examples=500)  # pytest --hypothesis-profile=thorough
settings.load_profile("gevglm")


@pytest.fixture(scope="session")
def reference():
    """Load a JSON or CSV file of the reference numbers, or skip where they are not at hand."""

    def load(name):
        path = REFERENCE / name
        if not path.exists():
            pytest.skip(f"{name} is not in {REFERENCE}: the reference numbers are not part of the package")
        return json.loads(path.read_text()) if path.suffix == ".json" else pd.read_csv(path)

    return load


@pytest.fixture(scope="session")
def data_path():
    return Path(__file__).parent / "data"


@pytest.fixture(autouse=True)
def global_random_state_is_left_alone():
    before = np.random.get_state()  # noqa: NPY002
    yield
    after = np.random.get_state()  # noqa: NPY002
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True)), "NumPy's global random state changed"
