"""What a tool call did to one file. Nothing of it is carried out: files are rebuilt in memory."""

from typing import Annotated, Literal

from pydantic import Field

from harness.domain.record import Record


class Write(Record):
    """A file is created or replaced as a whole."""

    kind: Literal["write"] = "write"
    """Tells the kinds of change apart."""
    path: str
    """Where, as the agent named it, made absolute where its working folder is known."""
    content: str
    """All of it."""


class Append(Record):
    """A text is added to the end of a file."""

    kind: Literal["append"] = "append"
    """Tells the kinds of change apart."""
    path: str
    """Where."""
    content: str
    """What is added."""


class Replacement(Record):
    """One exact text is replaced by another."""

    old: str
    """What has to be there. Empty: the file is new."""
    new: str
    """What stands there afterwards."""
    everywhere: bool = False
    """Every occurrence, instead of the only one."""
    optional: bool = False
    """Whether nothing happens where it is absent, instead of a failure."""


class Edit(Record):
    """Parts of a file are replaced, all of them or none."""

    kind: Literal["edit"] = "edit"
    """Tells the kinds of change apart."""
    path: str
    """Where."""
    replacements: tuple[Replacement, ...]
    """In order; a later one sees what an earlier one did."""


class Insert(Record):
    """Lines are put into a file."""

    kind: Literal["insert"] = "insert"
    """Tells the kinds of change apart."""
    path: str
    """Where."""
    line: int
    """After this 1-based line; 0 is the top."""
    content: str
    """What is put there."""


class Hunk(Record):
    """One place of a patch."""

    anchors: tuple[str, ...] = ()
    """Lines to go past first: what stands behind ``@@``."""
    old: tuple[str, ...]
    """Lines that have to be there, context included."""
    new: tuple[str, ...]
    """Lines that stand there afterwards, context included."""
    at_end: bool = False
    """Whether the place is the end of the file."""
    start: int | None = None
    """The 1-based number of the first old line (of the line before it, where there is none), if said."""


class Patch(Record):
    """An existing file is changed by hunks, and perhaps renamed."""

    kind: Literal["patch"] = "patch"
    """Tells the kinds of change apart."""
    path: str
    """Where."""
    hunks: tuple[Hunk, ...]
    """From top to bottom."""
    moved_to: str | None = None
    """Its new path, when it is renamed."""


class Delete(Record):
    """A file is removed."""

    kind: Literal["delete"] = "delete"
    """Tells the kinds of change apart."""
    path: str
    """Where."""


class Copy(Record):
    """A file takes the place of another."""

    kind: Literal["copy"] = "copy"
    """Tells the kinds of change apart."""
    path: str
    """The file that is copied."""
    to: str
    """The one that becomes like it."""
    moves: bool = False
    """Whether the first one is gone then."""


class LineScript(Record):
    """A file goes through a stream editor, in place."""

    kind: Literal["line-script"] = "line-script"
    """Tells the kinds of change apart."""
    path: str
    """Where."""
    language: Literal["sed", "sed -E", "perl -p", "perl -0p"]
    """What the script is written in."""
    script: str
    """All of it; several are joined by line breaks."""


class Undo(Record):
    """The last change to a file is taken back."""

    kind: Literal["undo"] = "undo"
    """Tells the kinds of change apart."""
    path: str
    """Where."""


class Git(Record):
    """Files under version control are put away or back, or become what they are put back to."""

    kind: Literal["git"] = "git"
    """Tells the kinds of change apart."""
    path: str
    """A file, or the folder under which all files are meant."""
    action: Literal["commit", "restore", "revert", "stash", "unstash", "other-version"]
    """``restore`` puts back what was committed; so does ``stash``, which keeps what was there.
    ``revert`` takes the last commit back, ``other-version`` puts there what the log does not show.
    """


class Script(Record):
    """A file is carried out that may change others: a patch, or a program of the session's."""

    kind: Literal["script"] = "script"
    """Tells the kinds of change apart."""
    path: str
    """The patch, or the program."""
    root: str
    """The folder in which it is carried out."""


class Excerpt(Record):
    """No change: the log shows a stretch of whole lines that a file had at this moment."""

    kind: Literal["excerpt"] = "excerpt"
    """Tells the kinds of change apart."""
    path: str
    """Where."""
    lines: str
    """What was shown."""
    to_end: bool
    """Whether the file ends with them."""


class Difference(Record):
    """No change: the log shows how a file differs from what is under version control."""

    kind: Literal["difference"] = "difference"
    """Tells the kinds of change apart."""
    path: str
    """Where."""
    hunks: tuple[Hunk, ...]
    """From top to bottom."""


class Seen(Record):
    """No change: the log shows the whole content that a file had at this moment."""

    kind: Literal["seen"] = "seen"
    """Tells the kinds of change apart."""
    path: str
    """Where."""
    content: str
    """All of it."""


class Unshown(Record):
    """A file was changed, and the log does not show how."""

    kind: Literal["unshown"] = "unshown"
    """Tells the kinds of change apart."""
    path: str
    """Where."""
    why: str
    """Why it cannot be followed, in a few words."""
    pieces: tuple[str, ...] = ()
    """What was put there, as far as that is shown."""


FileEdit = Annotated[
    Write
    | Append
    | Edit
    | Insert
    | Patch
    | Delete
    | Copy
    | LineScript
    | Undo
    | Git
    | Script
    | Seen
    | Excerpt
    | Difference
    | Unshown,
    Field(discriminator="kind"),
]
"""What a call did to one file."""


def changes_a_file(edit: FileEdit) -> bool:
    """Whether it is meant to change a file: a listing does not, and a program that is run may not."""
    runs = isinstance(edit, Script) and edit.path.endswith(".py")
    return not runs and not isinstance(edit, Seen | Excerpt | Difference)


class FileState(Record):
    """A file at some moment of the conversation."""

    path: str
    """Where."""
    content: str | None
    """All of it; ``None`` when it cannot be known."""
    pieces: tuple[str, ...] = ()
    """What edits put into it, oldest first, where the whole is not known."""
    changes: int
    """How many changes the agent made to it; 0 when it only looked."""
    by_subagent: bool = False
    """Whether only subagents made them."""
    taken_back: bool = False
    """Whether it is again what is under version control."""
    why: str = ""
    """Why the content is not known; empty when it is."""
