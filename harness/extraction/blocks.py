"""The Python blocks of an answer, each with the words that stand around it."""

import ast
import functools
import re
import textwrap

from pydantic import ConfigDict

from harness.domain.record import Record
from harness.domain.transcript import Transcript
from harness.extraction.canonical import canonical
from harness.extraction.diffs import DiffHunk, hunks, is_diff, is_patch
from harness.extraction.listings import at_margin, plain
from harness.extraction.markers import labels, without_wrong_parts
from harness.extraction.parsing import parsed
from harness.extraction.retractions import replaced_by_the_next, takes_back
from harness.markdown import Fence, fenced_blocks
from harness.syntax import TOO_LONG, is_too_long, walk

_PYTHON = frozenset({
    "python", "python3", "py", "py3", "python-repl", "pycon", "python-console", "ipython", "ipython3",
})  # fmt: skip
_DIFF = frozenset({"diff", "patch", "udiff"})
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(.+?)\s*#*\s*$|^\s*\*\*([^*]+)\*\*:?\s*$")
_NEAR = 20  # lines behind a block in which its next sentence begins
_LONGEST = 200  # lines of a paragraph: a hostile answer is one of ten thousand blocks
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[\W_]*[A-Z])")


class Block(Record):
    """One fenced block that the assistant wrote."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    index: int
    """0-based, among the Python blocks of the whole answer."""
    turn: int
    """Which of the assistant's turns it stands in; each message of the user begins a new turn."""
    code: str
    """The code in it that can be run: without parts that are labelled as wrong."""
    tree: ast.Module | None
    """The parsed code; ``None`` when it does not parse."""
    problem: str = ""
    """Why it does not parse."""
    labelled_wrong: bool = False
    """Whether the block says in its own comments that all of it is wrong."""
    heading: str = ""
    """The heading of its section."""
    lead: str = ""
    """The last sentence before it, if nothing stands between them."""
    after: str = ""
    """The first paragraph after it, if nothing stands between them."""
    taken_back: bool = False
    """Whether the words after it say that it is wrong, or that the next block replaces it."""
    shown: str = ""
    """All that stands in it, as deep as it is indented."""
    changes: tuple[tuple[DiffHunk, ...], ...] = ()
    """Its hunks, if the block is a diff; ``code`` is then what the hunks add and keep."""


def blocks_of(transcript: Transcript, *, of_a_file: bool = False) -> tuple[Block, ...]:
    """All Python blocks, in order. Blocks without a language count only if no block has one.

    ``of_a_file``: they change a file that is known.
    """
    found = [
        (turn, text, fence, _changes(fence, of_a_file=of_a_file))
        for turn, text in _turns(transcript)
        for fence in fenced_blocks(text)
        if fence.content.strip()
    ]
    tagged = [entry for entry in found if entry[2].language in _PYTHON or entry[3]]
    untagged = [entry for entry in found if not entry[2].info and _calls_something(entry[2])]
    blocks = [_block(index, *entry) for index, entry in enumerate(tagged or untagged)]
    if len(blocks) == 1 and _is_a_program(transcript):
        return (_with_all(blocks[0], tagged[0][2]),)
    following = [block.lead for block in blocks[1:]]
    return tuple(map(_unless_replaced, blocks, [*following, ""]))


def _is_a_program(transcript: Transcript) -> bool:
    return transcript.origin is not None and transcript.origin.format == "python"


def _with_all(block: Block, fence: Fence) -> Block:
    """A file of Python proposes what it holds, even if a comment at its top calls that wrong."""
    if not block.labelled_wrong:
        return block
    code = fence.content
    return block.model_copy(update={"code": code, "tree": parsed(code), "labelled_wrong": False})


def _unless_replaced(block: Block, next_lead: str) -> Block:
    if not replaced_by_the_next(block.lead, next_lead):
        return block
    return block.model_copy(update={"taken_back": True})


