"""Any agent with a command line: asked in a fresh workspace, its output read like any transcript."""

import hashlib
import os
import shlex
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from harness.agents.agent import Unanswered
from harness.agents.cache import Cache, key_of
from harness.agents.process import CommandEnd, Processes
from harness.agents.skill_text import MAIN, SkillText
from harness.agents.workspace import Workspace, workspace
from harness.domain.errors import UsageError
from harness.domain.model import AbsentKind, NoAnswer
from harness.domain.scenario import Scenario
from harness.domain.transcript import Fact, Message, ToolCall, Transcript, Unreadable
from harness.domain.triggers import Opened, TriggerPrompt
from harness.transcripts import read

LARGEST_SCRIPT = 1 << 20
"""Bytes; what is larger is a program that somebody installed."""

_PLACE = "{prompt_file}"
_PLAIN = frozenset({"markdown", "python"})


@dataclass(frozen=True, slots=True)
class CommandAgent:
    """Runs a command for each question. It has one turn: such agents write runnable code anyway."""

    line: str
    """The command as it was given. ``{prompt_file}`` becomes the question's file; without it the
    question comes on standard input.
    """
    command: tuple[str, ...]
    """The same in words."""
    skill: SkillText | None
    """Installed under ``.claude/skills/``."""
    seconds: float
    """For one answer."""
    cache: Cache | None = None
    """Where answers are kept."""
    apart: tuple[str, ...] = ()
    """Answers are kept apart from those with other words here."""
    processes: Processes = field(default_factory=Processes)
    """What is under way."""
    beside: tuple[SkillText, ...] = ()
    """Other skills that are installed as well."""

    @property
    def name(self) -> str:
        """``command:...``."""
        return f"command:{self.line}"

    def ask(self, scenario: Scenario, trial: int = 1) -> Transcript:
        """What the command prints, and the Python files that it leaves behind."""
        answer = self._answer(scenario.prompt, self._key(scenario, trial))
        facts = (*answer.facts, Fact(key="trial", value=str(trial)))
        return answer.model_copy(update={"scenario": scenario.id, "facts": facts})

    def opens_skill(self, prompt: TriggerPrompt, trial: int) -> Opened:
        """Whether its log shows that it opened the skill."""
        answer = self._answer(prompt.prompt, self._key(prompt, trial))
        said = next((f.value for f in answer.facts if f.key == "skill_triggered"), "unknown")
        return "yes" if said == "yes" else "no" if said == "no" else "unknown"

    def _answer(self, prompt: str, key: str) -> Transcript:
        if self.cache is None:
            return self._run(prompt)
        answer = self.cache.get(key, Transcript)
        if answer is None:
            self.cache.refuse_more()
            answer = self._run(prompt)
            self.cache.put(key, answer)
        return answer

    def remembers(self, scenario: Scenario, trial: int) -> bool:
        """Whether the answer is kept, so that nothing would be run."""
        cache = self.cache
        return cache is not None and cache.get(self._key(scenario, trial), Transcript) is not None

    def _key(self, asked: Scenario | TriggerPrompt, trial: int) -> str:
        others: dict[str, JsonValue] = {}
        if self.beside:
            others["beside"] = [one.digest for one in self.beside]
        return key_of(
            **others,
            command=self.line,
            scripts=[*_contents(self.command)],
            skill=self.skill.digest if self.skill else None,
            scenario=asked.id,
            prompt=asked.prompt,
            trial=trial,
            apart=list(self.apart),
        )

    def _run(self, prompt: str) -> Transcript:
        as_file = any(_PLACE in word for word in self.command)
        skills = (*((self.skill,) if self.skill else ()), *self.beside)
        with workspace(prompt, skills, with_prompt=as_file) as place:
            out, errors = place.aside / "answer", place.aside / "errors"
            command = [word.replace(_PLACE, str(place.prompt)) for word in self.command]
            files = (Path(os.devnull) if as_file else place.prompt, out, errors)
            try:
                ended = self.processes.run(
                    command, place.folder, place.environment(), files, self.seconds
                )
            except InterruptedError:
                raise _unanswered("interrupted", "the question was broken off") from None
            except OSError as error:
                sentence = f"{self.command[0]} cannot be started: {error.strerror}"
                raise _unanswered("command_failed", sentence) from error
            self._refuse_failure(ended, errors)
            return self._told(_read(out), place, prompt)

    def _refuse_failure(self, ended: CommandEnd, errors: Path) -> None:
        if self.processes.closed:
            raise _unanswered("interrupted", "the question was broken off")
        if ended.timed_out:
            sentence = f"the command was ended after {self.seconds:g} seconds"
            raise _unanswered("timeout", sentence)
        if ended.code != 0:
            said = _last_line(errors)
            sentence = f"the command ended with {ended.code}{f': {said}' if said else ''}"
            raise _unanswered("command_failed", sentence)

    def _told(self, found: Transcript, place: Workspace, prompt: str) -> Transcript:
        messages = found.with_question(prompt).messages
        if not any(call.edits for message in messages for call in message.calls):
            messages = (*messages, *_files_as_message(place))
        facts = {"delivery": "installed" if self.skill else "none"}
        if self.skill is not None:
            facts |= {"skill": self.skill.name, "skill_digest": self.skill.digest}
            facts["skill_triggered"] = _triggered(found, self.skill.name)
        own = tuple(Fact(key=key, value=value) for key, value in facts.items())
        origin = found.origin and found.origin.model_copy(update={"file": "answer"})
        return found.model_copy(
            update={
                "messages": messages,
                "agent": self.name,
                "origin": origin,
                "facts": (*(fact for fact in found.facts if fact.key not in facts), *own),
            }
        )


