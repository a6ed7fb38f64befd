"""All that is said about one answer."""

from typing import Literal

from harness.domain.branch import in_none, left_for_later, note
from harness.domain.record import Record
from harness.domain.scenario import Scenario
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict

Code = Literal["right", "wrong", "inconclusive", "none"]
"""``none``: the answer proposes no code."""


class Grade(Record):
    """Verdicts and assessments of one answer; "could not tell" is never averaged into "wrong"."""

    scenario: str
    """Id of the scenario."""
    agent: str
    """Who answered."""
    code: Code
    """Judgement of the proposed code by the required properties."""
    verdicts: tuple[Verdict, ...]
    """One for each property of the scenario, in its order."""
    advisory: tuple[str, ...]
    """Ids of the properties whose failure flips nothing here."""
    guards: tuple[str, ...] = ()
    """Ids of the properties that count when they fail and not when they cannot tell."""
    reason: str | None
    """Why there is no code or no verdict, where that is so."""
    notes: tuple[str, ...] = ()
    """What a reader should know about the verdict: which branches no probe entered."""
    seconds: float
    """Wall-clock time of execution and measurement."""

    @property
    def failed(self) -> tuple[str, ...]:
        """Ids of the properties that fail and count: required ones and guards."""
        return tuple(
            v.property
            for v in self.verdicts
            if v.outcome == "fail" and v.property not in self.advisory
        )


def code_of(scenario: Scenario, verdicts: tuple[Verdict, ...]) -> Code:
    """Wrong when a required property or a guard fails, right when every required one passes."""
    level = {rule.id: rule.level for rule in scenario.properties}
    if any(v.outcome == "fail" and level[v.property] != "advisory" for v in verdicts):
        return "wrong"
    required = [v.outcome for v in verdicts if level[v.property] == "required"]
    return "right" if required and set(required) == {"pass"} else "inconclusive"


def write_grade(
    scenario: Scenario,
    agent: str,
    verdicts: tuple[Verdict, ...],
    *,
    trace: Trace | None = None,
    reason: str | None = None,
    seconds: float = 0.0,
) -> Grade:
    """The grade of one program, or of an answer without one (``reason``). What trains otherwise
    later on, where no probe came, is not right.
    """
    code: Code = "none" if reason is not None else code_of(scenario, verdicts)
    branches = in_none([p.program.unentered for p in trace.probes]) if trace is not None else None
    said = note(branches or ())
    if code == "right" and (later := left_for_later(branches or ())):
        code, reason = "inconclusive", later
    return Grade(
        scenario=scenario.id,
        agent=agent,
        code=code,
        verdicts=verdicts,
        advisory=tuple(rule.id for rule in scenario.properties if rule.level == "advisory"),
        guards=tuple(rule.id for rule in scenario.properties if rule.level == "guard"),
        reason=reason,
        notes=(said,) if said is not None else (),
        seconds=seconds,
    )
