"""Pictures inside the page: SVG with letters as text, and identifiers of its own."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from gevglm.plots.axes import draw_into
from gevglm.report.html import Html, tag

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def figure(ax: Axes, name: str, caption: str, description: str) -> Html:
    """Return a picture with its caption, a description for those who do not see it, and identifiers that begin with its name."""
    return tag("figure", svg(ax, name, description), tag("figcaption", caption), id=f"figure-{name}")


def svg(ax: Axes, name: str, description: str) -> Html:
    """Return a picture as an SVG element that scales with the page."""
    import matplotlib

    file = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        draw_into(ax, file, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    text = file.getvalue()
    text = text[text.index("<svg") :].strip()
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'(href="|url\()#', rf"\g<1>#{name}-", text)
    start, rest = text.split(">", 1)
    (box,), (width,) = re.findall(r'viewBox="[^"]*"', start), re.findall(r'width="([\d.]+)pt"', start)
    words = f'class="picture" style="max-width: {float(width) * 1.45:.0f}px" role="img"'
    namespaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    return Html(f"<svg {namespaces} {box} {words}>{tag('title', description)}{rest}")
