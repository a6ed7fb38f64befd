"""How well the judge judges: mutants, legitimate alternatives and cheats, as data."""

from typing import Literal

from harness.domain.grade import Code
from harness.domain.listing import NotRun
from harness.domain.record import Record
from harness.domain.verdict import Level

Fate = Literal["killed", "equivalent", "survived", "not runnable"]
"""``killed``: judged wrong. ``equivalent``: it does the same in a second probe. ``survived``: it does
something else and was not judged wrong. ``not runnable``: it only raises, which judges nothing.
"""

EQUIVALENT_AT_MOST = 0.1
"""Share of mutants that may be equivalent: more would say that operators change too little."""


class OperatorSeen(Record):
    """One operator."""

    id: str
    """Its name."""
    fault: str
    """What is wrong afterwards."""
    named_by: tuple[str, ...]
    """Properties whose failure names this fault."""


class MutantResult(Record):
    """What became of one mutant."""

    scenario: str
    """Id of the scenario."""
    program: str
    """What it was derived from: ``reference`` or the name of an alternative."""
    operator: str
    """Id of the operator."""
    site: int
    """Which of the places that the operator found, from 1."""
    line: int
    """Line of the unmutated program."""
    fate: Fate
    """The result."""
    killed_by: tuple[str, ...] = ()
    """Properties that failed, without failures that follow from another one."""
    named: bool = False
    """Whether one of them is a property that names the operator's fault."""
    reason: str = ""
    """Why it is equivalent, survived or could not run, in one sentence."""
    text: str = ""
    """The program, if it survived."""

    @property
    def id(self) -> str:
        """Identifies the mutant across runs: scenario, program, operator, site."""
        return f"{self.scenario}/{self.program}/{self.operator}/{self.site}"


class ProgramResult(Record):
    """How an alternative or a cheat was judged."""

    scenario: str
    """Id of the scenario."""
    file: str
    """Name of its file."""
    code: Code
    """How it was judged."""
    sentences: tuple[str, ...] = ()
    """What kept it from being right, one sentence for each property."""


class IdleProperty(Record):
    """A property that passes in a scenario where no mutant is there for it to catch."""

    scenario: str
    """Id of the scenario."""
    property: str
    """Id of the property."""
    level: Level
    """What its verdict does to the grade there."""


class QualityReport(Record):
    """What ``harness quality`` found."""

    schema_version: int = 1
    """Version of this record. 1: first."""
    harness_version: str
    """Version of this package."""
    bank_digest: str
    """Digest of the bank."""
    scenarios: tuple[str, ...]
    """Ids of all scenarios that were tried."""
    not_run: tuple[NotRun, ...] = ()
    """Those that need a package which is not installed."""
    thorough: bool = False
    """Whether every operator was tried on every alternative."""
    operators: tuple[OperatorSeen, ...]
    """All operators, in the order of the matrix."""
    mutants: tuple[MutantResult, ...]
    """All mutants, in the bank's order."""
    alternatives: tuple[ProgramResult, ...]
    """All legitimate alternatives."""
    cheats: tuple[ProgramResult, ...]
    """All cheats."""
    idle: tuple[IdleProperty, ...]
    """Properties that no mutant of their scenario puts to the test."""
    faults: tuple[str, ...] = ()
    """Faults of the harness, one sentence each."""
    interrupted: bool = False
    """Whether Ctrl-C ended it."""
    seconds: float
    """Wall-clock time of the whole."""

    def of(self, fate: Fate) -> tuple[MutantResult, ...]:
        """The mutants of one fate."""
        return tuple(m for m in self.mutants if m.fate == fate)

    @property
    def misnamed(self) -> tuple[MutantResult, ...]:
        """Mutants that were killed, but not by a property that names their fault."""
        return tuple(m for m in self.mutants if m.fate == "killed" and not m.named)

    @property
    def complaints(self) -> tuple[str, ...]:
        """What is wrong with the judge, one sentence each; empty when nothing is."""
        said = [f"{m.id} survived: {m.reason}" for m in self.of("survived")]
        said += [
            f"{m.id} is killed, but for another fault ({', '.join(m.killed_by)})"
            for m in self.misnamed
        ]
        equivalent = len(self.of("equivalent"))
        if equivalent > EQUIVALENT_AT_MOST * len(self.mutants):
            said.append(f"{equivalent} of {len(self.mutants)} mutants are equivalent: too many")
        said += [
            f"{p.scenario}: the alternative {p.file} is {p.code}: {'; '.join(p.sentences)}"
            for p in self.alternatives
            if p.code != "right"
        ]
        said += [
            f"{p.scenario}: the cheat {p.file} is judged right"
            for p in self.cheats
            if p.code == "right"
        ]
        said += [
            f"{i.scenario}: {i.property} is required and kills no mutant that the others miss"
            for i in self.idle
            if i.level == "required"
        ]
        return tuple(said)

    @property
    def exit_code(self) -> int:
        """130 when it was interrupted, 3 for a fault of the harness, 1 for a complaint, otherwise 0."""
        if self.interrupted:
            return 130
        return 3 if self.faults else int(bool(self.complaints))