def command_agent(
    line: str, skill: SkillText | None, seconds: float, cache: Cache | None, apart: tuple[str, ...]
) -> CommandAgent:
    """The agent for a command line.

    Raises:
        UsageError: the command cannot be read, or there is no such program.
    """
    try:
        words = tuple(shlex.split(line))
    except ValueError as error:
        raise UsageError(f"--agent command:{line}: {str(error).lower()}") from error
    if not words:
        raise UsageError("--agent command: needs the command behind the colon")
    if (program := shutil.which(words[0])) is None:
        raise UsageError(f"--agent command:{line}: no program {words[0]} on this machine")
    absolute = str(Path(program).absolute())  # the agent works in another folder than we do
    return CommandAgent(line, (absolute, *words[1:]), skill, seconds, cache, apart)


def _read(out: Path) -> Transcript:
    found = next(read(out), None)
    if isinstance(found, Unreadable) and out.stat().st_size:
        found = next(read(out, "markdown"), None)
    if isinstance(found, Transcript) and found.answer.strip():
        return found
    if isinstance(found, Transcript) and any(m.calls for m in found.messages):
        return found
    why = found.sentence if isinstance(found, Unreadable) else "it says nothing"
    raise _unanswered("unreadable", f"what the command printed is no answer: {why}")


def _files_as_message(place: Workspace) -> tuple[Message, ...]:
    """Files that no log tells of, as the one edit that they are to whoever grades the answer."""
    written = place.written()
    if not written:
        return ()
    names = ", ".join(write.path for write in written)
    call = ToolCall(id="", name="workspace", input=names, status="ok", edits=written)
    return (Message(role="assistant", text="", calls=(call,)),)


def _triggered(found: Transcript, skill: str) -> str:
    """Whether its log shows that it opened the skill; plain text shows nothing."""
    if found.origin is None or found.origin.format in _PLAIN:
        return "unknown"
    for message in found.messages:
        for call in message.calls:
            if call.name == "Skill" and skill in call.input:
                return "yes"
            if f"skills/{skill}/{MAIN}" in call.input:
                return "yes"
    return "no"


def _contents(command: tuple[str, ...]) -> list[str]:
    """A digest of each file that the command names: a script that was edited is another agent."""
    files = (Path(word) for word in command)
    return [hashlib.sha256(p.read_bytes()).hexdigest() for p in files if _is_script(p)]


def _is_script(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size <= LARGEST_SCRIPT
    except (OSError, ValueError):
        return False


def _last_line(errors: Path) -> str:
    with errors.open("rb") as stream:
        stream.seek(max(0, errors.stat().st_size - 4096))
        lines = stream.read().decode("utf-8", "replace").split("\n")
    said = [" ".join(line.split()) for line in lines if line.strip()]
    return "".join(c for c in said[-1] if c.isprintable())[:300] if said else ""


def _unanswered(kind: AbsentKind, sentence: str) -> Unanswered:
    return Unanswered(NoAnswer(kind=kind, sentence=sentence))
