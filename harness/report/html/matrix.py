"""The matrix: a row for each scenario, a column for each property, in it one mark a side."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from harness.domain.stored import StoredAnswer
from harness.report.reported import Report, ReportSide, outcomes, tally_in_words


@dataclass(frozen=True, slots=True)
class MatrixMark:
    """What a property says of the answers of one side to one scenario."""

    sign: str
    """One character."""
    kind: str
    """The class of its style: ``pass``, ``fail``, ``mixed``, ``unclear`` or ``nothing``."""
    words: str
    """In words, for those who do not see the sign."""


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One scenario."""

    scenario: str
    """Its id."""
    code: tuple[str, ...]
    """What its answers came to, side by side."""
    cells: tuple[tuple[MatrixMark, ...], ...]
    """For each property a mark of each side; none where no side was judged by it."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """All of them."""

    properties: tuple[str, ...]
    """Ids of the columns: every property that was judged."""
    rows: tuple[MatrixRow, ...]
    """Scenario by scenario."""


def matrix_of(report: Report) -> Matrix:
    """Every scenario by every property that anything was said of."""
    seen = {name for side in report.sides for one in side.all for name in outcomes(one.answer)}
    properties = tuple(sorted(seen))
    return Matrix(properties, tuple(_row(report, name, properties) for name in report.asked))


def _row(report: Report, scenario: str, properties: tuple[str, ...]) -> MatrixRow:
    said = [_counted(side.trials(scenario).values()) for side in report.sides]
    cells = tuple(_cell(report, [counts.get(name) for counts in said]) for name in properties)
    return MatrixRow(scenario, tuple(_code(side, scenario) for side in report.sides), cells)


def _code(side: ReportSide, scenario: str) -> str:
    tally = side.count(scenario)
    whole = tally.judged and tally.judged == tally.answered + tally.unanswered
    return f"{tally.right} of {tally.judged} right" if whole else tally_in_words(tally)


def _counted(answers: Iterable[StoredAnswer]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for stored in answers:
        for name, outcome in outcomes(stored.answer).items():
            found.setdefault(name, Counter())[outcome] += 1
    return found


def _cell(report: Report, counts: list[Counter[str] | None]) -> tuple[MatrixMark, ...]:
    """The mark of each side; with two sides its words begin with the side's name."""
    if not any(counts):
        return ()
    marks = [_mark(one) for one in counts]
    if len(marks) == 1:
        return tuple(marks)
    return tuple(
        replace(mark, words=f"{side.name}: {mark.words}")
        for side, mark in zip(report.sides, marks, strict=True)
    )


def _mark(counts: Counter[str] | None) -> MatrixMark:
    if counts is None:
        return MatrixMark("-", "nothing", "not judged here")
    passes, fails, unclear = counts["pass"], counts["fail"], counts["inconclusive"]
    if not passes and not fails:
        return MatrixMark("?", "unclear", f"inconclusive in {unclear}")
    words = f"{passes} of {passes + fails} pass"
    words += f", inconclusive in {unclear}" if unclear else ""
    if not fails:
        return MatrixMark("✓", "pass", words)
    if not passes:
        return MatrixMark("✗", "fail", words)
    return MatrixMark(f"{passes}/{passes + fails}", "mixed", words)
