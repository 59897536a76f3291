"""The page around the sections: head, style, contents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gevglm.report.html import Html, joined, tag

STYLE = """
:root { color-scheme: light; --ink: #1d2127; --soft: #5b6470; --line: #d9dde3; --blue: #0072b2; --bad: #b42318; --warning: #8a5a00; --good: #1c7a45; }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 56rem; color: var(--ink); background: #fff;
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 .6rem; padding-top: .6rem; border-top: 1px solid var(--line); }
h3 { font-size: 1.02rem; margin: 1.4rem 0 .4rem; }
p, li { max-width: 46rem; overflow-wrap: break-word; }
.by, .note, figcaption { color: var(--soft); font-size: .9rem; }
nav ul { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; list-style: none; padding: 0; margin: .8rem 0 0; font-size: .95rem; }
a { color: var(--blue); }
.findings li { margin-bottom: .55rem; }
.wide { overflow-x: auto; margin: .6rem 0; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
.caption { margin: 1rem 0 .2rem; }
th, td { padding: .28rem .7rem .28rem 0; text-align: left; vertical-align: baseline; border-bottom: 1px solid #eceff3; }
thead th { border-bottom: 1.5px solid var(--ink); font-weight: 600; }
tbody th { font-weight: 500; }
td.number, th.number { text-align: right; white-space: nowrap; padding-left: .5rem; }
.facts th { white-space: nowrap; color: var(--soft); font-weight: 500; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 23rem), 1fr)); gap: 1.2rem 1.6rem; align-items: start; }
.figures:has(> :only-child) { grid-template-columns: minmax(0, 34rem); }
figure { margin: .8rem 0 0; }
svg.picture { display: block; width: 100%; height: auto; }
.status { padding-left: 0; list-style: none; }
.status li { padding-left: 5.2rem; position: relative; margin-bottom: .45rem; }
.status .mark { position: absolute; left: 0; width: 4.6rem; font-size: .78rem; font-weight: 700; text-transform: uppercase; letter-spacing: .03em; padding-top: .12rem; }
.problem .mark { color: var(--bad); } .warning .mark { color: var(--warning); } .fine .mark { color: var(--good); }
.alert { border-left: 4px solid var(--bad); padding: .5rem .9rem; background: #fdf3f2; }
h2 .items { float: right; max-width: 50%; text-align: right; font-size: .78rem; font-weight: 500; color: var(--soft); padding: .35rem 0 0 1rem; }
.checklist table { width: 100%; } .checklist th, .checklist td { vertical-align: top; padding: .45rem .9rem .45rem 0; } .checklist tbody th { width: 9rem; }
.checklist td { min-width: 13rem; }
.answer { font-weight: 600; } .answer.here { color: var(--good); } .answer.in-part { color: var(--blue); } .answer.authors { color: var(--warning); } .answer.other-data { color: var(--soft); }
pre { overflow-x: auto; background: #f6f7f9; padding: .8rem 1rem; border-radius: 6px; font-size: .86rem; line-height: 1.45; }
@media (max-width: 42rem) {
  h2 .items { float: none; display: block; max-width: none; text-align: left; padding: .1rem 0 0; }
  .checklist thead { display: none; } .checklist tr { display: block; padding: .5rem 0; border-bottom: 1px solid var(--line); }
  .checklist tbody th, .checklist td { display: block; width: auto; border: 0; padding: .1rem 0; } .checklist th br { display: none; }
}
@media (max-width: 30rem) { body { padding: 1rem .8rem 3rem; } h1 { font-size: 1.35rem; } }
@media print {
  html { font-size: 9.5pt; } body { max-width: none; padding: 0; } nav { display: none; } a { color: inherit; text-decoration: none; }
  #calculator-section { display: none; }
  h2, h3 { break-after: avoid; } figure, tr, li { break-inside: avoid; } .wide { overflow: visible; } pre { white-space: pre-wrap; }
  h2 { margin-top: 1.6rem; } .figures { grid-template-columns: 1fr 1fr; } .figures:has(> :only-child) { grid-template-columns: 26rem; }
}
"""


@dataclass(frozen=True)
class Section:
    """A part of the report."""

    key: str  # its place in the page, for links
    title: str
    parts: Sequence[Html]
    items: str = ""  # of a checklist, that it answers

    def html(self) -> Html:
        """Return the section."""
        items = tag("span", self.items, class_="items") if self.items else ""
        return tag("section", tag("h2", self.title, items), *self.parts, id=self.key)


def page(title: str, subtitle: str, sections: Sequence[Section], foot: str) -> Html:
    """Return the whole page."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name_="generator", content="gevglm"),
        tag("title", title),
        tag("style", Html(STYLE)),
    )
    links = [tag("li", tag("a", section.title, href=f"#{section.key}")) for section in sections]
    body = tag(
        "body",
        tag("header", tag("h1", title), tag("p", subtitle, class_="by"), tag("nav", tag("ul", *links))),
        tag("main", *(section.html() for section in sections)),
        tag("footer", tag("p", foot, class_="note")),
    )
    return joined([Html("<!doctype html>\n"), tag("html", head, body, lang="en"), "\n"])
