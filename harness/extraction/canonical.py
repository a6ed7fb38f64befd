"""Answers whose code stands in no fence of its own, with fences around it."""

import html
import re
import textwrap

from harness.extraction.diffs import CONFLICT
from harness.extraction.parsing import parses
from harness.markdown import Fence, fence, fenced_blocks, indented_blocks

_PRE = re.compile(
    r"<pre[^>]*>\s*(?:<code[^>]*>)?(.*?)(?:</code>\s*)?</pre>", re.DOTALL | re.IGNORECASE
)
_MOST_PRE = 100  # a hostile page opens thousands that it never closes
_MOST_ENDS = 20
_MARKDOWN = frozenset({"markdown", "md"})


def canonical(text: str) -> str:
    """The answer with its code in fences; the text itself where it has fences with code."""
    text = _conflicts_fenced(_closed(text))
    if any(map(_is_code, fenced_blocks(text))):
        return text
    for rewrite in (_unwrapped, _from_html, _from_margin):
        rewritten = rewrite(text)
        if rewritten != text and any(map(_is_code, fenced_blocks(rewritten))):
            return rewritten
    return text


def _is_code(block: Fence) -> bool:
    return block.language not in _MARKDOWN and bool(block.content.strip())


def _closed(text: str) -> str:
    """A last fence that nobody closed ends where prose begins."""
    blocks = fenced_blocks(text)
    lines = text.split("\n")
    if not blocks or parses(textwrap.dedent(blocks[-1].content)):
        return text
    last = blocks[-1]
    if last.line + last.content.count("\n") < len(text.rstrip("\n").split("\n")):
        return text
    blank = [n for n in range(last.line, len(lines)) if not lines[n].strip()]
    for end in blank[: -_MOST_ENDS - 1 : -1]:
        code = "\n".join(lines[last.line : end])
        if code.strip() and parses(textwrap.dedent(code)):
            marks = re.match(r"\s*([`~]{3,})", lines[last.line - 1])
            return "\n".join([*lines[:end], marks[1] if marks else "```", *lines[end:]])
    return text


def _conflicts_fenced(text: str) -> str:
    """Old and new lines between marks of a conflict, where they stand in no fence."""
    if not CONFLICT.search(text):
        return text
    inside = "\n".join(block.content for block in fenced_blocks(text))

    def fenced(found: re.Match[str]) -> str:
        return found[0] if found[0].strip() in inside else f"\n{fence(found[0], 'diff')}\n"

    return CONFLICT.sub(fenced, text)


def _unwrapped(text: str) -> str:
    """The text of a fence that holds Markdown itself."""
    lines = text.split("\n")
    for block in reversed(fenced_blocks(text)):
        if block.language in _MARKDOWN:
            end = block.line + block.content.count("\n")
            lines[block.line - 1 : end + 1] = ["", *block.content.split("\n")]
    return "\n".join(lines)


def _from_html(text: str) -> str:
    if text.lower().count("<pre") > _MOST_PRE:
        return text
    return _PRE.sub(lambda m: f"\n{fence(html.unescape(m[1]).strip(chr(10)), '')}\n", text)


def _from_margin(text: str) -> str:
    """Code that is indented by four, which is Markdown too."""
    lines = text.split("\n")
    for block in reversed(indented_blocks(text)):
        end = block.line + block.content.rstrip("\n").count("\n")
        lines[block.line - 1 : end] = fence(block.content, block.info).split("\n")
    return "\n".join(lines)
