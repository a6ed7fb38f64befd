"""Blocks as pieces of a program: what each needs, brings and does."""

import ast
import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from harness.extraction.blocks import Block
from harness.extraction.loops import BlockFacts, doing
from harness.extraction.markers import (
    is_diagnostic,
    is_diagnostic_name,
    shown_as_wrong,
)
from harness.extraction.names import (
    Statement,
    bound_names,
    free_names,
    placeholders,
    statements,
)
from harness.extraction.parsing import comment_out, parsed, parses

_SAYS = re.compile(r"\s*(?:print\(|log\w*(?:\.\w+)*\(|tqdm\.write\(|import |from |['\"])")
"""What does nothing to a gradient: printing, importing, a bare text."""

_PREPARES = re.compile(r"\w[\w., ]*(?: = |: )|[\w.]+\.zero_grad\(")
"""A setting at module level, and what clears gradients before the first of them."""


@dataclass(frozen=True, slots=True)
class CodePiece:
    """One block that parses and is not labelled as wrong."""

    block: Block
    """The block."""
    code: str
    """Its code, with placeholders (``model = ...``) turned into comments."""
    parts: tuple[Statement, ...]
    """Its statements at module level."""
    doing: BlockFacts
    """What it does."""
    doubted: bool
    """Whether the words around it call it wrong, or it is what the user posted."""
    needs: frozenset[str]
    """Names that it uses and does not define."""
    brings: frozenset[str]
    """Names that it defines."""

    @property
    def index(self) -> int:
        """0-based, among the Python blocks of the answer."""
        return self.block.index

    @property
    def inert(self) -> bool:
        """Whether it only defines things."""
        return all(part.defines for part in self.parts)

    @property
    def diagnostic(self) -> bool:
        """Whether it is there to look at something."""
        around = self.doing.around
        named = bool(around) and all(map(is_diagnostic_name, around))
        heading, lead = self.block.heading, self.block.lead
        return named or is_diagnostic(heading, lead, whole=self.doing.whole)


def pieces_of(blocks: tuple[Block, ...], posted: tuple[str, ...]) -> tuple[CodePiece, ...]:
    """Everything that could be part of a proposal. ``posted``: the user's own code."""
    sound = (block for block in blocks if block.tree is not None and block.tree.body)
    found = [piece for block in sound if (piece := _piece_or_none(block, posted)) is not None]
    shown: dict[str, set[int]] = {}
    for piece in found:
        for name in _defined(piece):
            shown.setdefault(name, set()).add(piece.index)
    return tuple(_with_files(piece, shown) for piece in found)


def echoes(posted: str, code: str) -> bool:
    """Whether a loop is the posted one, maybe without its settings and what it prints, maybe cut off.

    A loop that lacks anything else is a proposal: that line may be the fault.
    """
    try:
        known = doing(parsed(code))
        old, new = _lines(posted), _lines(code)
    except SyntaxError:
        return False
    if not (known.whole or known.goes_back_in_loop):
        return False
    if not {line for line in new if _PREPARES.match(line)} <= {*old}:
        return False
    old, new = ([li for li in lines if not _PREPARES.match(li)] for lines in (old, new))
    return new == (old if known.whole else old[: len(new)])


def _with_files(piece: CodePiece, shown: Mapping[str, set[int]]) -> CodePiece:
    """What a block imports from files that other blocks show it needs from those blocks.

    ``shown``: for each name the blocks that define it.
    """
    imports = [part.node for part in piece.parts if isinstance(part.node, ast.ImportFrom)]
    lines, wanted = piece.code.split("\n"), set[str]()
    for node in imports:
        if any(
            alias.asname or not shown.get(alias.name, set()) - {piece.index} for alias in node.names
        ):
            continue
        wanted |= {alias.name for alias in node.names}
        comment_out(lines, node)
    if not wanted:
        return piece
    return replace(piece, code="\n".join(lines), needs=piece.needs | wanted)


def _defined(piece: CodePiece) -> Iterator[str]:
    """What it defines itself: an import is somebody else's."""
    for part in piece.parts:
        if part.defines and not isinstance(part.node, ast.Import | ast.ImportFrom):
            yield from part.binds


def _piece_or_none(block: Block, posted: tuple[str, ...]) -> CodePiece | None:
    try:
        return _piece(block, posted)
    except RecursionError:  # nested a thousand levels deep: nobody means this as a loop
        return None


@functools.lru_cache(256)  # the posted code is the same for every answer of a batch
def fingerprint(code: str) -> str | None:
    """Equal for two programs that differ only in comments and layout."""
    try:
        return ast.dump(parsed(code))
    except (SyntaxError, RecursionError):
        return None


def _piece(block: Block, posted: tuple[str, ...]) -> CodePiece:
    code = _without_placeholders(block)
    tree = parsed(code)
    parts = statements(tree)
    said = block.taken_back or shown_as_wrong(block.heading, block.lead)
    return CodePiece(
        block=block,
        code=code,
        parts=parts,
        doing=doing(tree),
        doubted=said or _repeats(block.code, posted),
        needs=free_names(parts),
        brings=bound_names(parts),
    )


def _repeats(code: str, posted: tuple[str, ...]) -> bool:
    """Whether it is what the user posted."""
    own = fingerprint(code)
    return any(own == fingerprint(one) or echoes(one, code) for one in posted)


def _without_placeholders(block: Block) -> str:
    """Comments in their place, so that every line keeps its number."""
    assert block.tree is not None
    lines = block.code.split("\n")
    for node in placeholders(block.tree):
        comment_out(lines, node)
    code = "\n".join(lines)
    return code if parses(code) else block.code  # `a = 1; b = ...` on one line


def _lines(code: str) -> list[str]:
    """Without comments and layout, and without what is only said."""
    written = ast.unparse(parsed(code)).split("\n")
    return [line for line in written if line.strip() and not _SAYS.match(line)]
