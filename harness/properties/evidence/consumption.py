"""What the optimizer consumed, beside what it should have: the question all others refer to.

Every full window is read under one objective and given a state:

``exact``    the true gradient, to rounding
``clipped``  its direction, at the norm that clipped windows have in common
``shrunk``   its direction, but smaller than it and not at a common norm
``grown``    its direction, but larger
``turned``   another direction
``nothing``  zero, where the true gradient is not
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from harness.domain.clip_call import norm_met
from harness.domain.scenario import Expectations, Objective
from harness.domain.trace import Match, ParameterMatch, Trace, Update
from harness.properties.evidence.figures import middle, spread
from harness.properties.evidence.thresholds import Bounds, bounds_of
from harness.properties.evidence.windows import Window, full

State = Literal["exact", "clipped", "shrunk", "grown", "turned", "nothing"]

BLUNT = 0.25
"""Tolerance from which a clipped gradient looks like a whole one."""

EXPLODED = 0.01
"""Relative error of a gradient that flowed through saturated units, where ``1 - tanh(x)**2`` has
lost its digits.
"""

CLIP_EPSILON = 1e-6
"""torch divides by ``norm + 1e-6``, so a clipped norm falls short of the threshold by that much."""

FEW = 6
"""With fewer windows, norms may be alike by chance."""

DIFFERENT = 0.2
"""Spread of the true norms from which on equal norms of what was consumed are no chance."""


@dataclass(frozen=True, slots=True)
class WindowReading:
    """One full window under one objective."""

    window: Window
    """The window."""
    match: Match
    """The consumed gradient beside the true one."""
    state: State
    """One of the states above."""

    @property
    def where(self) -> str:
        """Place of the window, in words."""
        return self.window.where

    @property
    def update(self) -> Update:
        """The update that the window led to."""
        return self.window.update

    @property
    def true(self) -> float:
        """Norm of the true gradient."""
        return self.match.expected_norm

    @property
    def met(self) -> float:
        """Norm that a clip met: less than the true one where the program divided the gradients first."""
        met = norm_met(self.update, self.consumed) if self.aligned else None
        return self.true if met is None else min(met, self.true)

    @property
    def consumed(self) -> float:
        """Norm of the consumed gradient."""
        return self.match.consumed_norm

    @property
    def ratio(self) -> float:
        """Norm of the consumed gradient over that of the true one."""
        return self.match.ratio

    @property
    def right(self) -> bool:
        """Whether the consumed gradient is the true one, or the true one clipped."""
        return self.state in ("exact", "clipped")

    @property
    def aligned(self) -> bool:
        """Whether the consumed gradient points in the true direction."""
        return self.state not in ("turned", "nothing")

    @property
    def raw(self) -> bool:
        """Whether nothing made the gradient smaller. In a run that has exploded, saturated units
        cause errors above rounding, but below what any clip does.
        """
        slack = max(self.window.tolerance, EXPLODED)
        return (
            not self.is_blunt and self.match.direction_error <= slack and self.ratio >= 1.0 - slack
        )

    @property
    def is_blunt(self) -> bool:
        """Whether rounding may be as large as what a clip does, as in half precision that nearly
        cancels out; not where what was consumed is the true gradient at the threshold.
        """
        sharp = self.state == "clipped" and self.match.direction_error <= EXPLODED
        return self.window.tolerance > BLUNT and not sharp

    @property
    def slack(self) -> float:
        """Relative difference up to which two clipped norms count as equal."""
        return self.window.tolerance + min(0.01, CLIP_EPSILON / self.true)

    @property
    def factors(self) -> tuple[float, ...]:
        """Consumed over true norm of each parameter whose true gradient is not negligible."""
        return tuple(
            (p.consumed_norm or 0.0) / p.expected_norm for p in weighty(self.match, self.window)
        )

    @property
    def by_parameter(self) -> bool:
        """Whether each parameter kept its direction but got a factor of its own."""
        whole, parts = self.update.unexplained, self.update.unexplained_by_parameter
        return (
            self.state == "turned"
            and whole is not None
            and parts is not None
            and whole > self.window.tolerance >= parts
        )


@dataclass(frozen=True, slots=True)
class Account:
    """All full windows under one objective."""

    objective: Objective
    """The objective."""
    readings: tuple[WindowReading, ...]
    """The windows, in order."""
    threshold: float | None
    """Norm that the clipped windows have in common; ``None`` when none was clipped."""

    @property
    def right(self) -> int:
        """How many windows are right."""
        return sum(r.right for r in self.readings)

    def bounds(self, expectations: Expectations) -> Bounds | None:
        """The thresholds to judge by: the one that clipped windows show, if the scenario accepts
        it, else all that it accepts.
        """
        declared = bounds_of(expectations)
        if declared is not None and self.threshold is not None and declared.accept(self.threshold):
            return Bounds(self.threshold, self.threshold)
        return declared


def account(trace: Trace, expectations: Expectations) -> Account | None:
    """All full windows, under the accepted objective that fits the program best."""
    return best(trace, expectations, expectations.objectives)


def transported(trace: Trace, expectations: Expectations) -> Account | None:
    """The same, with the program's own loss as a further objective to choose from.

    So what clipping and scaling did can be judged in a loop that weighs its micro-batches wrongly.
    """
    return best(trace, expectations, (*expectations.objectives, "as-computed"))


def best(
    trace: Trace, expectations: Expectations, objectives: Iterable[Objective]
) -> Account | None:
    """The account in which most windows are right; of equals, the one with most aligned windows,
    then one that is clipped at an accepted threshold, then the first.
    """
    windows, declared = full(trace), bounds_of(expectations)
    accounts = [
        read(windows, objective, declared, on=norms)
        for objective in dict.fromkeys(objectives)
        for norms in (of_the_model, of_all)
        if norms is of_the_model or any(more_than_the_model(w, objective) for w in windows)
    ]
    return max(
        (a for a in accounts if a.readings),
        key=lambda a: (a.right, sum(r.aligned for r in a.readings), clips_as_asked(a, declared)),
        default=None,
    )


def clips_as_asked(seen: Account, declared: Bounds | None) -> bool:
    """Whether the norm that clipped windows have in common is one that the scenario accepts."""
    return declared is not None and seen.threshold is not None and declared.accept(seen.threshold)


def of_the_model(_window: Window, match: Match) -> Match:
    """The match as it is: over the model's parameters alone."""
    return match


