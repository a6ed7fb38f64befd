"""Answers of a stored run, asked again of nobody."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.agents.agent import Unanswered
from harness.domain.errors import UsageError
from harness.domain.scenario import Scenario
from harness.domain.transcript import Transcript
from harness.store import RunFolder
from harness.store.arms import Numbered, numbered


@dataclass(frozen=True, slots=True)
class ReplayRun:
    """Answers with what an agent answered in a stored run; questions it left open stay open."""

    folder: Path
    """The run."""
    answers: Numbered
    """What was answered in it."""

    @property
    def name(self) -> str:
        """``replay:DIR``."""
        return f"replay:{self.folder}"

    def ask(self, scenario: Scenario, trial: int = 1) -> Transcript:
        """The stored answer.

        Raises:
            Unanswered: there was none in that run either.
            UsageError: the run does not hold the question.
        """
        self._refuse_missing([(scenario.id, trial)])
        stored = self.answers[scenario.id][trial]
        if stored.no_answer is not None:
            raise Unanswered(stored.no_answer)
        if stored.transcript is None:
            raise UsageError(f"{self.folder}: what was said about {scenario.id} is not in the run")
        return stored.transcript.model_copy(update={"scenario": scenario.id})

    def check(self, scenarios: Sequence[Scenario], trials: int) -> None:
        """Every question is there.

        Raises:
            UsageError: some are not.
        """
        self._refuse_missing([(s.id, t) for s in scenarios for t in range(1, trials + 1)])

    def _refuse_missing(self, wanted: list[tuple[str, int]]) -> None:
        missing = [
            (name, trial) for name, trial in wanted if trial not in self.answers.get(name, {})
        ]
        if missing:
            scenario, trial = missing[0]
            more = f", nor to {len(missing) - 1} more questions" if len(missing) > 1 else ""
            raise UsageError(f"{self.folder}: no answer to {scenario} in trial {trial}{more}")


def replay_run(folder: Path) -> ReplayRun:
    """The agent for a stored run.

    Raises:
        UsageError: it cannot be read, or holds no answers of an agent.
    """
    with RunFolder.load(folder) as run:
        if run.head.kind == "bank":
            sentence = f"{folder}: the bank's own programs were run there; no agent answered"
            raise UsageError(sentence)
        return ReplayRun(folder, numbered(run))
