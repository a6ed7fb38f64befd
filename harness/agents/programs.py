"""Programs as people keep them: a file with what it imports from beside it, or a folder of them."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.agents.repository import with_modules
from harness.domain.file_edit import FileState
from harness.extraction.linked import LinkedFile, imported
from harness.extraction.own_world import is_own_world
from harness.extraction.parsing import parses
from harness.untrusted import kind_of, read_bytes

MOST_FILES = 2000
"""Python files of a folder that are looked at."""

LONGEST = 1 << 20
"""Bytes of a file that is read as a program."""

NOT_OURS = frozenset({"__pycache__", "site-packages", "node_modules", "build", "dist"})
"""Folders whose files nobody wrote here."""


@dataclass(frozen=True, slots=True)
class FoundProgram:
    """One program."""

    path: str
    """The file that is run."""
    code: str
    """It, below what it imports."""
    beside: tuple[str, ...]
    """The other files that are part of it."""


def is_program(file: str) -> bool:
    """Whether a file is Python by its name, and one that can be read."""
    return file.endswith(".py") and _is_readable(Path(file))


def _is_readable(path: Path) -> bool:
    plain = path.is_file() and kind_of(path) is None and os.access(path, os.R_OK)
    return plain and path.stat().st_size <= LONGEST


def programs_of(files: Sequence[str]) -> list[FoundProgram]:
    """The programs that these files are, in order; one that another of them imports is part of that."""
    found = [_program(Path(file)) or _linked(file) for file in files]
    parts = {Path(other).resolve() for one in found for other in one.beside}
    return [one for one in found if Path(one.path).resolve() not in parts]


def programs_in(folder: Path) -> list[FoundProgram]:
    """The programs of a folder that train; what another one imports is part of that."""
    states = [_state(path) for path in _python_files(folder)]
    code = [state for state in states if parses(state.content or "")]
    found = [_program(Path(state.path)) or _training(state, states) for state in code]
    trains = [one for one in found if one is not None]
    parts = {path for one in trains for path in one.beside}
    return [one for one in trains if one.path not in parts]


def program_at(path: Path) -> FoundProgram | None:
    """The program that a file is, with what it imports from beside it; ``None`` where it trains
    nothing.
    """
    state = _state(path)
    if not parses(state.content or ""):
        return None
    return _program(path) or _training(state, [*_neighbours(path), state])


def _python_files(folder: Path) -> Iterator[Path]:
    waiting, seen = [folder], 0
    while waiting:
        for path in sorted(waiting.pop(0).iterdir()):
            if path.is_dir():
                if not is_foreign(path):
                    waiting.append(path)
            elif path.suffix == ".py" and seen < MOST_FILES and _is_readable(path):
                seen += 1
                yield path


def is_foreign(folder: Path) -> bool:
    """Whether nobody wrote here what lies in it."""
    hidden = folder.name.startswith(".") or folder.is_symlink()
    return hidden or folder.name in NOT_OURS or (folder / "pyvenv.cfg").exists()


def _neighbours(path: Path) -> list[FileState]:
    """What the file may import from its own folder, and what that may import again."""
    states: dict[Path, FileState] = {}
    waiting = [path]
    while waiting and len(states) < MOST_FILES:
        code = (states[waiting[0]] if waiting[0] in states else _state(waiting[0])).content or ""
        waiting.pop(0)
        for module in sorted(imported(code)):
            for near in (path.parent / f"{module.replace('.', '/')}.py",
                         path.parent / module.replace(".", "/") / "__init__.py"):  # fmt: skip
                if _is_readable(near) and near not in states and near != path:
                    states[near] = _state(near)
                    waiting.append(near)
    return list(states.values())


def _program(path: Path) -> FoundProgram | None:
    """A file that brings its own world, with the files of its repository as modules."""
    try:
        packed, beside = with_modules(path)
    except SyntaxError:
        return None
    if not packed.modules or not is_own_world(packed.text):
        return None
    return FoundProgram(str(path), packed.text, tuple(map(str, beside)))


def _training(state: FileState, others: list[FileState]) -> FoundProgram | None:
    one = LinkedFile(state, others)
    return _found(one) if one.trains else None


def _linked(file: str) -> FoundProgram:
    """A file that needs more than its files, and what it imports from beside it above it."""
    state, others = _state(Path(file)), _neighbours(Path(file))
    return (
        _found(LinkedFile(state, [*others, state]))
        if others
        else FoundProgram(file, state.content or "", ())
    )


def _found(one: LinkedFile) -> FoundProgram:
    return FoundProgram(one.paths[0], one.program, tuple(one.paths[1:]))


def _state(path: Path) -> FileState:
    raw = read_bytes(path, LONGEST)
    text = raw.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return FileState(path=str(path), content=text, changes=0)
