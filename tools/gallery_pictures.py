"""Take the pictures of the gallery from its built pages: ``python -m tools.gallery_pictures docs/_build/html``.

Every page of the gallery begins with a picture, which is on its card too: the output of the cell with the tag ``picture``. Pictures are kept in
``docs/figures/gallery``, so that cards have them also where the data of a page are not at hand.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

PICTURES = Path(__file__).parents[1] / "docs" / "figures" / "gallery"
CELL = re.compile(r'<div class="cell[^"]*\btag_picture\b.*?<img[^>]*src="(?P<source>[^"]+)"', re.DOTALL)


def pictures(site: Path) -> dict[str, Path]:
    """Return the picture of each page of the gallery of a built site, by the name of the page."""
    found = {}
    for page in sorted((site / "gallery").glob("*.html")):
        cell = CELL.search(page.read_text())
        if cell is not None:
            found[page.stem] = (page.parent / cell["source"]).resolve()
    return found


def main(site: Path) -> None:
    """Copy the pictures, and say which pages have none."""
    found = pictures(site)
    PICTURES.mkdir(exist_ok=True)
    for name, path in found.items():
        shutil.copyfile(path, PICTURES / f"{name}{path.suffix}")
    without = {page.stem for page in (site / "gallery").glob("*.html")} - set(found) - {"index"}
    print(f"{len(found)} pictures; pages without one: {', '.join(sorted(without)) or 'none'}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/_build/html"))
