"""What ``sed -i`` does to a text: ``s``, ``d``, ``a``, ``i`` and ``c`` at lines, ranges and patterns."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import regex

from harness.transcripts.substitution import (
    LONGEST,
    Clock,
    NotFollowed,
    Substitution,
    filling,
    parted,
)

Dialect = Literal["basic", "extended"]
"""Of patterns: sed's own, and that of ``sed -E``."""

_MOST_WORK = 1_000_000  # lines times commands

_ADDRESS = r"\d{1,9}|\$|/(?:\\.|[^/\\\n])*/"
_COMMAND = re.compile(
    rf"(?:(?P<first>{_ADDRESS})(?:,[ \t]*(?P<last>{_ADDRESS}|\+\d{{1,9}}))?)?[ \t]*"
    r"(?P<not>!)?[ \t]*(?P<verb>[sdaic])"
)
_BETWEEN = re.compile(r"[ \t\n;]*")
_FLAGS = re.compile(r"[gIi]*(?=[ \t\n;]|$)")
_BASIC = re.compile(r"\\[(){}|+?]|[(){}|+?]|\[\^?\]?[^\]]*\]|\\.|[^\\]", re.DOTALL)
_CLASSES = {
    "[:space:]": r"\s", "[:digit:]": r"\d", "[:alpha:]": "a-zA-Z", "[:alnum:]": "a-zA-Z0-9",
    "[:blank:]": r" \t", "[:upper:]": "A-Z", "[:lower:]": "a-z",
}  # fmt: skip


def after_sed(script: str, text: str, dialect: Dialect = "basic") -> str | None:
    """The text after the script; ``None`` when that is not known."""
    try:
        if len(text) > LONGEST:
            return None
        return _run(list(_parsed(script, dialect)), text, Clock())
    except (NotFollowed, regex.error, IndexError):
        return None


@dataclass(slots=True)
class _Step:
    first: "int | regex.Pattern[str] | None"
    last: "int | regex.Pattern[str] | None"
    lines_more: int | None
    inverted: bool
    verb: str
    text: str = ""
    substitution: Substitution | None = None
    until: int | None = None
    inside: bool = False


END_OF_TEXT = 10**9
"""The line number that ``$`` stands for."""


def _run(steps: list[_Step], text: str, clock: Clock) -> str:
    lines = text.removesuffix("\n").split("\n")
    if len(lines) * len(steps) > _MOST_WORK:
        raise NotFollowed
    done: list[str] = []
    size = 0
    for number, line in enumerate(lines, start=1):
        place = END_OF_TEXT if number == len(lines) else number
        before, kept, after = _line(steps, line, (number, place), clock)
        new = [*before, *([] if kept is None else [kept]), *after]
        size += sum(map(len, new))
        if size > LONGEST:
            raise NotFollowed
        done += new
    return "".join(f"{line}\n" for line in done)


def _line(
    steps: list[_Step], line: str, places: tuple[int, int], clock: Clock
) -> tuple[list[str], str | None, list[str]]:
    before: list[str] = []
    after: list[str] = []
    kept: str | None = line
    for step in steps:
        if kept is None:
            break
        if _meets(step, kept, places, clock) == step.inverted:
            continue
        if step.substitution is not None:
            kept = step.substitution(kept, clock)
        elif step.verb == "a":
            after.append(step.text)
        else:
            before += [step.text] if step.verb in "ic" else []
            kept = kept if step.verb == "i" else None
    return before, kept, after


def _meets(step: _Step, line: str, places: tuple[int, int], clock: Clock) -> bool:
    if step.first is None:
        return True
    if step.inside:
        ended = _is_at(step.last, line, places, clock) or places[0] == step.until
        step.inside = not ended
        return True
    if not _is_at(step.first, line, places, clock):
        return False
    if step.lines_more is not None:
        step.until = places[0] + step.lines_more
        step.inside = step.lines_more > 0
    elif step.last is not None:
        step.inside = not (isinstance(step.last, int) and step.last <= places[0])
    return True


def _is_at(
    address: "int | regex.Pattern[str] | None", line: str, places: tuple[int, int], clock: Clock
) -> bool:
    if address is None or isinstance(address, int):
        return address in places
    try:
        return address.search(line, timeout=clock.left) is not None
    except TimeoutError:
        raise NotFollowed from None


def _parsed(script: str, dialect: Dialect) -> Iterator[_Step]:
    at = _skip(script, 0)
    while at < len(script):
        found = _COMMAND.match(script, at)
        if found is None:
            raise NotFollowed
        last = found["last"]
        step = _Step(
            first=_address(found["first"], dialect),
            last=None if last is None or last[0] == "+" else _address(last, dialect),
            lines_more=int(last[1:]) if last and last[0] == "+" else None,
            inverted=bool(found["not"]),
            verb=found["verb"],
        )
        at = _rest(script, found.end(), step, dialect)
        yield step
        at = _skip(script, at)


def _rest(script: str, at: int, step: _Step, dialect: Dialect) -> int:
    """Read what belongs to the verb; where it ends."""
    if step.verb == "s":
        old, new, at = parted(script, at)
        flags = _FLAGS.match(script, at)
        if flags is None:  # a number, `w`, `e`, `p`
            raise NotFollowed
        pattern = _pattern(old, dialect, ignore_case="i" in flags[0].lower())
        step.substitution = Substitution(pattern, filling(new), "g" in flags[0], len(new))
        return flags.end()
    if step.verb == "d":
        return at
    step.text = _added(script[at:])
    return len(script)


def _skip(script: str, at: int) -> int:
    found = _BETWEEN.match(script, at)
    return found.end() if found else at


def _address(written: str | None, dialect: Dialect) -> "int | regex.Pattern[str] | None":
    if written is None:
        return None
    if written == "$":
        return END_OF_TEXT
    return int(written) if written.isdigit() else _pattern(written[1:-1], dialect)


def _added(text: str) -> str:
    """The text of ``a``, ``i`` and ``c``: a first backslash keeps the blanks that follow it."""
    text = text.lstrip(" \t")
    if text.startswith("\\"):
        text = text[1:].removeprefix("\n")
    return re.sub(r"\\(.|\n)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), text)


def _pattern(written: str, dialect: Dialect, *, ignore_case: bool = False) -> "regex.Pattern[str]":
    if not written:  # the last pattern once more
        raise NotFollowed
    if dialect == "basic":
        written = "".join(_from_basic(found[0]) for found in _BASIC.finditer(written))
    for name, same in _CLASSES.items():
        written = written.replace(name, same)
    written = re.sub(r"\\[<>]", r"\\b", written.replace("\\/", "/"))
    return regex.compile(written, regex.IGNORECASE if ignore_case else 0)


def _from_basic(sign: str) -> str:
    r"""In sed's own dialect ``(`` is a bracket like any other and ``\(`` opens a group."""
    if sign in "(){}|+?":
        return f"\\{sign}"
    return sign[1] if len(sign) == 2 and sign[0] == "\\" and sign[1] in "(){}|+?" else sign
