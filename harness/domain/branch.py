"""Branches that touch training and that nothing entered: of them nobody saw anything.

``sandbox/branches`` finds them in a program; a pass says something about what ran only.
"""

from collections.abc import Sequence
from functools import reduce

from harness.domain.record import Record

MOST = 4
"""Most branches that one sentence names."""


class Unentered(Record, extra="ignore"):  # traces of earlier days say more
    """One branch that one run of a program did not enter."""

    first: int
    """First line of the branch (1-based); for an unwritten branch, that of the statement it belongs
    to.
    """
    last: int
    """Last line."""
    touches: tuple[str, ...]
    """The calls and names in it that touch training: ``clip_grad_norm_``, ``max_norm``."""
    written: bool = True
    """``False`` for a branch without code of its own: the missing ``else`` of an ``if``, or the
    other value of a comparison or a conditional expression.
    """
    reached: bool = True
    """Whether the run entered the function that the branch is in."""
    waits: bool = False
    """Whether a count of steps or epochs kept the run out of it, and it changes how gradients are
    clipped, scaled, cleared or stepped with: longer training would enter it.
    """
    counted: bool = False
    """Whether a count of steps or epochs kept the run out of it, whatever it does."""
    thaws: bool = False
    """Whether it changes which parameters require a gradient."""

    @property
    def place(self) -> tuple[object, ...]:
        """Identifies the branch across runs of one program."""
        return self.first, self.last, self.touches, self.written


Branches = tuple[Unentered, ...]
"""The branches that one run, or several, did not enter."""


def in_none(runs: Sequence[Branches | None]) -> Branches | None:
    """Branches that none of the runs entered; ``None`` where a run does not say what it entered."""
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
    """A sentence about the branches that ran in no probe; ``None`` where there are none."""
    told = [branch for branch in branches if branch.reached and branch.written]
    if not told:
        return None
    them = "them" if len(told) > 1 or told[0].first != told[0].last else "it"
    said = _places(told)
    return f"{said[0].upper()}{said[1:]} ran in no probe: nothing is said of {them}."


def left_for_later(branches: Branches) -> str | None:
    """Why a program without a fault so far cannot be called right: later on it trains in another way."""
    waiting = [branch for branch in branches if branch.reached and branch.waits]
    if not waiting:
        return None
    never = [branch for branch in waiting if branch.written]
    if never:
        return (
            f"Nothing wrong was seen, but {_places(never)} ran in no probe, and a count of steps, "
            "the time or the machine decides when training comes there."
        )
    return (
        f"Nothing wrong was seen, but {_places(waiting)} did the same in every turn of every probe, "
        "and a count of steps, the time or the machine decides when that ends."
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
