"""Write below every example of the README what it prints: ``python -m tools.readme_output``, after a change of what is printed."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "README.md"
BLOCK = re.compile(r"(?<=```python\n).*?(?=```)", re.DOTALL)


def with_output(page: str) -> str:
    """Return a page whose examples are followed by what they print."""
    names: dict[str, object] = {}
    return BLOCK.sub(lambda block: _run(block[0], names) + "\n\n", page)


def _run(block: str, names: dict[str, object]) -> str:
    lines = []
    for example in doctest.DocTestParser().get_examples(block):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(example.source, "README", "single"), names)
        code = example.source.rstrip("\n").split("\n")
        lines += [f"{'>>>' if i == 0 else '...'} {line}".rstrip() for i, line in enumerate(code)]
        output = printed.getvalue().rstrip("\n")
        lines += [line.rstrip() or "<BLANKLINE>" for line in output.split("\n")] if output else []
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(with_output(PAGE.read_text()))
