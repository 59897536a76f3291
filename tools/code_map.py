"""Write the map of the code in CONTRIBUTING.md from the first docstring line of every module: ``python -m tools.code_map``."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
START, END = "<!-- map: written by make map -->\n", "<!-- end of the map -->\n"


def code_map(package: Path = ROOT / "gevglm") -> str:
    """Return a table with one row per module: the modules of a package below the package itself."""
    files = sorted(package.rglob("*.py"), key=lambda path: _key(path.relative_to(package)))
    lines = ["| module | duty |", "| --- | --- |"]
    for path in files:
        name = path.relative_to(package.parent).as_posix()
        folder = name.removesuffix("__init__.py")
        lines.append(f"| {f'**`{folder}`**' if folder != name else f'`{name}`'} | {duty(path)} |")
    return "\n".join(lines) + "\n"


def _key(path: Path) -> tuple[bool, tuple[str, ...]]:
    """Modules of the package itself come before those of its packages, a package before its modules."""
    return len(path.parts) > 1, (*path.parts[:-1], "" if path.name == "__init__.py" else path.name)


def duty(path: Path) -> str:
    """Return the first line of a module's docstring, in Markdown."""
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    return text.partition("\n")[0].replace("``", "`").replace("|", "\\|")


def with_map(page: str) -> str:
    """Return the text of a page with the map between its two marks."""
    before, _, rest = page.partition(START)
    _, mark, after = rest.partition(END)
    if not mark:
        raise ValueError(f"{PAGE.name} lacks the lines {START.strip()!r} and {END.strip()!r}.")
    return f"{before}{START}\n{code_map()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(with_map(PAGE.read_text()))
