"""Reads ``docs/coverage.yaml``: which part of the source documents is exercised by what."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from harness.domain.errors import UserError, reason
from harness.domain.record import Record
from harness.properties import PROPERTIES
from harness.scenarios import load_bank
from harness.scenarios.complaints import complain
from harness.scenarios.problem import did_you_mean
from harness.scenarios.yaml_tree import Complaint, Tree, read_yaml
from harness.untrusted import read_bytes

_LARGEST = 1 << 20

SKILL = Path("skill/gradient-management")
TECHNIQUES = Path("reference_impls/techniques")

State = Literal["exercised", "as a technique", "in the skill only", "open"]
"""Only what is exercised is asked of agents: by a scenario, a property or a criterion."""

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class CoverageRow(Record):
    """One part of a document."""

    source: Literal["skill", "guide"]
    """Which document."""
    position: Text
    """Where in it: ``section 7.2``, ``section 7.2, cause 1``, ``pitfall 4``, ``red flag 11``."""
    subject: Text
    """What it is about, in our own words."""
    covered_by: tuple[Text, ...] = ()
    """``KIND:NAME`` of everything that exercises it; empty where nothing does."""

    def of(self, kind: str) -> tuple[str, ...]:
        """Names of this kind that cover it."""
        pairs = (covering.partition(":") for covering in self.covered_by)
        return tuple(name for one, _, name in pairs if one == kind)

    @property
    def state(self) -> State:
        """Whether something exercises it."""
        kinds = {covering.partition(":")[0] for covering in self.covered_by}
        if kinds & {"scenario", "property", "criterion"}:
            return "exercised"
        if "technique" in kinds:
            return "as a technique"
        return "in the skill only" if kinds else "open"


class Coverage(Record):
    """The whole file."""

    rows: Annotated[tuple[CoverageRow, ...], Field(min_length=1)]
    """every part of both documents, in their order"""


@dataclass(frozen=True, slots=True)
class CoverableNames:
    """What a row may be covered by: names by kind."""

    names: dict[str, frozenset[str]]
    """Of ``scenario``, ``property``, ``criterion``, ``technique`` and ``page``."""

    @classmethod
    def of(cls, root: Path) -> "CoverableNames":
        """What this checkout holds. Raises ``BankProblems`` when its bank cannot be read."""
        bank = load_bank(root / "scenarios").scenarios
        criteria = (f"{scenario.id}/{line.id}" for scenario in bank for line in scenario.rubric)
        modules = (path.stem for path in (root / TECHNIQUES).glob("*.py"))
        return cls(
            {
                "scenario": frozenset(scenario.id for scenario in bank),
                "property": frozenset(PROPERTIES),
                "criterion": frozenset(criteria),
                "technique": frozenset(name for name in modules if name != "__init__"),
                "page": frozenset(_pages(root / SKILL)),
            }
        )


def load_coverage(path: Path, known: CoverableNames | None = None) -> Coverage:
    """The rows of the file. ``known``: what they may name; ``None``: whatever they like.

    Raises:
        UserError: all that is wrong with it, one line each with file and line.
    """
    try:
        tree = read_yaml(read_bytes(path, _LARGEST).decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read: {reason(error)}") from error
    complaints = [*tree.complaints, *complain(Coverage, tree.value, tree)]
    if not complaints:
        coverage = Coverage.model_validate_json(json.dumps(tree.value))
        unknown = _unknown(coverage, tree, known) if known is not None else ()
        complaints = [*_repeated(coverage, tree), *unknown]
    if complaints:
        raise UserError("\n".join(f"{path}:{c.line}: {c.sentence}" for c in complaints))
    return coverage


def anchors(text: str) -> Iterator[str]:
    """Each heading of a Markdown text, as GitHub writes it in a link."""
    without_code = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for heading in re.findall(r"^#+ (.+)$", without_code, flags=re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def _repeated(coverage: Coverage, tree: Tree) -> Iterator[Complaint]:
    first: dict[tuple[str, str], int] = {}
    for i, row in enumerate(coverage.rows):
        line = tree.line_of(("rows", i))
        before = first.setdefault((row.source, row.position), line)
        if before != line:
            said = f"{row.position} of the {row.source} was already given on line {before}"
            yield Complaint(line, said)


def _unknown(coverage: Coverage, tree: Tree, known: CoverableNames) -> Iterator[Complaint]:
    for i, row in enumerate(coverage.rows):
        for j, covering in enumerate(row.covered_by):
            kind, _, name = covering.partition(":")
            line = tree.line_of(("rows", i, "covered_by", j))
            if kind not in known.names:
                kinds = ", ".join(known.names)
                yield Complaint(line, f"{covering}: expected KIND:NAME, with a kind of {kinds}")
            elif name not in known.names[kind]:
                hint = did_you_mean(name, sorted(known.names[kind]))
                yield Complaint(line, f"there is no {kind} {name}{hint if '?' in hint else ''}")


def _pages(skill: Path) -> Iterator[str]:
    """Every Markdown file of the skill, and every heading in it as GitHub links to it."""
    for path in skill.rglob("*.md"):
        name = path.relative_to(skill).as_posix()
        yield name
        yield from (f"{name}#{anchor}" for anchor in anchors(path.read_text(encoding="utf-8")))
