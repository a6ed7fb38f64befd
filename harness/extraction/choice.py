"""Which blocks are the proposal: from all pieces to the heads of one or more programs.

A head is the block that trains; what it needs is gathered around it afterwards (``assembly``).
"""

import ast

from harness.extraction.anchors import UPDATE, anchors, is_simple
from harness.extraction.markers import (
    compares,
    is_alternative,
    is_chosen,
    is_extra,
    is_final,
    is_other_setting,
)
from harness.extraction.pieces import CodePiece
from harness.syntax import walk


def heads_of(pieces: tuple[CodePiece, ...], question: str) -> tuple[CodePiece, ...]:
    """The blocks that are proposed, each the head of a program; empty if no block trains.

    If several turns have such blocks, those of the last turn count: a correction replaces what it
    corrects.
    """
    driven = driven_by(pieces)
    undoubted = tuple(p for p in pieces if not p.doubted)
    for group in (
        [p for p in undoubted if _whole(p, driven)],
        [p for p in undoubted if p.doing.part],
        [p for p in pieces if _whole(p, driven)],
        [p for p in pieces if p.doing.part],
    ):
        if group:
            last = max(p.block.turn for p in group)
            return _proposed([p for p in group if p.block.turn == last], driven, question)
    return ()


def _proposed(
    group: list[CodePiece], driven: dict[int, frozenset[int]], question: str
) -> tuple[CodePiece, ...]:
    """Of several loops those that are offered: diagnostics and side remarks give way."""
    absorbed = frozenset().union(*(driven.get(p.index, frozenset()) for p in group))
    absorbed |= {p.index for p in group if p.inert and any(_is_used(p, other) for other in group)}
    group = [p for p in group if p.index not in absorbed]
    group = [p for p in group if not p.diagnostic] or group
    group = _here(group, question) or group[:1]
    if not any(p.doing.whole or p.index in driven for p in group):
        return (group[-1],)  # of fragments the last: answers build up to what they mean
    chosen = [p for p in group if p.doing.whole and _is_chosen(p, group)]
    if len(chosen) == 1:
        return (chosen[0],)
    final = [p.index for p in group if is_final(p.block.heading, p.block.lead)]
    if final:
        group = [p for p in group if p.index in final or _offered_beside(p, final[0])]
    return _distinct(group)


def _here(group: list[CodePiece], question: str) -> list[CodePiece]:
    """The pieces for the question's own setting. An extra is kept only where it repeats another
    piece.
    """
    asked = [p for p in group if not is_other_setting(p.block.heading, p.block.lead, question)]
    extra = {p.index for p in asked if is_extra(p.block.heading, p.block.lead)}
    plain = [p for p in asked if p.index not in extra]
    return [p for p in asked if p.index not in extra or _over_again(p, plain)]


def _over_again(extra: CodePiece, plain: list[CodePiece]) -> bool:
    if not extra.doing.whole or compares(extra.block.heading, extra.block.lead):
        return False
    return any(_same_update(extra, other) for other in plain)


def _same_update(one: CodePiece, other: CodePiece) -> bool:
    """Whether one loop makes its update by the statements of the other, in any order, and sets all that
    the other sets.
    """
    here, there = _simple(one), _simple(other)
    return _updating(here) == _updating(there) and there.keys() <= here.keys()


def _simple(piece: CodePiece) -> dict[str, ast.stmt]:
    """By their text, the simple statements that call or set something of an update."""
    nodes = (node for part in piece.parts for node in walk(part.node))
    found = (node for node in nodes if isinstance(node, ast.stmt) and is_simple(node))
    return {ast.dump(node): node for node in found if anchors(node)}


def _updating(nodes: dict[str, ast.stmt]) -> set[str]:
    return {text for text, node in nodes.items() if anchors(node).keys() & UPDATE}


def _is_chosen(piece: CodePiece, group: list[CodePiece]) -> bool:
    """A heading speaks of the first block under it."""
    first = piece.block.shown.lstrip().partition("\n")[0]
    comment = first.strip() if first.startswith("#") else ""
    heading = piece.block.heading
    above = next(p for p in group if p.block.heading == heading)
    return is_chosen(heading if above is piece else "", piece.block.lead, comment)


def _offered_beside(piece: CodePiece, final: int) -> bool:
    return is_alternative(piece.block.heading, piece.block.lead) and piece.index > final


def _whole(piece: CodePiece, driven: dict[int, frozenset[int]]) -> bool:
    return piece.doing.whole or piece.index in driven


def driven_by(pieces: tuple[CodePiece, ...]) -> dict[int, frozenset[int]]:
    """For each block that calls training functions of other blocks, those blocks."""
    training: dict[str, set[int]] = {}
    for piece in pieces:
        for name in piece.doing.around:
            training.setdefault(name, set()).add(piece.index)
    found: dict[int, frozenset[int]] = {}
    for piece in pieces:
        now = frozenset().union(*(part.needs for part in piece.parts if not part.defines))
        called = [training[name] for name in piece.needs & now if name in training]
        others = frozenset().union(*called) - {piece.index}
        if others and not piece.doing.whole:
            found[piece.index] = others
    return found


def _is_used(definitions: CodePiece, other: CodePiece) -> bool:
    """Whether another block trains with what this one only defines."""
    return not other.inert and bool(definitions.doing.around & other.needs)


def _distinct(group: list[CodePiece]) -> tuple[CodePiece, ...]:
    return tuple({piece.code.strip(): piece for piece in group}.values())
