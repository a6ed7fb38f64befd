"""What ``scenario.yaml`` may say, key by key.

Every key has a default here so that a file with one bad key can still be checked everywhere else;
``REQUIRED`` lists the keys that a file has to give.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, JsonValue, StringConstraints
from pydantic_core import PydanticCustomError

from harness.domain.packages import Package
from harness.domain.record import Record
from harness.domain.scenario import Expectations, Probe, Rationalization
from harness.domain.workload import WORKLOADS
from harness.scenarios.problem import did_you_mean


def _existing_property(name: str) -> str:
    from harness.properties import PROPERTIES

    if name not in PROPERTIES and not name.startswith("test_"):  # tests are looked for later
        hint = did_you_mean(name, PROPERTIES)
        raise PydanticCustomError(
            "unknown_name", "there is no property {name}{hint}", {"name": name, "hint": hint}
        )
    return name


def _existing_workload(name: str) -> str:
    if name not in WORKLOADS:
        hint = did_you_mean(name, WORKLOADS)
        raise PydanticCustomError(
            "unknown_name", "there is no workload {name}{hint}", {"name": name, "hint": hint}
        )
    return name


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
PropertyId = Annotated[str, AfterValidator(_existing_property)]
WorkloadName = Annotated[str, AfterValidator(_existing_workload)]


class WorkloadEntry(Record):
    """The workload that both programs train on."""

    name: WorkloadName
    """One of the harness's workloads."""
    parameters: dict[str, JsonValue] = Field(default_factory=dict)
    """What differs from that workload's defaults."""
    seed: int = Field(default=0, ge=0)
    """Seed of the initial parameters and the data."""
    world_size: int = Field(default=1, ge=1, le=16)
    """Number of ranks."""


class ProbeEntry(Probe):
    """One execution, with a workload that exists."""

    name: Text
    """Short id, unique in the scenario."""
    lifts: Text
    """Which mask it lifts, in words."""
    workload: WorkloadName | None = None
    """Another workload than the scenario's."""


class PropertyLists(Record):
    """What is required, shown and allowed. Every other property judges where a trace calls for it."""

    required: tuple[PropertyId, ...] = Field(min_length=1)
    """Ids of the properties that right code passes and whose failure makes code wrong."""
    advisory: tuple[PropertyId, ...] = ()
    """Ids of the properties whose failure is shown and flips nothing."""
    allows: dict[PropertyId, Text] = Field(default_factory=dict)
    """Ids of the properties whose failure is let pass on purpose, each with the reason."""


class CriterionEntry(Record):
    """One line of the rubric; its id is its key."""

    by: Literal["execution", "text", "both"]
    """What can decide it."""
    asks: Text
    """What the answer does, or must not do."""
    weight: Literal["normal", "bonus"] = "normal"
    """A bonus counts when met and costs nothing when not."""
    properties: tuple[PropertyId, ...] = ()
    """Ids of the properties that decide it."""


class RubricEntry(Record):
    """What a good answer says and avoids."""

    must: dict[str, CriterionEntry] = Field(default_factory=dict)
    """What it does."""
    must_not: dict[str, CriterionEntry] = Field(default_factory=dict)
    """Which faults it does not commit."""


class ScenarioFile(Record):
    """The whole file."""

    id: Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")] | None = None
    """the name of the folder"""
    title: Text = ""
    """a few words for people"""
    suite: Text = ""
    """the group of scenarios that it is run with"""
    source: Text = ""
    """the section of the written advice that it comes from"""
    pressure: Text = ""
    """what tempts an agent to give the wrong answer"""
    shows_loop: bool | None = None
    """true when the message shows the faulty loop"""
    requires: tuple[Package, ...] = ()
    """packages beyond torch that its programs import"""
    workload: WorkloadEntry | None = None
    """what both programs train on"""
    probes: Annotated[tuple[ProbeEntry, ...], Field(min_length=1, max_length=100)] | None = None
    """the executions on which verdicts rest"""
    expects: Expectations | None = None
    """what a right loop does here"""
    properties: PropertyLists | None = None
    """what is judged"""
    buggy_fails: Annotated[tuple[PropertyId, ...], Field(min_length=1)] | None = None
    """ids of exactly the required properties that the faulty loop fails"""
    rubric: RubricEntry = RubricEntry()
    """what a good answer says and avoids"""
    rationalizations: tuple[Rationalization, ...] = ()
    """excuses that the situation invites, and what to say instead"""


BY_TESTS = ("id", "title", "suite", "source", "pressure", "shows_loop", "buggy_fails")
"""Keys that a file has to give where a pytest file judges."""

OF_WORDS = ("id", "title", "suite", "source", "pressure", "rubric")
"""Keys that a file has to give where words alone are judged."""

REQUIRED = (
    "id", "title", "suite", "source", "pressure", "shows_loop", "workload", "probes", "expects",
    "properties", "buggy_fails",
)  # fmt: skip
"""Keys that a file has to give."""
