"""Two runs, and what may be said about the difference between them."""

from typing import Literal, Self

from pydantic import Field, model_validator

from harness.domain.grade import Code
from harness.domain.plan import Reach, Rules
from harness.domain.record import Record
from harness.domain.verdict import Verdict

# ------------------------------------------------------------------------------------ what goes in


class Trial(Record):
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


class ScenarioTrials(Record):
    """All answers to one scenario."""

    scenario: str
    """Its id."""
    trials: tuple[Trial, ...]
    """In the order of their numbers."""


class Arm(Record):
    """A run, as far as it matters for comparing."""

    name: str
    """What to call it."""
    skill_digest: str | None
    """Digest of the skill; ``None`` where there was none."""
    model: str
    """Who answered, with every parameter that shapes an answer."""
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
    scenarios: tuple[ScenarioTrials, ...]
    """One for each scenario that was asked; no id twice."""

    @model_validator(mode="after")
    def _no_scenario_twice(self) -> Self:
        if len({scenario.scenario for scenario in self.scenarios}) != len(self.scenarios):
            raise ValueError(f"{self.name} holds a scenario twice")
        return self


# ----------------------------------------------------------------------------------- what comes out

Says = Literal["better", "worse", "no difference shown"]
"""Of the new arm. The third never means that there is no difference."""


class Tally(Record):
    """How often what came out; only right and wrong are judged."""

    right: int = 0
    """Right code."""
    wrong: int = 0
    """Wrong code."""
    inconclusive: int = 0
    """Code of which the probes could not tell."""
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


class Passing(Record):
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
    """What to call it."""
    skill_digest: str | None
    """Digest of the skill."""
    model: str
    """Who answered."""
    delivery: str
    """How the skill reached the model."""
    tally: Tally
    """Over all its scenarios."""


class Estimate(Record):
    """The difference in right answers, new less old; the scenario is the unit."""

    effect: float
    """Mean over scenarios of the difference of their rates, -1 to 1."""
    low: float
    """Lower end of the interval with confidence ``1 - alpha``."""
    high: float
    """Upper end."""
    p: float
    """Two-sided, exact."""
    method: Literal["exact sign flip", "exact McNemar"]
    """McNemar's test is what the sign flip is when every scenario has a single trial an arm."""
    scenarios: int
    """Scenarios judged in both arms."""
    up: int
    """Scenarios with a higher rate in the new arm."""
    down: int
    """Scenarios with a lower rate in the new arm."""
    says: Says
    """What the test shows at ``alpha``."""


class Gate(Record):
    """What a program should do about it."""

    code: Literal[0, 1, 4]
    """0: not worse, and a loss of the margin is ruled out. 1: conclusively worse. 4: cannot tell."""
    why: str
    """In one sentence."""


class ScenarioLine(Record):
    """One scenario, old against new."""

    scenario: str
    """Its id."""
    old: Tally
    """Outcomes in the old arm."""
    new: Tally
    """Outcomes in the new arm."""
    dropped: str | None
    """Why it is not compared; ``None`` when it is."""
    p: float | None = None
    """Fisher's exact test over its trials; ``None``: too few for it ever to fall below alpha."""
    adjusted: float | None = None
    """The same after Holm over all scenarios and properties tested."""


class PropertyLine(Record):
    """One property over all scenarios that have it."""

    property: str
    """Its id."""
    scenarios: int
    """Scenarios in which it passed or failed in both arms."""
    old: float
    """Mean over scenarios of its pass rate in the old arm."""
    new: float
    """The same in the new arm."""
    p: float | None
    """Exact sign flip over scenarios; ``None``: too few for it ever to fall below alpha."""
    adjusted: float | None
    """The same after Holm over all scenarios and properties tested."""


class Example(Record):
    """Two answers worth reading side by side."""

    old_trial: int
    """Number of the trial in the old arm."""
    new_trial: int
    """Number of the trial in the new arm."""
    old_verdict: Verdict | None = None
    """What the property says of the one, with its numbers; ``None`` where no property is meant."""
    new_verdict: Verdict | None = None
    """What it says of the other."""


class Change(Record):
    """Something in one scenario that does not come out as often as before."""

    scenario: str
    """Its id."""
    kind: Literal["code", "property", "criterion"]
    """Whether the code as a whole is meant, one property or one line of the rubric."""
    name: str
    """Id of the property or criterion; ``code`` for the whole."""
    old_good: tuple[int, ...]
    """Trials of the old arm that are right, pass or meet it."""
    old_bad: tuple[int, ...]
    """Trials of the old arm that are wrong, fail or miss it. The rest could not be judged."""
    new_good: tuple[int, ...]
    """The same in the new arm."""
    new_bad: tuple[int, ...]
    """The same in the new arm."""
    example: Example | None
    """Two that differ in the direction of the change."""


class NewRationalization(Record):
    """An excuse of the new arm that no answer of the old arm gave in that scenario."""

    scenario: str
    """Its id."""
    trials: tuple[int, ...]
    """Trials of the new arm that give it."""
    text: str
    """The excuse."""


class Comparison(Record):
    """All that two runs show."""

    schema_version: int = 1
    """Version of this record. 1: first."""
    old: Side
    """What was there."""
    new: Side
    """What is proposed."""
    rules: Rules
    """What was fixed before looking."""
    warnings: tuple[str, ...]
    """What speaks against comparing these two, one sentence each."""
    estimate: Estimate | None
    """The judged trials; ``None`` when no scenario was judged in both arms. It decides."""
    strict: Estimate | None
    """The same with every answer that could not be judged counted as not right, in both arms."""
    reach: Reach | None
    """What these scenarios and trials could have shown."""
    gate: Gate
    """What a program should do about it."""
    passing: tuple[Passing, ...]
    """For k = 1 up to the most trials of a scenario that are judged in both arms."""
    scenarios: tuple[ScenarioLine, ...]
    """In the old arm's order, then those that only the new one has."""
    properties: tuple[PropertyLine, ...]
    """By id, advisory ones included."""
    changes: tuple[Change, ...]
    """Scenario by scenario."""
    rationalizations: tuple[NewRationalization, ...]
    """Scenario by scenario."""

    @property
    def says(self) -> Says:
        """Better, worse or no difference shown."""
        return self.estimate.says if self.estimate else "no difference shown"
