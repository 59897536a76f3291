"""The map of the code in CONTRIBUTING.md is what the modules say of themselves."""

import pytest

from tools.code_map import PAGE, ROOT, code_map, duty, with_map


def test_the_map_is_up_to_date():
    page = PAGE.read_text()
    assert with_map(page) == page, "CONTRIBUTING.md is stale: run `make map`"


@pytest.mark.parametrize("path", sorted((ROOT / "gevglm").rglob("*.py")), ids=lambda path: path.stem)
def test_every_module_says_its_duty_in_one_line(path):
    assert 10 < len(duty(path)) <= 140
    assert duty(path)[-1] in ".:"


def test_packages_come_before_their_modules(tmp_path):
    for name in ("zebra.py", "__init__.py", "inner/ape.py", "inner/__init__.py"):
        path = tmp_path / "pack" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'"""Duty of {name} | ``x``."""\n')
    rows = code_map(tmp_path / "pack").splitlines()[2:]
    assert [row.split("|")[1].strip() for row in rows] == [
        "**`pack/`**",
        "`pack/zebra.py`",
        "**`pack/inner/`**",
        "`pack/inner/ape.py`",
    ]
    assert rows[1].endswith(r"| Duty of zebra.py \| `x`. |")


def test_a_page_without_marks_is_refused():
    with pytest.raises(ValueError, match="lacks the lines"):
        with_map("# Contributing\n")
