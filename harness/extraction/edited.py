"""The program in files that an agent edited: their final state."""

from pathlib import PurePosixPath

from harness.domain.candidate import Candidate, NoCandidate
from harness.domain.file_edit import FileState, changes_a_file
from harness.domain.transcript import ToolCall, Transcript
from harness.extraction.blocks import code_blocks
from harness.extraction.linked import LinkedFile, trains
from harness.transcripts import files_after
from harness.transcripts.plain import notebook_program

_LAST_TOUCHED = 100
"""Number of files, the last touched ones, among which the program is looked for."""


def program_in_files(transcript: Transcript) -> Candidate | NoCandidate | None:
    """The Python file that trains and that the agent changed last, with what it imports.

    A change to a module that it imports is a change to it. ``None`` where the agent changed no file
    that trains: the proposal is in what it said.
    """
    posted = [code for m in transcript.messages if m.role == "user" for code in code_blocks(m.text)]
    files = files_after(transcript, tuple(posted), also_unchanged=True)
    code = [_as_python(s) for s in files if s.path.endswith((".py", ".ipynb"))]
    states = [state for state in code if not _is_test(state.path)]
    states = states[-_LAST_TOUCHED:]
    linked = [LinkedFile(state, states) for state in states if state.content is not None]
    unknown = _unknown(states)
    left = _left([one for one in linked if one.changed and one.trains], unknown)
    if left and not _newer(unknown, left, states):
        last = _last_touched(left, states)
        return Candidate(program=last.program, origin=f"file {last.paths[0]}")
    if unknown is None:
        return None
    return _piece(states) or NoCandidate(reason=f"{unknown.path} was edited, but {unknown.why}")


def _as_python(state: FileState) -> FileState:
    """A notebook with its code cells for content."""
    if state.content is None or not state.path.endswith(".ipynb"):
        return state
    return state.model_copy(update={"content": notebook_program(state.content) or ""})


def _left(trains: list[LinkedFile], unknown: FileState | None) -> list[LinkedFile]:
    """What the agent leaves: a file that only a subagent changed gives way to others, and one that was
    taken back to any other, an unknown one included.
    """
    own = [one for one in trains if not one.by_subagent] or trains
    standing = [one for one in own if not one.taken_back]
    return standing or ([] if unknown else own)


def _last_touched(trains: list[LinkedFile], states: list[FileState]) -> LinkedFile:
    """By itself or in what it imports; what another one imports is no program of its own."""
    paths = [state.path for state in states]
    imported = {path for one in trains for path in one.paths[1:]}
    entries = [one for one in trains if one.paths[0] not in imported] or trains
    return max(entries, key=lambda one: max(map(paths.index, one.paths)))


def _unknown(states: list[FileState]) -> FileState | None:
    """The last file that was changed in a way that cannot be followed."""
    unknown = [state for state in states if state.changes and state.content is None]
    return unknown[-1] if unknown else None


def _newer(unknown: FileState | None, known: list[LinkedFile], states: list[FileState]) -> bool:
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
            if trains(piece):
                return Candidate(program=piece, origin=f"what was put into {state.path}")
    return None


def _is_test(path: str) -> bool:
    name = PurePosixPath(path).name
    return name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py"
