"""Answers that show only the lines that change: the posted loop with those lines in it."""

import ast
import re
from collections.abc import Iterator

from harness.domain.candidate import NoCandidate
from harness.extraction.anchors import UPDATE, anchors, is_simple
from harness.extraction.assembly import AssembledProgram
from harness.extraction.deletions import deletes, without_deleted
from harness.extraction.diffs import DiffHunk, patched
from harness.extraction.loops import doing
from harness.extraction.markers import elsewhere, is_alternative
from harness.extraction.moves import moved
from harness.extraction.names import bound_names, statements
from harness.extraction.parsing import parsed, parses
from harness.extraction.pieces import CodePiece
from harness.extraction.splicing import (
    Snippet,
    before_its_use,
    before_the_loop,
    quotes,
    splice,
)
from harness.syntax import walk

_LOOP = (
    r"(?:the|your|each|every|that|this)\s+(?:`?\w+`?\s+){0,3}?(?:loop|epoch|pass)s?\b"
    r"(?!'s|\s+(?:body|variable))"
)
_OUTSIDE = re.compile(
    r"\b(?:after|behind|below|once|at the end of|when|before|above|in front of|ahead of)\s+"
    + _LOOP,
    re.IGNORECASE,
)
_INSIDE = re.compile(rf"\b(?:inside|within|in)\s+(?:of\s+)?{_LOOP}", re.IGNORECASE)


def whole_loop(codes: tuple[str, ...]) -> str | None:
    """The posted program that a snippet can be put into: the first that is a loop by itself, or a
    function that makes one update.
    """
    read = [(code, doing(parsed(code))) for code in codes if parses(code)]
    loops = (code for code, does in read if does.whole)
    return next(loops, None) or next((c for c, d in read if d.part and not d.module_level), None)


def only_snippets(heads: tuple[CodePiece, ...], pieces: tuple[CodePiece, ...], posted: str) -> bool:
    """Whether neither a proposed block nor another of the last turn is a loop by itself."""
    usable = [p for p in pieces if not p.doubted and not p.diagnostic]
    last = max((p.block.turn for p in usable), default=0)
    tried = [*heads, *(p for p in usable if p.block.turn == last)]
    return all(_is_snippet(p, posted) for p in tried)


def _is_snippet(piece: CodePiece, posted: str) -> bool:
    """Whether a block trains only inside of the posted loop, whose names it uses."""
    if piece.block.changes:
        return True
    alone = piece.doing.whole or piece.doing.goes_back_in_loop
    return not alone or bool(piece.needs & _bound_in_loops(posted))


def into_posted(
    posted: str, pieces: tuple[CodePiece, ...], answer: str, question: str
) -> tuple[AssembledProgram, ...] | NoCandidate | None:
    """The posted loop with all snippets in their places, and with each alternative to a snippet.

    ``None`` where no snippet has a place; a reason where one has, and another changes the update
    at a place that is not clear.
    """
    work = _work(posted, pieces, answer)
    snippets = list(_snippets(posted, pieces, question))
    others: list[tuple[CodePiece, Snippet]] = []
    for piece, snippet in snippets:
        if work.placed and is_alternative(piece.block.heading, piece.block.lead):
            others.append((piece, snippet))
        elif not work.take(piece, snippet, needed=_needed(piece, snippets)):
            where = f"Python block {piece.index + 1}"
            return NoCandidate(reason=f"it is not clear where {where} goes in the posted loop")
    if work.placed:
        instead = (o for o in others if _may_replace(o[0], [p for p, _ in snippets], work))
        tried = [_alone(_work(posted, pieces, answer), *other) for other in instead]
        return (work.assembled(), *(one for one in tried if one is not None))
    if not snippets:
        return NoCandidate(reason="the answer shows nothing but lines of the posted loop")
    return None


def _may_replace(piece: CodePiece, shown: list[CodePiece], work: "_PostedDraft") -> bool:
    """Whether an alternative does all that the one snippet does that was placed, so that the loop is
    whole with it. Lines that only add something, such as another optimizer, do not.
    """
    placed = [p for p in shown if p.index in work.used]
    if len(placed) != 1 or not _updates(placed[0]):
        return False
    return _anchored(placed[0]) <= _anchored(piece)


def _alone(work: "_PostedDraft", piece: CodePiece, snippet: Snippet) -> AssembledProgram | None:
    clear = work.take(piece, snippet, needed=frozenset())
    return work.assembled() if clear and work.placed else None


def _work(posted: str, pieces: tuple[CodePiece, ...], answer: str) -> "_PostedDraft":
    """The posted program without what the answer deletes."""
    work = _PostedDraft(without_deleted(posted, answer), moves=moved(answer))
    for piece in pieces:
        work.delete(piece)
    return work


