"""The whole file that an answer changes, with every change that the answer shows in it.

Diffs, old lines with new ones ("replace ... with ..."), and definitions that are shown anew. A change
that has no one place is a reason why nothing can be run: half a repair is judged for nobody.
"""

import ast
import textwrap
from collections.abc import Iterator

from harness.domain.candidate import NoCandidate
from harness.extraction.anchors import UPDATE, anchors
from harness.extraction.blocks import Block
from harness.extraction.cut_off import with_cut_off
from harness.extraction.diffs import DiffHunk, patched
from harness.extraction.markers import shown_as_wrong
from harness.extraction.names import DEFINITIONS, free_names, statements
from harness.extraction.parsing import first_line, parsed, parses, source_of
from harness.extraction.posted_loop import (
    binds,
    speaks_of_what_is_made,
    with_loop,
    with_settings,
)
from harness.extraction.retractions import replaced_by_the_next
from harness.syntax import walk

_DEFINES = (*DEFINITIONS, ast.Import, ast.ImportFrom)
_GONE = "\0"

FUZZ = 3
"""How many lines of context at either end of a change may differ from the file, and one more."""


def changed_file(
    blocks: tuple[Block, ...], posted: str, answer: str = ""
) -> str | NoCandidate | None:
    """The file after the answer; ``None`` where no block says which lines of it change, a loop is
    shown anew and its words change what is made for it, or lines of an update stand alone.
    """
    draft, at = _ChangedFile(posted), 0
    while at < len(blocks):
        block, new = blocks[at], _next_if_new(blocks, at)
        at += 2 if new is not None else 1
        if new is None and not block.changes:
            draft.show(block)
        elif not draft.change(block, new):
            where = f"block {block.index + 1} of the answer"
            return NoCandidate(reason=f"what {where} changes does not stand in the file once")
    return draft.finished(answer)


class _ChangedFile:
    """The posted file while the blocks of an answer change it."""

    def __init__(self, posted: str) -> None:
        self._posted = self._program = self._with_settings = posted
        self._shows_its_loop = self._leaves_lines = False
        self._left = set[str]()
        """Names that blocks bind which have no place."""
        self._helpers: list[tuple[ast.stmt, str]] = []
        """Functions and classes that blocks define which have no place, and their code."""
        self._only_helpers = True
        """Whether what has no place only defines."""

    def show(self, block: Block) -> None:
        """Put what a block shows anew in the place of the old; what has none is left."""
        if block.tree is None and not block.taken_back:
            self._program = with_cut_off(self._program, block.code) or self._program
            return
        if _stands(self._program, block):
            return
        loop = with_loop(self._program, block)
        self._shows_its_loop |= loop is not None
        shown = _with_definitions(self._program, block) or loop
        if shown is None and (shown := with_settings(self._program, block)) is not None:
            self._with_settings = with_settings(self._with_settings, block) or self._with_settings
        if shown is not None:
            self._program = shown
        elif not block.taken_back:
            self._helpers += _defined(block)
            self._only_helpers &= _only_defines(block)
            self._left |= binds(block)
            self._leaves_lines |= _updates(block)

    def change(self, old: Block, new: Block | None) -> bool:
        """Exchange lines for new ones, or apply a diff; false where it has no one place."""
        program = self._program
        after = _exchanged(program, old, new) if new else _with_hunks(program, old.changes)
        self._program = after or program
        return after is not None

    def finished(self, answer: str) -> str | None:
        """The file as it is now; ``None`` where that is not what the answer proposes."""
        made = self._left & _assigned(self._posted)
        if self._shows_its_loop and (made or speaks_of_what_is_made(self._posted, answer)):
            return None
        helped = _with_helpers(self._program, self._helpers)
        if self._program == self._posted:  # which may use what the answer is to define
            return helped if self._only_helpers and helped != self._posted else None
        only_settings = self._program == self._with_settings
        return None if self._leaves_lines and only_settings else helped


def _stands(program: str, block: Block) -> bool:
    """Whether a block shows nothing that is new."""
    there = {ast.dump(node) for node in walk(parsed(program)) if isinstance(node, ast.stmt)}
    return block.tree is not None and all(ast.dump(n) in there for n in block.tree.body)


