"""Answers from files that are named after scenarios."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from harness.domain.errors import UsageError
from harness.domain.scenario import Scenario
from harness.domain.transcript import Transcript, Unreadable
from harness.transcripts import read
from harness.untrusted import read_bytes

_LARGEST = 64 << 20
_ENDINGS = (".json", ".jsonl", ".md", ".txt", ".py", ".ipynb")


@dataclass(frozen=True, slots=True)
class ReplayAgent:
    """Answers with what lies in a folder."""

    folder: Path
    """``SCENARIO.TRIAL.json`` or ``.md``; of the first trial also ``SCENARIO.md``."""

    @property
    def name(self) -> str:
        """``replay:DIR``."""
        return f"replay:{self.folder}"

    def ask(self, scenario: Scenario, trial: int = 1) -> Transcript:
        """The stored answer.

        Raises:
            UsageError: there is none, or it cannot be read.
        """
        file = self._file(scenario.id, trial)
        if file is None:
            raise UsageError(self._missing([(scenario.id, trial)]))
        found = _stored(file) or next(read(file), None)
        if not isinstance(found, Transcript):
            why = found.sentence if isinstance(found, Unreadable) else "it is empty"
            raise UsageError(f"{file}: no answer can be read from it: {why}")
        asked = found.with_question(scenario.prompt)
        return asked.model_copy(update={"scenario": scenario.id})

    def check(self, scenarios: Sequence[Scenario], trials: int) -> None:
        """Every answer is there.

        Raises:
            UsageError: some are not; they are named.
        """
        wanted = [(s.id, trial) for s in scenarios for trial in range(1, trials + 1)]
        if missing := [one for one in wanted if self._file(*one) is None]:
            raise UsageError(self._missing(missing))

    def _file(self, scenario: str, trial: int) -> Path | None:
        stems = [f"{scenario}.{trial}", *([scenario] if trial == 1 else [])]
        names = [f"{stem}{ending}" for stem in stems for ending in _ENDINGS]
        return next((self.folder / n for n in names if (self.folder / n).is_file()), None)

    def _missing(self, missing: list[tuple[str, int]]) -> str:
        scenario, trial = missing[0]
        more = f", and {len(missing) - 1} more are missing" if len(missing) > 1 else ""
        return (
            f"{self.folder}: no answer to {scenario} in trial {trial}: expected "
            f"{scenario}.{trial}.json or {scenario}.{trial}.md{more}"
        )


def _stored(file: Path) -> Transcript | None:
    """A transcript that the harness itself wrote; ``None`` for all else that is JSON."""
    if file.suffix != ".json":
        return None
    try:
        return Transcript.model_validate_json(read_bytes(file, _LARGEST))
    except ValidationError:
        return None
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from error