def of_all(window: Window, match: Match) -> Match:
    """The match with norms over everything that the optimizer steps, since one clip may also cover
    a learned temperature or loss weight. Tensors beside the model are taken to have the model's
    factor.
    """
    share = window.update.consumed_norm / match.consumed_norm if match.consumed_norm else 1.0
    norms = {name: share * getattr(match, name) for name in ("expected_norm", "consumed_norm")}
    return match.model_copy(update=norms)


def more_than_the_model(window: Window, objective: Objective) -> bool:
    """Whether the optimizer consumed gradients of tensors that do not belong to the model."""
    found = window.update.match(objective)
    slack = 1.0 + window.tolerance
    return found is not None and 0.0 < found.consumed_norm * slack < window.update.consumed_norm


def learned(reading: WindowReading, readings: Sequence[WindowReading]) -> bool:
    """Whether a learned loss weight may explain the window's factor, or a learned temperature its
    direction: tensors beside the model were trained, and the probe's first window, at their initial
    values, is right. A clip hides a factor, but not a direction.
    """
    probe = reading.window.probe.probe
    first = next(r for r in readings if r.window.probe.probe == probe)
    beside = more_than_the_model(reading.window, reading.match.objective)
    return beside and (first.state == "exact" or (reading.state == "turned" and first.right))


