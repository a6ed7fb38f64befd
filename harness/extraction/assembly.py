"""Puts a program together: the block that trains, and what it needs from the other blocks."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from harness.extraction.markers import elsewhere, is_repair
from harness.extraction.names import Statement
from harness.extraction.parsing import first_line, parsed, source_of
from harness.extraction.pieces import Piece


@dataclass(frozen=True, slots=True)
class Assembled:
    """A program, and the blocks that it was assembled from."""

    program: str
    """Module-level code."""
    blocks: tuple[int, ...]
    """0-based indices of the blocks that it contains something of."""


def assemble(head: Piece, pieces: tuple[Piece, ...], question: str = "") -> Assembled:
    """The head with the helpers that it needs, in the order of the answer. A definition that stands
    below the head is put before it.
    """
    usable = [p for p in pieces if p.index != head.index and not p.doubted]
    taken: dict[int, str] = {}
    missing = set(head.needs)
    tried: set[str] = set()
    while todo := sorted(missing - tried):
        name = todo[0]
        tried.add(name)
        provider = _provider(name, head, usable)
        if provider is not None and provider.index not in taken:
            taken[provider.index] = code = _portion(provider, missing)
            missing |= _needs(code, provider)
    for piece in usable:
        if piece.index not in taken and _comes_along(piece, head, question):
            taken[piece.index] = piece.code
    code = _revised(head, usable)
    order = sorted(taken)
    before = [taken[i] for i in order]
    blocks = tuple(sorted({*taken, head.index, *_revisers(head, usable)}))
    return Assembled("\n\n".join(part.rstrip("\n") for part in (*before, code)) + "\n", blocks)


def join(pieces: tuple[Piece, ...]) -> Assembled:
    """The code of all pieces, one after the other."""
    program = "\n\n".join(piece.code.rstrip("\n") for piece in pieces) + "\n"
    return Assembled(program, tuple(piece.index for piece in pieces))


def _provider(name: str, head: Piece, usable: list[Piece]) -> Piece | None:
    """The block that brings a name: the last one above, else the first below that defines it."""
    above = [p for p in usable if p.index < head.index and _brings(p, name, head)]
    if above:
        return above[-1]
    below = [p for p in usable if p.index > head.index and _defines(p, name)]
    return below[0] if below else None


def _brings(piece: Piece, name: str, head: Piece) -> bool:
    """Whether a piece can provide a name: a definition from any piece, a value only from one that sets
    things up.
    """
    sets_up = not (piece.doing.backward or piece.diagnostic) and piece.block.turn <= head.block.turn
    return _defines(piece, name) or (
        sets_up and name in piece.brings and not _loops_over(piece, name)
    )


def _loops_over(piece: Piece, name: str) -> bool:
    makers = [p.node for p in piece.parts if name in p.binds]
    return all(isinstance(node, ast.For | ast.While) for node in makers)


def _defines(piece: Piece, name: str) -> bool:
    return any(part.defines and name in part.binds for part in piece.parts)


def _portion(piece: Piece, missing: set[str]) -> str:
    """All of a block that sets things up; of one that trains by itself only the definitions needed."""
    if not (piece.doing.module_level or piece.diagnostic or piece.doing.backward):
        return piece.code
    if piece.doing.around & missing:
        return piece.code
    wanted, kept = set(missing), []
    for part in reversed(piece.parts):
        if part.defines and part.binds & wanted:
            kept.append(part.node)
            wanted |= part.needs | part.needs_later
    return "\n\n".join(source_of(piece.code, node) for node in reversed(kept))


def _needs(code: str, provider: Piece) -> set[str]:
    """Names that the code taken from a provider needs itself."""
    kept = {ast.dump(node) for node in parsed(code).body}
    parts = [part for part in provider.parts if ast.dump(part.node) in kept]
    return set().union(*(part.needs | part.needs_later for part in parts)) - {
        name for part in parts for name in part.binds
    }


def _comes_along(piece: Piece, head: Piece, question: str) -> bool:
    """Definitions that the answer makes part of the fix, and the module that a trainer trains."""
    if elsewhere(piece.block.heading, piece.block.lead, question) or piece.doing.part:
        return False
    if piece.inert and not piece.diagnostic and is_repair(piece.block.heading):
        return not _definitions(piece).keys() & _definitions(head).keys()
    steps = any(_is_module_with_step(part) for part in piece.parts)
    return head.doing.fits and steps and not any(_is_module_with_step(p) for p in head.parts)


def _is_module_with_step(part: Statement) -> bool:
    return isinstance(part.node, ast.ClassDef) and any(
        isinstance(n, ast.FunctionDef) and n.name == "training_step" for n in part.node.body
    )


def _revisers(head: Piece, usable: list[Piece]) -> Iterator[int]:
    """Blocks of later turns that define again what the head defines."""
    own = {n for part in head.parts if isinstance(part.node, _DEFINITIONS) for n in part.binds}
    for piece in usable:
        if piece.block.turn > head.block.turn and own & _definitions(piece).keys():
            yield piece.index


def _revised(head: Piece, usable: list[Piece]) -> str:
    """The head with definitions that a later turn corrects put in their place."""
    lines: list[str | None] = list(head.code.split("\n"))
    later: dict[str, str] = {}
    for index in _revisers(head, usable):
        later |= next(_definitions(p) for p in usable if p.index == index)
    for part in head.parts:
        name = getattr(part.node, "name", None)
        if isinstance(part.node, _DEFINITIONS) and name in later:
            start, end = first_line(part.node), part.node.end_lineno or 0
            lines[start - 1 : end] = [later[name], *[None] * (end - start)]
    return "\n".join(line for line in lines if line is not None)


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _definitions(piece: Piece) -> dict[str, str]:
    return {
        part.node.name: source_of(piece.code, part.node)
        for part in piece.parts
        if isinstance(part.node, _DEFINITIONS)
    }
