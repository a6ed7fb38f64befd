"""Rebuilds files from the changes that were really made: pure, no disk."""

import ast
import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from harness.domain.file_edit import (
    Copy,
    Delete,
    FileEdit,
    FileState,
    Git,
    LineScript,
    Patch,
    Seen,
    Undo,
    Unshown,
    Write,
)
from harness.domain.transcript import Message, Transcript
from harness.transcripts.changes import LONGEST_FILE, changed, put_in

_MOST_TEXT = 16 << 20
_MOST_FILES = 2000
_GRADIENTS = re.compile(r"grad|backward|step|loss|scale|sync")
_NOT_SHOWN = "the log does not show what was in it"
_NOT_SHOWN_BEFORE = "what was put back into it is not in the log"


def files_after(
    transcript: Transcript, posted: tuple[str, ...] = (), *, also_unchanged: bool = False
) -> tuple[FileState, ...]:
    """Every file that the agent changed, as it was at the end, the last touched one last.

    A call that failed, was denied or has no result changed nothing. A file whose earlier content
    the log does not show has ``content=None`` and the pieces that edits put into it.

    Args:
        transcript: The conversation.
        posted: Code that the user showed. A file that the log does not show is taken for the one
            among them into which the first change fits.
        also_unchanged: Files that the agent only read, too.
    """
    files = Files(posted)
    kept = transcript.gap.after if transcript.gap else 0
    files.follow(transcript.messages[:kept])
    if transcript.gap:
        files.carry(transcript.gap.files)
    files.follow(transcript.messages[kept:])
    return tuple(state for state in files.states() if state.changes or also_unchanged)


@dataclass(frozen=True, slots=True)
class _File:
    content: str | None = None
    pieces: tuple[str, ...] = ()
    changes: int = 0
    why: str = ""
    committed: str | None = None
    """As version control has it; ``None`` where that is not known, or it has no such file."""
    stashed: str | None = None
    before: tuple[str | None, ...] = ()
    """Its last contents, the latest last."""
    is_part: bool = False
    """Whether only a part of it is known: what the user posted of it."""
    by_subagent: bool = True
    is_new: bool = False
    """Whether the agent created it, and it was not committed since."""


