"""Wrap the prose of pages at 100 columns: ``python -m tools.wrap_prose`` (with ``--check``: only say which pages are not).

Paragraphs and list items in which a line is too long are wrapped anew; nothing else is touched: code, tables, formulas, headings, options. Code in
backticks, formulas and the sentences that ``make bench`` writes are not broken. Long lines of code, which would be cut off, are named, and changed by hand.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
WIDTH = 100
TOKEN = re.compile(r"(?:<!-- speed:.*?<!-- end -->|(`+)(?!`).+?(?<!`)\1(?!`)|\$[^$]+\$|\S)+", re.DOTALL)
ITEM = re.compile(r"(\s*)([-*+]|\d+[.)])\s+")
NOT_FIRST = re.compile(r"([-*+=|]|#+|>|\d+[.)]|:\S*)$")  # would begin something else at the start of a line
STANDS = re.compile(
    r"\s*$|#|\||>|:|<!-- (?!speed)|\[\^|---|\s*\$\$|!\[|\([\w-]+\)="
)  # lines that are not of a paragraph
FENCE = re.compile(r"\s*(`{3,}|~{3,})")
CELL = re.compile(r"```(?:\{code-cell\} ipython3|python)\n(.*?)```", re.DOTALL)


def pages(root: Path = ROOT) -> list[Path]:
    """Return the pages of prose of the repository."""
    found = [path for path in (root / "docs").rglob("*.md") if not {"_build", "generated"} & set(path.parts)]
    return sorted([*found, *root.glob("*.md")])


def wrapped(text: str) -> str:
    """Return a page with its long paragraphs wrapped."""
    blocks = _blocks(text.split("\n"))
    return "\n".join(line for block, is_prose in blocks for line in (_wrap(block) if is_prose else block))


def _blocks(lines: list[str]) -> Iterator[tuple[list[str], bool]]:
    """Split a page into paragraphs and list items, which are prose, and everything else line by line."""
    fence, verbatim, paragraph = "", "---" if lines[0] == "---" else "", []
    for number, line in enumerate(lines):
        opening = FENCE.match(line)
        inside = bool(fence or verbatim)
        if fence:
            fence = "" if line.strip() == fence else fence
        elif verbatim:
            verbatim = "" if number and line.lstrip().startswith(verbatim) else verbatim
        elif opening:
            fence, inside = opening[1], True
        elif line.lstrip().startswith("$$"):
            verbatim, inside = "$$" if not line.strip()[2:].endswith("$$") else "", True
        alone = inside or STANDS.match(line)
        if paragraph and (alone or ITEM.match(line)):
            yield paragraph, True
            paragraph = []
        if alone:
            yield [line], False
        else:
            paragraph.append(line)
    if paragraph:
        yield paragraph, True


def _wrap(block: list[str]) -> list[str]:
    item = ITEM.match(block[0])
    indented = block[0].startswith("    ") and not item  # code
    if max(map(len, block)) <= WIDTH or indented:
        return block
    first = item[0] if item else re.match(r"\s*", block[0])[0]  # type: ignore[index]
    rest = " " * len(first)
    tokens = [match[0] for match in TOKEN.finditer("\n".join(block)[len(first) :])]
    lines, line = [], first
    for i, token in enumerate(tokens):
        after = tokens[i + 1] if i + 1 < len(tokens) else ""
        reserve = 1 + len(after) if NOT_FIRST.match(after) else 0
        if line.strip() and line not in (first, rest) and len(line) + 1 + len(token) + reserve > WIDTH:
            if not NOT_FIRST.match(token):
                lines.append(line)
                line = rest
        line += token if line in (first, rest) else f" {token}"
    return [*lines, line]


def long_lines(text: str) -> Iterator[str]:
    """Return lines of prose or code that are too long, and can be made shorter."""
    done = wrapped(text)
    yield from (line for line in text.split("\n") if len(line) > WIDTH and line not in done.split("\n"))
    for cell in CELL.findall(text):
        yield from (line for line in cell.splitlines() if len(line) > WIDTH)


def main(check: bool) -> int:
    """Wrap every page, or say which ones are not wrapped."""
    problems = 0
    for path in pages():
        text = path.read_text()
        if not check and (new := wrapped(text)) != text:
            path.write_text(new)
            text = new
        for line in long_lines(text):
            problems += 1
            print(f"{path.relative_to(ROOT)}: too long: {line[:70]}...")
    return problems


if __name__ == "__main__":
    sys.exit(min(main("--check" in sys.argv), 1))
