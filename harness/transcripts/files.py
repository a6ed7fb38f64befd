"""Rebuilds files from the changes that were really made: pure, no disk."""

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fnmatch import fnmatch

from harness.domain.file_edit import (
    Copy,
    Delete,
    Difference,
    Excerpt,
    FileEdit,
    FileState,
    Git,
    Patch,
    Script,
    SeenWhole,
    Unshown,
    Write,
)
from harness.domain.transcript import Message, Transcript
from harness.transcripts.changes import LONGEST_FILE, changed
from harness.transcripts.patches import edits_of_diff
from harness.transcripts.python_scripts import edits_of_python
from harness.transcripts.tracked import TrackedFile, after, copied
from harness.transcripts.unfollowed import CHANGES_CODE

_MOST_TEXT = 16 << 20
_MOST_FILES = 2000
_GLOB = re.compile(r"[*?\[]")
_NOT_SHOWN = "the log does not show what was in it"


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


class Files:
    """Files as they are at one moment."""

    def __init__(self, posted: tuple[str, ...] = ()) -> None:
        """``posted``: code that the user showed, which may be files that the log does not show."""
        self._posted = posted
        self._by_subagent = False
        self._files: dict[str, TrackedFile] = {}
        self._size = 0

    def states(self) -> Iterator[FileState]:
        """Every file that is known, the last touched one last."""
        for path, file in self._files.items():
            yield file.state(path)

    def carry(self, states: Iterable[FileState]) -> None:
        """Start from these files, as an earlier part of the conversation left them."""
        self._files, self._size = {}, 0
        for s in states:
            file = TrackedFile(s.content, s.pieces, s.changes, s.why, by_subagent=s.by_subagent)
            self._put(s.path, file)

    def follow(self, messages: Iterable[Message]) -> None:
        """Apply every successful change of these messages, in order."""
        for message in messages:
            for call in message.calls:
                if call.status == "ok":
                    self.apply(call.edits, by_subagent=call.by_subagent)

    def apply(self, edits: Iterable[FileEdit], *, by_subagent: bool = False) -> None:
        """Apply these changes; ``by_subagent``: a subagent made them."""
        self._by_subagent = by_subagent
        for edit in edits:
            match edit:
                case Copy():
                    self._copy(edit)
                case Script():
                    self._carry_out(edit)
                case Delete():
                    for path in self._meant(edit.path, new_too=True):
                        self._drop(path)
                case Git() | Excerpt() | Difference():
                    for path in self._meant(edit.path):
                        self._put(path, after(self._files[path], edit))
                case _:
                    self._change(edit)

    def _carry_out(self, script: Script) -> None:
        """Apply a patch that is a file of the session, or doubt what a Python script of it writes. Where
        a patch's text is not known, no file below its folder is known any more.
        """
        file = self._files.get(self._known(script.path))
        is_program = script.path.endswith(".py")
        if file is None or file.content is None:
            name = posixpath.basename(script.path).removesuffix(".py")
            if not is_program or CHANGES_CODE.search(name):
                any_file = posixpath.normpath(posixpath.join(script.root, "*.py"))
                why = f"{script.path}, which is not shown, may have changed it"
                doubt = Unshown(path=any_file, why=why)
                self.apply([doubt], by_subagent=self._by_subagent)
            return
        found = edits_of_python(file.content) if is_program else edits_of_diff(file.content)
        for edit in found:
            if edit.path.endswith(".py") and not _GLOB.search(edit.path):
                path = posixpath.normpath(posixpath.join(script.root, edit.path))
                self._change(edit.model_copy(update={"path": path}))

    def _copy(self, copy: Copy) -> None:
        source, target = self._known(copy.path), self._known(copy.to)
        given = self._files.get(source, TrackedFile(why=_NOT_SHOWN))
        if source not in self._files and target not in self._files and not target.endswith(".py"):
            return
        old = self._files.get(target) or TrackedFile()
        self._put(target, copied(old, given))
        if copy.moves:
            self._drop(source)

    def _change(self, edit: FileEdit) -> None:
        if _GLOB.search(edit.path):
            for path in self._meant(edit.path, new_too=True):
                self._put(path, after(self._files[path], edit))
            return
        path = self._known(edit.path)
        changed_file = after(self._files.get(path) or self._unseen(edit), edit)
        if isinstance(edit, Patch) and edit.moved_to:
            self._drop(path)
            path = edit.moved_to
        self._put(path, changed_file)

    def _unseen(self, edit: FileEdit) -> TrackedFile:
        """A file that the log did not show yet: the posted one, where the change fits into it."""
        shown = [file.committed or file.content or "" for file in self._files.values()]
        if not isinstance(edit, Write | Unshown | SeenWhole):
            for code in self._posted:
                taken = any(code.strip() in text for text in shown)
                if not taken and changed(code, edit) not in (None, code):
                    return TrackedFile(code, committed=code, is_part=True)
        return TrackedFile(why=_NOT_SHOWN)

    def _meant(self, path: str, *, new_too: bool = False) -> list[str]:
        """The files of this name, of this pattern, or in the folder of this name."""
        known = self._known(path)
        if known in self._files:
            return [known]
        folder = posixpath.normpath(path)
        pattern = path if _GLOB.search(path) else f"{folder}/*" if folder != "." else "*"
        return [
            path
            for path, file in self._files.items()
            if (fnmatch(path, pattern) or fnmatch(path, f"*/{pattern}"))
            and (new_too or not file.is_new)
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

    def _put(self, path: str, file: TrackedFile) -> None:
        before = self._files.get(path, TrackedFile())
        if file.changes > before.changes and not self._by_subagent:
            file = replace(file, by_subagent=False)
        self._drop(path)
        if file.weight > LONGEST_FILE:
            file = TrackedFile(None, (), file.changes, "it is too long to keep")
        self._files[path] = file
        self._size += file.weight
        if self._size > _MOST_TEXT or len(self._files) > _MOST_FILES:
            self._lighten()

    def _lighten(self) -> None:
        """Where too much is kept, forget the files touched longest ago: their texts first, then that
        they are there.
        """
        for path, file in list(self._files.items()):
            if self._size > _MOST_TEXT // 2 and file.weight:
                self._size -= file.weight
                self._files[path] = TrackedFile(None, (), file.changes, "it is too long to keep")
        for path in list(self._files)[: max(len(self._files) - _MOST_FILES // 2, 0)]:
            self._drop(path)

    def _drop(self, path: str) -> None:
        file = self._files.pop(path, None)
        if file is not None:
            self._size -= file.weight
