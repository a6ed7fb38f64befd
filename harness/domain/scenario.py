"""One situation in which a skill is put under pressure, as data."""

from typing import Literal

from pydantic import Field, JsonValue

from harness.domain.lexicon import Lexicon
from harness.domain.packages import Package
from harness.domain.record import Record
from harness.domain.workload import WorkloadSpec

Objective = Literal["sample-mean", "micro-batch-mean", "as-computed"]
"""Which gradient a window is meant to have.

``sample-mean``: every real sample of the window, over all ranks, weighs the same.
``micro-batch-mean``: every micro-batch weighs the same, whatever it holds.
``as-computed``: whatever loss the program defines; only the way from its gradient to the optimizer
is judged.
"""


class Probe(Record):
    """One execution of a program under conditions that lift a mask."""

    name: str
    """Short id: ``quiet``, ``loud``, ``overflow``, ``healthy``."""
    lifts: str
    """Which mask it lifts, in words."""
    parameters: dict[str, JsonValue] = Field(default_factory=dict)
    """Overrides of the scenario's workload parameters."""
    workload: str | None = None
    """Another workload than the scenario's, for scenarios that compare two."""
    reference_seconds: float | None = Field(default=None, gt=0.0)
    """Median wall-clock time of the reference on two cores, where it is more than half a second.
    A program may take twenty times as long, and never less than the sandbox's own limit.
    """


class Group(Record):
    """A part of the model that is judged on its own."""

    prefix: str
    """Name of the submodule whose parameters it holds."""
    keeps_at_least: float | None = None
    """The smallest fraction of its own true gradient that may reach the optimizer, in the probe
    where it is starved.
    """
    bounded_by: float | None = None
    """The largest norm that may reach the optimizer for this group."""

    def holds(self, parameter: str) -> bool:
        """Whether a parameter belongs to it: the submodule's name is one part of the parameter's."""
        return self.prefix in parameter.split(".")


class Expectations(Record):
    """What a right loop does in this scenario; the parameters of its properties."""

    objectives: tuple[Objective, ...] = ("micro-batch-mean", "sample-mean")
    """Gradients that count as right; a program has to realise one of them throughout."""
    max_norm: float | None = None
    """The threshold that the message names; ``None`` when the scenario does not ask for clipping.
    """
    max_norm_between: tuple[float, float] | None = None
    """Thresholds that an answer may choose instead."""
    accumulates: bool = False
    """Whether an update is meant to gather several micro-batches."""
    groups: dict[str, Group] = Field(default_factory=dict)
    """Parts of the model by name, where clipping per group is the subject."""
    healthy_probe: str | None = None
    """Probe on which training is fine (diagnosis)."""
    unhealthy_probe: str | None = None
    """Probe on which gradients truly vanish (diagnosis)."""
    adverse_probe: str | None = None
    """Probe whose inputs break the posted loss."""
    poisoned_probe: str | None = None
    """Probe with a batch whose loss is NaN whatever the program computes."""
    stable_probe: str | None = None
    """Probe in which clipping at the expected threshold must change nothing."""
    overflow_probe: str | None = None
    """Probe in which the scaled gradient of one window overflows."""
    needs_scaler: bool = False
    """Whether the message is about the calls of a GradScaler themselves: half precision without one
    is then no answer.
    """
    measures: bool = False
    """Whether the subject is a measurement; updates made after the first clock read are then no
    training.
    """
    loss_falls_to: float = 0.9
    """``still-learns``: the loss after training over the loss before, at most."""


Level = Literal["required", "guard", "advisory"]
"""What a verdict does to the code's grade.

``required``: code is right only if it passes. ``guard``: a failure makes code wrong, but not being
able to tell does not keep it from being right. ``advisory``: a failure is shown and flips nothing.
"""


class PropertyRule(Record):
    """One property that the scenario judges by."""

    id: str
    """Id in ``harness.properties``."""
    level: Level = "required"
    """What its verdict does to the grade."""


class Criterion(Record):
    """One line of the rubric."""

    id: str
    """Id, unique in the scenario."""
    polarity: Literal["must", "must_not"]
    """Whether the answer has to do it or to avoid it."""
    by: Literal["execution", "text", "both"]
    """What can decide it: the verdicts, a reader of the text, or either."""
    asks: str
    """What the answer does (``must``), or the fault that it must not commit (``must_not``)."""
    weight: Literal["normal", "bonus"] = "normal"
    """A bonus counts when met and costs nothing when not."""
    properties: tuple[str, ...] = ()
    """Ids of the properties that decide it, where execution can."""


class Rationalization(Record):
    """An excuse that the situation invites, and what to say instead."""

    excuse: str
    """What a tempted agent says."""
    instead: str
    """What the facts support."""


class NamedProgram(Record):
    """A program of the bank beside the two that every scenario has."""

    name: str
    """What is particular about it, in a word or two: the name of its file."""
    program: str
    """Module-level code with free names."""


class Scenario(Record):
    """One situation: a message under pressure, a faulty loop, its fix, and how both are judged."""

    id: str
    """Unique in the bank; the name of its folder."""
    title: str
    """A few words for people."""
    suite: str
    """Group of scenarios that are run together: ``refactor``, ``pitfalls``, ``techniques``."""
    source: str
    """Section of the written advice that it comes from."""
    pressure: str
    """What tempts an agent to give the wrong answer."""
    prompt: str
    """The user's message, rendered."""
    buggy: str
    """The posted loop, or the loop that follows the tempting advice: module-level code with free
    names.
    """
    reference: str
    """The fix, in the same form."""
    alternatives: tuple[NamedProgram, ...] = ()
    """Other right programs, spelt as others spell them."""
    cheats: tuple[NamedProgram, ...] = ()
    """Programs that try to be graded right without being right."""
    workload: WorkloadSpec
    """What both train on."""
    probes: tuple[Probe, ...]
    """The executions on which verdicts rest."""
    expectations: Expectations
    """What a right loop does here."""
    properties: tuple[PropertyRule, ...]
    """What is judged, required first."""
    buggy_fails: tuple[str, ...]
    """Ids of exactly the properties that the faulty loop fails."""
    rubric: tuple[Criterion, ...]
    """What a good answer says and avoids."""
    rationalizations: tuple[Rationalization, ...]
    """Excuses and their answers."""
    requires: tuple[Package, ...] = ()
    """Packages beyond torch that its programs import; without them it is not run."""
    lexicon: Lexicon = Field(default_factory=Lexicon, exclude=True, repr=False)
    """Patterns by which an answer's words are recognised; not part of what is shown or stored."""

    def workload_of(self, probe: Probe, seed: int = 0) -> WorkloadSpec:
        """The workload that one probe runs."""
        base = self.workload
        if probe.workload is not None:
            base = WorkloadSpec.model_validate(
                {"name": probe.workload, "parameters": {}, "world_size": base.world_size}
            )
        return base.with_parameters(probe.parameters).model_copy(update={"seed": base.seed + seed})


class Bank(Record):
    """All scenarios of one folder, in the order of their ids within a suite."""

    scenarios: tuple[Scenario, ...]
    """The scenarios."""
    digest: str
    """Hash of every file that was read: two runs with the same digest ran the same bank."""
