"""The program in files that an agent edited: their final state."""

import ast
from collections.abc import Iterator
from pathlib import PurePosixPath

from harness.domain.candidate import Candidate, NoCandidate
from harness.domain.file_edit import FileState, changes_a_file
from harness.domain.transcript import ToolCall, Transcript
from harness.extraction.blocks import code_blocks
from harness.extraction.loops import doing
from harness.extraction.parsing import comment_out, parsed, parses
from harness.transcripts import files_after

_MOST_FILES = 50
"""Most files that one program is put together from; a chain of thousands would overflow the stack."""
_LAST_TOUCHED = 100
"""Number of files, the last touched ones, among which the program is looked for."""


def program_in_files(transcript: Transcript) -> Candidate | NoCandidate | None:
    """The Python file that trains and that the agent changed last, with what it imports.

    A change to a module that it imports is a change to it. ``None`` where the agent changed no file
    that trains: the proposal is in what it said.
    """
    posted = [code for m in transcript.messages if m.role == "user" for code in code_blocks(m.text)]
    files = files_after(transcript, tuple(posted), also_unchanged=True)
    states = [s for s in files if s.path.endswith((".py", ".ipynb")) and not _is_test(s.path)]
    states = states[-_LAST_TOUCHED:]
    linked = [_Linked(state, states) for state in states if state.content is not None]
    unknown = _unknown(states)
    left = _left([one for one in linked if one.changed and one.trains], unknown)
    if left and not _newer(unknown, left, states):
        last = _last_touched(left, states)
        return Candidate(program=last.program, origin=f"file {last.paths[0]}")
    if unknown is None:
        return None
    return _piece(states) or NoCandidate(reason=f"{unknown.path} was edited, but {unknown.why}")


def _left(trains: list["_Linked"], unknown: FileState | None) -> list["_Linked"]:
    """What the agent leaves: a file that only a subagent changed gives way to others, and one that was
    taken back to any other, an unknown one included.
    """
    own = [one for one in trains if not one.by_subagent] or trains
    standing = [one for one in own if not one.taken_back]
    return standing or ([] if unknown else own)


def _last_touched(trains: list["_Linked"], states: list[FileState]) -> "_Linked":
    """By itself or in what it imports; what another one imports is no program of its own."""
    paths = [state.path for state in states]
    imported = {path for one in trains for path in one.paths[1:]}
    entries = [one for one in trains if one.paths[0] not in imported] or trains
    return max(entries, key=lambda one: max(map(paths.index, one.paths)))


def _unknown(states: list[FileState]) -> FileState | None:
    """The last file that was changed in a way that cannot be followed."""
    unknown = [state for state in states if state.changes and state.content is None]
    return unknown[-1] if unknown else None


def _newer(unknown: FileState | None, known: list["_Linked"], states: list[FileState]) -> bool:
    """Whether the unknown file was touched after every known one that trains."""
    if unknown is None:
        return False
    paths = [state.path for state in states]
    return all(paths.index(unknown.path) > max(map(paths.index, one.paths)) for one in known)


def said_since_edits(transcript: Transcript, *, in_later_turns: bool) -> Transcript | None:
    """The conversation without what the assistant said before its last change to a file; ``None``
    where no file was changed.

    ``in_later_turns``: also without what it said in the turn of that change.
    """
    messages = transcript.messages
    changed = [i for i, m in enumerate(messages) if any(map(_changes, m.calls))]
    if not changed:
        return None
    asked = [i for i, m in enumerate(messages) if m.role == "user"]
    if in_later_turns:
        start = next((i for i in asked if i > changed[-1]), len(messages))
    else:
        start = max((i for i in asked if i < changed[-1]), default=0)
    kept = tuple(m for i, m in enumerate(messages) if i >= start or m.role == "user")
    return transcript.model_copy(update={"messages": kept, "gap": None})


def _changes(call: ToolCall) -> bool:
    return call.status == "ok" and any(map(changes_a_file, call.edits))


