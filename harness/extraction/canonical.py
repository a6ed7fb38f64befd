"""Answers whose code stands in no fence of its own, with fences around it. What a reader is not shown is
left out.
"""

import html
import re
import textwrap
from collections.abc import Callable, Iterator
from itertools import zip_longest

from harness.extraction.diffs import CONFLICT
from harness.extraction.parsing import parses
from harness.markdown import Fence, fence, fenced_blocks, indented_blocks
from harness.transcripts.shell_words import Command, commands_of

_PRE = re.compile(
    r"<pre[^>]*>\s*(?:<code[^>]*>)?(.*?)(?:</code>\s*)?</pre>", re.DOTALL | re.IGNORECASE
)
_COLOURS = re.compile(r"</?(?:span|b|i|em|strong|mark|a)\b[^<>]*>", re.IGNORECASE)
"""What a page paints code with."""
_HIDDEN = re.compile(
    r"^ {0,3}<(?:(?P<tag>[a-z]{1,20})\b[^<>\n]*?"
    r"(?:\shidden\b|(?:display|visibility|opacity|font-size)\s*:\s*(?:none|hidden|0(?![.\d])))"
    r"[^<>\n]*>|(?P<made>template|script|style)\b[^<>\n]*>|!--)",
    re.MULTILINE | re.IGNORECASE,
)
_SHELL = frozenset({"bash", "sh", "shell", "zsh", "console", "terminal", "shell-session", ""})
_TRAINS = (".backward(", ".step(")
_MOST_PRE = 100  # a hostile page opens thousands that it never closes
_MOST_ENDS = 20
_MARKDOWN = frozenset({"markdown", "md"})


def canonical(text: str) -> str:
    """The answer with its code in fences; the text itself where all of it is."""
    text = _conflicts_fenced(_closed(_as_shown(text)))
    text = _from_heredocs(_beside_fences(text, _from_html))
    if any(map(_is_code, fenced_blocks(text))):
        return _from_margin(text, loops_only=True)
    for rewrite in (_unwrapped, _from_margin):
        rewritten = rewrite(text)
        if rewritten != text and any(map(_is_code, fenced_blocks(rewritten))):
            return rewritten
    return text


def _as_shown(text: str) -> str:
    """Without what a page does not show: comments, and elements that are hidden."""
    if "<" not in text:
        return text
    inside = [(b.line, b.line + b.content.count("\n") + 1) for b in fenced_blocks(text)]
    kept, at = list[str](), 0
    for start in list(_HIDDEN.finditer(text))[:_MOST_PRE]:
        line = text.count("\n", 0, start.start()) + 1
        if start.start() < at or any(first <= line <= last for first, last in inside):
            continue
        tag = start["tag"] or start["made"]
        end = re.compile(rf"</{tag}\s*>" if tag else "-->", re.IGNORECASE).search(text, start.end())
        kept.append(text[at : start.start()])
        at = end.end() if end else len(text)
    return "".join([*kept, text[at:]])


def _beside_fences(text: str, rewrite: Callable[[str], str]) -> str:
    """What stands between fences, rewritten."""
    lines, at, found = text.split("\n"), 0, list[str]()
    for block in fenced_blocks(text):
        end = min(len(lines), block.line + block.content.count("\n") + 1)
        found += [rewrite("\n".join(lines[at : block.line - 1])), *lines[block.line - 1 : end]]
        at = end
    return "\n".join([*found, rewrite("\n".join(lines[at:]))]) if found else rewrite(text)


def _from_heredocs(text: str) -> str:
    """Programs that commands write into files, or hand to Python, in the place of these commands."""
    if "<<" not in text:
        return text
    lines = text.split("\n")
    for block in reversed(fenced_blocks(text)):
        programs = [*_heredocs(block.content)] if block.language in _SHELL else []
        if programs:
            end = block.line + block.content.count("\n") + 1
            lines[block.line - 1 : end] = [fence(code, "python") for code in programs]
    return "\n".join(lines)


def _heredocs(script: str) -> Iterator[str]:
    commands = commands_of(script)
    for command, following in zip_longest(commands, commands[1:]):
        written = [command.into or "", *command.words[1:]]
        handed = _is_python(command) or (following and command.piped and _is_python(following))
        if command.body and (handed or any(w.endswith(".py") for w in written)):
            yield command.body


def _is_python(command: Command) -> bool:
    words = command.words[command.words[:1] == ["$"] :]  # past the prompt of a shell
    return bool(words) and words[0].rpartition("/")[2].startswith("python")


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
    return _PRE.sub(lambda m: f"\n\n{_fenced(_as_text(m[1]))}\n\n", text)


def _as_text(shown: str) -> str:
    return html.unescape(_COLOURS.sub("", shown)).strip("\n")


def _fenced(code: str) -> str:
    trains = any(word in code for word in _TRAINS)
    return fence(code, "python" if trains and parses(textwrap.dedent(code)) else "")


def _from_margin(text: str, *, loops_only: bool = False) -> str:
    """Code that is indented by four, which is Markdown too. Beside fences it may be output."""
    lines = text.split("\n")
    for block in reversed(indented_blocks(text)):
        if loops_only and not all(word in block.content for word in _TRAINS):
            continue
        end = block.line + block.content.rstrip("\n").count("\n")
        lines[block.line - 1 : end] = _fenced(block.content).split("\n")
    return "\n".join(lines)
