"""Whether a skill is found: prompts that should bring it up and others that should not."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from harness.domain.record import Record

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]

Opened = Literal["yes", "no", "unknown"]
"""Whether the skill was opened before anything was answered; ``unknown``: no log tells."""


class TriggerPrompt(Record):
    """A message to an agent."""

    id: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    """small letters, digits and hyphens"""
    prompt: Text
    """the message"""


class TriggerFile(Record):
    """``triggers.yaml`` in the folder of a skill."""

    should: Annotated[tuple[TriggerPrompt, ...], Field(min_length=1)]
    """prompts that should bring the skill up"""
    should_not: tuple[TriggerPrompt, ...] = ()
    """prompts that should not"""


class Share(Record):
    """A rate over prompts, with its exact interval."""

    count: int
    """Prompts that did in more than half of their trials."""
    of: int
    """Prompts of which it is known."""
    low: float
    """Lower end of the 95 % Clopper-Pearson interval."""
    high: float
    """Upper end."""


class TriggerLine(Record):
    """One prompt, over its trials."""

    id: str
    """Its id."""
    prompt: str
    """The message."""
    should: bool
    """Whether it should bring the skill up."""
    opened: int
    """Trials in which it did."""
    not_opened: int
    """Trials in which it did not."""
    unknown: int
    """Trials of which nothing is known: no answer came, or no log tells."""


class TriggerReport(Record):
    """How well a skill is found among others."""

    schema_version: int = 1
    """Version of this record. 1: first."""
    skill: str
    """Its name."""
    description: str
    """What it is found by."""
    agent: str
    """Who was asked."""
    others: tuple[str, ...]
    """Names of the skills that it was listed among."""
    trials: int
    """How often each prompt was asked."""
    found: Share
    """Of the prompts that should bring it up, those that did."""
    disturbed: Share
    """Of the prompts that should not, those that did."""
    prompts: tuple[TriggerLine, ...]
    """Each prompt."""
