"""A loop that an answer shows anew, in the place of the one that the user posted with what it needs.

The posted code makes the optimizer, freezes what is frozen and has the schedule: a loop that is shown
alone would be lent all of it.
"""

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence

from harness.extraction.anchors import UPDATE, anchors
from harness.extraction.blocks import Block
from harness.extraction.deletions import sentences
from harness.extraction.names import DEFINITIONS, bound_names, free_names, statements
from harness.extraction.parsing import first_line, parsed, parses, source_of
from harness.extraction.standing import changes
from harness.syntax import walk

_IMPORTS = (ast.Import, ast.ImportFrom)


def with_loop(program: str, block: Block) -> str | None:
    """The posted program with the block's loop in place of its own; ``None`` where the block has none,
    the program has no such loop once, or makes nothing that the block uses.
    """
    tree = block.tree
    if tree is None or block.taken_back:
        return None
    stands = {ast.dump(node) for body in _bodies(program) for node in body}
    loops = [node for node in tree.body if isinstance(node, ast.For | ast.While)]
    new = [node for node in loops if ast.dump(node) not in stands]
    old = [pair for pair in _loops(program) if len(new) == 1 and _same(new[0], pair[1])]
    if len(old) != 1 or not _uses_what_is_made(program, tree, old[0][1]):
        return None
    return _changed(program, _put(program, block.code, tree, *old[0]))


def with_settings(program: str, block: Block) -> str | None:
    """The posted program with what the block assigns anew, and beside it what else it does; ``None``
    where that is a part of an update, or the program assigns none of it.
    """
    tree = block.tree
    if tree is None or block.taken_back or not binds(block):
        return None
    if any(_is_new(node, program) or anchors(node).keys() & UPDATE for node in tree.body):
        return None
    for around in _bodies(program):
        first = next((old for n in tree.body if (old := _like(n, around)) is not None), None)
        if first is not None:
            return _changed(program, _put(program, block.code, tree, around, first))
    return None


def _is_new(node: ast.stmt, program: str) -> bool:
    """Whether it is a loop in the place of one that was posted, and does something else."""
    loops = [old for _, old in _loops(program)]
    return (
        isinstance(node, ast.For)
        and all(ast.dump(old) != ast.dump(node) for old in loops)
        and any(
            isinstance(old, ast.For) and ast.unparse(old.target) == ast.unparse(node.target)
            for old in loops
        )
    )


def speaks_of_what_is_made(posted: str, answer: str) -> bool:
    """Whether the words of an answer change what the posted code makes, or give it anew."""
    made = {name for body in _bodies(posted) for node in body for name in _targets(node).split()}
    return any(
        changes(said, name) or re.search(rf"`{re.escape(name)}\s*=[^=`]", said)
        for said in sentences(answer)
        for name in made
    )


def binds(block: Block) -> set[str]:
    """Names that a block assigns at its margin."""
    nodes = block.tree.body if block.tree is not None else []
    return {name for n in nodes if isinstance(n, ast.Assign) for name in _targets(n).split()}


def _changed(program: str, changed: str) -> str | None:
    return changed if parses(changed) and changed != program else None


def _bodies(program: str) -> Iterator[list[ast.stmt]]:
    tree = parsed(program)
    yield tree.body
    for node in walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield node.body


def _loops(program: str) -> Iterator[tuple[list[ast.stmt], ast.For | ast.While]]:
    """Every loop, with the statements that it stands among."""
    for node in walk(parsed(program)):
        found = getattr(node, "body", None)
        body: list[ast.stmt] = found if isinstance(found, list) else []
        for statement in body:
            if isinstance(statement, ast.For | ast.While):
                yield body, statement


def _same(new: ast.For | ast.While, old: ast.For | ast.While) -> bool:
    """Whether two loops go through the same names and do some of the same, or have the same loop in
    them; what they go through may differ.
    """
    if not (isinstance(new, ast.For) and isinstance(old, ast.For)):
        return False
    named = ast.unparse(new.target) == ast.unparse(old.target)
    return named and bool(_calls(new) & _calls(old) or _inner(new) & _inner(old))


def _calls(loop: ast.stmt) -> set[str]:
    found = (n for n in walk(loop) if isinstance(n, ast.Expr) and isinstance(n.value, ast.Call))
    return {ast.dump(node) for node in found}


def _inner(loop: ast.For) -> set[str]:
    """The heads of the loops inside it."""
    found = (n for part in loop.body for n in walk(part) if isinstance(n, ast.For))
    return {ast.unparse(node.target) + " in " + ast.unparse(node.iter) for node in found}


def _uses_what_is_made(program: str, tree: ast.Module, loop: ast.stmt) -> bool:
    """Whether the posted code assigns, before its loop, what the block does not bind itself."""
    before = (n for n in walk(parsed(program)) if isinstance(n, ast.Assign))
    made = {
        name
        for node in before
        if node.lineno < loop.lineno
        for name in bound_names(statements(ast.Module([node], [])))
    }
    return bool(made & free_names(statements(tree)))


def _put(program: str, code: str, tree: ast.Module, around: list[ast.stmt], loop: ast.stmt) -> str:
    """The block's statements where their likes stand, the rest of them before or behind the loop."""
    lines, margin = program.split("\n"), " " * loop.col_offset
    above = [n for n in tree.body if _stands_first(n, margin)]
    put = _places([n for n in tree.body if n not in above], around, loop)
    for place in sorted(put, reverse=True):
        text = "\n".join(textwrap.indent(source_of(code, n), margin) for n in put[place])
        node = around[place // 2] if place >= 0 else loop
        if place % 2 == 0:
            lines[first_line(node) - 1 : node.end_lineno] = [text]
        elif place < 2 * around.index(loop):
            lines[first_line(loop) - 1 : first_line(loop) - 1] = [text]
        else:
            lines[node.end_lineno or 0 : node.end_lineno or 0] = [text]
    return "\n".join([*(source_of(code, n) for n in above), *lines])


def _stands_first(node: ast.stmt, margin: str) -> bool:
    return isinstance(node, _IMPORTS) or (isinstance(node, DEFINITIONS) and bool(margin))


def _places(
    shown: Sequence[ast.stmt], around: list[ast.stmt], loop: ast.stmt
) -> dict[int, list[ast.stmt]]:
    """What is put where: twice the position of the statement that it replaces, and one more behind it.
    What is new stands beside the loop; among settings behind what stands above it in the block.
    """
    found: dict[int, list[ast.stmt]] = {}
    settings, last, beside = not isinstance(loop, ast.For | ast.While), -1, -1
    for node in shown:
        is_loop = isinstance(node, ast.For | ast.While) and not settings
        like = _like(node, around) or (loop if is_loop else None)
        beside = 1 if is_loop else beside
        if like is not None:
            place = 2 * around.index(like)
            last = max(last, place)
        elif settings and last >= 0:
            place = last + 1  # it may need what stands above it
        else:
            place = 2 * around.index(loop) + beside
        found.setdefault(place, []).append(node)
    return found


def _like(node: ast.stmt, around: Sequence[ast.stmt]) -> ast.stmt | None:
    """The posted statement that binds the same, or is the same."""
    targets = _targets(node)
    for old in around:
        if (targets and _targets(old) == targets) or ast.dump(old) == ast.dump(node):
            return old
    return None


def _targets(node: ast.stmt) -> str:
    if isinstance(node, ast.Assign):
        return " ".join(map(ast.unparse, node.targets))
    return node.name if isinstance(node, DEFINITIONS) else ""
