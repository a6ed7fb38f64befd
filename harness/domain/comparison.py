"""Two runs, and what may be said about the difference between them."""

from typing import Literal, Self

from pydantic import Field, model_validator

from harness.domain.grade import Code
from harness.domain.plan import Reach, Rules
from harness.domain.record import Record
from harness.domain.transcript import SkillRead
from harness.domain.verdict import Verdict

# ------------------------------------------------------------------------------------ what goes in


class TrialOutcome(Record):
    """One answer to one scenario."""

    trial: int
    """Its number in the run, to find the answer again."""
    outcome: Code | Literal["unanswered"]
    """Judgement of its code; ``unanswered``: no answer came (rate limit, refusal, timeout)."""
    verdicts: tuple[Verdict, ...] = ()
    """What each property says, advisory ones included."""
    criteria: dict[str, Literal["met", "not_met", "unassessed"]] = Field(default_factory=dict)
    """Each line of the rubric, by its id."""
    rationalizations: tuple[str, ...] = ()
    """Excuses of the scenario's table found in it, in the table's words."""
    skill_triggered: SkillRead | None = None
    """Whether it opened the skill; ``None`` where there was none to open."""


class ScenarioTrials(Record):
    """All answers to one scenario."""

    scenario: str
    """Its id."""
    trials: tuple[TrialOutcome, ...]
    """In the order of their numbers."""


class Arm(Record):
    """A run, reduced to what comparing needs."""

    name: str
    """Its name for readers."""
    skill_digest: str | None
    """Digest of the skill; ``None`` where there was none."""
    model: str
    """Who answered, with every parameter that influences an answer."""
    delivery: str
    """How the skill reached the model: ``system``, ``tool``, ``none``."""
    bank_digest: str
    """Digest of the bank."""
    judge: str
    """Who read the text, with its prompt's version; ``none`` where only execution judged."""
    harness_version: str
    """Version of this package."""
    seed: int
    """Offset of the workloads' seeds."""
    rounds: int | None = None
    """Trials of each scenario that were to be asked at most, in rounds; ``None`` for one look."""
    missing: str | None = None
    """Which shards of it are not there; ``None``: it is whole, or nobody said."""
    scenarios: tuple[ScenarioTrials, ...]
    """One for each scenario that was asked; no id twice."""

    @model_validator(mode="after")
    def _no_scenario_twice(self) -> Self:
        if len({scenario.scenario for scenario in self.scenarios}) != len(self.scenarios):
            raise ValueError(f"{self.name} holds a scenario twice")
        return self


# ----------------------------------------------------------------------------------- what comes out

Says = Literal["better", "worse", "no difference shown"]
"""What the test says of the new arm. ``no difference shown`` does not mean that there is none."""


class OutcomeTally(Record):
    """How often each outcome occurred; only right and wrong are judged."""

    right: int = 0
    """Right code."""
    wrong: int = 0
    """Wrong code."""
    inconclusive: int = 0
    """Code that is inconclusive."""
    none: int = 0
    """Answers without code."""
    unanswered: int = 0
    """No answer came."""

    @property
    def judged(self) -> int:
        """Trials that were judged: the denominator of the rate."""
        return self.right + self.wrong

    @property
    def answered(self) -> int:
        """Trials to which an answer came."""
        return self.judged + self.inconclusive + self.none

    @property
    def rate(self) -> float | None:
        """Share of the judged trials that are right; ``None`` when none was judged."""
        return self.right / self.judged if self.judged else None


class PassRates(Record):
    """Reliability over repeated trials: unbiased, averaged over the scenarios where it is known."""

    k: int
    """Trials in the question."""
    scenarios: int
    """Scenarios with at least k judged trials in both arms."""
    old_any: float
    """pass@k of the old arm: the chance that at least one of k trials is right."""
    new_any: float
    """pass@k of the new arm."""
    old_all: float
    """pass^k of the old arm: the chance that all k trials are right."""
    new_all: float
    """pass^k of the new arm."""


