"""The pages of ``docs/`` can be found, and what they link to is there."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.report.coverage import anchors

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
WRAPPED = [*PAGES, ROOT / "CHANGELOG.md", ROOT / "tests/README.md", ROOT / "benchmarks/README.md"]


def test_the_index_lists_every_page() -> None:
    """One line each in ``docs/index.md``."""
    row = re.compile(r"^\| \[[\w-]+\]\(([\w-]+\.md)\)", re.MULTILINE)
    listed = row.findall((DOCS / "index.md").read_text())

    assert sorted([*listed, "index.md"]) == sorted(page.name for page in DOCS.glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    """To a file of this project and, where it names one, to a heading in it."""
    assert list(broken_links(page)) == []


def broken_links(page: Path) -> Iterator[str]:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        name, _, heading = link.partition("#")
        target = page.parent / name if name else page
        if link.startswith("https://"):
            continue
        if not target.exists() or (heading and heading not in anchors(target.read_text())):
            yield link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_of_the_package_that_a_page_names_are_there(page: Path) -> None:
    """The log and the changes speak of what was, too."""
    named = set(re.findall(r"harness/[a-z_/]+(?:\.py|\.yaml|/)", page.read_text()))

    gone = {path for path in named if not (ROOT / path).exists()}
    assert page.name == "log.md" or gone == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_says_is_in_a_file_is_in_it(page: Path) -> None:
    """``BUILDERS`` of ``harness/workloads/__init__.py``; the log speaks of what was, too."""
    places = re.findall(r"`(\w+)`\s+(?:of|in)\s+`(harness/[\w/]+\.py)`", page.read_text())

    gone = [place for place in places if not re.search(rf"\b{place[0]}\b", source(place[1]))]
    assert page.name == "log.md" or gone == []


def source(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def prose(page: Path) -> Iterator[str]:
    """Lines that are in no table and no block of code."""
    text = re.sub(r"^(`{3,}).*?^\1$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return (line for line in text.splitlines() if not line.startswith("|"))


@pytest.mark.parametrize("page", WRAPPED, ids=lambda page: str(page.relative_to(ROOT)))
def test_prose_is_at_most_a_hundred_columns_wide(page: Path) -> None:
    """A row of a table cannot be broken; a sentence can."""
    assert [line for line in prose(page) if len(line) > 100] == []
