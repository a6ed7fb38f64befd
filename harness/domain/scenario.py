"""One situation in which a skill is put under pressure, as data."""

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, JsonValue

from harness.domain.injection import Injection
from harness.domain.packages import Package
from harness.domain.record import Record
from harness.domain.workload import WorkloadSpec

Objective = Literal["sample-mean", "micro-batch-mean", "as-computed"]
"""Which gradient a window is meant to have.

``sample-mean``: all real samples of the window, over all ranks, have the same weight.
``micro-batch-mean``: all micro-batches have the same weight, whatever their size. ``as-computed``:
the gradient of whatever loss the program defines; only its way to the optimizer is judged.
"""


class Probe(Record):
    """One execution of a program, under conditions that keep a fault from being hidden."""

    name: str
    """Short id: ``quiet``, ``loud``, ``overflow``, ``healthy``."""
    lifts: str
    """What would hide the fault, and how this probe avoids it."""
    parameters: dict[str, JsonValue] = Field(default_factory=dict)
    """Overrides of the scenario's workload parameters."""
    injection: Injection = Injection()
    """What is done to the gradients of the program, whatever it trains on."""
    workload: str | None = None
    """A workload to use instead of the scenario's, where a scenario compares two."""
    own_data: bool = False
    """Whether data that the program makes itself stay as they are."""
    tests: str = ""
    """A pytest file that judges the program, which is imported as the module ``answer``."""
    posted: str = ""
    """The posted program, with which the tests are tried before and after."""
    as_it_is: bool = False
    """Whether a program whose names are all its own is run as it is, even if it trains nothing."""
    many_passes: bool = False
    """Whether a program in its own world is seen in many short passes over its data."""
    resumes: bool = False
    """Whether a program in its own world is run until it has saved its state, and once more with it."""
    seconds: float | None = Field(default=None, gt=0.0)
    """The most wall-clock time that it may take, where that is less than the sandbox's own limit."""
    reference_seconds: float | None = Field(default=None, gt=0.0)
    """Median wall-clock time of the reference on two cores, if above half a second. A program may
    take twenty times as long, and never less than the sandbox's own limit.
    """


class Group(Record):
    """A part of the model that is judged by itself."""

    prefix: str
    """Name of the submodule that holds its parameters."""
    keeps_at_least: float | None = None
    """The smallest fraction of its true gradient that has to reach the optimizer."""
    bounded_by: float | None = None
    """The largest norm of its gradient that may reach the optimizer."""

    def holds(self, parameter: str) -> bool:
        """Whether a parameter belongs to the group: the submodule's name is one component of its
        name.
        """
        return self.prefix in parameter.split(".")


class Expectations(Record):
    """What a right loop does in this scenario, as parameters of the properties."""

    objectives: tuple[Objective, ...] = ("micro-batch-mean", "sample-mean")
    """Gradients that count as right. A program has to follow one of them throughout."""
    max_norm: float | None = None
    """The clipping threshold that the message names; ``None`` when it names none."""
    max_norm_between: tuple[float, float] | None = None
    """The range of thresholds to choose from, where the message leaves the choice."""
    own_max_norm: bool = False
    """Whether the message states no threshold, so that the answer's own counts if it is an ordinary one,
    from 0.1 to 10, beside those of the range.
    """
    own_data: bool = True
    """Whether rows of the program's own can show what is asked. Where it is about how rows weigh, as
    padded ones do, they cannot.
    """
    accumulates: bool = False
    """Whether an update is meant to accumulate several micro-batches."""
    groups: dict[str, Group] = Field(default_factory=dict)
    """Parts of the model by name, where the scenario is about clipping per group."""
    unasked: bool = False
    """Whether no message asks for anything: a program may add what it keeps of earlier gradients, begin
    to clip later on, and take another norm than the 2-norm.
    """
    healthy_probe: str | None = None
    """For diagnoses: the probe in which training is fine."""
    unhealthy_probe: str | None = None
    """For diagnoses: the probe in which gradients really vanish."""
    adverse_probe: str | None = None
    """Probe whose inputs break the posted loss."""
    poisoned_probe: str | None = None
    """Probe with one batch whose loss is NaN, whatever the program computes."""
    stable_probe: str | None = None
    """Probe in which clipping at the expected threshold must not change anything."""
    overflow_probe: str | None = None
    """Probe in which the scaled gradient of one window overflows."""
    needs_scaler: bool = False
    """Whether the message is about the calls of a GradScaler, so that half precision without one is
    no answer.
    """
    measures: bool = False
    """Whether the scenario is about a measurement, so that updates after the first clock read are
    not training.
    """
    values: dict[str, JsonValue] = Field(default_factory=dict)
    """What properties that a package or a bank brings need to know, by names that they declare."""
    loss_falls_to: float | None = None
    """The largest lawful loss after training, over the loss before it; ``None`` where nobody knows how
    far it falls.
    """


