"""Whatever the README shows is what the code prints."""

import doctest
import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


class _SameButForRounding(doctest.OutputChecker):
    """The decrement of a converged fit is rounding error: compare everything else."""

    def check_output(self, want, got, optionflags):
        want, got = (re.sub(r"(Decrement: +)\S+", r"\1tiny", text) for text in (want, got))
        return super().check_output(want, got, optionflags)


def test_examples_of_the_readme():
    code = "\n".join(re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.S))
    test = doctest.DocTestParser().get_doctest(code, {}, "README", str(README), 0)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.REPORT_NDIFF
    runner = doctest.DocTestRunner(checker=_SameButForRounding(), optionflags=flags)
    assert len(test.examples) >= 5
    assert runner.run(test).failed == 0
