"""What a tool call did to one file. Nothing of it is carried out on disk: files are rebuilt in
memory.
"""

from typing import Annotated, Literal

from pydantic import Field

from harness.domain.record import Record


class Write(Record):
    """A file is created, or replaced as a whole."""

    kind: Literal["write"] = "write"
    """Discriminator."""
    path: str
    """The file, as the agent named it; absolute where the agent's working folder is known."""
    content: str
    """All of it."""


class Append(Record):
    """A text is added to the end of a file."""

    kind: Literal["append"] = "append"
    """Discriminator."""
    path: str
    """The file."""
    content: str
    """What is added."""


class Replacement(Record):
    """One exact text is replaced by another."""

    old: str
    """The text to replace. Empty: the file is new."""
    new: str
    """The text to put in its place."""
    everywhere: bool = False
    """Whether every occurrence is replaced, instead of the only one."""
    optional: bool = False
    """Whether the text may be absent, so that nothing happens; otherwise the edit fails."""


class Edit(Record):
    """Parts of a file are replaced: all of them, or none."""

    kind: Literal["edit"] = "edit"
    """Discriminator."""
    path: str
    """The file."""
    replacements: tuple[Replacement, ...]
    """In order; a later one sees what an earlier one did."""


class Insert(Record):
    """Lines are put into a file."""

    kind: Literal["insert"] = "insert"
    """Discriminator."""
    path: str
    """The file."""
    line: int
    """1-based line after which they go; 0 is the top."""
    content: str
    """What is put there."""


class Hunk(Record):
    """One place of a patch."""

    anchors: tuple[str, ...] = ()
    """Lines to find first, one after another: the text behind ``@@``."""
    old: tuple[str, ...]
    """Lines to replace, context included."""
    new: tuple[str, ...]
    """Lines to put in their place, context included."""
    at_end: bool = False
    """Whether the place is the end of the file."""
    start: int | None = None
    """1-based number of the first old line, or of the line before it where there are no old lines;
    ``None`` if not said.
    """


class Patch(Record):
    """An existing file is changed by hunks, and possibly renamed."""

    kind: Literal["patch"] = "patch"
    """Discriminator."""
    path: str
    """The file."""
    hunks: tuple[Hunk, ...]
    """From top to bottom."""
    moved_to: str | None = None
    """Its new path, when it is renamed."""


class Delete(Record):
    """A file is removed."""

    kind: Literal["delete"] = "delete"
    """Discriminator."""
    path: str
    """The file."""


class Copy(Record):
    """A file is copied or moved."""

    kind: Literal["copy"] = "copy"
    """Discriminator."""
    path: str
    """The source."""
    to: str
    """The destination."""
    moves: bool = False
    """Whether the source is removed."""


class LineScript(Record):
    """A file is edited in place by sed."""

    kind: Literal["line-script"] = "line-script"
    """Discriminator."""
    path: str
    """The file."""
    language: Literal["sed", "sed -E"]
    """Language of the script."""
    script: str
    """The script; several are joined by line breaks."""


class Undo(Record):
    """The last change to a file is undone."""

    kind: Literal["undo"] = "undo"
    """Discriminator."""
    path: str
    """The file."""


class Git(Record):
    """Git changes files: it puts them away, brings them back, or takes them from another commit."""

    kind: Literal["git"] = "git"
    """Discriminator."""
    path: str
    """A file, or a folder for all files below it."""
    action: Literal["commit", "restore", "revert", "stash", "unstash", "other-version"]
    """``restore`` brings back what was committed; ``stash`` does too, and keeps what was there.
    ``revert`` undoes the last commit; ``other-version`` brings a version that the log does not
    show.
    """


class Script(Record):
    """A patch or a program of the session is run and may change other files."""

    kind: Literal["script"] = "script"
    """Discriminator."""
    path: str
    """The patch, or the program."""
    root: str
    """The folder in which it is run."""


class Excerpt(Record):
    """No change: the log shows whole lines of a file as it was at this moment."""

    kind: Literal["excerpt"] = "excerpt"
    """Discriminator."""
    path: str
    """The file."""
    lines: str
    """The lines."""
    to_end: bool
    """Whether the file ends with them."""


class Difference(Record):
    """No change: the log shows how a file differs from the committed version."""

    kind: Literal["difference"] = "difference"
    """Discriminator."""
    path: str
    """The file."""
    hunks: tuple[Hunk, ...]
    """From top to bottom."""


class SeenWhole(Record):
    """No change: the log shows the whole content of a file at this moment."""

    kind: Literal["seen"] = "seen"
    """Discriminator."""
    path: str
    """The file."""
    content: str
    """All of it."""


class Unshown(Record):
    """A file was changed in a way that the log does not show."""

    kind: Literal["unshown"] = "unshown"
    """Discriminator."""
    path: str
    """The file."""
    why: str
    """Why it cannot be followed, in a few words."""
    pieces: tuple[str, ...] = ()
    """Texts that were put into it, as far as they are shown."""


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
    | SeenWhole
    | Excerpt
    | Difference
    | Unshown,
    Field(discriminator="kind"),
]
"""What a call did to one file."""


def changes_a_file(edit: FileEdit) -> bool:
    """Whether it certainly changes a file. A listing does not, and a program that is run may not."""
    runs = isinstance(edit, Script) and edit.path.endswith(".py")
    return not runs and not isinstance(edit, SeenWhole | Excerpt | Difference)


class FileState(Record):
    """A file at one moment of the conversation."""

    path: str
    """The file."""
    content: str | None
    """The whole content; ``None`` when it is not known."""
    pieces: tuple[str, ...] = ()
    """Texts that edits put into it, oldest first, where the whole content is not known."""
    changes: int
    """How many changes the agent made to it; 0 when it only looked."""
    by_subagent: bool = False
    """Whether only subagents made them."""
    taken_back: bool = False
    """Whether it is the committed version again."""
    why: str = ""
    """Why the content is not known; empty when it is."""
