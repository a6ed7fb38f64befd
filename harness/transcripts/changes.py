"""One change applied to the text of a file: pure, no disk. ``None`` is a text that cannot be known."""

import unicodedata
from collections.abc import Callable

from harness.domain.file_edit import (
    Append,
    Edit,
    FileEdit,
    Hunk,
    Insert,
    LineScript,
    Patch,
    Unshown,
    Write,
)
from harness.transcripts.sed import after_sed

# A training loop is a thousand times shorter; longer files and searches are made to keep us busy.
LONGEST_FILE = 1 << 20
"""Characters. The text of a longer file is not kept."""
_LONGEST_SEARCH = 10_000_000
_TYPEWRITTEN = {
    **dict.fromkeys(range(0x2010, 0x2016), "-"),
    0x2212: "-",
    **dict.fromkeys(range(0x2018, 0x201C), "'"),
    **dict.fromkeys(range(0x201C, 0x2020), '"'),
}


def changed(content: str | None, edit: FileEdit) -> str | None:
    """The text of a file after one change to it; ``None`` where it cannot be known."""
    after: str | None = None
    match edit:
        case Write():
            after = edit.content
        case Append() if content is not None:
            after = content + edit.content
        case Edit():
            after = _edited(content, edit)
        case Insert():
            after = _inserted(content, edit)
        case Patch():
            after = _patched(content, edit.hunks)
        case LineScript() if content is not None:
            after = _scripted(content, edit)
        case _:
            pass
    return after


def with_excerpt(known: str, shown: str, *, to_end: bool) -> str | None:
    """The text with a stretch of lines that a listing showed; ``None`` where its place is not clear.

    A listing up to the end replaces what follows the lines that both have.
    """
    lines, seen = known.rstrip("\n").split("\n"), shown.rstrip("\n").split("\n")
    if len(lines) * len(seen) > _LONGEST_SEARCH:
        return None
    plain, goal = [li.rstrip() for li in lines], [li.rstrip() for li in seen]
    places = range(len(plain) - len(goal) + 1)
    if any(plain[i : i + len(goal)] == goal for i in places):
        return known
    if not to_end:
        return None
    common = [_common(plain[i:], goal) for i in range(len(plain))]
    most = max(common, default=0)
    if not most or common.count(most) > 1:
        return None
    return "\n".join([*lines[: common.index(most)], *seen]) + "\n"


def _common(one: list[str], other: list[str]) -> int:
    """How many lines two texts have in common at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


def differing(committed: str | None, hunks: tuple[Hunk, ...]) -> str | None:
    """The text that differs from the committed one by these hunks, at the lines that they name."""
    if committed is None:
        return None
    lines = committed.removesuffix("\n").split("\n")
    done: list[str] = []
    at = 0
    for hunk in hunks:
        if hunk.start is None:
            return None
        place = hunk.start - (1 if hunk.old else 0)
        there = [line.rstrip() for line in lines[place : place + len(hunk.old)]]
        if place < at or there != [line.rstrip() for line in hunk.old]:
            return None
        done += [*lines[at:place], *hunk.new]
        at = place + len(hunk.old)
    return "".join(f"{line}\n" for line in (*done, *lines[at:]))


def put_in(edit: FileEdit) -> tuple[str, ...]:
    """The pieces of text that a change inserts, for files whose whole text is not known."""
    match edit:
        case Append() | Insert():
            return (edit.content,)
        case Edit():
            return tuple(r.new for r in edit.replacements)
        case Patch():
            return tuple("".join(f"{line}\n" for line in hunk.new) for hunk in edit.hunks)
        case Unshown():
            return edit.pieces
        case _:
            return ()


def _scripted(content: str, edit: LineScript) -> str | None:
    return after_sed(edit.script, content, "extended" if "-E" in edit.language else "basic")


def _edited(content: str | None, edit: Edit) -> str | None:
    for part in edit.replacements:
        if not part.old and not content:
            content = part.new
        elif content is None or not part.old:
            return None
        else:
            places = content.count(part.old) if part.everywhere else int(part.old in content)
            growth = places * (len(part.new) - len(part.old))
            if not places and part.optional:
                continue
            if not places or len(content) + growth > LONGEST_FILE:
                return None
            content = content.replace(part.old, part.new, places)
    return content


def _inserted(content: str | None, edit: Insert) -> str | None:
    if content is None:
        return None
    lines = content.split("\n")
    if edit.line > len(lines):
        return None
    added = edit.content.removesuffix("\n").split("\n")
    return "\n".join([*lines[: edit.line], *added, *lines[edit.line :]])


def _patched(content: str | None, hunks: tuple[Hunk, ...]) -> str | None:
    if content is None:
        return None
    lines = content.removesuffix("\n").split("\n") if content else []
    search = _Search(lines)
    done: list[str] = []
    at = 0
    for hunk in hunks:
        place = search.place(hunk, at)
        if place is None:
            return None
        done += [*lines[at:place], *hunk.new]
        at = place + len(hunk.old)
    return "".join(f"{line}\n" for line in (*done, *lines[at:]))


class _Search:
    """Finds lines in a file: first exactly, then with other blanks, then with other dashes and
    quotes.
    """

    def __init__(self, lines: list[str]) -> None:
        self._lines: dict[Callable[[str], str], list[str]] = {str: lines}
        self._left = _LONGEST_SEARCH

    def place(self, hunk: Hunk, start: int) -> int | None:
        """Where the hunk's old lines stand, past its anchors."""
        for anchor in hunk.anchors:
            found = self._find((anchor,), start)
            if found is not None:  # an anchor that is not found is a hint that is ignored
                start = found + 1
        end = len(self._lines[str])
        if not hunk.old:
            return start if hunk.anchors and not hunk.at_end else end
        last = max(end - len(hunk.old), start)
        if hunk.at_end and (found := self._find(hunk.old, last)) is not None:
            return found
        return self._find(hunk.old, start)

    def _find(self, wanted: tuple[str, ...], start: int) -> int | None:
        for same in (str, str.rstrip, str.strip, _plain):
            goal = [same(line) for line in wanted]
            if same not in self._lines:
                self._lines[same] = [same(line) for line in self._lines[str]]
            there = self._lines[same]
            last = len(there) - len(goal)
            self._left -= max(last - start, 0) + len(goal)
            if self._left < 0:
                return None
            for at in range(start, last + 1):
                if there[at] == goal[0] and there[at : at + len(goal)] == goal:
                    return at
        return None


def _plain(line: str) -> str:
    """Typographic dashes and quotes as a keyboard has them."""
    return unicodedata.normalize("NFKC", line.strip()).translate(_TYPEWRITTEN)
