"""Check the built documentation: ``python -m tools.check_site docs/_build/html``.

Links and anchors lead somewhere, addresses of other sites are well formed, pictures have a text, headings are in order, pages have a title and a
language, ids are unique, and the search finds what readers look for. Addresses of other sites are not opened.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

SOUGHT = ("Firth", "risk ratio", "odds ratio", "King Zeng", "calibration", "separation", "case control")
WITHOUT_CONTENT = {"search.html", "genindex.html", "py-modindex.html"}
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")


@dataclass
class Page(HTMLParser):
    """What is checked of a page."""

    ids: Counter[str] = field(default_factory=Counter)
    links: list[str] = field(default_factory=list)
    pictures: list[dict[str, str | None]] = field(default_factory=list)
    headings: list[int] = field(default_factory=list)
    language: str | None = None
    title: str = ""
    inside: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag, attrs):
        """Note ids, links, pictures and headings."""
        given = dict(attrs)
        self.inside[tag] += 1
        if given.get("id"):
            self.ids[given["id"]] += 1
        if tag == "html":
            self.language = given.get("lang")
        elif tag == "img":
            self.pictures.append(given)
            self.links.append(given.get("src") or "")
        elif tag in ("a", "link") and "href" in given:
            self.links.append(given["href"] or "")
        elif tag == "script" and given.get("src"):
            self.links.append(given["src"] or "")
        elif tag in HEADINGS and self.inside["article"] > 0:
            self.headings.append(int(tag[1]))

    def handle_endtag(self, tag):
        """Note what was left."""
        self.inside[tag] -= 1

    def handle_data(self, data):
        """Note the title."""
        if self.inside["title"] and not self.inside["svg"]:
            self.title += data


def read_site(folder: Path) -> dict[Path, Page]:
    """Return the pages of a site."""
    pages = {}
    for path in sorted(folder.rglob("*.html")):
        if "_static" not in path.relative_to(folder).parts:
            pages[path.resolve()] = page = Page()
            page.feed(path.read_text())
    return pages


def problems_of(path: Path, pages: dict[Path, Page]) -> Iterator[str]:
    """Say what is wrong with a page."""
    page = pages[path]
    yield from broken_links(path, pages)
    for picture in page.pictures:
        if not (picture.get("alt") or "").strip() or picture["alt"] == picture.get("src"):
            yield f"the picture {picture.get('src')!r} has no text (alt)"
        elif picture["alt"].startswith(("../", "_images")):
            yield f"the text of the picture {picture.get('src')!r} is its file name"
    yield from (f"the id {name!r} is there {count} times" for name, count in page.ids.items() if count > 1)
    if not page.language or not page.title.strip():
        yield "there is no language or no title"
    if path.name not in WITHOUT_CONTENT:
        yield from misplaced_headings(page.headings)


def misplaced_headings(levels: list[int]) -> Iterator[str]:
    """Headings begin with one of the first level, and none leaves out a level below the one before."""
    if levels.count(1) != 1 or levels[0] != 1:
        yield f"the page has {levels.count(1)} headings of the first level, or does not begin with it"
    for before, after in pairwise(levels):
        if after > before + 1:
            yield f"a heading of level {after} follows one of level {before}"


def broken_links(path: Path, pages: dict[Path, Page]) -> Iterator[str]:
    """Files and anchors that links of the site lead to must be there; addresses of others must be well formed."""
    for link in dict.fromkeys(pages[path].links):
        parts = urlsplit(link)
        if parts.scheme in ("http", "https"):
            if not re.fullmatch(r"[\w-]+(\.[\w-]+)+(:\d+)?", parts.netloc) or re.search(r"\s", link):
                yield f"the address {link!r} is malformed"
        elif parts.scheme in ("mailto", "data", "javascript"):
            continue
        elif parts.scheme or parts.netloc:
            yield f"the address {link!r} is of an unknown kind"
        else:
            yield from _broken(path, link, pages)


def _broken(path: Path, link: str, pages: dict[Path, Page]) -> Iterator[str]:
    parts = urlsplit(link)
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    target = target / "index.html" if target.is_dir() else target
    anchor = unquote(parts.fragment)
    if not target.exists():
        yield f"{link!r} leads nowhere"
    elif anchor and target in pages and anchor not in pages[target].ids:
        yield f"{link!r} leads to a page without that anchor"


def not_found(folder: Path, sought: tuple[str, ...] = SOUGHT) -> Iterator[str]:
    """Say what the search of the site does not find: each word of it must begin an indexed word, on one page together."""
    text = (folder / "searchindex.js").read_text()
    index = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    for words in sought:
        together = None
        for word in words.lower().split():
            stem = word.removesuffix("s")[:5]
            of_word = set()
            for kind in ("terms", "titleterms"):
                for term, where in index[kind].items():
                    if term.startswith(stem):
                        of_word |= {where} if isinstance(where, int) else set(where)
            together = of_word if together is None else together & of_word
        if not together:
            yield f"the search does not find {words!r}"


def main(folder: Path) -> int:
    """Print what is wrong, and return how much."""
    folder = folder.resolve()
    pages = read_site(folder)
    found = [f"{path.relative_to(folder)}: {problem}" for path in pages for problem in problems_of(path, pages)]
    found += list(not_found(folder))
    print(
        "\n".join(found)
        or f"{len(pages)} pages: links, anchors, pictures, headings, ids and search are as they should be."
    )
    return len(found)


if __name__ == "__main__":
    sys.exit(min(main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/_build/html")), 1))
