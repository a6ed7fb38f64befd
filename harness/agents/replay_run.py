"""Answers of a stored run, asked again of nobody."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from harness.agents.agent import Unanswered
from harness.domain.errors import UsageError, reason
from harness.domain.scenario import Scenario
from harness.domain.stored import RunHead, StoredAnswer
from harness.domain.transcript import Transcript

# As ``harness.store`` writes them; agents and the store do not know each other.
_HEAD, _LINES = "run.json", "answers.jsonl"


@dataclass(frozen=True, slots=True)
class ReplayRun:
    """Answers with what an agent answered in a stored run; questions it left open stay open."""

    folder: Path
    """The run."""
    places: Mapping[tuple[str, int], tuple[int, int]]
    """Where the line of a scenario and trial starts, and how long it is."""

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
        start, size = self.places[scenario.id, trial]
        with (self.folder / _LINES).open("rb", buffering=0) as lines:
            stored = StoredAnswer.model_validate_json(os.pread(lines.fileno(), size, start))
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
        missing = [one for one in wanted if one not in self.places]
        if missing:
            scenario, trial = missing[0]
            more = f", nor to {len(missing) - 1} more questions" if len(missing) > 1 else ""
            raise UsageError(f"{self.folder}: no answer to {scenario} in trial {trial}{more}")


def is_run(folder: Path) -> bool:
    """Whether a folder holds a stored run."""
    return (folder / _HEAD).is_file()


def replay_run(folder: Path) -> ReplayRun:
    """The agent for a stored run.

    Raises:
        UsageError: it cannot be read, or holds no answers of an agent.
    """
    try:
        head = RunHead.model_validate_json((folder / _HEAD).read_bytes())
        lines = dict(_lines(folder / _LINES))
    except (OSError, ValidationError) as error:
        sentence = f"{folder}: this version cannot read the run: {reason(error)}"
        raise UsageError(sentence) from error
    if head.kind == "bank":
        raise UsageError(f"{folder}: the bank's own programs were run there; no agent answered")
    places: dict[tuple[str, int], tuple[int, int]] = {}
    counted: Counter[str] = Counter()
    for scenario, trial, place in lines.values():
        counted[scenario] += 1
        # Graded files are all first trials: there, the second answer to a scenario is its second.
        places[scenario, trial if head.kind == "agent" else counted[scenario]] = place
    return ReplayRun(folder, places)


def _lines(path: Path) -> Iterator[tuple[str, tuple[str, int, tuple[int, int]]]]:
    """Key, scenario, trial and place of each whole line; of a key told twice the last counts."""
    start = 0
    with path.open("rb") as lines:
        for line in lines:
            if line.endswith(b"\n"):
                stored = StoredAnswer.model_validate_json(line)
                if stored.answer.scenario is not None:
                    place = (start, len(line))
                    yield stored.key, (stored.answer.scenario, stored.trial, place)
            start += len(line)
