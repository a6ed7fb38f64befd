"""What a listing shows beside code: prompts of a shell, magics of a notebook, spaces that are none."""

import re
import textwrap

from harness.extraction.parsing import parses

_PROMPT = re.compile(r"\s*(?:>>> ?|In ?\[\d*\]: ?)(?P<code>.*)$")
_GOES_ON = re.compile(r"\s*\.\.\.+:?(?: (?P<code>.*))?$")
_ERROR = re.compile(r"\s*(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception)\b")
_ABOVE = re.compile(r"(?:import|from)\s|#")
_CELL_MAGIC = re.compile(r"%%(?:time|timeit|capture|prun|writefile|python3?)\b")
_TIMED = re.compile(r"(\s*)%time (.*)$")
_MAGIC = re.compile(r"(\s*)((?:[!?]|%(?!%)).*)$")
_NO_SPACE = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2007": " ", "\u200b": "", "\ufeff": ""})


def plain(listing: str) -> str:
    """The code of a listing: without prompts and what a shell printed."""
    lines = listing.translate(_NO_SPACE).split("\n")
    shown = "\n".join(_of_a_shell(lines) or lines)
    return shown if parses(textwrap.dedent(shown)) else _without_magics(shown)


def at_margin(code: str) -> str:
    """What is cut out of a class or a loop under imports or a remark, at the margin like these."""
    if parses(code):
        return code
    lines = code.split("\n")
    written = [i for i, line in enumerate(lines) if line.strip()]
    first = next((i for i in written if not _ABOVE.match(lines[i])), None)
    if first is None or not lines[first][0].isspace():
        return code
    body = textwrap.dedent("\n".join(lines[first:]))
    moved = "\n".join([*lines[:first], body])
    return moved if parses(moved) else code


def _without_magics(cell: str) -> str:
    """The cell of a notebook as the program that it is; as it stands where that is none."""
    if not re.search(r"^\s*[%!?]", cell, re.MULTILINE):
        return cell
    lines = [
        f"# {line}"
        if _CELL_MAGIC.match(line)
        else _MAGIC.sub(r"\1pass  # \2", _TIMED.sub(r"\1\2", line))
        for line in textwrap.dedent(cell).split("\n")
    ]
    code = "\n".join(lines)
    return code if parses(code) else cell


def _of_a_shell(lines: list[str]) -> list[str] | None:
    """What was typed after the prompts. Of what was printed only the empty line is left, so that every
    line keeps its number; an error stands as a comment behind the line that raised it.
    """
    written = [line for line in lines if line.strip()]
    if not written or not _PROMPT.match(written[0]):
        return None
    typed, last = list[str](), 0
    for n, line in enumerate(lines):
        found = _PROMPT.match(line) or _GOES_ON.match(line)
        typed.append((found["code"] or "") if found else "")
        last = n if typed[n].strip() else last
        if not found and typed[last] and _ERROR.match(line):
            typed[last] += f"  # raises {line.strip()}"
    return typed
