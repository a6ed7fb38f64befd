"""One file through its changes: what it holds, what it held, what is under version control."""

import ast
import re
from dataclasses import dataclass, replace

from harness.domain.file_edit import (
    Difference,
    Edit,
    Excerpt,
    FileEdit,
    FileState,
    Git,
    LineScript,
    Patch,
    SeenWhole,
    Undo,
    Unshown,
    Write,
)
from harness.syntax import tree_of
from harness.transcripts.changes import changed, differing, put_in, with_excerpt

_KEPT = 5
_NOT_IN_LOG = "what was put back into it is not in the log"
_CONTRADICTED = "a listing shows that something else changed it"
_GRADIENTS = re.compile(r"grad|backward|step|loss|scale|sync")


@dataclass(frozen=True, slots=True)
class TrackedFile:
    """What is known of one file at one moment of the conversation."""

    content: str | None = None
    """Its whole text; ``None`` where that is not known."""
    pieces: tuple[str, ...] = ()
    """Texts that edits inserted, where the whole text is not known."""
    changes: int = 0
    """Number of changes that the agent made."""
    why: str = ""
    """Why the whole text is not known; empty where it is."""
    committed: str | None = None
    """Its text in the last commit; ``None`` where that is not known or has no such file."""
    earlier: tuple[str | None, ...] = ()
    """Its texts in the commits before that, oldest first."""
    stashed: str | None = None
    """The text that ``git stash`` put away; ``None`` for none."""
    before: tuple[str | None, ...] = ()
    """Its texts before the last changes, oldest first, to undo them."""
    is_part: bool = False
    """Whether ``content`` is only the part of it that the user posted."""
    is_new: bool = False
    """Whether the agent created it and it was not committed since."""
    by_subagent: bool = True
    """Whether all changes were made by subagents."""

    @property
    def weight(self) -> int:
        """Characters of all texts that are kept of it."""
        texts = (self.content, self.committed, self.stashed, *self.pieces)
        return sum(len(t) for t in (*texts, *self.before, *self.earlier) if t is not None)

    def state(self, path: str) -> FileState:
        """The file as a public record; ``path``: its name."""
        return FileState(
            path=path,
            content=self.content,
            pieces=self.pieces,
            changes=self.changes,
            why=self.why,
            by_subagent=self.by_subagent,
            taken_back=self.content is not None and self.content == self.committed,
        )


def after(file: TrackedFile, edit: FileEdit) -> TrackedFile:
    """The file after a change to it alone, or after the log showed something of it."""
    match edit:
        case SeenWhole():
            return _seen(file, edit)
        case Excerpt():
            return _excerpted(file, edit)
        case Difference():
            return _compared(file, edit)
        case Git():
            return _versioned(file, edit.action)
        case _:
            return _edited(file, edit)


def copied(old: TrackedFile, given: TrackedFile) -> TrackedFile:
    """The file that takes over what another one holds."""
    return replace(
        old,
        content=given.content,
        pieces=given.pieces,
        changes=max(given.changes, old.changes) + 1,
        why=given.why,
        before=_remembered(old),
        is_part=given.is_part,
    )


def _remembered(file: TrackedFile) -> tuple[str | None, ...]:
    return (*file.before[1 - _KEPT :], file.content)


def _edited(file: TrackedFile, edit: FileEdit) -> TrackedFile:
    now = replace(file, changes=file.changes + 1, before=_remembered(file))
    if isinstance(edit, Unshown):
        return replace(now, content=None, why=edit.why, pieces=(*file.pieces, *edit.pieces))
    if isinstance(edit, Undo):
        *older, last = file.before or (None,)
        why = "" if last is not None else "an edit was undone"
        return replace(now, content=last, pieces=(), why=why, before=tuple(older))
    content = changed(file.content, edit)
    if content is not None:
        created = isinstance(edit, Write) and not file.changes and file.committed is None
        return replace(now, content=content, pieces=(), why="", is_new=file.is_new or created)
    of_gradients = any(map(_GRADIENTS.search, put_in(edit)))
    if file.is_part and isinstance(edit, Edit | Patch) and not of_gradients:
        return now  # somewhere else in the file
    why = file.why or "a change does not fit what the log shows of it"
    if isinstance(edit, LineScript):
        why = f"{edit.language.split()[0]} changed it in place"
    return replace(now, content=None, pieces=(*file.pieces, *put_in(edit)), why=why)


def _seen(file: TrackedFile, seen: SeenWhole) -> TrackedFile:
    if file.content is not None and not _tells_more(seen, file.content):
        return file
    now = replace(file, content=seen.content, pieces=(), why="", is_part=False)
    if file.is_part:
        return replace(now, committed=None)
    if file.content is not None:  # somebody changed it: an unseen command, or a person
        return replace(now, changes=file.changes + 1)
    return replace(now, committed=file.committed if file.changes else seen.content)


def _tells_more(seen: SeenWhole, known: str) -> bool:
    """Whether a listing shows that the file was changed by somebody else.

    Listings lose blanks, some are cut, and an earlier command may have printed something: what is
    no program, or the beginning of what is known, or has nothing but words above it, tells nothing.
    """
    shown = seen.content.rstrip()
    above = shown.removesuffix(known.rstrip())
    if shown.split() == known.split() or known.startswith(shown):
        return False
    if above != shown and _is_program(above, of=ast.Expr):
        return False
    return seen.path.endswith(".py") and _is_program(seen.content)


def _is_program(text: str, of: type[ast.stmt] = ast.stmt) -> bool:
    """Whether it is Python, made of such statements."""
    try:
        return all(isinstance(statement, of) for statement in tree_of(text).body)
    except SyntaxError:
        return False


def _excerpted(file: TrackedFile, excerpt: Excerpt) -> TrackedFile:
    last = next((text for text in (file.content, *reversed(file.before)) if text is not None), None)
    if last is None:
        return file
    content = with_excerpt(last, excerpt.lines, to_end=excerpt.to_end)
    if file.is_part or (content is not None and content == file.content):
        return file  # of a part that the user posted, it may show the rest
    now = replace(file, changes=file.changes + (file.content is not None), pieces=())
    if content is not None and _is_program(content):
        return replace(now, content=content, why="")
    return replace(now, content=None, why=file.why or _CONTRADICTED)


def _compared(file: TrackedFile, difference: Difference) -> TrackedFile:
    content = differing(file.committed, difference.hunks)
    return file if content is None else replace(file, content=content, pieces=(), why="")


def _versioned(file: TrackedFile, action: str) -> TrackedFile:
    if action == "commit":
        earlier = (*file.earlier[1 - _KEPT :], file.committed)
        return replace(file, committed=file.content, earlier=earlier, is_new=False)
    now = replace(file, changes=file.changes + 1, pieces=())
    if action == "unstash":
        return _put_back(now, file.stashed)
    if action == "revert":
        previous = file.earlier[-1] if file.earlier else None
        clean = file.content is not None and file.content == file.committed
        return _put_back(replace(now, committed=previous), previous if clean else None)
    if action == "other-version":
        return _put_back(replace(now, committed=None), None)
    if file.committed is not None and file.committed == file.content:
        return file
    stashed = file.content if action == "stash" else file.stashed
    return _put_back(replace(now, stashed=stashed), file.committed)


def _put_back(file: TrackedFile, content: str | None) -> TrackedFile:
    return replace(file, content=content, why="" if content is not None else _NOT_IN_LOG)
