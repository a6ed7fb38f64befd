"""What a check of a skill found: format, examples, and what differs from an older version."""

import re
from collections.abc import Callable
from typing import Literal, Self

from pydantic import Field, computed_field

from harness.domain.record import Record
from harness.domain.skill import Example, ExampleKind, Mark
from harness.domain.verdict import Number

Status = Literal["holds", "fails", "fault", "runs", "inconclusive", "cannot-be-run", "pseudo-code"]
"""What came of an example.

``holds``: what the author says about it was seen. ``fails``: the opposite was seen, and the numbers
are there. ``fault``: nothing is claimed, and a fault was found. ``runs``: it runs and nothing is
claimed. ``inconclusive``: it was executed, and the
numbers neither show nor refute the claim. ``cannot-be-run``: it was not executed, for a reason.
"""

_WORST: tuple[Status, ...] = (
    "fails", "fault", "inconclusive", "cannot-be-run", "holds", "runs", "pseudo-code",
)  # fmt: skip


class Observation(Record):
    """Something seen besides the claim, or the test of a statement in the author's comments."""

    sentence: str
    """What was seen."""
    statement: str | None = None
    """The author's words that were tested; ``None`` for a mere remark."""
    holds: bool | None = None
    """Whether the statement is true; ``None`` for a remark that tests none."""
    fault: bool = False
    """Whether it makes the code wrong, even where the example claims nothing."""
    numbers: tuple[Number, ...] = ()
    """The figures behind it."""


class PartResult(Record):
    """One alternative of a block, after execution."""

    line: int
    """1-based line on which it begins."""
    kind: ExampleKind
    """What it is."""
    mark: Mark | None
    """What the author says about it."""
    status: Status
    """The result."""
    sentence: str
    """The reason in words, with the numbers."""
    numbers: tuple[Number, ...] = ()
    """The figures behind the sentence."""
    observations: tuple[Observation, ...] = ()
    """What else was seen."""
    needs: tuple[str, ...] = ()
    """Packages that it needs and that are not installed, where that kept it from running."""
    trains: bool = False
    """Whether it is training code, by its structure."""
    taken: int = 0
    """How many lines it takes from elsewhere on its page."""
    seconds: float = 0.0
    """Time that its executions took."""

    def moved(self, by: int, said: Callable[[str], str]) -> Self:
        """The same so many lines further down; ``said``: its sentences there."""
        mark = self.mark and self.mark.model_copy(update={"line": self.mark.line + by})
        seen = tuple(o.model_copy(update={"sentence": said(o.sentence)}) for o in self.observations)
        update = {"line": self.line + by, "mark": mark, "sentence": said(self.sentence)}
        return self.model_copy(update={**update, "observations": seen})

    @property
    def refuted(self) -> tuple[Observation, ...]:
        """Statements of the author that proved false."""
        return tuple(o for o in self.observations if o.holds is False)


class BlockResult(Record):
    """One fenced block of a skill."""

    file: str
    """Path within the skill's folder."""
    position: int
    """1-based position among the Python blocks of its file."""
    line: int
    """1-based line of its opening fence."""
    end: int
    """1-based line of its closing fence."""
    digest: str
    """First twelve hex digits of the SHA-256 of its code."""
    headings: tuple[str, ...]
    """Headings above it."""
    parts: tuple[PartResult, ...]
    """Its alternatives, or itself alone."""

    def moved_to(self, example: Example) -> Self:
        """The same block at another place, with the lines that its sentences name."""
        by = example.line - self.line

        def moved(sentence: str) -> str:
            def line(found: re.Match[str]) -> str:
                n = int(found[2])
                return f"{found[1]} {n + by if self.line < n <= self.end else n}"

            return re.sub(r"\b([Ll]ine) (\d+)", line, sentence) if by else sentence

        return self.model_copy(
            update={
                "file": example.file,
                "position": example.position,
                "line": example.line,
                "end": example.end,
                "parts": tuple(part.moved(by, moved) for part in self.parts),
            }
        )

    @computed_field  # type: ignore[prop-decorator]  # as pydantic documents it
    @property
    def status(self) -> Status:
        """The worst of its parts."""
        found = {part.status for part in self.parts}
        return next(status for status in _WORST if status in found)

    @property
    def executed(self) -> bool:
        """Whether every part ran."""
        return all(p.status not in ("cannot-be-run", "pseudo-code") for p in self.parts)

    @property
    def place(self) -> str:
        """``references/depth.md:52``."""
        return f"{self.file}:{self.line}"