class Side(Record):
    """One arm, counted."""

    name: str
    """Its name for readers."""
    skill_digest: str | None
    """Digest of the skill."""
    model: str
    """Who answered."""
    delivery: str
    """How the skill reached the model."""
    tally: OutcomeTally
    """Over all its scenarios."""
    skill_triggered: dict[SkillRead, int] = Field(default_factory=dict)
    """How many of its answers opened the skill; empty where there was none to open."""


class Estimate(Record):
    """The difference in right answers, new minus old, with the scenario as the unit."""

    effect: float
    """Mean over scenarios of the difference of their rates, -1 to 1."""
    low: float
    """Lower end of the interval with confidence ``1 - alpha``."""
    high: float
    """Upper end."""
    p: float
    """Two-sided, exact."""
    method: Literal["exact sign flip", "exact McNemar", "exact sign flip, in rounds"]
    """The test that was used. With a single trial for each scenario and arm, the exact sign-flip
    test is McNemar's. In rounds, p and interval hold over all looks together.
    """
    scenarios: int
    """Scenarios judged in both arms."""
    up: int
    """Scenarios with a higher rate in the new arm."""
    down: int
    """Scenarios with a lower rate in the new arm."""
    says: Says
    """What the test shows at ``alpha``."""


class Gate(Record):
    """What a pipeline should do about the comparison."""

    code: Literal[0, 1, 4]
    """The exit code. 0: not worse, and a loss of the margin is ruled out; 1: conclusively worse; 4:
    inconclusive.
    """
    why: str
    """The reason, in one sentence."""


class ScenarioLine(Record):
    """One scenario, old against new."""

    scenario: str
    """Its id."""
    old: OutcomeTally
    """Outcomes in the old arm."""
    new: OutcomeTally
    """Outcomes in the new arm."""
    dropped: str | None
    """Why it is left out of the comparison; ``None`` when it is in."""
    p: float | None = None
    """Fisher's exact test over its trials; ``None`` where it could never fall below alpha."""
    adjusted: float | None = None
    """``p`` after Holm's correction over all scenarios and properties that were tested."""


class PropertyLine(Record):
    """One property, over all scenarios that are judged by it."""

    property: str
    """Its id."""
    scenarios: int
    """Scenarios in which it passed or failed in both arms."""
    old: float
    """Pass rate in the old arm, as a mean over scenarios."""
    new: float
    """The same in the new arm."""
    p: float | None
    """Exact sign-flip test over scenarios; ``None`` where it could never fall below alpha."""
    adjusted: float | None
    """``p`` after Holm's correction over all scenarios and properties that were tested."""


class ExamplePair(Record):
    """Two answers worth reading side by side."""

    old_trial: int
    """Number of the trial in the old arm."""
    new_trial: int
    """Number of the trial in the new arm."""
    old_verdict: Verdict | None = None
    """The property's verdict on the old answer, with its numbers; ``None`` where no property is
    meant.
    """
    new_verdict: Verdict | None = None
    """The property's verdict on the new answer."""


class Change(Record):
    """Something that comes out well more often, or less often, than before, in one scenario."""

    scenario: str
    """Its id."""
    kind: Literal["code", "property", "criterion"]
    """What changed: the judgement of the code, one property, or one line of the rubric."""
    name: str
    """Id of the property or criterion; ``code`` for the whole."""
    old_good: tuple[int, ...]
    """Trials of the old arm in which it came out well (right, pass, met)."""
    old_bad: tuple[int, ...]
    """Trials of the old arm in which it came out badly (wrong, fail, not met). The rest was not
    judged.
    """
    new_good: tuple[int, ...]
    """Trials of the new arm in which it came out well."""
    new_bad: tuple[int, ...]
    """Trials of the new arm in which it came out badly."""
    example: ExamplePair | None
    """Two answers that differ in the direction of the change."""


class NewRationalization(Record):
    """An excuse of the new arm that no answer of the old arm gave in that scenario."""

    scenario: str
    """Its id."""
    trials: tuple[int, ...]
    """Trials of the new arm that give it."""
    text: str
    """The excuse."""


Stop = Literal["worse", "better", "not worse", "hopeless", "all asked", "goes on"]
"""Why no more is asked. ``not worse``: a loss of the margin is ruled out, and no difference is to be
expected; ``hopeless``: neither is to be expected any more.
"""


