"""Pictures in files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def save_picture(ax: Axes, name: str | Path) -> None:
    """Write a picture to a file, in the format of its ending; png without one."""
    from gevglm._files import writing
    from gevglm.exceptions import GevglmError
    from gevglm.plots.axes import save

    path = Path(name)
    try:
        with writing(path) as file:
            save(ax, file, format=path.suffix[1:] or "png", dpi=150)
    except ValueError as error:  # an ending that is not known
        raise GevglmError(f"{str(path)!r} could not be written: {error}.") from None
