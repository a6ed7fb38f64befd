"""The result of checking a bank against itself, with what is needed to repeat and compare it."""

from typing import Literal, Self

from harness.domain.grade import Grade
from harness.domain.listing import NotRun
from harness.domain.record import Record
from harness.domain.scenario import Scenario


class ScenarioResult(Record):
    """One scenario of the bank, checked against itself."""

    scenario: str
    """Its id."""
    title: str
    """Its title."""
    suite: str
    """Its suite."""
    declared: tuple[str, ...]
    """What the faulty loop must fail."""
    buggy: Grade
    """Grade of the faulty loop."""
    reference: Grade
    """Grade of the fix."""

    @classmethod
    def of(cls, scenario: Scenario, buggy: Grade, reference: Grade) -> Self:
        """The result of a scenario whose two programs were graded."""
        return cls(
            scenario=scenario.id,
            title=scenario.title,
            suite=scenario.suite,
            declared=scenario.buggy_fails,
            buggy=buggy,
            reference=reference,
        )

    @property
    def surprises(self) -> tuple[str, ...]:
        """Everything that is not as declared, one sentence each."""
        failed = self.buggy.failed
        missing = [p for p in self.declared if p not in failed]
        extra = [p for p in failed if p not in self.declared]
        said = [f"{self.scenario}: the faulty loop does not fail {p}, as declared" for p in missing]
        said += [
            f"{self.scenario}: the faulty loop fails {p}, which is not declared" for p in extra
        ]
        said += [
            f"{self.scenario}: the reference is {self.reference.code}: {v.property}: {v.sentence}"
            for v in self.reference.verdicts
            if v.outcome == "fail" and v.property not in self.reference.advisory
        ]
        uncounted = (*self.reference.advisory, *self.reference.guards)
        said += [
            f"{self.scenario}: the reference is {self.reference.code}: {v.property}: {v.sentence}"
            for v in self.reference.verdicts
            if v.outcome == "inconclusive" and v.property not in uncounted
        ]
        if self.reference.code != "right" and not said:
            said.append(
                f"{self.scenario}: the reference is {self.reference.code}: {self.reference.reason}"
            )
        return tuple(said)

    @property
    def state(self) -> Literal["as declared", "surprise"]:
        """Whether both programs behaved as the scenario says."""
        return "surprise" if self.surprises else "as declared"


class Run(Record):
    """What ``harness run`` found."""

    schema_version: int = 1
    """Version of this record. 1: first."""
    harness_version: str
    """Version of this package."""
    bank_digest: str
    """Digest of the bank."""
    torch_version: str
    """Version of torch that ran the programs."""
    seed: int
    """Offset added to every workload's seed."""
    results: tuple[ScenarioResult, ...]
    """One for each scenario."""
    not_run: tuple[NotRun, ...] = ()
    """Scenarios that need a package which is not installed; neither as declared nor a surprise."""
    machine_notes: tuple[str, ...] = ()
    """What the jail lacks on this machine, in words."""
    seconds: float
    """Wall-clock time of the whole."""
