"""The grade of one program."""

from collections.abc import Sequence
from typing import Literal

from harness.domain.branch import Branches, in_none, left_for_later, note
from harness.domain.record import Record
from harness.domain.scenario import Scenario
from harness.domain.trace import ProbeTrace, Trace
from harness.domain.verdict import Verdict

Code = Literal["right", "wrong", "inconclusive", "none"]
"""``none``: the answer proposes no code."""


class Grade(Record):
    """The verdicts on one program and what follows from them. Inconclusive is never turned into
    "wrong".
    """

    scenario: str
    """Id of the scenario."""
    agent: str
    """Who answered."""
    code: Code
    """Judgement of the program."""
    verdicts: tuple[Verdict, ...]
    """One for each property that judged: required ones, guards, then what is only shown."""
    advisory: tuple[str, ...]
    """Ids of the properties that are only shown: their failure does not count."""
    guards: tuple[str, ...] = ()
    """Ids of the properties that count when they fail, but not when they are inconclusive."""
    reason: str | None
    """Why there is no code, or no verdict; ``None`` otherwise."""
    notes: tuple[str, ...] = ()
    """What a reader should know besides: which branches no probe entered."""
    seconds: float
    """Wall-clock time of execution and measurement."""

    def noted(self, sentence: str) -> "Grade":
        """The same with one more note, which comes first."""
        return self.model_copy(update={"notes": (sentence, *self.notes)})

    @property
    def failed(self) -> tuple[str, ...]:
        """Ids of the properties that fail and count: required ones and guards."""
        return tuple(
            v.property
            for v in self.verdicts
            if v.outcome == "fail" and v.property not in self.advisory
        )


def code_of(verdicts: tuple[Verdict, ...]) -> Code:
    """Wrong when a required property or a guard fails; right when every required property passes."""
    if any(v.outcome == "fail" and v.level != "advisory" for v in verdicts):
        return "wrong"
    required = [v.outcome for v in verdicts if v.level == "required"]
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
    """The grade of one program, or of an answer without one (``reason`` says why). A program is not
    called right if it trains in another way later on, where no probe came.
    """
    code: Code = "none" if reason is not None else code_of(verdicts)
    said = note(_not_entered(trace.everything) if trace is not None else ())
    waiting = _not_entered(trace.probes) if trace is not None else ()
    if code == "right" and (later := left_for_later(waiting)):
        code, reason = "inconclusive", later
    return Grade(
        scenario=scenario.id,
        agent=agent,
        code=code,
        verdicts=verdicts,
        advisory=tuple(v.property for v in verdicts if v.level == "advisory"),
        guards=tuple(v.property for v in verdicts if v.level == "guard"),
        reason=reason,
        notes=(said,) if said is not None else (),
        seconds=seconds,
    )


def _not_entered(probes: Sequence[ProbeTrace]) -> Branches:
    return in_none([probe.program.unentered for probe in probes]) or ()
