"""Answers that somebody already has: files with transcripts, as peers of the agents that are asked."""

import hashlib
import shlex
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.agents.inputs import InputUnit, Shard, units
from harness.agents.programs import LONGEST, programs_of
from harness.beside import called_with
from harness.domain.errors import UsageError, UserError, reason
from harness.domain.own import OWN
from harness.domain.scenario import Bank, Scenario
from harness.domain.transcript import Transcript, Unreadable
from harness.extraction.assignment import Assigned, Choice, assign, named
from harness.markdown import fence, fenced_blocks
from harness.syntax import tree_of
from harness.untrusted import SECONDS, TooLong, in_time, read_bytes, shown

MOST_REFUSED = 50
"""How many parts of one file are each told why they cannot be read; more, if as many can be."""


@dataclass(frozen=True, slots=True)
class GivenAnswers:
    """An agent that has answered."""

    name: str
    """The file, and which part of it; unique in a batch."""
    transcript: Transcript
    """What it said."""
    scenario: str
    """Id of the scenario that it answers."""
    how: str
    """How that is known; empty when somebody said so."""

    @property
    def key(self) -> str:
        """Its name and what it says: a file that changed is another answer."""
        said = f"{self.scenario}\n{self.transcript.model_dump_json()}"
        return f"{self.name}#{hashlib.sha256(said.encode()).hexdigest()[:16]}"

    def ask(self, scenario: Scenario, trial: int = 1) -> Transcript:  # noqa: ARG002 (answered already)
        """The answer that it gave."""
        return self.transcript


@dataclass(frozen=True, slots=True)
class RefusedFile:
    """A file, or a part of one, that cannot be graded."""

    name: str
    """The file."""
    sentence: str
    """Why."""
    trace: str = ""
    """Where the harness itself failed, if it did."""


def given_answers(
    files: Sequence[str],
    form: str | None,
    bank: Bank,
    choice: Choice,
    against: Path | None = None,
    shard: Shard | None = None,
) -> Iterator[GivenAnswers | RefusedFile]:
    """Every answer in the files, folders and patterns, in order; ``-`` is standard input.

    ``against``: the Python file that they change, which is judged by its own settings. ``shard``: only
    this part of the answers.

    Raises:
        UsageError: that is no Python file.
    """
    posted = _posted(against) if against is not None else None
    names: dict[str, int] = {}
    for unit in units(files, form, choice):
        if unit.is_left_out(shard):
            continue
        try:
            for found in _in_time(unit):
                if shard is None or shard.has(_name(found)):
                    yield _given(found, _unique(_name(found), names), posted, bank, choice)
        except TooLong as error:
            yield RefusedFile(shown(unit.name), str(error))
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - a reader that breaks must not take the batch along
            sentence = f"a fault of the harness: {type(error).__name__}: {error}"
            yield RefusedFile(shown(unit.name), sentence, traceback.format_exc())


def called_by(
    answers: Iterable[GivenAnswers | RefusedFile], arguments: str | None
) -> Iterable[GivenAnswers | RefusedFile]:
    """The same, where each that is a program has this command line.

    Raises:
        UsageError: no shell would take it.
    """
    try:
        words = shlex.split(arguments or "")
    except ValueError as error:
        expected = "expected what a shell takes"
        raise UsageError(f"--args {arguments}: {reason(error)}; {expected}") from None
    return (_called(one, words) for one in answers) if words else answers


def _called(one: GivenAnswers | RefusedFile, words: Sequence[str]) -> GivenAnswers | RefusedFile:
    if isinstance(one, RefusedFile) or not _is_program(one.transcript):
        return one
    (message,) = one.transcript.messages
    (block,) = fenced_blocks(message.text)
    text = fence(called_with(block.content, words), "python")
    said = {"messages": (message.model_copy(update={"text": text}),)}
    return replace(one, transcript=one.transcript.model_copy(update=said))


def _unique(name: str, names: dict[str, int]) -> str:
    names[name] = names.get(name, 0) + 1
    return name if names[name] == 1 else f"{name} ({names[name]})"


def _given(
    found: Transcript | Unreadable, name: str, posted: str | None, bank: Bank, choice: Choice
) -> GivenAnswers | RefusedFile:
    if isinstance(found, Transcript) and posted is not None:
        return GivenAnswers(name, found.with_question(posted), OWN, "")
    return given_transcript(found, name, bank, choice)


def _in_time(unit: InputUnit) -> Iterator[Transcript | Unreadable]:
    """Each answer of a file, for which there is time. What cannot be read has the time of one together,
    and not each of many such parts is told.
    """
    answers: Iterator[Transcript | Unreadable] | None = None
    refused, seen, lost = 0, 0, 0.0
    while lost < SECONDS and (refused <= MOST_REFUSED or 2 * refused <= seen):
        began = time.thread_time()
        with in_time(unit.name):
            answers = iter(unit.read()) if answers is None else answers
            answer = next(answers, None)
        if answer is None:
            return
        seen += 1
        if isinstance(answer, Unreadable):
            refused, lost = refused + 1, lost + time.thread_time() - began
        yield answer
    told = f"{refused} of its first {seen} parts cannot be read, the rest is left out"
    yield Unreadable(file=unit.name, expected="a file whose parts can be read", sentence=told)


def given_transcript(
    found: Transcript | Unreadable, name: str, bank: Bank, choice: Choice
) -> GivenAnswers | RefusedFile:
    """A conversation that was read, as an answer to the scenario it belongs to; one that belongs to
    none is judged by its own settings.
    """
    if isinstance(found, Unreadable):
        return RefusedFile(name, f"{found.sentence}; expected {found.expected}")
    if _is_program(found) and not named(found, choice):
        return GivenAnswers(name, found, OWN, "")
    assigned = assign(found, bank, choice)
    if isinstance(assigned, Assigned):
        return GivenAnswers(name, found, assigned.scenario, assigned.how)
    if named(found, choice):
        return RefusedFile(name, assigned.sentence)
    return GivenAnswers(name, found, OWN, assigned.sentence)


def _posted(file: Path) -> str:
    """A question that shows the file, with what it imports from beside it."""
    try:
        tree_of(read_bytes(file, LONGEST).decode("utf-8-sig"))
    except OSError as error:
        raise UsageError(f"--against {file}: {reason(error)}; expected a Python file") from error
    except (SyntaxError, ValueError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise UsageError(f"--against {file}{line}: is no Python; expected a Python file") from error
    return fence(programs_of([str(file)])[0].code, "python")


def _is_program(found: Transcript) -> bool:
    return found.origin is not None and found.origin.format == "python"


def _name(found: Transcript | Unreadable) -> str:
    if isinstance(found, Unreadable):
        return found.file
    if found.origin is None:
        return found.agent
    position = f", {found.origin.position}" if found.origin.position else ""
    return f"{found.origin.file}{position}"
