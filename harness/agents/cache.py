"""Answers that were paid for, kept by what was asked. Errors are not kept."""

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pydantic import JsonValue, ValidationError

from harness.domain.errors import UsageError
from harness.domain.record import Record
from harness.store.whole import write_whole

_VERSION = 1
_Kept = TypeVar("_Kept", bound=Record)


def default_cache() -> Path:
    """Where answers are kept when nobody says otherwise.

    Raises:
        UsageError: there is no home folder, as in a container whose user has no name.
    """
    try:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError as error:
        told = "there is no home folder to keep answers in: set HOME or XDG_CACHE_HOME"
        raise UsageError(told) from error
    return Path(base) / "gradient-skill-harness" / "answers"


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """One answer that is kept."""

    size: int
    """Bytes."""
    kept_at: float
    """Seconds since 1970."""
    who: str
    """The model or the command that gave it; empty where the file cannot be read."""


def _age(answer: KeptAnswer) -> float:
    return answer.kept_at


@dataclass(frozen=True, slots=True)
class Cache:
    """A folder with one JSON file an answer, named by the hash of all that led to it."""

    folder: Path
    """Created by ``prepare``, or when the first answer comes."""
    unkept: list[str] = field(default_factory=list, compare=False)
    """Why an answer could not be kept, for each that was not."""
    fresh: bool = False
    """Whether what is kept is not used, and is replaced by what is answered now."""
    renewed: set[str] = field(default_factory=set, compare=False)
    """What was answered since; shared by those who ask for one command."""

    def prepare(self) -> None:
        """Make sure that answers can be kept, before the first is paid for.

        Raises:
            UsageError: they cannot.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._unkept(error.strerror or str(error)) from error
        if not os.access(self.folder, os.W_OK):
            raise self._unkept("the folder is read-only")

    def get(self, key: str, kind: type[_Kept]) -> _Kept | None:
        """What is kept; ``None`` when nothing is, or when it cannot be read any more."""
        if self.fresh and key not in self.renewed:
            return None
        try:
            return kind.model_validate_json(self._file(key).read_bytes())
        except (OSError, ValidationError):
            return None

    def refuse_more(self) -> None:
        """Called before the next answer is paid for.

        Raises:
            UsageError: one could not be kept.
        """
        if self.unkept:
            raise UsageError(self.unkept[0])

    def put(self, key: str, answer: Record) -> None:
        """Keep it: whole or not at all, whenever the process is killed. One that cannot be kept is
        noted, and still there to be graded.
        """
        file = self._file(key)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(file, answer.model_dump_json().encode())
            self.renewed.add(key)
        except OSError as error:
            self.unkept.append(str(self._unkept(error.strerror or str(error))))

    def answers(self) -> list["KeptAnswer"]:
        """All that is kept, the oldest first."""
        found = []
        for path in self.folder.glob("??/*.json"):
            with suppress(OSError):  # another process prunes
                stat = path.stat()
                found.append(KeptAnswer(stat.st_size, stat.st_mtime, _who(path)))
        return sorted(found, key=_age)

    def prune(self, before: float) -> int:
        """Remove what was kept before that moment, in seconds since 1970; how many that were."""
        old = [p for p in self.folder.glob("??/*.json") if p.stat().st_mtime < before]
        for path in old:
            path.unlink(missing_ok=True)
        return len(old)

    def _unkept(self, why: str) -> UsageError:
        advice = "set XDG_CACHE_HOME to a folder that can be written to"
        return UsageError(f"{self.folder}: answers cannot be kept there: {why}; {advice}")

    def _file(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"


def _who(path: Path) -> str:
    """A completion names its model, a transcript its agent."""
    try:
        kept = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return ""
    said = (kept.get("agent") or kept.get("model")) if isinstance(kept, dict) else ""
    return said if isinstance(said, str) else ""


def key_of(**asked: JsonValue) -> str:
    """The name of an answer: SHA-256 of everything that led to it."""
    text = json.dumps({"version": _VERSION, **asked}, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
