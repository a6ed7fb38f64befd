"""One block, or the alternatives that it holds: a marked comment begins each."""

import io
import re
import textwrap
import tokenize
from collections.abc import Iterator

from harness.domain.skill import Mark, Part
from harness.skills.claims import comment_mark, trailing_mark
from harness.skills.kinds import kind_of
from harness.skills.python import flaw_of

_RULE = re.compile(r"^\s*-{3,}\s*$")
# "# WITHOUT unscaling:" and "# With unscaling:" are alternatives that nobody judges by this word.
_ANNOUNCES = re.compile(r"\b(?:solutions|remedies|alternatives|options|fixes)\b", re.IGNORECASE)
_NUMBER = re.compile(r"^\d+[.)]\s")
_CONTRAST = re.compile(r"^with(out)?\b.{0,60}:$", re.IGNORECASE)


def parts_of(code: str, line: int, outside: Mark | None, before: str = "") -> tuple[Part, ...]:
    """The parts of a block whose code begins on ``line``.

    ``outside``: the mark that stands above it; ``before``: the sentence before it. Numbers separate
    alternatives only where that sentence announces some: elsewhere they are steps.
    """
    numbered = _ANNOUNCES.search(before) is not None
    lines = [("" if _RULE.match(one) else one) for one in textwrap.dedent(code).splitlines()]
    comments = comments_of("\n".join(lines))
    starts = [
        n
        for n, text, alone in comments
        if alone and lines[n][0] == "#" and (_begins(text) or (numbered and _NUMBER.match(text)))
    ]
    pieces = list(_pieces(lines, starts))
    if len(pieces) < 2:
        return (_part(lines, 0, line, _sole_mark(lines, line, outside)),)
    shared = "\n".join(lines[: starts[0]])
    above = outside if numbered else None
    return tuple(
        _part(lines[a:b], a, line, _sole_mark(lines[a:b], line + a, above), shared)
        for a, b in pieces
    )


def comments_of(code: str) -> tuple[tuple[int, str, bool], ...]:
    """``(line from 0, text, alone on its line)`` of every comment; strings that look like one do not
    count where the code can be tokenised.
    """
    found: list[tuple[int, str, bool]] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.type == tokenize.COMMENT:
                alone = not token.line[: token.start[1]].strip()
                found.append((token.start[0] - 1, token.string.lstrip("#").strip(), alone))
    except (tokenize.TokenError, SyntaxError):
        found = [
            (n, one.partition("#")[2].strip(), one.lstrip().startswith("#"))
            for n, one in enumerate(code.splitlines())
            if "#" in one
        ]
    return tuple(found)


def _begins(comment: str) -> bool:
    """Whether a comment at the left margin may open an alternative."""
    return comment_mark(comment, 0) is not None or _CONTRAST.match(comment) is not None


def _pieces(lines: list[str], starts: list[int]) -> Iterator[tuple[int, int]]:
    """Stretches that begin with a mark and hold code; marks without code join what follows."""
    begin = None
    for n, start in enumerate(starts):
        begin = start if begin is None else begin
        end = starts[n + 1] if n + 1 < len(starts) else len(lines)
        if _has_code(lines[begin:end]):
            rest_has_code = _has_code(lines[end:])
            yield begin, end if rest_has_code else len(lines)
            begin = None
            if not rest_has_code:
                return


def _has_code(lines: list[str]) -> bool:
    return any(one.strip() and not one.lstrip().startswith("#") for one in lines)


def _part(lines: list[str], offset: int, line: int, mark: Mark | None, shared: str = "") -> Part:
    empty = next((n for n, one in enumerate(lines) if one.strip()), 0)
    own = "\n".join(lines[empty:]).rstrip("\n")
    return Part(
        code=own,
        shared=shared,
        line=line + offset + empty,
        mark=mark,
        comments=tuple(text for _, text, _ in comments_of(own)),
        kind=kind_of(f"{shared}\n{own}"),
        flaw=flaw_of(own),
    )


def _sole_mark(lines: list[str], line: int, outside: Mark | None) -> Mark | None:
    """A comment at the margin before code counts first, then signs within, then what stands above."""
    signs: list[Mark] = []
    for n, text, alone in comments_of("\n".join(lines)):
        at_margin = alone and lines[n].startswith("#")
        if at_margin and _has_code(lines[n:]) and (mark := comment_mark(text, line + n)):
            return mark
        if not at_margin and (mark := trailing_mark(text, line + n)):
            signs.append(mark)
    wrong = [mark for mark in signs if mark.polarity == "wrong"]
    if wrong:
        return wrong[0]
    return outside or (signs[0] if signs else None)
