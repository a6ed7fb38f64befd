"""The page of coverage says what the data says, and the data what is there."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.domain.errors import UserError
from harness.report.coverage import CoverableNames, Coverage, CoverageRow, load_coverage
from harness.report.coverage_page import DATA, ROOT, render_coverage_page

SEEDS = ROOT.parent / "shared" / "seeds"
DOCUMENTS = {
    "skill": "gradient_management_SKILL.md",
    "guide": "gradient_stabilization_guide.md",
}
KNOWN = CoverableNames({"scenario": frozenset({"clip-after-step"}), "page": frozenset()})


@pytest.fixture(scope="module")
def coverage() -> Coverage:
    return load_coverage(ROOT / DATA, CoverableNames.of(ROOT))


def test_the_committed_page_is_the_generated_one(coverage: Coverage) -> None:
    """After a change of the data, ``make docs`` has to be run."""
    assert (ROOT / "docs" / "coverage.md").read_text() == render_coverage_page(coverage)


@pytest.mark.parametrize("source", DOCUMENTS)
def test_every_part_of_a_document_has_its_row(coverage: Coverage, source: str) -> None:
    """Sections without subsections, rows of the table and red flags, in their order."""
    if not SEEDS.is_dir():
        pytest.skip("the source documents are not beside the project")
    rows = [row.position.partition(",")[0] for row in coverage.rows if row.source == source]

    assert list(dict.fromkeys(rows)) == list(parts(SEEDS / DOCUMENTS[source]))


def test_an_uncovered_row_is_listed_as_open() -> None:
    """So is one that only the skill speaks of, under a heading of its own."""
    page = render_coverage_page(Coverage(rows=(row(), row("page:SKILL.md", at="pitfall 5"))))

    assert "## Open\n\n- The skill, pitfall 4: a | b\n".replace("a |", "a \\|") in page
    assert "## In the skill only\n\n- The skill, pitfall 5:" in page


@pytest.mark.parametrize(
    ("covering", "complaint"),
    [
        ("scenario:clip-after-stop", "there is no scenario clip-after-stop; did you mean"),
        ("clip-after-step", "clip-after-step: expected KIND:NAME"),
    ],
)
def test_a_name_that_does_not_exist_is_told_with_its_line(
    tmp_path: Path, covering: str, complaint: str
) -> None:
    """A row cannot be covered by a misspelling."""
    file = written(tmp_path, f"covered_by: [{covering}]")

    with pytest.raises(UserError, match=rf"coverage\.yaml:5: {complaint}"):
        load_coverage(file, KNOWN)


def test_a_position_that_is_given_twice_is_told_with_both_lines(tmp_path: Path) -> None:
    """Otherwise one of the two would count for nothing."""
    again = "- {source: skill, position: pitfall 3, subject: again}"
    file = written(tmp_path, f"covered_by: []\n  {again}")

    with pytest.raises(UserError, match=r":6: pitfall 3 of the skill .* on line 2"):
        load_coverage(file, KNOWN)


def written(folder: Path, end: str) -> Path:
    lines = ["rows:", "  - source: skill", "    position: pitfall 3", "    subject: late", end]
    file = folder / "coverage.yaml"
    file.write_text("\n".join([*lines[:4], f"    {end}"]) + "\n")
    return file


def row(*covering: str, at: str = "pitfall 4") -> CoverageRow:
    return CoverageRow(source="skill", position=at, subject="a | b", covered_by=covering)


def parts(document: Path) -> Iterator[str]:
    """Positions by the document's own headings, as ``docs/coverage.yaml`` names them."""
    text = re.sub(r"^ *```.*?^ *```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    pieces = re.split(r"^(#{2,4}) (.+)$", text, flags=re.MULTILINE)[1:]
    found = list(zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True))
    found = [piece for piece in found if piece[1] != "Table of Contents"]
    numbers, flags, chapter = [0, 0, 0], 0, ""
    for i, (marks, title, body) in enumerate(found):
        level = len(marks) - 2
        numbers = [*numbers[:level], numbers[level] + 1, 0, 0][:3]
        chapter = title if level == 0 else chapter
        if i + 1 < len(found) and len(found[i + 1][0]) > len(marks):
            continue
        if pitfall := re.match(r"Pitfall (\d+)", title):
            yield f"pitfall {pitfall[1]}"
        elif "Rationalization" in chapter:
            excuses = len(re.findall(r'^\| "', body, re.MULTILINE))
            yield from (f"rationalization {n}" for n in range(1, excuses + 1))
        elif "Red Flags" in chapter:
            before, flags = flags, flags + len(re.findall("^(?:🚨|⚠️|💡)", body, re.MULTILINE))
            yield from (f"red flag {n}" for n in range(before + 1, flags + 1))
        else:
            yield "section " + ".".join(str(n) for n in numbers[: level + 1])