def _changes(fence: Fence, *, of_a_file: bool) -> tuple[tuple[DiffHunk, ...], ...]:
    if is_too_long(fence.content):
        return ()
    python = fence.language in _PYTHON
    marked = python and is_diff(fence.content)
    patch = (python or not fence.info) and is_patch(fence.content)
    is_one = marked or patch or fence.language in _DIFF
    return hunks(fence.content, of_a_file=of_a_file) if is_one else ()


def code_blocks(text: str) -> tuple[str, ...]:
    """The code in a text that somebody else wrote: the loop that a user posts."""
    return tuple(f.content for f in fenced_blocks(text) if f.language in _PYTHON or not f.info)


def _turns(transcript: Transcript) -> list[tuple[int, str]]:
    turn, said = 0, []
    for message in transcript.messages:
        turn += message.role == "user"
        if message.role == "assistant" and message.text:
            said.append((turn, canonical(message.text)))
    return said


def _block(
    index: int, turn: int, text: str, fence: Fence, changes: tuple[tuple[DiffHunk, ...], ...]
) -> Block:
    if is_too_long(fence.content):
        return Block(index=index, turn=turn, code="", tree=None, problem=TOO_LONG)
    listed = at_margin(textwrap.dedent(plain(fence.content)))
    code = "\n".join(readings[0].code for readings in changes) or listed
    wrong = labels(code)
    rest = without_wrong_parts(code)
    heading, lead = _context(text, fence)
    tree, problem = None, ""
    try:
        tree = parsed(rest)
    except SyntaxError as error:
        problem = f"line {error.lineno}: {error.msg}" if error.lineno else str(error.msg)
    after = _following(text, fence)
    empty = tree is not None and not tree.body
    return Block(
        index=index,
        turn=turn,
        code=rest,
        tree=tree,
        problem=problem,
        labelled_wrong=wrong and empty,
        heading=heading,
        lead=lead,
        after=after,
        taken_back=takes_back(after),
        shown=fence.content,
        changes=changes,
    )


def _context(text: str, fence: Fence) -> tuple[str, str]:
    """The heading of the section and the last sentence before the fence."""
    above = fence.line - 1
    heading = _headings(text)[above]
    lines = list(_prose_lines(text)[max(0, above - _LONGEST) : above])
    while lines and not lines[-1].strip():
        lines.pop()
    paragraph: list[str] = []
    while lines and lines[-1].strip() and not _HEADING.match(lines[-1]):
        paragraph.append(lines.pop().strip())
    sentences = _SENTENCE.split(" ".join(reversed(paragraph)))
    return heading, sentences[-1] if sentences else ""


@functools.lru_cache(4)
def _headings(text: str) -> tuple[str, ...]:
    """For each line, and for the end, the heading that it stands under."""
    found = [""]
    for line in _prose_lines(text):
        heading = _HEADING.match(line)
        found.append((heading[1] or heading[2]) if heading else found[-1])
    return tuple(found)


def _following(text: str, fence: Fence) -> str:
    """The first paragraph after the fence, if nothing stands between them."""
    start = fence.line + fence.content.count("\n") + 1
    rest = _prose_lines(text)[start : start + _NEAR]
    paragraph: list[str] = []
    for line in map(str.strip, rest):
        if line:
            paragraph.append(line)
        elif paragraph:
            break
    return " ".join(paragraph)


@functools.lru_cache(4)  # asked twice for each block
def _prose_lines(text: str) -> tuple[str, ...]:
    """All lines, those inside of fences marked by a character that no prose has."""
    lines = text.split("\n")
    for fence in fenced_blocks(text):
        end = fence.line + fence.content.count("\n") + 1
        for number in range(fence.line - 1, min(end, len(lines))):
            lines[number] = "\x00"
    return tuple(lines)


def _calls_something(fence: Fence) -> bool:
    """Whether a block without a language is Python that does something."""
    try:
        tree = parsed(textwrap.dedent(fence.content))
    except SyntaxError:
        return False
    return any(isinstance(node, ast.Call | ast.FunctionDef) for node in walk(tree))
