"""The tools that keep pages in order: what they change, what they find, and what they leave alone."""

import json
import re

import pytest

from tools import check_in_browser, gallery_pictures, readme_output
from tools.check_site import main as check_site
from tools.check_site import misplaced_headings, not_found, problems_of, read_site
from tools.wrap_prose import ROOT, WIDTH, long_lines, pages, wrapped

WORDS = "of words that go on and on " * 8


class TestWrapping:
    @pytest.mark.parametrize("before", ["", "* ", "1. ", "  * "])
    def test_paragraphs_and_items(self, before):
        done = wrapped(f"{before}{WORDS}\n\nshort\n").split("\n")
        assert max(map(len, done)) <= WIDTH and done[0].startswith(before)
        assert all(line.startswith(" " * len(before)) for line in done[1:3])
        assert " ".join(" ".join(done[:-3]).split()) == f"{before}{WORDS}".strip()
        assert done[-3:] == ["", "short", ""]

    @pytest.mark.parametrize(
        "block",
        [
            f"```\n{WORDS}\n```",
            f"```{{code-cell}} ipython3\nx = 1  # {WORDS}\n```",
            f"$$\n{WORDS}\n$$ (label)",
            f"* item\n\n  $$\n  {WORDS}\n  $$ (label)",
            f"| {WORDS} | {WORDS} |",
            f"# {WORDS}",
            f":alt: {WORDS}",
            f"    {WORDS}",
            f"---\ntitle: {WORDS}\n---",
            f"![{WORDS}](a.svg)",
        ],
    )
    def test_what_is_not_prose_stays(self, block):
        assert wrapped(f"{block}\n") == f"{block}\n"

    def test_code_formulas_and_claims_are_not_broken(self):
        spans = ["`fit(a, b, c)`", "$a + b + c$", "<!-- speed: scan --> 10 times as fast.<!-- end -->", "``a ` b``"]
        for span in spans:
            for shift in range(30):
                assert span in wrapped("x" * shift + " " + f"word {span} " * 12)

    def test_no_line_begins_with_what_would_begin_a_list(self):
        for shift in range(40):
            lines = wrapped("y" * shift + " a - b 3. c # d + e" * 20).split("\n")
            assert not any(re.match(r"([-+#*]|\d+\.)\s", line) for line in lines)

    def test_long_code_is_named(self):
        text = f"```{{code-cell}} ipython3\nx = '{WORDS}'\n```\n"
        assert [line[:3] for line in long_lines(text)] == ["x ="]

    def test_wrapping_changes_no_word_of_the_pages_and_is_done_once(self):
        for page in pages():
            text = page.read_text()
            once = wrapped(text)
            assert once.split() == text.split() and wrapped(once) == once, page.relative_to(ROOT)


INDEX = {"terms": {"firth": 0, "risk": [0, 1], "odd": 1}, "titleterms": {"ratio": [1]}}


@pytest.fixture
def site(tmp_path):
    page = '<html lang="en"><title>t</title><article><h1 id="a">A</h1><h2 id="b">B</h2>{}</article></html>'
    (tmp_path / "index.html").write_text(page.format('<a href="sub/other.html#b">x</a><img src="p.png" alt="P">'))
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "other.html").write_text(page.format('<a href="../index.html">x</a><a href="#a">y</a>'))
    (tmp_path / "p.png").write_bytes(b"")
    (tmp_path / "searchindex.js").write_text(f"Search.setIndex({json.dumps(INDEX)})")
    return tmp_path


class TestSite:
    def found(self, site):
        site = site.resolve()
        read = read_site(site)
        return [problem for path in read for problem in problems_of(path, read)]

    def test_a_good_one(self, site):
        assert self.found(site) == []

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ('<a href="gone.html">x</a>', "'gone.html' leads nowhere"),
            ('<a href="other.html#c">x</a>', "'other.html#c' leads to a page without that anchor"),
            ('<a href="https://a b.org">x</a>', "the address 'https://a b.org' is malformed"),
            ('<a href="ftq://a.org">x</a>', "the address 'ftq://a.org' is of an unknown kind"),
            ('<img src="../p.png">', "the picture '../p.png' has no text (alt)"),
            ('<img src="../p.png" alt="../p.png">', "the picture '../p.png' has no text (alt)"),
            ('<i id="z"></i><i id="z"></i>', "the id 'z' is there 2 times"),
            ("<h4>x</h4>", "a heading of level 4 follows one of level 2"),
            ("<h1>x</h1>", "the page has 2 headings of the first level, or does not begin with it"),
        ],
    )
    def test_what_is_wrong_is_said(self, content, message, site):
        path = site / "sub" / "other.html"
        path.write_text(path.read_text().replace("</article>", f"{content}</article>"))
        assert self.found(site) == [message]

    def test_headings_of_no_page(self):
        assert list(misplaced_headings([])) != [] and list(misplaced_headings([1, 2, 3, 2, 3, 3])) == []

    def test_search(self, site):
        assert list(not_found(site, ("Firth", "risk ratio", "odds ratio"))) == []
        assert list(not_found(site, ("Firth ratio", "King"))) == [
            "the search does not find 'Firth ratio'",
            "the search does not find 'King'",
        ]
        assert check_site(site) > 0  # what readers look for is not in this index

    def test_without_chromium_nothing_is_checked_and_that_is_said(self, site, monkeypatch, capsys):
        monkeypatch.setattr(check_in_browser, "NAMES", ())
        assert check_in_browser.main(site, []) == 0
        assert "There is no Chromium" in capsys.readouterr().out


def test_pictures_of_the_gallery_are_those_of_the_tagged_cells(tmp_path):
    (tmp_path / "gallery").mkdir()
    cell = '<div class="cell {} docutils"><img alt="a" src="../_images/{}.png"></div>'
    text = cell.format("other", 1) + cell.format("tag_picture tag_hide-input", 2) + cell.format("x", 3)
    (tmp_path / "gallery" / "one.html").write_text(text)
    (tmp_path / "gallery" / "two.html").write_text(cell.format("other", 1))
    assert gallery_pictures.pictures(tmp_path) == {"one": (tmp_path / "_images" / "2.png").resolve()}


def test_every_page_of_the_gallery_has_a_picture_and_a_card():
    gallery = ROOT / "docs" / "gallery"
    index = (gallery / "index.md").read_text()
    names = [page.stem for page in sorted(gallery.glob("*.md")) if page.stem != "index"]
    assert len(names) >= 12
    for name in names:
        text = (gallery / f"{name}.md").read_text()
        assert text.count("picture]") == 1, f"{name}: one cell has the tag `picture`"
        assert f"```{{figure}} ../figures/gallery/{name}.png" in text, f"{name} begins with its picture"
        assert f":link: {name}\n" in index and f"../figures/gallery/{name}.png" in index, f"{name} has a card"
        assert (ROOT / "docs" / "figures" / "gallery" / f"{name}.png").exists()


def test_output_of_the_readme_is_written_below_its_examples():
    page = "# Title\n\n```python\n>>> x = 1\n>>> for i in range(2):\n...     print(i)\nold\n>>> x\n7\n```\n\nEnd\n"
    done = readme_output.with_output(page)
    assert "...     print(i)\n0\n1\n>>> x\n1\n" in done and done.endswith("```\n\nEnd\n")
    assert readme_output.with_output(done) == done
