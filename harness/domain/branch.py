"""Branches that touch training and that nothing entered: of them nobody saw anything.

``sandbox/binding`` finds them in a program; a pass says something about what ran only.
"""

from collections.abc import Sequence
from functools import reduce

from harness.domain.record import Record

MOST = 4
"""Branches that one sentence names."""


class Unentered(Record):
    """One branch of a program that one run did not enter."""

    first: int
    """First line of the branch (1-based); of the statement that it hangs on where it is not written
    out.
    """
    last: int
    """Last line."""
    touches: tuple[str, ...]
    """What it calls or sets that touches training: ``clip_grad_norm_``, ``max_norm``."""
    written: bool = True
    """``False`` for what is no code of its own: the ``else`` of an ``if`` that has none, the other
    value of a comparison or a choice.
    """
    reached: bool = True
    """Whether the run came to the function that it stands in."""
    waits: bool = False
    """Whether a count of steps or epochs kept the run out of it, and it changes how gradients are
    clipped, scaled, cleared or stepped with: training that goes on longer comes to it.
    """
    counted: bool = False
    """Whether a count of steps or epochs kept the run out of it, whatever it changes."""
    thaws: bool = False
    """Whether it decides which parameters ask for gradient."""

    @property
    def place(self) -> tuple[object, ...]:
        """What makes it the same branch in another run."""
        return self.first, self.last, self.touches, self.written


Branches = tuple[Unentered, ...]
"""Those of one run, or of several."""


def in_none(runs: Sequence[Branches | None]) -> Branches | None:
    """Branches that no run entered; ``None`` where one of them does not say what it entered."""
    known = [run for run in runs if run is not None]
    return reduce(_in_both, known) if known and len(known) == len(runs) else None


def _in_both(some: Branches, others: Branches) -> Branches:
    place = {branch.place: branch for branch in others}
    return tuple(_merged(b, place[b.place]) for b in some if b.place in place)


def _merged(one: Unentered, other: Unentered) -> Unentered:
    if not (one.reached and other.reached):
        return one if one.reached else other
    return one.model_copy(update={"waits": one.waits and other.waits})


def note(branches: Branches) -> str | None:
    """One sentence about what ran in no probe; ``None`` where there is nothing to say."""
    told = [branch for branch in branches if branch.reached and branch.written]
    if not told:
        return None
    them = "them" if len(told) > 1 or told[0].first != told[0].last else "it"
    said = _places(told)
    return f"{said[0].upper()}{said[1:]} ran in no probe: nothing is said of {them}."


def left_for_later(branches: Branches) -> str | None:
    """Why a program that did nothing wrong cannot be called right: it trains otherwise later on."""
    waiting = [branch for branch in branches if branch.reached and branch.waits]
    if not waiting:
        return None
    never = [branch for branch in waiting if branch.written]
    if never:
        return (
            f"Nothing wrong was seen, but {_places(never)} ran in no probe, and a count of steps, "
            "epochs or time decides when training comes there."
        )
    return (
        f"Nothing wrong was seen, but {_places(waiting)} did the same in every turn of every probe, "
        "and a count of steps, epochs or time decides when that ends."
    )


def _places(branches: Sequence[Unentered]) -> str:
    """``line 3 (`step`) and lines 14-16 (`clip_grad_norm_`)``."""
    said = [_place(branch) for branch in branches[:MOST]]
    rest = len(branches) - len(said)
    said += [f"{rest} more"] * bool(rest)
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"


def _place(branch: Unentered) -> str:
    names = ", ".join(f"`{name}`" for name in branch.touches)
    if branch.first == branch.last:
        return f"line {branch.first} ({names})"
    return f"lines {branch.first}-{branch.last} ({names})"
