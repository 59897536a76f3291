"""Axes to draw on, and what all pictures share: colours, labels, legends, ticks of logarithmic axes."""

from __future__ import annotations

from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gevglm._files import writing
from gevglm.exceptions import GevglmError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RESOLUTION = 110  # dots per inch in notebooks
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


def new_axes(width: float = 6.0, height: float = 4.0) -> Axes:
    """Return the Axes of a new figure, or say how to get matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise GevglmError("pictures need matplotlib: pip install 'gevglm[plot]'.") from None
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    ax = figure.add_subplot()
    # notebooks show figures of pyplot, which this is not, so that it tells them how
    for shown in (figure, ax):
        setattr(shown, "_repr_png_", partial(_as_png, figure))  # noqa: B010 (not an attribute that matplotlib declares)
    return ax


def _as_png(figure: Figure) -> bytes:
    picture = BytesIO()
    figure.savefig(picture, format="png", dpi=RESOLUTION)
    return picture.getvalue()


def save(ax: Axes, path: str | Path, **options: Any) -> None:
    """Save the figure that Axes are part of to a file, in the format of its ending (png without one); see ``Figure.savefig``."""
    path = Path(path)
    with writing(path) as file:
        draw_into(ax, file, format=path.suffix[1:] or "png", **options)


def draw_into(ax: Axes, file: Any, **options: Any) -> None:
    """Draw the figure that Axes are part of into an open file; see ``Figure.savefig``."""
    figure: Any = ax.figure  # of a subfigure, too, which is not declared to be saved
    figure.savefig(file, **options)


def color(i: int) -> str:
    """Return the color of the i-th thing drawn."""
    return COLORS[i % len(COLORS)]


def finish(ax: Axes, xlabel: str = "", ylabel: str = "", legend: str | None = None, *, legend_top: float = 1.0) -> Axes:
    """Label the axes, take away what frames them, and show the legend if there is a place for it.

    A legend has one of the places of matplotlib, up to a share of the height, or is "above".
    """
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    ax.spines[["top", "right"]].set_visible(False)
    if legend is None:
        return ax
    place: dict[str, Any] = {"loc": legend, "bbox_to_anchor": (0.0, 0.0, 1.0, legend_top)}
    if legend == "above":
        place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "columnspacing": 1.2, "handlelength": 1.4}
        place["ncols"] = len(ax.get_legend_handles_labels()[0])
    ax.legend(frameon=False, fontsize="small", **place)
    return ax


def plain_log_ticks(axis: Any, low: float, high: float, *, both_ends: bool = False) -> None:
    """Label the probabilities of a logarithmic (or, at both ends, logit) axis as people write them, 0.001 and not 10^-3."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

    decades = 10.0 ** np.arange(np.floor(np.log10(low)), 1)
    places = np.concatenate([decades, 3.0 * decades]) if high / low < 300.0 else decades
    if both_ends:
        rare = places[places < 0.5]
        places = np.concatenate([rare, [0.5], 1.0 - rare])
    places = np.unique(places[(places >= low * 0.999) & (places <= high * 1.001)])
    axis.set_major_locator(FixedLocator(places.tolist()))
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(value)))
    axis.set_minor_formatter(NullFormatter())


def plain_number(value: float) -> str:
    """Return a probability in plain digits, down to a millionth."""
    return f"{value:.6f}".rstrip("0") if 1e-6 <= value < 1.0 else f"{value:g}"