def _piece(states: list[FileState]) -> Candidate | None:
    """The text that an edit inserted into a file of which nothing else is known, as a program."""
    for state in reversed(states):
        for piece in reversed(state.pieces):
            if _trains(piece):
                return Candidate(program=piece, origin=f"what was put into {state.path}")
    return None


class _Linked:
    """One file with the known files that it imports in the place of the imports."""

    def __init__(self, file: FileState, files: list[FileState]) -> None:
        self.paths: list[str] = []
        self._by_name: dict[str, FileState] = {}
        for other in files:
            path = PurePosixPath(other.path)
            self._by_name[path.parent.name if path.stem == "__init__" else path.stem] = other
        self._changes = 0
        self.by_subagent = self.taken_back = True
        self.program = self._text(file, entry=True)
        self.trains = _trains(self.program)

    @property
    def changed(self) -> bool:
        """Whether the agent changed any of it."""
        return self._changes > 0

    def _text(self, file: FileState, *, entry: bool) -> str:
        """A file's code below that of the files which it imports; each file stands there once."""
        self.paths.append(file.path)
        self._changes += file.changes
        self.by_subagent &= file.by_subagent or not file.changes
        self.taken_back &= file.taken_back or not file.changes
        code = file.content or ""
        try:
            tree = parsed(code)
        except SyntaxError:
            return code
        lines, before = code.split("\n"), []
        for node in _top_level(tree, entry=entry):
            if isinstance(node, ast.If):  # what a module does when it is the program itself
                comment_out(lines, node)
                continue
            links = list(self._links(node))
            if links:
                before += [text for text in links if text]
                comment_out(lines, node)
        return "\n\n".join([*before, "\n".join(lines)])

    def _links(self, node: ast.stmt) -> Iterator[str]:
        """The code that an import brings, and the names by which it is used."""
        match node:
            case ast.ImportFrom(module=module, names=names):
                known = self._found((module or "").rpartition(".")[2])
                if known is not None:
                    yield self._once(known)
                    yield from (f"{n.asname} = {n.name}" for n in names if n.asname)
                    return
                modules = {n.asname or n.name: self._found(n.name) for n in names}
            case ast.Import(names=names):
                modules = {
                    n.asname or n.name: self._found(n.name.rpartition(".")[2])
                    for n in names
                    if n.asname or "." not in n.name
                }
            case _:
                return
        if all(file is not None for file in modules.values()):
            for name, file in modules.items():
                if file is not None:
                    yield self._once(file)
                    yield _namespace(name, file)

    def _found(self, name: str) -> FileState | None:
        found = self._by_name.get(name)
        content = found.content if found is not None else None
        return found if content is not None and parses(content) else None

    def _once(self, file: FileState) -> str:
        if file.path in self.paths or len(self.paths) > _MOST_FILES:
            return ""
        return self._text(file, entry=False).rstrip("\n")


def _top_level(tree: ast.Module, *, entry: bool) -> Iterator[ast.stmt]:
    for node in tree.body:
        is_main = isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)
        if isinstance(node, ast.Import | ast.ImportFrom) or (is_main and not entry):
            yield node


def _namespace(name: str, file: FileState) -> str:
    """``import config`` and ``config.LR``: an object with what the file defines."""
    defined: dict[str, None] = {}
    for node in parsed(file.content or "").body:
        match node:
            case ast.FunctionDef() | ast.ClassDef() | ast.AsyncFunctionDef():
                defined[node.name] = None
            case ast.Assign(targets=targets):
                defined |= dict.fromkeys(t.id for t in targets if isinstance(t, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=one)):
                defined[one] = None
    fields = ", ".join(f"{one}={one}" for one in defined)
    return f"import types\n{name} = types.SimpleNamespace({fields})"


def _is_test(path: str) -> bool:
    name = PurePosixPath(path).name
    return name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py"


def _trains(code: str) -> bool:
    try:
        found = doing(parsed(code))
    except SyntaxError:
        return False
    return found.whole or found.part
