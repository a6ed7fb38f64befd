"""Steps of learning-rate schedulers, without the one that their construction makes."""

from collections.abc import Callable
from typing import Any

from torch.optim import Optimizer, lr_scheduler

from harness.domain.event import SchedulerStep
from harness.sandbox.recorder.tape import Tape


class Schedulers:
    """Wraps ``step`` of every scheduler class that defines one of its own."""

    def __init__(self, tape: Tape, has_stepped: Callable[[Optimizer], bool]) -> None:
        """Write to ``tape``. ``has_stepped``: whether the optimizer, or what it wraps, has stepped."""
        self._tape = tape
        self._has_stepped = has_stepped
        self._depth = 0

    def install(self) -> None:
        """Patch the classes that exist; later subclasses inherit."""
        for cls in vars(lr_scheduler).values():
            if isinstance(cls, type) and "step" in vars(cls):
                setattr(cls, "step", self._recorded(vars(cls)["step"]))  # noqa: B010 - a method is replaced on purpose
        base = lr_scheduler.LRScheduler
        initial = base._initial_step

        def quiet(scheduler: lr_scheduler.LRScheduler) -> None:
            self._depth += 1
            try:
                initial(scheduler)
            finally:
                self._depth -= 1

        # the first step belongs to the constructor
        setattr(base, "_initial_step", quiet)  # noqa: B010 - a method is replaced on purpose

    def _recorded(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def step(scheduler: Any, *args: Any, **kwargs: Any) -> Any:
            self._depth += 1
            before = () if args or kwargs else _rates(scheduler)
            try:
                result = original(scheduler, *args, **kwargs)
            finally:
                self._depth -= 1
            if self._depth == 0:
                optimizer = getattr(scheduler, "optimizer", None)
                stepped = SchedulerStep(
                    learning_rates=_rates(scheduler),
                    before=before,
                    planned=_planned(scheduler),
                    reaches=optimizer is None or self._has_stepped(optimizer),
                )
                self._tape.write(stepped)
            return result

        return step


def _rates(scheduler: Any) -> tuple[float, ...]:
    """Learning rate of every group; none where it holds no optimizer of its own."""
    optimizer = getattr(scheduler, "optimizer", None)
    return tuple(float(g["lr"]) for g in optimizer.param_groups) if optimizer is not None else ()


def _planned(scheduler: Any) -> int | None:
    """The length that cosine and one-cycle schedules are given."""
    said = getattr(scheduler, "T_max", None) or getattr(scheduler, "total_steps", None)
    return said if isinstance(said, int) else None
