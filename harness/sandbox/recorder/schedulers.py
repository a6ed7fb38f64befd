"""Steps of learning-rate schedulers, without the one that their construction makes."""

import contextlib
import math
import sys
import weakref
from collections.abc import Callable
from itertools import pairwise
from types import FrameType
from typing import Any

from torch.optim import Optimizer, lr_scheduler

from harness.domain.event import SchedulerStep
from harness.domain.facts_of_run import ScheduleCourse
from harness.sandbox.batches.callers import FILENAME
from harness.sandbox.recorder.overwritten import OverwrittenRates, at_a_plateau
from harness.sandbox.recorder.rates import rates_of
from harness.sandbox.recorder.tape import Tape

FARTHEST = 20_000
"""A schedule is followed for so many steps at most."""

LEVEL = 1e-6
"""Part of the peak by which rates may differ and be one."""

PLACES = (*range(200), *(int(200 * 1.03**i) for i in range(160)))
"""Steps at which a function of the step is asked for its factor."""

FAR_PLACES = (*PLACES, *(int(200 * 1.03**i) for i in range(160, 330)))
"""Steps among which it is looked for where such a function ends."""

END, FALLEN = 5e-3, 0.5
"""Part of the peak by which a rate may lie above the lowest and be at its end, and from which on it has
not come down.
"""

ALIKE = 1e-3
"""Part of a rate by which the highest factor may differ from it, and be it."""

RISE = 0.1
"""Part of the peak by which a rate that comes back is higher than its lowest."""


