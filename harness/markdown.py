"""The one reader of fenced code blocks, and the one writer."""

import functools
import re

from markdown_it import MarkdownIt
from markdown_it.token import Token

from harness.domain.record import Record


class Fence(Record):
    """One fenced block of a Markdown text."""

    info: str
    """What stands behind the opening fence: ``python``, ``python title="a.py"``, or nothing."""
    content: str
    """What is inside, without the indentation of the list or quote that holds it."""
    line: int
    """1-based line of the opening fence."""

    @property
    def language(self) -> str:
        """First word of ``info``, in lower case: ``python`` of ``{.Python}`` and of ``python:a.py``.
        What nobody sees in it is none of it.
        """
        shown = "".join(c for c in self.info if c.isprintable() or c.isspace())
        return re.split(r"[\s:,]", shown, maxsplit=1)[0].strip("{}.").lower()

    @property
    def is_output(self) -> bool:
        """Whether it says of itself that it shows what was printed: ``python out``."""
        return self.info.lower().split()[1:2] in (["out"], ["output"])


@functools.lru_cache(16)  # the stages of an answer ask for its blocks again and again
def fenced_blocks(text: str) -> tuple[Fence, ...]:
    """All fenced blocks in order; an unclosed one ends with the text, as CommonMark says."""
    return tuple(
        Fence(info=t.info.strip(), content=t.content, line=t.map[0] + 1 if t.map else 1)
        for t in _blocks(text)
        if t.type == "fence"
    )


@functools.lru_cache(16)
def indented_blocks(text: str) -> tuple[Fence, ...]:
    """Code that is indented instead of fenced; ``line`` is its first one."""
    return tuple(
        Fence(info="", content=t.content, line=t.map[0] + 1)
        for t in _blocks(text)
        if t.type == "code_block" and t.map and t.level == 0
    )


@functools.lru_cache(4)  # the text of 16 answers may be large, and each token larger
def _blocks(text: str) -> tuple[Token, ...]:
    """The blocks of code, fenced or indented."""
    return tuple(t for t in _reader().parse(text) if t.type in ("fence", "code_block"))


@functools.cache
def _reader() -> MarkdownIt:
    """Building one takes longer than reading an answer; what it reads leaves nothing in it."""
    return MarkdownIt("commonmark")


def fence(code: str, info: str) -> str:
    """A block that holds the code, whatever fences the code itself contains."""
    longest = max((len(run) for run in re.findall(r"`+", code)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}{info}\n{code.rstrip(chr(10))}\n{marks}"