class PropertyRule(Record):
    """One property that is judged by, and what its verdict does to the grade."""

    id: str
    """Id in ``harness.properties``."""
    level: Literal["required", "guard", "advisory", "allowed"] = "required"
    """As in ``Verdict.level``. A scenario lists no guards: the trace calls for them. ``allowed``: a
    failure is let pass on purpose.
    """
    reason: str | None = None
    """Why it is allowed."""


class Criterion(Record):
    """One line of the rubric."""

    id: str
    """Id, unique in the scenario."""
    polarity: Literal["must", "must_not"]
    """Whether the answer has to do it or to avoid it."""
    by: Literal["execution", "text", "both"]
    """What can decide it: execution, a reader of the text, or either."""
    asks: str
    """What a good answer does (``must``), or the fault that it avoids (``must_not``)."""
    weight: Literal["normal", "bonus"] = "normal"
    """A bonus counts when met and costs nothing when not."""
    properties: tuple[str, ...] = ()
    """Ids of the properties that decide it, where execution can."""


class Rationalization(Record):
    """An excuse that the situation invites, and the answer to it."""

    excuse: str
    """What an agent says that gives in to the pressure."""
    instead: str
    """What the facts support."""


class NamedProgram(Record):
    """A further program of a scenario: an alternative or a cheat."""

    name: str
    """Name of its file: what is particular about it, in a word or two."""
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
    """What tempts an agent to answer wrongly."""
    prompt: str
    """The user's message, rendered."""
    buggy: str
    """The posted loop, or the loop that tempting advice leads to: module-level code with free names."""
    reference: str
    """The fix, in the same form."""
    alternatives: tuple[NamedProgram, ...] = ()
    """Other right programs, in other spellings."""
    cheats: tuple[NamedProgram, ...] = ()
    """Programs that try to be graded right without being right."""
    workload: WorkloadSpec
    """What both train on."""
    probes: tuple[Probe, ...]
    """The executions on which verdicts rest."""
    expectations: Expectations
    """What a right loop does here."""
    properties: tuple[PropertyRule, ...]
    """What is required, what is only shown, and what is allowed. Every other property judges where a
    trace holds its preconditions.
    """
    buggy_fails: tuple[str, ...]
    """Ids of the properties that the faulty loop fails: exactly these."""
    rubric: tuple[Criterion, ...]
    """What a good answer says and avoids."""
    rationalizations: tuple[Rationalization, ...]
    """Excuses and their answers."""
    requires: tuple[Package, ...] = ()
    """Packages beyond torch that its programs import. Without them the scenario is not run."""

    @property
    def in_words(self) -> bool:
        """Whether its rubric alone judges answers, and nothing of them is run."""
        return not self.probes

    def workload_of(self, probe: Probe, seed: int = 0) -> WorkloadSpec:
        """The workload that one probe runs."""
        base = self.workload
        if probe.workload is not None:
            base = WorkloadSpec.model_validate(
                {"name": probe.workload, "parameters": {}, "world_size": base.world_size}
            )
        return base.with_parameters(probe.parameters).model_copy(update={"seed": base.seed + seed})

    def allowing(self, meant: Mapping[str, str]) -> Self:
        """The same, with properties that may fail on purpose, by id, each with its reason."""
        kept = tuple(rule for rule in self.properties if rule.id not in meant)
        added = (PropertyRule(id=n, level="allowed", reason=why) for n, why in meant.items())
        return self.model_copy(update={"properties": (*kept, *added)})


class Bank(Record):
    """All scenarios of one folder, in the order of their ids within a suite."""

    scenarios: tuple[Scenario, ...]
    """The scenarios."""
    digest: str
    """Hash of every file that was read. Two runs with the same digest used the same bank."""
    elsewhere: dict[str, str] = Field(default_factory=dict)
    """The suite of each scenario that was left out for being of another suite, by its id."""
