"""Answers that somebody already has: files with transcripts, as peers of the agents that are asked."""

import hashlib
import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.agents.programs import LONGEST, FoundProgram, is_program, programs_in, programs_of
from harness.domain.errors import UsageError, UserError, reason
from harness.domain.own import OWN
from harness.domain.scenario import Bank, Scenario
from harness.domain.transcript import Message, Origin, Transcript, Unreadable
from harness.extraction.assignment import Assigned, Choice, assign, named
from harness.markdown import fence
from harness.syntax import tree_of
from harness.transcripts import read
from harness.untrusted import SECONDS, TooLong, in_time, read_bytes, shown

MOST_REFUSED = 50
"""How many parts of one file are each told why they cannot be read."""


@dataclass(frozen=True, slots=True)
class Given:
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
class Refused:
    """A file, or a part of one, that cannot be graded."""

    name: str
    """The file."""
    sentence: str
    """Why."""
    trace: str = ""
    """Where the harness itself failed, if it did."""


MOST_NAMED = 4
"""Files beside a program that are named."""


def given_answers(
    files: Sequence[str],
    form: str | None,
    bank: Bank,
    choice: Choice,
    against: Path | None = None,
) -> Iterator[Given | Refused]:
    """Every answer in the files, in order; ``-`` is standard input.

    ``against``: the Python file that they change, which is judged by its own settings.

    Raises:
        UsageError: that is no Python file.
    """
    posted = _posted(against) if against is not None else None
    names: dict[str, int] = {}
    with in_time("what was given", SECONDS + len(files)):
        programs = _programs(files, form, choice)
    for file in files:
        if programs.get(file) == []:
            continue  # a part of another one
        try:
            for found in _in_time(programs.get(file) or _read(file, form), file):
                name = _name(found)
                names[name] = names.get(name, 0) + 1
                unique = name if names[name] == 1 else f"{name} ({names[name]})"
                if isinstance(found, Transcript) and posted is not None:
                    yield Given(unique, found.with_question(posted), OWN, "")
                else:
                    yield given_transcript(found, unique, bank, choice)
        except TooLong as error:
            yield Refused(shown(file), str(error))
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - a reader that breaks must not take the batch along
            sentence = f"a fault of the harness: {type(error).__name__}: {error}"
            yield Refused(shown(file), sentence, traceback.format_exc())


def _read(file: str, form: str | None) -> Iterator[Transcript | Unreadable]:
    return read("-" if file == "-" else Path(file), form)


def _in_time(
    found: Iterable[Transcript | Unreadable], file: str
) -> Iterator[Transcript | Unreadable]:
    """Each answer of a file, for which there is time; and not each of many that cannot be read."""
    answers, refused = iter(found), 0
    while refused <= MOST_REFUSED:
        with in_time(file):
            answer = next(answers, None)
        if answer is None:
            return
        refused += isinstance(answer, Unreadable)
        yield answer
    told = f"more than {MOST_REFUSED} of its parts cannot be read, the rest is left out"
    yield Unreadable(file=file, expected="a file whose parts can be read", sentence=told)


def given_transcript(
    found: Transcript | Unreadable, name: str, bank: Bank, choice: Choice
) -> Given | Refused:
    """A conversation that was read, as an answer to the scenario it belongs to; one that belongs to
    none is judged by its own settings.
    """
    if isinstance(found, Unreadable):
        return Refused(name, f"{found.sentence}; expected {found.expected}")
    if _is_program(found) and not named(found, choice):
        return Given(name, found, OWN, "")
    assigned = assign(found, bank, choice)
    if isinstance(assigned, Assigned):
        return Given(name, found, assigned.scenario, assigned.how)
    if named(found, choice):
        return Refused(name, assigned.sentence)
    return Given(name, found, OWN, assigned.sentence)


def _posted(file: Path) -> str:
    """A question that shows the file, with what it imports from beside it."""
    try:
        tree_of(read_bytes(file, LONGEST).decode("utf-8-sig"))
    except OSError as error:
        raise UsageError(f"--against {file}: {reason(error)}; expected a Python file") from error
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise UsageError(f"--against {file}{line}: is no Python; expected a Python file") from error
    return fence(programs_of([str(file)])[0].code, "python")


def _programs(
    files: Sequence[str], form: str | None, choice: Choice
) -> dict[str, list[Transcript | Unreadable]]:
    """The programs of each file or folder that is judged by its own settings."""
    python = [f for f in files if form in (None, "python") and is_program(f)]
    alone = [f for f in python if choice.scenario is None and choice.mapped(f) is None]
    found: dict[str, list[Transcript | Unreadable]] = {file: [] for file in alone}
    for one in programs_of(alone):
        found[one.path] = [_transcript(one)]
    for folder in (f for f in files if Path(f).is_dir()):
        trained = "a program that trains", "none of its Python files trains"
        none = Unreadable(file=folder, expected=trained[0], sentence=trained[1])
        found[folder] = [_transcript(one) for one in programs_in(Path(folder))] or [none]
    return found


def _transcript(program: FoundProgram) -> Transcript:
    names = [Path(other).name for other in program.beside]
    with_others = tuple(f"with {name}, which it imports" for name in names)
    if len(names) > MOST_NAMED:
        with_others = (f"with {len(names)} files of its repository, which it imports",)
    return Transcript(
        messages=(Message(role="assistant", text=fence(program.code, "python")),),
        agent="unknown",
        origin=Origin(file=shown(program.path), format="python"),
        notes=with_others,
    )


def _is_program(found: Transcript) -> bool:
    return found.origin is not None and found.origin.format == "python"


def _name(found: Transcript | Unreadable) -> str:
    if isinstance(found, Unreadable):
        return found.file
    if found.origin is None:
        return found.agent
    position = f", {found.origin.position}" if found.origin.position else ""
    return f"{found.origin.file}{position}"
