"""What every agent is to the harness."""

from typing import Protocol

from harness.domain.errors import HarnessError
from harness.domain.model import NoAnswer
from harness.domain.scenario import Scenario
from harness.domain.transcript import Transcript


class Unanswered(HarnessError):
    """There is no answer, for a reason that says nothing about the agent's advice."""

    def __init__(self, why: NoAnswer) -> None:
        """``why``: what is stored in the answer's place."""
        super().__init__(why.sentence)
        self.why = why


class Agent(Protocol):
    """Answers a scenario's message. Called from several threads at once."""

    @property
    def name(self) -> str:
        """Who answers, as it stands in a grade."""

    def ask(self, scenario: Scenario, trial: int = 1) -> Transcript:
        """The whole conversation, with the agent's answer at the end.

        ``trial`` counts from 1: another trial of the same question is another answer.

        Raises:
            Unanswered: there is none.
            UserError: there will be none for any question.
        """
