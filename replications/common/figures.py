"""Pictures that the documentation shows."""

from __future__ import annotations

from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

FIGURES = Path(__file__).parents[2] / "docs" / "figures"


def save(figure: Figure, name: str) -> None:
    """Write a figure as SVG that stays the same when its numbers do, and close it."""
    import matplotlib.pyplot as plt

    FIGURES.mkdir(exist_ok=True)
    with rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        figure.savefig(FIGURES / f"{name}.svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
