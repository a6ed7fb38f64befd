"""Parts that are to tell two kinds of rows apart and learn from one kind only."""

from collections.abc import Iterable, Iterator
from typing import Literal

from harness.domain.trace import OneSided
from harness.oracle.facts import Flow, RankRun
from harness.oracle.replay import Replay

Kind = Literal["data", "made"]


def one_sided(part: str, run: RankRun, replay: Replay) -> tuple[OneSided, ...]:
    """What a part was run on with gradient and never learned from: rows of the data, or others, as a
    generator makes them. Only where every update pushed all its outputs the same way: whoever learns
    from both kinds pushes one up and the other down.
    """
    learned = [flow for u in run.updates for flow in u.flows if not flow.foreign]
    if not replay.parts or not learned or not _one_way(learned):
        return ()
    used = {flow.forward.id for flow in learned}
    models = {flow.forward.model for flow in learned}
    of = {
        f.id: _kinds(replay.index.known_rows(f.inputs))
        for f in run.forwards.values()
        if f.model in models and (f.id in used or not f.attached)
    }
    found = {kind for number, kinds in of.items() if number in used for kind in kinds}
    return tuple(_left_out(part, kind, of.values()) for kind in _missing(found, of.values()))


def _one_way(flows: Iterable[Flow]) -> bool:
    signs = {
        sign
        for flow in flows
        for gradient in flow.gradients.values()
        for sign, pushed in (
            (1, gradient.max(initial=0.0) > 0.0),
            (-1, gradient.min(initial=0.0) < 0.0),
        )
        if pushed
    }
    return len(signs) == 1


def _kinds(rows: tuple[int, int] | None) -> frozenset[Kind]:
    if rows is None:
        return frozenset()
    known, of = rows
    both: tuple[tuple[Kind, bool], ...] = (("data", known > 0), ("made", known < of))
    return frozenset(kind for kind, there in both if there)


def _missing(found: set[Kind], seen: Iterable[frozenset[Kind]]) -> Iterator[Kind]:
    everything = {kind for kinds in seen for kind in kinds}
    return iter(sorted(everything - found) if found else ())


def _left_out(part: str, kind: Kind, seen: Iterable[frozenset[Kind]]) -> OneSided:
    return OneSided(part=part, unlearned=kind, forwards=sum(kind in kinds for kinds in seen))