class _PostedDraft:
    """The posted program while it is changed."""

    def __init__(self, program: str, *, moves: frozenset[str]) -> None:
        self.program = program
        self.placed = False
        """Whether anything has been changed."""
        self.used: list[int] = []
        self.before: list[str] = []
        """Definitions that stand in front of it."""
        self._moves = moves
        self._put: list[CodePiece] = []
        self._waiting: list[CodePiece] = []

    def assembled(self) -> AssembledProgram:
        """What has become of it, with what each turn computes before the lines that use it."""
        for piece in self._waiting:
            self.program = before_its_use(self.program, piece.code, piece.brings)
        self._waiting = []
        return AssembledProgram("\n\n".join([*self.before, self.program]), tuple(sorted(self.used)))

    def delete(self, piece: CodePiece) -> None:
        """Take quoted lines away where the sentence before them says so."""
        if deletes(piece.block.lead) and not piece.block.taken_back:
            self._change(piece, patched(self.program, (DiffHunk(piece.code, ""),)))

    def take(self, piece: CodePiece, snippet: Snippet, needed: frozenset[str]) -> bool:
        """Put a snippet in its place; false where that is not clear and would matter.

        ``needed``: names that other snippets use.
        """
        if _is_beside_the_loop(piece):
            return False
        spliced = _changed(self.program, piece) or splice(self.program, snippet, moves=self._moves)
        if spliced is not None and self._takes_back(spliced):
            return False
        if self._change(piece, spliced):
            self._put.append(piece)
            return True
        if piece.inert:
            self.before.append(piece.code.rstrip("\n"))
            self.used.append(piece.index)
        elif piece.brings & needed and all(is_simple(part.node) for part in piece.parts):
            if piece.needs & _bound_in_loops(self.program):
                self._waiting.append(piece)
            else:
                self.program = before_the_loop(self.program, piece.code)
            self.used.append(piece.index)
        else:
            return piece.diagnostic or not _updates(piece)
        return True

    def _takes_back(self, program: str) -> bool:
        """Whether the new program would lose what an earlier snippet inserted."""
        kept = (n for n in walk(parsed(program)) if isinstance(n, ast.stmt | ast.Call))
        there = {ast.dump(node) for node in kept}
        return any(_what(part.node) not in there for piece in self._put for part in piece.parts)

    def _change(self, piece: CodePiece, program: str | None) -> bool:
        if program is None:
            return False
        self.program, self.placed = program, True
        self.used.append(piece.index)
        return True


def _snippets(
    posted: str, pieces: tuple[CodePiece, ...], question: str
) -> Iterator[tuple[CodePiece, Snippet]]:
    """Each with the quoted lines just before it."""
    usable = [p for p in pieces if not p.doubted]
    last = max((p.block.turn for p in usable), default=0)
    quoted = {p.index: p.code for p in pieces if not p.doing.whole and quotes(posted, p.code)}
    for piece in usable:
        about = elsewhere(piece.block.heading, piece.block.lead, question)
        if piece.block.turn == last and piece.index not in quoted and not about:
            yield piece, Snippet(piece.code, quoted.get(piece.index - 1, ""))


def _changed(program: str, piece: CodePiece) -> str | None:
    """A diff applied hunk by hunk; ``None`` for no diff, or one of other lines."""
    changed: str | None = program if piece.block.changes else None
    for readings in piece.block.changes:
        changed = patched(changed, readings) if changed is not None else None
    return changed


def _needed(piece: CodePiece, snippets: list[tuple[CodePiece, Snippet]]) -> frozenset[str]:
    return frozenset().union(*(p.needs for p, _ in snippets if p is not piece))


def _what(node: ast.stmt) -> str:
    """A statement, or the call that it is: ``clip(...)`` is there still in ``norm = clip(...)``."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return ast.dump(node.value)
    return ast.dump(node)


def _is_beside_the_loop(piece: CodePiece) -> bool:
    """Whether the words around a snippet that updates put it before or after the loop."""
    first = piece.code.lstrip().partition("\n")[0]
    words = (piece.block.lead, first if first.startswith("#") else "", piece.block.heading)
    said = next((text for text in words if _OUTSIDE.search(text) or _INSIDE.search(text)), "")
    return _updates(piece) and bool(said) and not _INSIDE.search(said)


def _anchored(piece: CodePiece) -> frozenset[str]:
    return frozenset().union(*(anchors(part.node).keys() for part in piece.parts))


def _updates(piece: CodePiece) -> bool:
    return any(anchors(part.node).keys() & UPDATE for part in piece.parts)


def _bound_in_loops(posted: str) -> frozenset[str]:
    """Names that only exist inside of the posted loop."""
    parts = statements(parsed(posted))
    straight = tuple(p for p in parts if p.defines or not hasattr(p.node, "body"))
    return bound_names(parts) - bound_names(straight)