class Files:
    """Files as they are at one moment."""

    def __init__(self, posted: tuple[str, ...] = ()) -> None:
        """``posted``: what files may be that are not shown."""
        self._posted = posted
        self._by_subagent = False
        self._files: dict[str, _File] = {}
        self._size = 0

    def states(self) -> Iterator[FileState]:
        """All of them, the last touched one last."""
        for path, file in self._files.items():
            yield FileState(
                path=path,
                content=file.content,
                pieces=file.pieces,
                changes=file.changes,
                why=file.why,
                by_subagent=file.by_subagent,
            )

    def carry(self, states: Iterable[FileState]) -> None:
        """Go on from here."""
        self._files, self._size = {}, 0
        for s in states:
            file = _File(s.content, s.pieces, s.changes, s.why, by_subagent=s.by_subagent)
            self._put(s.path, file)

    def follow(self, messages: Iterable[Message]) -> None:
        """Go through what was done in these messages."""
        for message in messages:
            for call in message.calls:
                if call.status == "ok":
                    self.apply(call.edits, by_subagent=call.by_subagent)

    def apply(self, edits: Iterable[FileEdit], *, by_subagent: bool = False) -> None:
        """Make these changes."""
        self._by_subagent = by_subagent
        for edit in edits:
            match edit:
                case Seen():
                    self._see(edit)
                case Git():
                    for path in self._under(edit.path):
                        self._put(path, _versioned(self._files[path], edit.action))
                case Delete():
                    for path in self._under(edit.path, new_too=True):
                        self._drop(path)
                case Copy():
                    self._copy(edit)
                case _:
                    self._change(edit)

    def _see(self, seen: Seen) -> None:
        path = self._known(seen.path)
        before = self._files.get(path) or _File()
        if before.content is not None and not _tells_more(seen.content, before.content, path):
            return
        committed = before.committed if before.changes else seen.content
        seen_now = replace(before, content=seen.content, pieces=(), why="", committed=committed)
        self._put(path, seen_now)

    def _copy(self, copy: Copy) -> None:
        source, target = self._known(copy.path), self._known(copy.to)
        given = self._files.get(source, _File(why=_NOT_SHOWN))
        if source not in self._files and target not in self._files and not _is_python(target):
            return
        old = self._files.get(target) or _File()
        self._put(
            target,
            replace(
                old,
                content=given.content,
                pieces=given.pieces,
                changes=max(given.changes, old.changes) + 1,
                why=given.why,
                before=(*old.before[-4:], old.content),
            ),
        )
        if copy.moves:
            self._drop(source)

    def _change(self, edit: FileEdit) -> None:
        path = self._known(edit.path)
        after = _after(self._files.get(path) or self._unseen(edit), edit)
        if isinstance(edit, Patch) and edit.moved_to:
            self._drop(path)
            path = edit.moved_to
        self._put(path, after)

    def _unseen(self, edit: FileEdit) -> _File:
        """A file that the log did not show yet: the posted one, where the change fits into it."""
        if not isinstance(edit, Write | Unshown):
            for code in self._posted:
                if changed(code, edit) not in (None, code):
                    return _File(code, committed=code, is_part=True)
        return _File(why=_NOT_SHOWN)

    def _under(self, path: str, *, new_too: bool = False) -> list[str]:
        """The file of this name, or all files in the folder of this name."""
        known = self._known(path)
        if known in self._files:
            return [known]
        folder = posixpath.normpath(path)
        return [
            path
            for path, file in self._files.items()
            if (folder == "." or path.startswith(f"{folder}/")) and (new_too or not file.is_new)
        ]

    def _known(self, path: str) -> str:
        """The name under which the file is known: ``train.py`` may be ``/repo/train.py``."""
        if path in self._files:
            return path
        alike = [
            known
            for known in self._files
            if (known.startswith("/") != path.startswith("/"))
            and (known.endswith(f"/{path}") or path.endswith(f"/{known}"))
        ]
        return alike[0] if len(alike) == 1 else path

    def _put(self, path: str, file: _File) -> None:
        before = self._files.get(path, _File())
        if file.changes > before.changes and not self._by_subagent:
            file = replace(file, by_subagent=False)
        self._drop(path)
        if _weight(file) > LONGEST_FILE:
            file = _File(None, (), file.changes, "it is too long to keep")
        self._files[path] = file
        self._size += _weight(file)
        if self._size > _MOST_TEXT or len(self._files) > _MOST_FILES:
            self._lighten()

    def _lighten(self) -> None:
        """Forget what was touched longest ago: first texts, then whole files."""
        for path, file in list(self._files.items()):
            if self._size > _MOST_TEXT // 2 and _weight(file):
                self._size -= _weight(file)
                self._files[path] = _File(None, (), file.changes, "it is too long to keep")
        for path in list(self._files)[: max(len(self._files) - _MOST_FILES // 2, 0)]:
            self._drop(path)

    def _drop(self, path: str) -> None:
        file = self._files.pop(path, None)
        if file is not None:
            self._size -= _weight(file)


def _weight(file: _File) -> int:
    texts = (file.content, file.committed, file.stashed, *file.pieces, *file.before)
    return sum(len(text) for text in texts if text is not None)


def _is_python(path: str) -> bool:
    return path.endswith(".py")


def _tells_more(seen: str, known: str, path: str) -> bool:
    """Whether a listing shows that the file was changed by somebody else.

    Listings lose blanks, and some are cut: what is no program, or the beginning of what is known,
    tells nothing.
    """
    if seen.split() == known.split() or known.startswith(seen.rstrip()):
        return False
    try:
        ast.parse(seen)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return _is_python(path)


def _after(file: _File, edit: FileEdit) -> _File:
    now = replace(file, changes=file.changes + 1, before=(*file.before[-4:], file.content))
    if isinstance(edit, Unshown):
        return replace(now, content=None, why=edit.why)
    if isinstance(edit, Undo):
        return _undone(file)
    content = changed(file.content, edit)
    if content is not None:
        is_new = file.is_new or (
            isinstance(edit, Write) and not file.changes and not file.committed
        )
        return replace(now, content=content, pieces=(), why="", is_new=is_new)
    if file.is_part and not any(map(_GRADIENTS.search, put_in(edit))):
        return now  # somewhere else in the file
    why = file.why or "a change does not fit what the log shows of it"
    if isinstance(edit, LineScript):
        why = f"{edit.language.split()[0]} changed it in place"
    return replace(now, content=None, pieces=(*file.pieces, *put_in(edit)), why=why)


def _undone(file: _File) -> _File:
    *earlier, last = file.before or (None,)
    why = "" if last is not None else "an edit was undone"
    return replace(
        file, content=last, pieces=(), changes=file.changes + 1, why=why, before=tuple(earlier)
    )


def _versioned(file: _File, action: str) -> _File:
    if action == "commit":
        return replace(file, committed=file.content, is_new=False)
    if action == "unstash":
        why = "" if file.stashed is not None else _NOT_SHOWN_BEFORE
        return replace(file, content=file.stashed, why=why, changes=file.changes + 1)
    if action != "other-version" and file.committed == file.content:
        return file
    back = None if action == "other-version" else file.committed
    stashed = file.content if action == "stash" else file.stashed
    why = "" if back is not None else _NOT_SHOWN_BEFORE
    return replace(
        file, content=back, pieces=(), why=why, changes=file.changes + 1, stashed=stashed
    )
