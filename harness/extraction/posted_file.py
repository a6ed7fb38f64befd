"""The whole file that an answer changes, with every change that the answer shows in it.

Diffs, old lines with new ones ("replace ... with ..."), and definitions that are shown anew. A change
that has no one place is a reason why nothing can be run: half a repair is judged for nobody.
"""

import ast
from collections.abc import Iterator

from harness.domain.candidate import NoCandidate
from harness.extraction.blocks import Block
from harness.extraction.diffs import DiffHunk, patched
from harness.extraction.names import DEFINITIONS
from harness.extraction.parsing import first_line, parsed, parses, source_of
from harness.extraction.retractions import replaced_by_the_next
from harness.syntax import walk

_DEFINES = (*DEFINITIONS, ast.Import, ast.ImportFrom)
_GONE = "\0"

FUZZ = 3
"""How many lines of context at either end of a change may differ from the file, and one more."""


def changed_file(blocks: tuple[Block, ...], posted: str) -> str | NoCandidate | None:
    """The file after the answer; ``None`` where no block says which lines of it change."""
    program, at = posted, 0
    while at < len(blocks):
        block, new = blocks[at], _next_if_new(blocks, at)
        at += 2 if new is not None else 1
        if new is None and not block.changes:
            program = _with_definitions(program, block) or program
            continue
        after = _exchanged(program, block, new) if new else _with_hunks(program, block.changes)
        if after is None:
            where = f"block {block.index + 1} of the answer"
            return NoCandidate(reason=f"what {where} changes does not stand in the file once")
        program = after
    return program if program != posted else None


def _next_if_new(blocks: tuple[Block, ...], at: int) -> Block | None:
    """The block of new lines, where this one holds those that they replace."""
    rest = blocks[at + 1 :]
    return rest[0] if rest and replaced_by_the_next(blocks[at].lead, rest[0].lead) else None


def _exchanged(program: str, old: Block, new: Block) -> str | None:
    hunk = DiffHunk(old.shown.strip("\n") + "\n", new.shown.strip("\n") + "\n")
    return _with_hunks(program, ((hunk,),))


def _with_hunks(program: str, changes: tuple[tuple[DiffHunk, ...], ...]) -> str | None:
    """Each in the reading that fits; lines of context that are cut or misquoted do not count."""
    for readings in changes:
        tried = (patched(program, tuple(_fuzzy(h, fuzz) for h in readings)) for fuzz in range(FUZZ))
        after = next((one for one in tried if one is not None), None)
        if after is None:
            return None
        program = after
    return program


def _fuzzy(hunk: DiffHunk, fuzz: int) -> DiffHunk:
    """Without so many lines of context at either end, as far as they are context."""
    before, after = hunk.before.strip("\n").split("\n"), hunk.after.strip("\n").split("\n")
    for end in (-1, 0):
        for _ in range(fuzz):
            if min(len(before), len(after)) > 1 and before[end].strip() == after[end].strip():
                before.pop(end)
                after.pop(end)
    return DiffHunk("\n".join(before) + "\n", "\n".join(after) + "\n")


def _with_definitions(program: str, block: Block) -> str | None:
    """With functions and classes that the block shows anew in place of the old ones, and before them
    what else it defines; ``None`` where it shows none of the file's, or something that runs.
    """
    shown = block.tree.body if block.tree is not None and not block.taken_back else []
    known = {id(node): list(_definitions(program, node)) for node in shown}
    further = [n for n in shown if not known[id(n)]]
    if (
        not all(isinstance(n, _DEFINES) for n in shown)
        or max(map(len, known.values()), default=0) != 1
    ):
        return None
    lines = program.split("\n")
    for node in shown:
        for old in known[id(node)]:
            margin = " " * old.col_offset
            new = [margin + li if li else li for li in source_of(block.code, node).split("\n")]
            lines[first_line(old) - 1 : old.end_lineno] = ["\n".join(new)] + [_GONE] * (
                (old.end_lineno or 0) - first_line(old)
            )
    first = min(first_line(n) for n in parsed(program).body if isinstance(n, DEFINITIONS))
    lines[first - 1 : first - 1] = [source_of(block.code, node) for node in further]
    program = "\n".join(line for line in lines if line is not _GONE)
    return program if parses(program) else None


def _definitions(program: str, shown: ast.stmt) -> Iterator[ast.stmt]:
    """What the program defines under the name of what is shown."""
    if isinstance(shown, DEFINITIONS):
        for node in walk(parsed(program)):
            if isinstance(node, DEFINITIONS) and node.name == shown.name:
                yield node