class LookTaken(Record):
    """One look at a comparison while it is being asked."""

    trials: int
    """Trials of each scenario that were asked in each arm by then."""
    scenarios: int
    """Scenarios that were judged in both arms by then."""
    effect: float
    """Mean difference by then."""
    low: float
    """Lower end of the interval, which holds over all looks together."""
    high: float
    """Upper end."""
    stop: Stop
    """What follows."""


class InRounds(Record):
    """How a comparison went that may stop early."""

    most: int
    """Trials of each scenario in each arm that would have been asked at most."""
    looks: tuple[LookTaken, ...]
    """Up to the one at which it stopped."""

    @property
    def stop(self) -> Stop:
        """Why no more is asked."""
        return self.looks[-1].stop if self.looks else "goes on"

    @property
    def trials(self) -> int:
        """Trials of each scenario in each arm that count."""
        return self.looks[-1].trials if self.looks else 0


class Comparison(Record):
    """Everything that two runs show."""

    schema_version: int = 1
    """Version of this record. 1: first."""
    old: Side
    """The arm to compare with."""
    new: Side
    """The arm that is proposed."""
    rules: Rules
    """What was fixed before looking at the data."""
    warnings: tuple[str, ...]
    """Reasons against comparing these two runs, one sentence each."""
    estimate: Estimate | None
    """The difference over judged trials, which decides; ``None`` when no scenario was judged in
    both arms.
    """
    strict: Estimate | None
    """The same, with every answer that could not be judged counted as not right in both arms."""
    reach: Reach | None
    """What these scenarios and trials could have shown."""
    gate: Gate
    """What a pipeline should do about it."""
    passing: tuple[PassRates, ...]
    """For k = 1 up to the most trials of a scenario that are judged in both arms."""
    scenarios: tuple[ScenarioLine, ...]
    """In the old arm's order, then those that only the new one has."""
    properties: tuple[PropertyLine, ...]
    """By id, advisory ones included."""
    changes: tuple[Change, ...]
    """Scenario by scenario."""
    rationalizations: tuple[NewRationalization, ...]
    """Scenario by scenario."""
    rounds: InRounds | None = None
    """How it was asked in rounds; ``None`` where it was looked at once."""

    @property
    def says(self) -> Says:
        """Better, worse or no difference shown."""
        return self.estimate.says if self.estimate else "no difference shown"


# --------------------------------------------------------------------------------- without a section

Ablated = Literal["lost", "kept", "better without it", "inconclusive"]
"""What a skill without a section shows. ``kept``: a loss of the margin is ruled out."""


class SectionInScenario(Record):
    """One scenario, without a section."""

    scenario: str
    """Its id."""
    full: OutcomeTally
    """Outcomes with the full skill."""
    left_out: OutcomeTally
    """Outcomes without the section."""
    says: Ablated
    """By Fisher's exact test, and by an interval of Agresti and Caffo; both at a level that is divided
    by the number of sections and scenarios.
    """
    covered: bool = False
    """Whether a table of what each section covers names this scenario."""


class SectionLine(Record):
    """A skill without one of its sections, against the full one."""

    title: str
    """The heading."""
    name: str
    """As a link names it."""
    lines: int
    """How many lines of the page it is."""
    says: Ablated
    """Over all scenarios, at a level that is divided by the number of sections."""
    estimate: Estimate | None
    """The difference; ``None`` when nothing was judged in both arms."""
    trials: int
    """Trials of each scenario that count; fewer than were planned where it stopped early."""
    covers: tuple[str, ...]
    """What a table says that it covers, where one was given."""
    scenarios: tuple[SectionInScenario, ...]
    """Each scenario."""


class Ablation(Record):
    """Which section of a skill does the work."""

    schema_version: int = 1
    """Version of this record. 1: first."""
    skill: str
    """Name of the skill."""
    rules: Rules
    """What was fixed before looking; alpha is divided by the number of sections."""
    full: OutcomeTally
    """All outcomes with the full skill."""
    sections: tuple[SectionLine, ...]
    """In the order of the page."""
