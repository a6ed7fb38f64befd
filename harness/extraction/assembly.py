"""Puts a program together: the block that trains, and what it needs from the other blocks."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from harness.extraction.markers import elsewhere, is_repair
from harness.extraction.names import DEFINITIONS
from harness.extraction.parsing import first_line, parsed, source_of
from harness.extraction.pieces import CodePiece
from harness.extraction.reach import last_name
from harness.syntax import walk

OF_EVERY_MODEL = frozenset({"__init__", "forward", "train", "eval", "parameters", "state_dict"})


@dataclass(frozen=True, slots=True)
class AssembledProgram:
    """A program, and the blocks that it was assembled from."""

    program: str
    """Module-level code."""
    blocks: tuple[int, ...]
    """0-based indices of the blocks that it contains something of."""


class BlockShelf:
    """The blocks of an answer, as helpers of whichever of them trains, found by what they bring."""

    def __init__(self, pieces: tuple[CodePiece, ...], question: str) -> None:
        """``question``: what was asked, which says which of them are about something else."""
        self._bringing: dict[str, list[CodePiece]] = {}
        self._offered: list[CodePiece] = []
        for piece in pieces:
            if piece.doubted:
                continue
            for name in piece.brings:
                self._bringing.setdefault(name, []).append(piece)
            if _may_come_along(piece, question):
                self._offered.append(piece)

    def provider(self, name: str, head: CodePiece) -> CodePiece | None:
        """The block that brings a name: the last one above, else the first below that defines it."""
        pieces = self._bringing.get(name, [])
        above = (p for p in reversed(pieces) if p.index < head.index and _brings(p, name, head))
        below = (p for p in pieces if p.index > head.index and _defines(p, name))
        return next(above, None) or next(below, None) or self._class_of(name, head)

    def _class_of(self, name: str, head: CodePiece) -> CodePiece | None:
        """The block with the one class of models whose own methods are called of a name that nothing
        brings: ``model.loss(x)``.
        """
        nodes = walk(parsed(head.code))
        asked = {
            n.attr for n in nodes
            if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == name
        }  # fmt: skip
        pieces = {p.index: p for found in self._bringing.values() for p in found}
        shown = [p for p in pieces.values() if any(asked & own for own in _methods_of_models(p))]
        return shown[0] if asked and len(shown) == 1 else None

    def coming_along(self, head: CodePiece) -> list[CodePiece]:
        """Definitions that the answer makes part of the fix."""
        own = _definitions(head).keys()
        return [
            p for p in self._offered if p.index != head.index and not _definitions(p).keys() & own
        ]

    def revisers(self, head: CodePiece) -> list[CodePiece]:
        """Blocks of later turns that define again what the head defines, in order."""
        own = {n for part in head.parts if isinstance(part.node, DEFINITIONS) for n in part.binds}
        found = {
            piece.index: piece
            for name in own
            for piece in self._bringing.get(name, [])
            if piece.block.turn > head.block.turn and own & _definitions(piece).keys()
        }
        return [found[index] for index in sorted(found)]


def assemble(head: CodePiece, shelf: BlockShelf) -> AssembledProgram:
    """The head with the helpers that it needs, in the order of the answer. A definition that stands
    below the head is put before it.
    """
    taken: dict[int, str] = {}
    missing = set(head.needs)
    tried: set[str] = set()
    while todo := missing - tried:
        name = min(todo)
        tried.add(name)
        provider = shelf.provider(name, head)
        if provider is not None and provider.index not in taken:
            taken[provider.index] = code = _portion(provider, missing)
            missing |= _needs(code, provider)
    for piece in shelf.coming_along(head):
        taken.setdefault(piece.index, piece.code)
    revisers = shelf.revisers(head)
    before = [taken[i] for i in sorted(taken)]
    blocks = tuple(sorted({*taken, head.index, *(piece.index for piece in revisers)}))
    code = _revised(head, revisers)
    return AssembledProgram(
        "\n\n".join(part.rstrip("\n") for part in (*before, code)) + "\n", blocks
    )


def join(pieces: tuple[CodePiece, ...]) -> AssembledProgram:
    """The code of all pieces, one after the other."""
    program = "\n\n".join(piece.code.rstrip("\n") for piece in pieces) + "\n"
    return AssembledProgram(program, tuple(piece.index for piece in pieces))


def _brings(piece: CodePiece, name: str, head: CodePiece) -> bool:
    """Whether a piece can provide a name: a definition from any piece, a value only from one that sets
    things up.
    """
    sets_up = not (piece.doing.backward or piece.diagnostic) and piece.block.turn <= head.block.turn
    return _defines(piece, name) or (sets_up and name in piece.brings)


def _defines(piece: CodePiece, name: str) -> bool:
    return any(part.defines and name in part.binds for part in piece.parts)


def _portion(piece: CodePiece, missing: set[str]) -> str:
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


def _needs(code: str, provider: CodePiece) -> set[str]:
    """Names that the code taken from a provider needs itself."""
    kept = {ast.dump(node) for node in parsed(code).body}
    parts = [part for part in provider.parts if ast.dump(part.node) in kept]
    return set().union(*(part.needs | part.needs_later for part in parts)) - {
        name for part in parts for name in part.binds
    }


def _may_come_along(piece: CodePiece, question: str) -> bool:
    """Whether it would beside some head."""
    if elsewhere(piece.block.heading, piece.block.lead, question) or piece.doing.part:
        return False
    return piece.inert and not piece.diagnostic and is_repair(piece.block.heading)


def _revised(head: CodePiece, revisers: list[CodePiece]) -> str:
    """The head with definitions that a later turn corrects put in their place."""
    lines: list[str | None] = list(head.code.split("\n"))
    later: dict[str, str] = {}
    for piece in revisers:
        later |= _definitions(piece)
    for part in head.parts:
        name = getattr(part.node, "name", None)
        if isinstance(part.node, DEFINITIONS) and name in later:
            start, end = first_line(part.node), part.node.end_lineno or 0
            lines[start - 1 : end] = [later[name], *[None] * (end - start)]
    return "\n".join(line for line in lines if line is not None)


def _methods_of_models(piece: CodePiece) -> Iterator[set[str]]:
    """The methods that each of its classes of models adds to those that every model has."""
    for part in piece.parts:
        if isinstance(part.node, ast.ClassDef) and "Module" in map(last_name, part.node.bases):
            methods = (n for n in part.node.body if isinstance(n, ast.FunctionDef))
            yield {n.name for n in methods} - OF_EVERY_MODEL


def _definitions(piece: CodePiece) -> dict[str, str]:
    return {
        part.node.name: source_of(piece.code, part.node)
        for part in piece.parts
        if isinstance(part.node, DEFINITIONS)
    }
