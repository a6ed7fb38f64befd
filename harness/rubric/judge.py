"""What every judge of the text is to the harness."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from harness.domain.assessment import UNREAD, Assessment
from harness.domain.scenario import Criterion, Scenario


class TextJudge(Protocol):
    """Reads an answer. Called from several threads at once."""

    @property
    def name(self) -> str:
        """As it was asked for: ``none``, ``anthropic:MODEL``."""

    def assess(
        self, answer: str, scenario: Scenario, criteria: Sequence[Criterion]
    ) -> Mapping[str, Assessment]:
        """One assessment for each of the criteria, by its id.

        Raises:
            UserError: it cannot be asked anything, whatever the answer.
        """


class NoJudge:
    """Reads nothing: what text decides stays open."""

    name = "none"

    def assess(
        self, answer: str, scenario: Scenario, criteria: Sequence[Criterion]
    ) -> Mapping[str, Assessment]:
        """All unassessed."""
        del answer, scenario
        open_ = Assessment(state="unassessed", reason=UNREAD)
        return dict.fromkeys((criterion.id for criterion in criteria), open_)
