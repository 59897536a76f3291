from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings
from scipy.special import expit

from gevglm.exceptions import GevglmWarning
from gevglm.families.watched import announce_standard_errors
from tests.support.golden import numbers, synthetic
from tests.support.rows_in_pieces import BLOCK, ROWS

settings.register_profile("gevglm", deadline=None, derandomize=True, max_examples=30)
settings.register_profile("thorough", deadline=None, max_examples=500)  # pytest --hypothesis-profile=thorough
settings.load_profile("gevglm")


# What a test may be skipped for with everything installed; `make test` fails for other reasons.
EXPECTED_SKIPS = (
    "no Chromium on this machine",
    "no node on this machine",
    "no /dev/full",
    "no fork on this system",
    "R with the package survey is not installed",  # whose data sets are in no other package
    "statsmodels before 0.15",
    "SCIPY_ARRAY_API is not set",  # a check of scikit-learn
    "Not supported for <class",  # statsmodels, of its own mixins
)


def pytest_addoption(parser):
    parser.addoption("--strict-skips", action="store_true", help="fail if a test was skipped for an unexpected reason")


def pytest_configure(config):
    """Know the markers of statsmodels' tests, whose mixins run here with our model."""
    for name in ("smoke", "thread_unsafe", "low_precision", "example", "matplotlib"):
        config.addinivalue_line("markers", f"{name}: a marker of statsmodels' test suite")


def unexpected_skips(config) -> list[str]:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if not config.getoption("--strict-skips") or reporter is None or hasattr(config, "workerinput"):
        return []
    reports = reporter.stats.get("skipped", [])
    return [report.nodeid for report in reports if not any(reason in str(report.longrepr) for reason in EXPECTED_SKIPS)]


def pytest_sessionfinish(session, exitstatus):
    if exitstatus == pytest.ExitCode.OK and unexpected_skips(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config):
    if skipped := unexpected_skips(config):
        terminalreporter.section("skipped for an unexpected reason")
        terminalreporter.write("\n".join([*skipped, ""]))


@pytest.fixture(autouse=True, scope="session")
def default_standard_errors_of_statsmodels_were_announced():
    """What is said once in a process is said here, and not in some test."""
    with pytest.warns(GevglmWarning, match="default standard errors"):
        announce_standard_errors()


@pytest.fixture(autouse=True)
def global_random_state_is_left_alone():
    before = np.random.get_state()  # noqa: NPY002
    yield
    after = np.random.get_state()  # noqa: NPY002
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True)), "NumPy's global random state changed"


# -- predictions and outcomes ------------------------------------------------------------------


@pytest.fixture(scope="session")
def judged():
    """1,000 predictions and outcomes, with the numbers of R packages about them."""
    table, golden = synthetic("calibration"), numbers("calibration") | {"packages": numbers("calibration_packages")}
    return SimpleNamespace(y=table["y"].to_numpy(), p=table["p"].to_numpy(), r=golden)


@pytest.fixture(scope="session")
def simulated():
    """Make predictions and outcomes: calibrated, shifted or stretched, with a share of events to choose."""

    def make(n=2000, *, center=-2.0, spread=1.2, shift=0.0, stretch=1.0, seed=0):
        rng = np.random.default_rng(seed)
        eta = rng.normal(center, spread, n)
        return (rng.random(n) < expit(shift + stretch * eta)).astype(float), expit(eta)

    return make


# -- rows in pieces -----------------------------------------------------------------------------


@pytest.fixture(scope="session")
def table():
    """Rows with numbers, factors, weights and clusters; a truth with rare events."""
    rng = np.random.default_rng(8)
    data = pd.DataFrame({f"x{j}": rng.standard_normal(ROWS) for j in range(3)})
    data["group"] = rng.choice(["a", "b", "c", "d"], ROWS, p=[0.4, 0.3, 0.2, 0.1])
    data["clinic"] = rng.integers(0, 40, ROWS)
    data["copies"] = rng.integers(1, 3, ROWS)
    data["importance"] = rng.uniform(0.5, 2.0, ROWS)
    data["shift"] = rng.normal(0.0, 0.1, ROWS)
    linear = -2.5 + 0.5 * data["x0"] - 0.3 * data["x1"] + 0.4 * (data["group"] == "b") + data["shift"]
    data["y"] = (rng.random(ROWS) < 1 / (1 + np.exp(-linear))).astype(int)
    return data


@pytest.fixture(scope="session")
def folder(table, tmp_path_factory):
    """The rows in two parquet files, whose row groups are as long as blocks in memory."""
    folder = tmp_path_factory.mktemp("parquet")
    half = 2 * BLOCK
    table.iloc[:half].to_parquet(folder / "part-0.parquet", row_group_size=BLOCK)
    table.iloc[half:].to_parquet(folder / "part-1.parquet", row_group_size=BLOCK)
    return folder


@pytest.fixture(scope="session")
def pattern(folder):
    return str(folder / "*.parquet")


@pytest.fixture
def write(tmp_path):
    """Write tables to files of a folder, and return the pattern of their names."""

    def files(*tables, suffix="parquet", **options):
        for i, part in enumerate(tables):
            path = tmp_path / f"part-{i}.{suffix}"
            part.to_csv(path, index=False, **options) if suffix == "csv" else part.to_parquet(path, **options)
        return str(tmp_path / f"*.{suffix}")

    return files
