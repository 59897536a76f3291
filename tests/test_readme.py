"""Whatever the README shows is what the code prints, and what it points at is there."""

import doctest
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text()


class _SameButForRounding(doctest.OutputChecker):
    """The decrement of a converged fit is rounding error: compare everything else."""

    def check_output(self, want, got, optionflags):
        want, got = (re.sub(r"(Decrement: +)\S+", r"\1tiny", text) for text in (want, got))
        return super().check_output(want, got, optionflags)


def test_examples_of_the_readme():
    code = "\n".join(re.findall(r"```python\n(.*?)```", TEXT, flags=re.S))
    test = doctest.DocTestParser().get_doctest(code, {}, "README", str(ROOT / "README.md"), 0)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.REPORT_NDIFF
    runner = doctest.DocTestRunner(checker=_SameButForRounding(), optionflags=flags)
    assert len(test.examples) >= 5
    assert runner.run(test).failed == 0


def test_pictures_and_links_lead_to_files():
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", TEXT) if "://" not in target]
    assert any(target.endswith(".svg") for target in targets)
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_commands_are_targets_of_the_makefile():
    makefile = (ROOT / "Makefile").read_text()
    commands = set(re.findall(r"\bmake (\w+)", TEXT.replace("and make", "")))
    assert {"demo", "test", "docs", "bench"} <= commands
    assert [command for command in commands if not re.search(rf"^{command}:", makefile, flags=re.M)] == []


def test_extras_that_are_named_are_there():
    extras = re.findall(r'pip install "\.\[(\w+)\]"', TEXT)
    assert extras and all(f"\n{extra} =" in (ROOT / "setup.cfg").read_text() for extra in extras)


def test_table_of_peers_is_whole():
    rows = [line for line in (ROOT / "docs" / "peers.md").read_text().splitlines() if line.startswith("| ")]
    assert len(rows) >= 15
    assert {row.count("|") for row in rows} == {10}