class Schedulers:
    """Wraps ``step`` of every scheduler class that defines one of its own."""

    def __init__(self, tape: Tape, trains: Callable[[Optimizer], bool]) -> None:
        """Write to ``tape``. ``trains``: whether the optimizer, or what it wraps, is the one that
        last stepped its parameters.
        """
        self._tape = tape
        self._trains = trains
        self._depth = 0
        self._followed: Any = None
        self._several = False
        self._rates: list[float] = []
        self._made: list[tuple[weakref.ref[Any], weakref.ref[Any]]] = []
        """Those that the program itself made, each with its optimizer."""
        self._functions: list[tuple[list[Any], list[Any]]] = []
        """Functions of the step that ``LambdaLR`` was given, and the rates that it multiplies."""
        self.overwritten = OverwrittenRates()
        self.plateaus = False
        """Whether each metric is to be taken for a plateau."""
        self.whole = False
        """Whether one text is all of the program, so that no file beside it steps a schedule."""
        self._begins = 0
        self._moved = False
        self.passes: int | None = None
        """How often the program goes through its data, where it says so."""
        self.batches = 0
        """The most batches that a pass had so far."""

    def course(self) -> ScheduleCourse | None:
        """Where the one schedule of a program that goes through its data several times has its end,
        found by stepping it on. Only once the program is over.
        """
        scheduler = self._followed
        if self._several or not (self.passes and self.batches and self._rates):
            return None
        farthest = min(FARTHEST, 2 * self.passes * self.batches + 2)
        self._depth += 1
        with contextlib.suppress(Exception):  # past its end, or code of the program's own
            while len(self._rates) < farthest:
                scheduler.step()
                self._rates.append(max(_rates(scheduler)))
        self._depth -= 1
        whole = len(self._rates) < farthest
        return _course(self._rates, self.passes, self.batches, whole=whole)

    def unmoved(self) -> tuple[str, ...]:
        """Types of schedules that the program made for an optimizer that steps, where it moved none."""
        there = {id(s): (s, o) for made, of in self._made if (s := made()) and (o := of())}
        told = (type(s).__name__ for s, optimizer in there.values() if self._trains(optimizer))
        return tuple(dict.fromkeys(told)) if self.whole and not self._moved else ()

    def has_made(self) -> bool:
        """Whether the program made a schedule."""
        return bool(self._made)

    def rate_as_factor(self) -> float | None:
        """The highest number that the function of a ``LambdaLR`` returns, where that is the very rate
        which it is multiplied with. Only once the program is over.
        """
        with contextlib.suppress(Exception):  # code of the program's own
            for factors, rates in self._functions:
                for factor, rate in zip(factors, rates, strict=True):
                    found = (factor(at) for at in PLACES)
                    peak = max(float(one) for one in found if not isinstance(one, complex))
                    if 0.0 < peak < 1.0 and abs(peak - float(rate)) <= ALIKE * peak:
                        return peak
        return None

    def ends_after(self) -> int | None:
        """After about how many steps the function of the only schedule, a ``LambdaLR``, has come down to
        its end; ``None`` where it never falls. Only once the program is over.
        """
        if self._several or not isinstance(self._followed, lr_scheduler.LambdaLR):
            return None
        factor = self._followed.lr_lambdas[0]
        with contextlib.suppress(Exception):  # code of the program's own
            found: list[tuple[int, float]] = [(n, max(0.0, float(factor(n)))) for n in FAR_PLACES]
            peak, highest = max(found, key=lambda one: one[1])
            after = [one for one in found if one[0] > peak]
            low = min(part for _, part in after) + END * highest
            if low < FALLEN * highest:
                return next(at for at, part in after if part <= low)
        return None

    def install(self) -> None:
        """Patch the classes that exist; later subclasses inherit."""
        for cls in vars(lr_scheduler).values():
            if isinstance(cls, type) and "step" in vars(cls):
                setattr(cls, "step", self._recorded(vars(cls)["step"]))  # noqa: B010 - a method is replaced on purpose
        base = lr_scheduler.LRScheduler
        initial = base._initial_step

        def quiet(scheduler: lr_scheduler.LRScheduler) -> None:
            self._depth, self._begins = self._depth + 1, self._begins + 1
            try:
                initial(scheduler)
            finally:
                self._depth, self._begins = self._depth - 1, self._begins - 1
            if made_by_the_program():
                self._made.append((weakref.ref(scheduler), weakref.ref(scheduler.optimizer)))
                if type(scheduler) is lr_scheduler.LambdaLR:
                    self._functions.append((scheduler.lr_lambdas, scheduler.base_lrs))

        # the first step belongs to the constructor
        setattr(base, "_initial_step", quiet)  # noqa: B010 - a method is replaced on purpose

    def _recorded(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def step(scheduler: Any, *args: Any, **kwargs: Any) -> Any:
            self._depth += 1
            self._moved = self._moved or not self._begins
            had = _rates(scheduler)
            before = () if args or kwargs else had
            place = getattr(scheduler, "last_epoch", None)
            if self.plateaus and self._depth == 1:
                at_a_plateau(scheduler, _metric(scheduler, args, kwargs))
            try:
                result = original(scheduler, *args, **kwargs)
            finally:
                self._depth -= 1
            if self._depth == 0:
                self.overwritten.after_schedule(getattr(scheduler, "optimizer", None), had)
                self._follow(scheduler, () if args or kwargs else before)
                optimizer = getattr(scheduler, "optimizer", None)
                stepped = SchedulerStep(
                    learning_rates=_rates(scheduler),
                    before=before,
                    planned=_planned(scheduler),
                    reaches=optimizer is None or self._trains(optimizer),
                    metric=_metric(scheduler, args, kwargs),
                    positions=_positions(place, scheduler) if args or kwargs else 1,
                )
                self._tape.write(stepped)
            return result

        return step

    def _follow(self, scheduler: Any, before: tuple[float, ...]) -> None:
        """Keep the rates of the one schedule; none is followed where there are several, or where a call
        says its place.
        """
        another = self._followed is not None and self._followed is not scheduler
        after = _rates(scheduler)  # none where a power of a negative number made them complex
        if another or not (before and after) or not all(map(math.isfinite, before)):
            self._several = True
        elif len(self._rates) < FARTHEST:
            self._followed = scheduler
            self._rates += [max(before)] * (not self._rates)
            self._rates.append(max(after))


def made_by_the_program() -> bool:
    """Whether what runs now was called by the program's own code, torch and what watches it left out."""
    frame: FrameType | None = sys._getframe(2)
    between = ("torch.", "harness.")
    while frame is not None and str(frame.f_globals.get("__name__")).startswith(between):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename == FILENAME


def _course(rates: list[float], passes: int, batches: int, *, whole: bool) -> ScheduleCourse | None:
    """``whole``: whether it was followed to where it refuses to go on."""
    peak = max(rates)
    top = next(i for i, rate in enumerate(rates) if peak - rate <= LEVEL * peak)
    least = min(rates[top:])
    bottom = next(i for i in range(top, len(rates)) if rates[i] - least <= LEVEL * peak)
    endless = rates[-1] < 0.5 * rates[bottom] and all(b <= a for a, b in pairwise(rates[bottom:]))
    if peak <= 0.0 or not math.isfinite(peak):
        return None
    if endless or (bottom == len(rates) - 1 and not whole):  # decays by a factor come to no end
        return ScheduleCourse(passes=passes, batches=batches, peak=top, end=bottom, left=1.0)
    rises = any(rate - rates[bottom] > RISE * peak for rate in rates[bottom:])
    return ScheduleCourse(
        passes=passes, batches=batches, peak=top, end=bottom, left=least / peak, rises=rises
    )


def _rates(scheduler: Any) -> tuple[float, ...]:
    """Learning rate of every group; none where it holds no optimizer of its own."""
    optimizer = getattr(scheduler, "optimizer", None)
    return rates_of(optimizer) if optimizer is not None else ()


def _planned(scheduler: Any) -> int | None:
    """The length that cosine and one-cycle schedules are given, and one that decays to its end."""
    parts = getattr(scheduler, "_schedulers", None)
    if parts:
        return _planned_of(scheduler, parts)
    said = getattr(scheduler, "T_max", None) or getattr(scheduler, "total_steps", None)
    if said is None and _falls(scheduler):
        said = scheduler.total_iters
    return said if isinstance(said, int) else None


def _planned_of(scheduler: Any, parts: list[Any]) -> int | None:
    """The length of schedules in turn, which is where the last one begins and its own, or at once."""
    if isinstance(scheduler, lr_scheduler.SequentialLR):
        last, starts = _planned(parts[-1]), scheduler._milestones
        return last + int(starts[-1]) if last is not None and starts else None
    known = [length for part in parts if (length := _planned(part)) is not None]
    return known[0] if len(known) == 1 else None


def _falls(scheduler: Any) -> bool:
    """Whether it is a straight or a bent line down; a line up is a warm-up, and ends before training."""
    if isinstance(scheduler, lr_scheduler.LinearLR):
        return bool(scheduler.end_factor < scheduler.start_factor)
    return isinstance(scheduler, lr_scheduler.PolynomialLR)


def _metric(scheduler: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> float | None:
    """What a schedule by plateaus was told."""
    if not isinstance(scheduler, lr_scheduler.ReduceLROnPlateau):
        return None
    return float(kwargs.get("metrics", args[0] if args else math.nan))


def _positions(before: object, scheduler: Any) -> int:
    """How far along the schedule a call went that said where it is; a part of a step is a step."""
    after = getattr(scheduler, "last_epoch", None)
    if not (isinstance(before, int) and isinstance(after, int)):
        return 1
    return max(1, abs(after - before))
