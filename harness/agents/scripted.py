"""The two agents of the bank itself: one posts the faulty loop, one the fix. No network, no key."""

from dataclasses import dataclass
from typing import Literal

from harness.domain.scenario import Scenario
from harness.domain.transcript import Message, Transcript
from harness.markdown import fence


@dataclass(frozen=True, slots=True)
class ScriptedAgent:
    """Answers every message with one of the scenario's own programs."""

    name: Literal["buggy", "reference"]
    """Which program."""

    def ask(self, scenario: Scenario, trial: int = 1) -> Transcript:  # noqa: ARG002 (always the same)
        """The message, and an answer that holds the program in one block."""
        program = scenario.buggy if self.name == "buggy" else scenario.reference
        answer = f"This is the whole loop:\n\n{fence(program, 'python')}\n"
        messages = (
            Message(role="user", text=scenario.prompt),
            Message(role="assistant", text=answer),
        )
        return Transcript(messages=messages, agent=self.name)


BUGGY = ScriptedAgent("buggy")
"""Posts what the scenario's author calls wrong."""

REFERENCE = ScriptedAgent("reference")
"""Posts what the scenario's author calls right."""
