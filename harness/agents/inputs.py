"""What a command line names, as a stream: files, folders, patterns. The first is read before the second
is looked for, however many there are.
"""

import glob
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from harness.agents.programs import (
    FoundProgram,
    is_foreign,
    is_program,
    program_at,
    programs_in,
    programs_of,
)
from harness.domain.errors import UsageError
from harness.domain.transcript import Message, Origin, Transcript, Unreadable
from harness.extraction.assignment import Choice
from harness.markdown import fence
from harness.transcripts import read
from harness.untrusted import SECONDS, in_time, shown

TOGETHER = 200
"""Python files of which it is asked whether one is part of another; of more, each stands alone."""

LOOKED_AT = 5000
"""Files of a folder that are looked at to tell whether it holds programs or answers."""

ANSWERS = frozenset(
    {".md", ".markdown", ".ipynb", ".json", ".jsonl", ".eval", ".tar", ".tgz", ".gz"}
)
"""How names of files end that hold answers, in a folder without Python files."""

MOST_NAMED = 4
"""Files beside a program that are named."""

Found = Transcript | Unreadable
_REPEATED = re.compile(r"(?:\*\*/+)+")
_MOST_LEVELS = 3


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several parts of the same inputs, by their names."""

    number: int
    """Which, from 1."""
    of: int
    """How many there are."""

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def has(self, name: str) -> bool:
        """Whether an answer belongs to this part: on every machine and in every order the same one."""
        digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).digest()
        return int.from_bytes(digest[:8], "big") % self.of == self.number - 1


def shard_of(text: str | None) -> Shard | None:
    """``2/8``: the second of eight; ``None`` for all of them.

    Raises:
        UsageError: it is something else.
    """
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise UsageError(f"--shard {text}: expected I/N, such as 2/8 for the second of eight parts")
    return Shard(int(found[1]), int(found[2]))


@dataclass(frozen=True, slots=True)
class InputUnit:
    """One file or folder, which is not read yet."""

    name: str
    """Its name."""
    read: Callable[[], Iterable[Found]]
    """Every answer in it, in order."""

    def is_left_out(self, shard: Shard | None) -> bool:
        """Whether nothing of it belongs to a part: known without reading where it is one answer."""
        is_one = self.name.endswith((".md", ".py", ".ipynb"))
        return shard is not None and is_one and not shard.has(shown(self.name))


def units(files: Sequence[str], form: str | None, choice: Choice) -> Iterator[InputUnit]:
    """Everything that is named, in order; ``-`` is standard input."""
    python = [f for f in files if form in (None, "python") and is_program(f)]
    alone = [f for f in python if choice.scenario is None and choice.mapped(f) is None]
    together: dict[str, list[Found]] = {}
    if len(alone) <= TOGETHER:
        together = {file: [] for file in alone}
        with in_time("what was given", SECONDS + len(alone)):
            for one in programs_of(alone):
                together[one.path] = [_transcript(one)]
    lone = frozenset(alone)
    for file in files:
        if file not in together:
            yield from _named(file, form, is_alone=file in lone)
        elif together[file]:  # else it is a part of another one
            yield InputUnit(file, together[file].copy)


def is_one(file: str) -> bool:
    """Whether what is named is one file, which may hold several answers of one conversation."""
    many = file.endswith((".tar", ".tgz", ".gz")) or Path(file).is_dir()
    return file == "-" or not (many or _is_pattern(file))


def _is_pattern(file: str) -> bool:
    return glob.has_magic(file) and not Path(file).exists()


def _named(file: str, form: str | None, *, is_alone: bool) -> Iterator[InputUnit]:
    path = Path(file)
    if file != "-" and path.is_dir():
        yield from _in_folder(path, form)
    elif _is_pattern(file):
        yield from _matched(file, form)
    else:
        yield _file(file, form, is_alone=is_alone)


def _matched(pattern: str, form: str | None) -> Iterator[InputUnit]:
    pattern = _REPEATED.sub("**/", pattern)  # which matches the same
    if (
        pattern.count("**") > _MOST_LEVELS
    ):  # a link to its own folder: forty levels for each of them
        yield _nothing(pattern, f"a pattern with up to {_MOST_LEVELS} `**`", "it has too many `**`")
        return
    found = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - it may be absolute
    for one in found:
        if not Path(one).is_dir():
            yield _file(one, form, is_alone=form in (None, "python") and is_program(one))
    if not found:
        yield _nothing(pattern, "a pattern that some file matches", "no file matches it")


def _file(file: str, form: str | None, *, is_alone: bool) -> InputUnit:
    if is_alone:
        return InputUnit(file, lambda: [_transcript(one) for one in programs_of([file])])
    return InputUnit(file, lambda: read("-" if file == "-" else Path(file), form))


def _in_folder(folder: Path, form: str | None) -> Iterator[InputUnit]:
    """Its programs that train; of a folder without Python files, its answers."""
    trained = "a program that trains", "none of its Python files trains"
    python = _python_in(folder)
    if not python:
        answers = (path for path in _files(folder) if path.suffix in ANSWERS)
        first = next(answers, None)
        if first is None:
            yield _nothing(
                str(folder), "programs or answers", "it holds no Python file and no answer"
            )
            return
        yield _file(str(first), form, is_alone=False)
        yield from (_file(str(path), form, is_alone=False) for path in answers)
    elif python <= TOGETHER:
        none = Unreadable(file=str(folder), expected=trained[0], sentence=trained[1])
        yield InputUnit(
            str(folder), lambda: [_transcript(one) for one in programs_in(folder)] or [none]
        )
    else:
        for path in _files(folder):
            if is_program(str(path)):
                yield InputUnit(str(path), partial(_trained, path))


def left_out(file: str) -> str | None:
    """What of a folder of programs was not graded, and why; ``None`` where all was, or it is none."""
    folder = Path(file)
    if file == "-" or not folder.is_dir() or not 0 < _python_in(folder) <= TOGETHER:
        return None
    used = {path for one in programs_in(folder) for path in (one.path, *one.beside)}
    rest = [path for path in _files(folder) if str(path) not in used]
    idle = sum(path.suffix == ".py" for path in rest)
    answers = sum(path.suffix in ANSWERS for path in rest)
    said = ["Python files in which nothing trains"] * bool(idle)
    said += ["files beside programs that may hold answers"] * bool(answers)
    return (
        f"{shown(file)}: left out: {idle + answers} ({', '.join(said)})" if said and used else None
    )


def _trained(path: Path) -> list[Found]:
    found = program_at(path)
    return [] if found is None else [_transcript(found)]


def _python_in(folder: Path) -> int:
    """How many of the first files of a folder are Python."""
    found = (
        path.suffix == ".py" for path, _ in zip(_files(folder), range(LOOKED_AT), strict=False)
    )
    return sum(found)


def _files(folder: Path) -> Iterator[Path]:
    """Every file below it, folder by folder, in the order of their names."""
    waiting = [folder]
    while waiting:
        here = waiting.pop(0)
        names = os.listdir(here)  # noqa: PTH208 - a million names take less room than paths
        for name in sorted(names):
            path = here / name
            if path.is_dir():
                if not is_foreign(path):
                    waiting.append(path)
            else:
                yield path


def _nothing(name: str, expected: str, sentence: str) -> InputUnit:
    return InputUnit(name, lambda: [Unreadable(file=name, expected=expected, sentence=sentence)])


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
