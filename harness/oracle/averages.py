"""Averaged weights that an evaluation puts in, and that are still there when training goes on."""

from collections.abc import Sequence

from harness.domain.event import Forward
from harness.oracle.facts import Consumed, Parameters
from harness.oracle.tensors import same_bits


class Averages:
    """Looks at the parameters of one rank between its forwards."""

    def __init__(self) -> None:
        """Nothing was exchanged yet."""
        self._own: Parameters = {}
        """What the model was trained to, while it is evaluated with other weights."""
        self._trained: set[str] = set()
        self.kept = False
        """Whether the model is trained from such weights since this was last read and cleared."""

    def look(
        self,
        forward: Forward,
        before: Parameters,
        now: Parameters,
        updates: Sequence[Consumed],
        initial: Parameters,
    ) -> None:
        """At a forward. ``before``, ``now``: parameters before they were looked at, and since.
        ``updates``: all so far.
        """
        if not forward.differentiable and not forward.training and now is not before:
            known = forward.model in self._trained and updates
            if known and not self._own and are_averages(before, now, updates, initial):
                self._own = before
        elif forward.differentiable and forward.training:
            self._trained.add(forward.model)
            own, self._own = self._own, {}
            self.kept = self.kept or bool(differing(own, now))


def are_averages(
    before: Parameters, now: Parameters, updates: Sequence[Consumed], initial: Parameters
) -> bool:
    """Whether most parameters were changed, each to what it never was: no state that was saved. An
    optimizer that is not torch's may have a second set of weights, and put it in on purpose.
    """
    if not all(s.type.startswith("torch.optim.") for u in updates for s in u.steps):
        return False
    changed = differing(before, now)
    states = [initial, *(u.after for u in updates)]
    return 2 * len(changed) > len(before) and not any(
        name in state and same_bits(state[name], now[name]) for state in states for name in changed
    )


def differing(one: Parameters, other: Parameters) -> list[str]:
    """Names of what is not the same in both."""
    return [n for n, value in one.items() if n in other and not same_bits(value, other[n])]