def read(
    windows: Sequence[Window],
    objective: Objective,
    declared: Bounds | None,
    on: Callable[[Window, Match], Match] = of_the_model,
) -> Account:
    """Every window that has a match under this objective, with its state."""
    seen = [(w, m if m is None else on(w, m)) for w in windows for m in [w.update.match(objective)]]
    readings = [
        WindowReading(w, m, state_of(w, m))
        for w, m in seen
        if m is not None and m.expected_norm > 0
    ]
    shrunk = [r for r in readings if r.state == "shrunk"]
    threshold = common_norm(shrunk, declared)
    if threshold is not None:
        readings = [
            replace(r, state="clipped")
            if r.state == "shrunk" and abs(r.consumed / threshold - 1.0) <= 2 * r.slack
            else r
            for r in readings
        ]
    return Account(objective, tuple(readings), threshold)


def state_of(window: Window, match: Match) -> State:
    """The state of one window by itself, before ``clipped`` is told from ``shrunk``."""
    if match.consumed_norm == 0:
        return "nothing"
    if match.direction_error > window.tolerance:
        return "turned"
    if abs(match.ratio - 1.0) <= window.tolerance:
        return "exact"
    return "shrunk" if match.ratio < 1.0 else "grown"


def common_norm(shrunk: Sequence[WindowReading], declared: Bounds | None) -> float | None:
    """The norm that most shrunk windows share although their true norms differ; ``None`` if there
    is none.
    """
    ordered = sorted(shrunk, key=lambda r: r.consumed)
    runs = [
        [r for r in ordered[i:] if r.consumed <= first.consumed * (1.0 + 2 * first.slack)]
        for i, first in enumerate(ordered)
    ]
    places = {_place(r) for r in shrunk}
    for run in sorted(runs, key=len, reverse=True):
        if len(places) > 1 and len({_place(r) for r in run}) == 1 < len(run):
            continue  # one window in several regimes: whatever divides by a size gives it one norm
        value = middle([r.consumed for r in run])
        differ = spread([r.true for r in run]) > 2 * run[0].slack
        accepted = declared is not None and declared.accept(value)
        if accepted or (differ and spread([r.ratio for r in run]) > 2 * run[0].slack):
            return value
    alone = ordered[0] if len(ordered) == 1 else None
    return alone.consumed if alone and alone.update.clip_calls else None


def _place(reading: WindowReading) -> tuple[int, int]:
    return reading.window.rank, reading.update.index


def blown_up_to(seen: Account) -> float | None:
    """The norm that all windows arrive with, also those whose true norm is smaller: that of a clip
    whose factor is never held at 1. ``None`` where there is none.
    """
    grown = sum(r.state == "grown" for r in seen.readings)
    if len(seen.readings) < FEW or grown < 2 or not all(r.aligned for r in seen.readings):
        return None
    norms, slack = [r.consumed for r in seen.readings], max(r.slack for r in seen.readings)
    differ = spread([r.true for r in seen.readings]) > DIFFERENT
    return middle(norms) if differ and spread(norms) <= 2 * slack else None


def weighty(match: Match, window: Window) -> tuple[ParameterMatch, ...]:
    """Parameters whose true gradient is more than rounding error of the whole gradient."""
    floor = match.expected_norm * window.tolerance
    return tuple(p for p in match.parameters if p.expected_norm > floor)


def factor_of(off: Sequence[WindowReading]) -> float | None:
    """The factor by which aligned windows are off; ``None`` when no one factor explains them.

    A constant ratio is a factor. A constant norm is clipping or normalising, and a shrinking that
    varies from window to window is no factor either.
    """
    if not off:
        return None
    ratios, norms = [r.ratio for r in off], [r.consumed for r in off]
    slack = 4 * max(r.slack for r in off)
    if spread(ratios) <= slack:
        return middle(ratios)
    if spread(norms) <= slack:
        return None
    return max(ratios) if min(ratios) > 1.0 else None
