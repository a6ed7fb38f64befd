"""Reads the patches that ``apply_patch`` takes.

::

    *** Begin Patch
    *** Update File: train.py
    *** Move to: loop.py
    @@ def train():
     unchanged
    -old
    +new
    *** Add File: notes.md
    +a line
    *** Delete File: old.py
    *** End Patch
"""

import re
from collections.abc import Iterator

from harness.domain.file_edit import Delete, FileEdit, Hunk, Patch, Write

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_ADD, _UPDATE, _DELETE = "*** Add File: ", "*** Update File: ", "*** Delete File: "
_NUMBERS = re.compile(r"@@ -(\d{1,9})(?:,\d{1,9})? \+\d{1,9}(?:,\d{1,9})? @@")
_MOVE, _END_OF_FILE = "*** Move to: ", "*** End of File"


def edits_of_patch(text: str) -> tuple[FileEdit, ...]:
    """What a patch does, file by file; nothing when the text holds none."""
    return tuple(_edit(header, body) for header, body in _sections(text))


def edits_of_diff(text: str) -> tuple[FileEdit, ...]:
    """What a unified diff does, file by file (``git apply``, ``patch -p1``)."""
    edits: list[FileEdit] = []
    parts = re.split(r"^--- (?=[^\n]*\n\+\+\+ )", text, flags=re.MULTILINE)
    for part in parts[1:]:
        old, new, *lines = part.removesuffix("\n").split("\n")
        before, after = _named_in_diff(old), _named_in_diff(new.removeprefix("+++ "))
        body = [line for line in lines if line.startswith(("@@", "+", "-", " ", "\\")) or not line]
        if before == "/dev/null":
            added = [line[1:] for line in body if line.startswith("+")]
            edits.append(Write(path=after, content="".join(f"{line}\n" for line in added)))
        elif after == "/dev/null":
            edits.append(Delete(path=before))
        else:
            edits.append(Patch(path=after, hunks=hunks_of(body)))
    return tuple(edits)


def hunks_of(lines: list[str]) -> tuple[Hunk, ...]:
    """Hunks of a patch or of a unified diff, whose line numbers are not needed."""
    places: list[list[str]] = [[]]
    for line in lines:
        # Several @@ lines after another are one way to a place: class first, then method.
        if line.startswith("@@") and any(not known.startswith("@@") for known in places[-1]):
            places.append([])
        places[-1].append(line)
    return tuple(_hunk(place) for place in places if any(not p.startswith("@@") for p in place))


def _named_in_diff(header: str) -> str:
    path = header.partition("\t")[0].strip()
    return path[2:] if path.startswith(("a/", "b/")) else path


def _sections(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each file's header line with the lines under it."""
    header, body, inside = "", list[str](), False
    for line in text.removesuffix("\n").split("\n"):
        line = line.removesuffix("\r")  # noqa: PLW2901 (a patch written on Windows)
        if line.strip() == _BEGIN:
            inside = True
        elif line.strip() == _END:
            break
        elif inside and line.startswith((_ADD, _UPDATE, _DELETE)):
            if header:
                yield header, body
            header, body = line, []
        elif header:
            body.append(line)
    if header:
        yield header, body


def _edit(header: str, body: list[str]) -> FileEdit:
    path = header.split(": ", 1)[1].strip()
    if header.startswith(_DELETE):
        return Delete(path=path)
    if header.startswith(_ADD):
        added = [line[1:] for line in body if line.startswith("+")]
        return Write(path=path, content="".join(f"{line}\n" for line in added))
    moved = None
    if body and body[0].startswith(_MOVE):
        moved = body[0].removeprefix(_MOVE).strip()
        body = body[1:]
    return Patch(path=path, hunks=hunks_of(body), moved_to=moved)


def _hunk(lines: list[str]) -> Hunk:
    anchors: list[str] = []
    old: list[str] = []
    new: list[str] = []
    at_end = False
    numbered = next(filter(None, map(_NUMBERS.match, lines)), None)
    for line in lines:
        if line.startswith("@@"):
            anchor = line[2:].strip()
            if anchor and not anchor.startswith("-"):  # @@ -1,4 +1,5 @@ is a unified diff's
                anchors.append(anchor)
        elif line == _END_OF_FILE:
            at_end = True
        elif line.startswith("+"):
            new.append(line[1:])
        elif line.startswith("-"):
            old.append(line[1:])
        elif not line.startswith("\\"):  # "\ No newline at end of file"
            old.append(line[1:])
            new.append(line[1:])
    return Hunk(
        anchors=tuple(anchors),
        old=tuple(old),
        new=tuple(new),
        at_end=at_end,
        start=int(numbered[1]) if numbered else None,
    )
