"""Replies that were kept: a judge that needs no network, and the way to record one."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from harness.domain.errors import NoReply, UsageError, reason
from harness.domain.model import Completion, LanguageModel, Tool, Turn
from harness.store.whole import write_whole
from harness.untrusted import read_bytes


@dataclass(frozen=True, slots=True)
class ReplayedJudge:
    """Gives the reply that was recorded for exactly the same question."""

    folder: Path
    """Where they are kept, one file a question."""

    @property
    def name(self) -> str:
        """``replay:DIR``."""
        return f"replay:{self.folder}"

    def complete(
        self, system: str, turns: Sequence[Turn], *, max_tokens: int, tools: Sequence[Tool] = ()
    ) -> Completion:
        """The recorded reply.

        Raises:
            NoReply: there is none, or it cannot be read.
        """
        del max_tokens, tools
        path = self.folder / f"{key_of(system, turns)}.json"
        try:
            return Completion.model_validate_json(read_bytes(path))
        except FileNotFoundError:
            raise NoReply(
                f"{path}: no such recorded reply; the answer, the scenario or the harness's prompts "
                "differ from those that were recorded"
            ) from None
        except (OSError, ValidationError):
            raise NoReply(f"{path}: expected a recorded reply as it was written") from None


@dataclass(frozen=True, slots=True)
class RecordingJudge:
    """Asks a model and keeps each reply for ``ReplayedJudge``."""

    model: LanguageModel
    """Who is asked."""
    folder: Path
    """Where replies are kept."""

    @property
    def name(self) -> str:
        """That of the model."""
        return self.model.name

    def complete(
        self, system: str, turns: Sequence[Turn], *, max_tokens: int, tools: Sequence[Tool] = ()
    ) -> Completion:
        """The model's reply.

        Raises:
            UsageError: it cannot be kept. Besides, whatever the model raises.
        """
        reply = self.model.complete(system, turns, max_tokens=max_tokens, tools=tools)
        path = self.folder / f"{key_of(system, turns)}.json"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(path, reply.model_dump_json(indent=1).encode())
        except OSError as error:
            raise UsageError(f"{path}: a reply cannot be kept: {reason(error)}") from error
        return reply


def replayed(folder: Path) -> ReplayedJudge:
    """The replies of a folder.

    Raises:
        UsageError: there is no such folder.
    """
    if not folder.is_dir():
        raise UsageError(f"--judge replay:{folder}: there is no such folder of recorded replies")
    return ReplayedJudge(folder)


def key_of(system: str, turns: Sequence[Turn]) -> str:
    """Hash of all that was said so far; the provider's own blocks do not count."""
    said = [system, *((turn.role, turn.text) for turn in turns)]
    return hashlib.sha256(json.dumps(said, ensure_ascii=False).encode()).hexdigest()
