"""Which blocks are the proposal: from all pieces to the heads of one or more programs.

A head is the block that trains; what it needs is gathered around it afterwards (``assembly``).
"""

from harness.extraction.markers import elsewhere, is_alternative, is_final
from harness.extraction.pieces import Piece


def heads_of(pieces: tuple[Piece, ...], question: str) -> tuple[Piece, ...]:
    """The blocks that are proposed, each a program of its own; none where no block trains.

    The last turn that has any comes before earlier ones: a correction replaces what it corrects.
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
    group: list[Piece], driven: dict[int, frozenset[int]], question: str
) -> tuple[Piece, ...]:
    """Of several loops those that are offered: diagnostics and side remarks give way."""
    absorbed = frozenset().union(*(driven.get(p.index, frozenset()) for p in group))
    group = [p for p in group if p.index not in absorbed]
    group = [p for p in group if not p.diagnostic] or group
    here = [p for p in group if not elsewhere(p.block.heading, p.block.lead, question)]
    group = here or group[:1]
    if not any(p.doing.whole or p.index in driven for p in group):
        return (group[-1],)  # of fragments the last: answers build up to what they mean
    whole = [p for p in group if is_final(p.block.heading, p.block.lead)]
    if whole:
        group = [p for p in group if p in whole or _offered_beside(p, whole[0])]
    return _distinct(group)


def _offered_beside(piece: Piece, whole: Piece) -> bool:
    return is_alternative(piece.block.heading, piece.block.lead) and piece.index > whole.index


def _whole(piece: Piece, driven: dict[int, frozenset[int]]) -> bool:
    return piece.doing.whole or piece.index in driven


def driven_by(pieces: tuple[Piece, ...]) -> dict[int, frozenset[int]]:
    """For each block that calls a training function of another one, which blocks those are."""
    found: dict[int, frozenset[int]] = {}
    for piece in pieces:
        now = frozenset().union(*(part.needs for part in piece.parts if not part.defines))
        others = frozenset(
            other.index
            for other in pieces
            if other.index != piece.index and other.doing.around & piece.needs & now
        )
        if others and not piece.doing.whole:
            found[piece.index] = others
    return found


def _distinct(group: list[Piece]) -> tuple[Piece, ...]:
    return tuple({piece.code.strip(): piece for piece in group}.values())
