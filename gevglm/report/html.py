"""HTML from Python: everything that is not HTML already is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

ALONE = ("br", "hr", "input", "meta")  # elements without an end


class Html(str):
    """Text that is HTML, and is not escaped again."""

    __slots__ = ()


def tag(name: str, *children: Any, **attributes: Any) -> Html:
    """Return an element; children that are not HTML are escaped, and a trailing underscore of an attribute is left out.

    Examples
    --------
    >>> tag("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    words = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in ALONE:
        return Html(f"<{name}{words}>")
    return Html(f"<{name}{words}>{joined(children)}</{name}>")


def joined(children: Iterable[Any]) -> Html:
    """Return children one after the other."""
    return Html("".join(child if isinstance(child, Html) else _text(str(child)) for child in children))


def _text(text: str) -> str:
    """Return text as HTML, in which a number and its percent sign stay on one line."""
    return re.sub(r"(?<=\d) (?=%)", "&nbsp;", escape(text))


def table(header: Sequence[Any], rows: Iterable[Sequence[Any]], *, words: int = 1, caption: Any = None) -> Html:
    """Return a table that scrolls sideways where the screen is narrow; the first `words` columns hold text, the rest numbers."""

    def line(row: Sequence[Any], heads: int) -> Html:
        kinds = [("th" if i < heads else "td", None if i < words else "number") for i in range(len(row))]
        return tag("tr", *(tag(name, cell, class_=kind) for (name, kind), cell in zip(kinds, row, strict=True)))

    head = tag("thead", line(header, len(header))) if header else Html("")
    body = tag("tbody", *(line(row, 1) for row in rows))
    above = [tag("p", caption, class_="note caption")] if caption is not None else []
    return joined([*above, tag("div", tag("table", head, body), class_="wide")])


def items(sentences: Iterable[Any], **attributes: Any) -> Html:
    """Return a list of sentences."""
    return tag("ul", *(tag("li", sentence) for sentence in sentences), **attributes)
