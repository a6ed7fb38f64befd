"""Diffs in an answer: what each hunk replaces, and the posted program with it applied."""

import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import takewhile

from harness.extraction.parsing import parses

_HEAD = re.compile(r"^(?:---|\+\+\+|diff |index |@@)")
_SIGNATURE = re.compile(r"^-- ?$")
"""What a mail ends its patch with."""
_NO_MARK = r"(?:(?![ \t]*(?:<{5}|={5}|>{5}))[^\n]*\n)*"
CONFLICT = re.compile(
    rf"^[ \t]*<{{5,9}}[ \t]?[^\n]*\n(?P<before>{_NO_MARK})"
    rf"[ \t]*={{5,9}}[ \t]*\n(?P<after>{_NO_MARK})[ \t]*>{{5,9}}[^\n]*$",
    re.MULTILINE,
)
"""Lines to search for and lines to put in their place, as tools for edits and git mark them."""
_ADDED_IMPORT = re.compile(r"\+\s*(?:import|from)\s")
_MARKED = re.compile(r"^(?:-(?!-)|\+(?!\+))")


@dataclass(frozen=True, slots=True)
class DiffHunk:
    """One change."""

    before: str
    """The lines that it replaces."""
    after: str
    """The lines that take their place."""
    imports: str = ""
    """Imports that are added above them, for the top of the file."""

    @property
    def code(self) -> str:
        """The same as code: with a body where the hunk ends at the head of a block, and with heads
        where it begins inside of one.
        """
        after = self.imports + textwrap.dedent(self.after)
        last = next((line for line in reversed(after.split("\n")) if line.strip()), "")
        body = " " * (_margin(last) + 4) + "pass\n"
        ended = last.split("#")[0].rstrip().endswith(":")
        return _heads(after) + after + (body if ended else "")


def is_diff(code: str) -> bool:
    """Whether lines of a block that says Python are marked as added or removed."""
    return any(re.match(r"[-+](?:\s|$)", line) for line in code.split("\n"))


def hunks(text: str, *, of_a_file: bool = False) -> tuple[tuple[DiffHunk, ...], ...]:
    """Every hunk, under each way in which its marks can be read, likely ones first.

    Empty if no line is marked, or the code is not Python. ``of_a_file``: hunks are cut out of a file
    that is known, so that they need not be Python by themselves.
    """
    exchanged = tuple((_exchange(found),) for found in CONFLICT.finditer(text))
    if exchanged:
        return exchanged
    parts = [lines for lines in _parts(text) if any(_MARKED.match(line) for line in lines)]
    found = tuple(tuple(_readings(lines)) for lines in parts)
    python = any(h.after.strip() and parses(h.code) for readings in found for h in readings)
    return found if python or of_a_file else ()


def is_patch(text: str) -> bool:
    """Whether a block without a language is a patch, or marks what is to be exchanged."""
    head = re.search(r"^(?:@@ |diff --git |\+\+\+ )", text, re.MULTILINE)
    return (head is not None and is_diff(text)) or CONFLICT.search(text) is not None


def _heads(code: str) -> str:
    """Heads for lines that are deeper than a later one, though no line above them says why."""
    depths = [_margin(line) for line in code.split("\n") if line.strip()]
    opened: list[int] = []
    lowest = depths[0] if depths else 0
    for depth in depths:
        if depth < lowest:
            opened.insert(0, depth)
            lowest = depth
    return "".join(f"{' ' * depth}if True:\n" for depth in opened)


def _exchange(found: re.Match[str]) -> DiffHunk:
    return DiffHunk(*_dedented(found["before"], found["after"]))


def patched(posted: str, readings: tuple[DiffHunk, ...]) -> str | None:
    """The program with the hunk applied; ``None`` unless its old lines occur exactly once."""
    for hunk in readings:
        program = _applied(posted, hunk)
        program = None if program is None else hunk.imports + program
        if program is not None and parses(program):
            return program
    return None


def _parts(text: str) -> Iterator[list[str]]:
    """Lines between headers."""
    part: list[str] = []
    for line in text.split("\n"):
        if _SIGNATURE.match(line):
            break
        if _HEAD.match(line):
            yield part
            part = []
        else:
            part.append(line)
    yield part


def _readings(lines: list[str]) -> Iterator[DiffHunk]:
    """With marks in a column of their own, in front of the code, or in place of a blank."""
    read: list[DiffHunk] = []
    imports, lines = _imports_above(lines)
    for marked, plain in ((_cut, _cut), (_cut, _kept)):
        if plain is _cut and any(line[:1] not in (" ", "+", "-", "") for line in lines):
            continue
        before, after = (_side(lines, sign, marked, plain) for sign in "-+")
        read.append(DiffHunk(*_dedented(before, after), imports))
    yield from sorted(read, key=_likely)


def _imports_above(lines: list[str]) -> tuple[str, list[str]]:
    """Added imports in front of lines of a function or a class, where no import stands, and these
    lines.
    """
    ahead = list(takewhile(lambda line: _ADDED_IMPORT.match(line) or not line.strip("+ "), lines))
    rest = lines[len(ahead) :]
    found = [line[1:].strip() for line in ahead if line.strip("+ ")]
    first = next((line[1:] for line in rest if line[1:].strip()), "")
    if not found or not first[:1].isspace():
        return "", lines
    return "\n".join([*found, ""]), rest


def _likely(hunk: DiffHunk) -> tuple[bool, bool]:
    return not parses(hunk.code), bool(_heads(textwrap.dedent(hunk.after)))


def _dedented(before: str, after: str) -> tuple[str, str]:
    """Both by the same margin: a line that goes may be the one that stood furthest out."""
    margins = [_margin(li) for li in f"{before}\n{after}".split("\n") if li.strip()]
    least = min(margins, default=0)
    sides = ("\n".join(li[least:] for li in side.split("\n")) for side in (before, after))
    first, second = (side.strip("\n") + "\n" for side in sides)
    return first, second


def _side(
    lines: list[str], sign: str, marked: Callable[[str], str], plain: Callable[[str], str]
) -> str:
    kept = [
        marked(line) if _MARKED.match(line) else plain(line)
        for line in lines
        if not _MARKED.match(line) or line[0] == sign
    ]
    return "\n".join(kept)


def _cut(line: str) -> str:
    return line[1:]


def _kept(line: str) -> str:
    return line


def _applied(posted: str, hunk: DiffHunk) -> str | None:
    """By lines, blank ones and comments left out of the comparison."""
    lines, old = posted.split("\n"), _told(hunk.before.split("\n"))
    told = _told(lines)
    wanted = [text.strip() for _, text in old]
    starts = [
        i
        for i in range(len(told) - len(wanted) + 1)
        if wanted and [text.strip() for _, text in told[i : i + len(wanted)]] == wanted
    ]
    if len(starts) != 1:
        return None
    (first, at), (last, _) = told[starts[0]], told[starts[0] + len(wanted) - 1]
    shift = _margin(at) - _margin(old[0][1])
    after = hunk.after.strip("\n").split("\n") if hunk.after.strip() else []
    new = [" " * (_margin(line) + shift) + line.strip() for line in after]
    return "\n".join([*lines[:first], *(line.rstrip() for line in new), *lines[last + 1 :]])


def _told(lines: list[str]) -> list[tuple[int, str]]:
    """Lines that do something, with their places."""
    return [
        (place, line)
        for place, line in enumerate(lines)
        if line.strip() and not line.strip().startswith("#")
    ]


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip())
