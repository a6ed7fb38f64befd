"""Runs that were taken up: whether they had their weights and their place, and what was new in them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.domain.resumption import Held, Resumption, StepTaken
from harness.domain.trace import Trace

SAME = 1e-9
"""Rates and sums of weights differ by no more than so much of themselves where they are the same."""

FEW = 3
"""Rates in a row that tell a schedule from another part of itself."""


@dataclass(frozen=True, slots=True)
class TakenUp:
    """One optimizer of a run that was taken up, beside what it was when the run was saved."""

    run: Resumption
    """Both runs."""
    place: str
    """A number that its loops count by and that came back, as it was: ``epoch = 2``."""
    then: Held
    """The optimizer when the run was saved."""
    now: Held
    """The optimizer at its first step after that."""
    before: tuple[StepTaken, ...]
    """Its steps in the run that was saved, and in what would have gone on."""
    after: tuple[StepTaken, ...]
    """Its steps after the run was taken up."""

    @property
    def is_left(self) -> bool:
        """Whether nothing that it holds gets a gradient any more, where it had before."""
        had = all(step.with_gradient for step in self.before)
        return had and len(self.after) > 1 and not any(step.with_gradient for step in self.after)

    @property
    def is_taken(self) -> bool:
        """Whether it holds the weights that were saved, or nothing that is trained."""
        return self.is_left or abs(self.now.weights - self.then.weights) <= SAME * abs(
            self.then.weights
        )

    @property
    def went_on(self) -> bool:
        """Whether the saved run went on with it, as far as that can be seen."""
        return self.run.in_itself or len(self.before) > self.saved_at

    @property
    def forgot(self) -> bool:
        """Whether it had a memory and has none."""
        return self.then.remembers > 0 and self.now.remembers == 0

    @property
    def saved_at(self) -> int:
        """How many of its own steps came before it was saved."""
        return sum(s.optimizer == self.then.optimizer for s in self.run.before[: self.run.saved])

    @property
    def counts_anew(self) -> bool:
        """Whether its schedule is far behind where it was."""
        return (
            self.now.schedule == self.then.schedule
            and self.then.moves is not None
            and self.now.moves is not None
            and 2 * self.now.moves < self.then.moves
        )

    @property
    def begins_anew(self) -> bool:
        """Whether its rates are those of the very beginning, which moved."""
        beside = self._beside(0)[1:]
        moved = any(one.rates != self.before[0].rates for one, _ in beside)
        return len(beside) >= FEW and moved and _alike(beside)

    @property
    def goes_on(self) -> bool | None:
        """Whether its rates are those with which the saved run went on, up to a step; ``None`` where
        nothing went on, or nothing moved there.
        """
        at = self.saved_at
        due = [pairs for n in (at - 1, at, at + 1) if len(pairs := self._beside(n)) > 1]
        if not due:
            return None
        moves = not _alike(self._beside(0))
        return (moves or None) if any(map(_alike, due)) else False

    @property
    def is_set_back(self) -> bool:
        """Whether its schedule is where it was, and the first two rates are neither those before the
        save nor those due after it: one alone is set right by the next step of the schedule.
        """
        at, same = self.saved_at, self.now.moves is not None and self.now.moves == self.then.moves
        near = [self.before[n] for n in range(at - 1, at + 3) if 0 <= n < len(self.before)]
        first = self.after[:2]
        known = bool(near) and len(first) == 2
        return same and known and not any(_alike([(a, b)]) for a in first for b in near)

    def _beside(self, at: int) -> list[tuple[StepTaken, StepTaken]]:
        return [*zip(self.after, self.before[max(0, at) :], strict=False)]


def takes_up(trace: Trace) -> tuple[TakenUp, ...] | None:
    """Each optimizer of a run that took up its weights and its place; ``None``: there is none."""
    run = trace.resumed.program.resumption if trace.resumed is not None else None
    if run is None or not run.before or not run.after or not run.at_save:
        return None
    place = _place(run)
    if place is None or (run.in_itself and not run.has_memory):
        return None
    found = [one for one in _pairs(run, place) if one.went_on and one.is_taken]
    return tuple(found) or None


def _pairs(run: Resumption, place: str) -> Iterator[TakenUp]:
    """Optimizers that are alike, in their order."""
    left = [*run.at_save]
    for now in (step.held for step in run.after if step.held is not None):
        then = next((h for h in left if (h.kind, h.elements) == (now.kind, now.elements)), None)
        if then is not None:
            left.remove(then)
            before = tuple(s for s in run.before if s.optimizer == then.optimizer)
            after = tuple(s for s in run.after if s.optimizer == now.optimizer)
            yield TakenUp(run, place, then, now, before, after)


def _place(run: Resumption) -> str | None:
    """A number that moved before the run was saved, and that the first step afterwards has again."""
    first, last = run.before[0].numbers, run.before[min(run.saved, len(run.before) - 1)].numbers
    for name, number in run.after[0].numbers.items():
        moved = (
            "best" not in name
            and name in first
            and name in last
            and last[name] != first[name] != number
        )
        if moved and abs(number - last[name]) <= 1 and (not run.in_itself or _is_in(run, number)):
            return f"{name} = {number}"
    return None


def _is_in(run: Resumption, number: int) -> bool:
    return number in run.places or number - 1 in run.places


def _alike(steps: Sequence[tuple[StepTaken, StepTaken]]) -> bool:
    """Whether two rows of steps have the same rates."""
    rates = [(a.rates, b.rates) for a, b in steps]
    same = all(len(a) == len(b) > 0 for a, b in rates)
    each = (pair for a, b in rates for pair in zip(a, b, strict=False))
    return same and all(abs(x - y) <= SAME * max(abs(x), abs(y)) for x, y in each)
