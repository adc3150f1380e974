"""The Markdown files can be read in a terminal, and their links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/**/*.md"),
    *ROOT.glob("src/**/*.md"),
    ROOT / "benchmarks" / "RESULTS.md",
]
pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())


def anchors(page):
    """Return what a link to a page can end in: its headings as GitHub and MyST name them."""
    text = page.read_text()
    for included in re.findall(r"^```{include} (.*)$", text, flags=re.MULTILINE):
        text += (page.parent / included).read_text()
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pages
def test_lines_are_at_most_100_characters(page):
    long = [i for i, line in enumerate(page.read_text().splitlines(), 1) if len(line) > 100]
    assert not long, f"lines {long}"


@pages
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`\n]*`", "", text)
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    for target in targets:
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        assert found.exists(), target
        assert not anchor or anchor in anchors(found), target