def _defined(block: Block) -> list[tuple[ast.stmt, str]]:
    nodes = block.tree.body if block.tree is not None else []
    return [(n, source_of(block.code, n)) for n in nodes if isinstance(n, DEFINITIONS)]


def _only_defines(block: Block) -> bool:
    return block.tree is not None and all(isinstance(n, _DEFINES) for n in block.tree.body)


def _with_helpers(program: str, helpers: list[tuple[ast.stmt, str]]) -> str:
    """Above it, what it calls and does not define."""
    missing = free_names(statements(parsed(program)))
    needed = [code for node, code in helpers if getattr(node, "name", "") in missing]
    return "\n\n".join([*needed, program])


def _updates(block: Block) -> bool:
    """Whether a block that is left out would change an update."""
    nodes = block.tree.body if block.tree is not None else []
    wrong = shown_as_wrong(block.heading, block.lead)
    return not wrong and any(anchors(node).keys() & UPDATE for node in nodes)


def _assigned(program: str) -> set[str]:
    nodes = (n for n in walk(parsed(program)) if isinstance(n, ast.Name))
    return {n.id for n in nodes if isinstance(n.ctx, ast.Store)}


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
    return DiffHunk("\n".join(before) + "\n", "\n".join(after) + "\n", hunk.imports)


def _with_definitions(program: str, block: Block) -> str | None:
    """With functions and classes that the block shows anew in place of the old ones, methods that are
    new in the class of these, and before all what else it defines; ``None`` where it shows none of the
    file's, or something that runs.
    """
    shown = block.tree.body if block.tree is not None and not block.taken_back else []
    known = {id(node): list(_definitions(program, node)) for node in shown}
    old = [node for node in shown if known[id(node)]]
    if not all(isinstance(n, _DEFINES) for n in shown) or any(len(known[id(n)]) > 1 for n in old):
        return None
    new = [n for n in shown if not known[id(n)] and _is_method(n)]
    place = _of_methods(program, [known[id(n)][0] for n in old])
    if (new and place is None) or not (old or new):
        return None
    lines = program.split("\n")
    for node in old:
        _put(lines, known[id(node)][0], source_of(block.code, node))
    if place is not None:
        _add_methods(lines, place, [source_of(block.code, node) for node in new])
    further = [n for n in shown if not known[id(n)] and n not in new]
    first = min(first_line(n) for n in parsed(program).body if isinstance(n, DEFINITIONS))
    lines[first - 1 : first - 1] = [source_of(block.code, node) for node in further]
    program = "\n".join(line for line in lines if line is not _GONE)
    return program if parses(program) else None


def _put(lines: list[str], old: ast.stmt, source: str) -> None:
    """The new definition where the old one stands, in as many entries."""
    gone = [_GONE] * ((old.end_lineno or 0) - first_line(old))
    lines[first_line(old) - 1 : old.end_lineno] = [
        textwrap.indent(source, " " * old.col_offset),
        *gone,
    ]


def _add_methods(lines: list[str], place: ast.ClassDef, sources: list[str]) -> None:
    """Behind the last statement of a class, in the entry of that line."""
    last = (place.end_lineno or 0) - 1
    while lines[last] is _GONE:
        last -= 1
    methods = [textwrap.indent(source, " " * place.body[-1].col_offset) for source in sources]
    lines[last] = "\n\n".join([lines[last], *methods])


def _is_method(node: ast.stmt) -> bool:
    """Whether a function is one of a class that is not shown around it."""
    return isinstance(node, ast.FunctionDef) and [a.arg for a in node.args.args[:1]] == ["self"]


def _of_methods(program: str, old: list[ast.stmt]) -> ast.ClassDef | None:
    """The class of these methods, or the only class of the file where there are none."""
    classes = [n for n in walk(parsed(program)) if isinstance(n, ast.ClassDef)]
    meant = [c for c in classes if any(n in c.body for n in old)] if old else classes
    return meant[0] if len(meant) == 1 else None


def _definitions(program: str, shown: ast.stmt) -> Iterator[ast.stmt]:
    """What the program defines under the name of what is shown."""
    if isinstance(shown, DEFINITIONS):
        for node in walk(parsed(program)):
            if isinstance(node, DEFINITIONS) and node.name == shown.name:
                yield node
