"""What a check has to tell, in one list, which JUnit, annotations and SARIF write in their own form."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from harness.domain.check import BlockResult, CheckFault, CheckReport, FormatFinding, PartResult

Level = Literal["error", "warning", "note"]

WORDS = {
    "holds": "claim holds",
    "fails": "claim fails",
    "fault": "fault found",
    "runs": "runs, claims nothing",
    "inconclusive": "inconclusive",
    "cannot-be-run": "cannot be run",
    "pseudo-code": "pseudo code",
}
"""What each result is called."""
_LEVELS: dict[str, Level] = {"error": "error", "warning": "warning", "advice": "note"}
_RULES: dict[str, tuple[str, Level]] = {
    "fails": ("claim-fails", "error"),
    "fault": ("fault-found", "error"),
    "cannot-be-run": ("cannot-be-run", "note"),
    "inconclusive": ("inconclusive", "note"),
}
RULES = {
    "claim-fails": "The opposite of what its author says was seen.",
    "fault-found": "Code that claims nothing has a fault.",
    "cannot-be-run": "It could not be run.",
    "inconclusive": "Nothing shows its claim, or refutes it.",
    "seen-beside": "Seen besides what is claimed.",
}
"""What each rule says, but for those of the format."""


@dataclass(frozen=True, slots=True)
class ReportedFinding:
    """One thing that is told of one place."""

    rule: str
    """What was broken, in one word."""
    title: str
    """The same for people."""
    level: Level
    """An error is what fails the check."""
    sentence: str
    """What the author says, and what was seen."""
    file: str
    """The file, named as the skill was given."""
    line: int
    """1-based."""
    end: int
    """Its last line."""


def of_part(report: CheckReport, block: BlockResult, part: PartResult) -> Iterator[ReportedFinding]:
    """The result of an alternative, unless it is in order, and what was seen beside it."""
    file, end = path_in(report, block.file), max(part.line, block.end)
    if found := _RULES.get(part.status):
        rule, level = found
        said = said_of(part)
        yield ReportedFinding(rule, WORDS[part.status], level, said, file, part.line, end)
    for seen in part.observations:
        if (seen.fault or seen.holds is False) and seen.sentence not in part.sentence:
            said = seen.sentence + (f' (it says: "{seen.statement}")' if seen.statement else "")
            yield ReportedFinding("seen-beside", "seen beside", "note", said, file, part.line, end)


def of_format(report: CheckReport, finding: FormatFinding) -> ReportedFinding:
    """A rule of the format that is broken, with who refuses the skill for it."""
    refused = f" Refused by: {', '.join(finding.refused_by)}." if finding.refused_by else ""
    return ReportedFinding(
        f"format-{finding.rule}",
        f"format: {finding.rule}",
        _LEVELS[finding.level],
        finding.sentence + refused,
        path_in(report, finding.file),
        finding.line,
        finding.line,
    )


def all_findings(report: CheckReport) -> Iterator[ReportedFinding]:
    """Every one of a skill, in the order of its files."""
    for finding in report.format:
        yield of_format(report, finding)
    for block in report.blocks:
        for part in block.parts:
            yield from of_part(report, block, part)


def of_ours(fault: CheckFault) -> str:
    """A fault of the harness in words."""
    return f"fault of ours: {fault.place}: {fault.sentence}"


def path_in(report: CheckReport, file: str) -> str:
    """A file of a skill, or a line of it, named as the skill was given."""
    given = PurePath(report.skill)
    return str((given.parent if given.suffix == ".md" else given) / file)


def said_of(part: PartResult) -> str:
    """What its author says, and what was seen."""
    return (f'says "{part.mark.text}". ' if part.mark else "") + part.sentence
