import numpy as np
import pandas as pd
import pytest
from rows_in_pieces import BLOCK, ROWS


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