class FormatFinding(Record):
    """A rule of the format that the skill breaks, or advice that it does not follow."""

    level: Literal["error", "warning", "advice"]
    """``error``: the specification forbids it. ``warning``: some client refuses or ignores it."""
    file: str
    """Path within the skill's folder."""
    line: int
    """1-based line."""
    rule: str
    """Short name of the rule."""
    sentence: str
    """What is wrong and what to do."""
    refused_by: tuple[str, ...] = ()
    """Clients and validators that refuse it."""


class SkillChange(Record):
    """Something that differs between two versions of a skill."""

    what: Literal["section", "block", "claim", "status", "fault", "frontmatter"]
    """What kind of thing. ``fault``: one of an example that claims nothing, which no status tells."""
    how: Literal["added", "removed", "changed"]
    """What happened to it."""
    file: str
    """Path within the skill's folder, in the new version where it is there."""
    line: int
    """1-based line, in the new version where it is there."""
    name: str
    """Which one: a section's headings, a block's position."""
    before: str = ""
    """What it was, in words, where that is short."""
    after: str = ""
    """What it is."""


class SkillComparison(Record):
    """A skill beside an older version of itself."""

    old: str
    """Folder of the older version."""
    changes: tuple[SkillChange, ...]
    """What differs, in the order of the new version."""
    scenarios: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Scenarios that exercise a changed section, with those sections."""

    @property
    def by_section(self) -> dict[str, list[str]]:
        """The changed sections, each with the scenarios that exercise it."""
        found: dict[str, list[str]] = {}
        for scenario, sections in self.scenarios.items():
            for section in sections:
                found.setdefault(section, []).append(scenario)
        return found


class ChangedSince(Record):
    """A block that came out otherwise in the last run on its skill, or was not there."""

    place: str
    """``references/depth.md:52``."""
    before: Status | None
    """Its status then; ``None`` where no block had this text."""
    after: Status
    """Its status now."""


class CheckFault(Record):
    """A fault of the harness. It says nothing about the skill."""

    place: str
    """Which block."""
    sentence: str
    """What happened."""


class CheckReport(Record):
    """Everything that was found in a skill without asking an agent."""

    skill: str
    """Its folder, as given."""
    is_page: bool = False
    """Whether it is one page that is no SKILL.md: of its format only the links were looked at."""
    format: tuple[FormatFinding, ...]
    """What is wrong with its format."""
    blocks: tuple[BlockResult, ...]
    """Every Python block."""
    comparison: SkillComparison | None = None
    """What differs from an older version, where one was given."""
    since_last: tuple[ChangedSince, ...] | None = None
    """What came out otherwise than in the last run on it; ``None`` where none is known."""
    ran: int = 0
    """How many of its blocks were run now; results of the others were kept."""
    faults: tuple[CheckFault, ...] = ()
    """Faults of the harness."""
    machine_notes: tuple[str, ...] = ()
    """What this machine does not offer to the jail."""
    interrupted: bool = False
    """Whether Ctrl-C ended it: only blocks that were finished are there, and no comparison."""
    seconds: float = 0.0
    """Wall-clock time."""

    @computed_field  # type: ignore[prop-decorator]  # as pydantic documents it
    @property
    def exit_code(self) -> int:
        """130 when it was interrupted, 3 for a fault of the harness, 1 for a claim that fails, a
        fault or a broken rule, otherwise 0.
        """
        if self.interrupted:
            return 130
        if self.faults:
            return 3
        broken = any(finding.level == "error" for finding in self.format)
        return 1 if broken or any(b.status in ("fails", "fault") for b in self.blocks) else 0

    def exit_code_when(self, *, strict: bool) -> int:
        """The same; ``strict``: 4 where a block with a claim is inconclusive or did not run."""
        neither = ("inconclusive", "cannot-be-run")
        parts = [part for block in self.blocks for part in block.parts]
        open_ = any(p.mark is not None and p.status in neither for p in parts)
        return 4 if strict and self.exit_code == 0 and open_ else self.exit_code

    def count(self, status: Status) -> int:
        """How many blocks have this status."""
        return sum(block.status == status for block in self.blocks)
