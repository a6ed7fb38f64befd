"""Calls on a GradScaler, with the loss scale before and after."""

import functools
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Literal

import torch
from torch import Tensor

from harness.domain.event import ScalerCall
from harness.sandbox.recorder.tape import Tape, tensors_in

METHODS: tuple[Literal["scale", "unscale_", "step", "update"], ...] = (
    "scale", "unscale_", "step", "update",
)  # fmt: skip


class Scalers:
    """Wraps the four methods on the class; ``steps_taken`` tells whether ``step`` was skipped."""

    def __init__(self, tape: Tape, steps_taken: Callable[[], int]) -> None:
        """``steps_taken`` counts the optimizer steps so far."""
        self._tape = tape
        self._steps_taken = steps_taken
        self._numbers: dict[int, int] = {}
        self._inside = False
        self._scale: float | None = None
        self.divisor = 1.0
        """What the initial scale of every scaler is divided by."""
        self.scaled: deque[Any] = deque(maxlen=64)
        """The nodes of autograd's graph that enabled scalers made of losses lately."""
        self.stepping = False
        """Whether an enabled scaler takes the scale out and steps now."""
        self._unscaled: set[int] = set()
        """Identities of parameters whose optimizers were unscaled in this window."""
        self._too_soon: set[int] = set()
        """Identities of others whose gradients were clipped since."""
        self.half_clipped = 0
        """Steps of optimizers that were clipped while scaled, when another one was unscaled."""

    def install(self) -> None:
        """Patch the one class from which every scaler inherits."""
        self._lower_initial_scale()
        for method in METHODS:
            setattr(
                torch.amp.GradScaler,
                method,
                self._recorded(method, getattr(torch.amp.GradScaler, method)),
            )

    def _lower_initial_scale(self) -> None:
        original = torch.amp.GradScaler.__init__

        @functools.wraps(original)
        def init(scaler: torch.amp.GradScaler, *args: Any, **kwargs: Any) -> None:
            original(scaler, *args, **kwargs)
            if scaler.is_enabled() and self.divisor != 1.0:
                scaler._init_scale = max(1.0, scaler._init_scale / self.divisor)

        setattr(torch.amp.GradScaler, "__init__", init)  # noqa: B010 - mypy refuses otherwise

    def loss_scale(self) -> float | None:
        """Scale of the enabled scaler that last scaled a loss."""
        return self._scale

    def clipped(self, parameters: Iterable[Tensor]) -> None:
        """A clip took the gradients of these."""
        if self._unscaled and self._scale is not None and self._scale > 1.0:
            taken = {id(p) for p in parameters if p.grad is not None}
            self._too_soon |= taken - self._unscaled

    def _follow(self, scaler: torch.amp.GradScaler, method: str, optimizer: Any) -> None:
        """Which gradients are without the scale now, and which were clipped with it."""
        groups = getattr(optimizer, "param_groups", ())
        held = {id(p) for group in groups for p in group["params"]}
        if method == "update":
            self._unscaled.clear()
            self._too_soon.clear()
        elif method == "unscale_" and scaler.is_enabled():
            self._unscaled |= held
        elif method == "step" and scaler.is_enabled():
            self.half_clipped += bool(held & self._too_soon)

    def _recorded(
        self, method: Literal["scale", "unscale_", "step", "update"], original: Callable[..., Any]
    ) -> Callable[..., Any]:
        def call(scaler: torch.amp.GradScaler, *args: Any, **kwargs: Any) -> Any:
            if self._inside:
                return original(scaler, *args, **kwargs)
            before, steps = scaler.get_scale(), self._steps_taken()
            # only what the scaler itself refuses with; anything else is not about its protocol, nor
            # is what ``scale`` says of something that is no tensor
            raised: str | None = None
            self._inside = True
            self.stepping = method == "step" and bool(scaler.is_enabled())
            try:
                result = original(scaler, *args, **kwargs)
                if method == "scale" and scaler.is_enabled():
                    self.scaled.extend(t.grad_fn for t in tensors_in(result))
                self._follow(scaler, method, next(iter((*args, *kwargs.values())), None))
            except (RuntimeError, AssertionError, ValueError) as error:
                if method != "scale":
                    raised = str(error)[:500] or type(error).__name__
                raise
            finally:
                self._inside = self.stepping = False
                if method == "scale" and scaler.is_enabled():
                    self._scale = before
                skipped = self._steps_taken() == steps if method == "step" else None
                self._write(scaler, method, before, raised, skipped=skipped)
            return result

        return call

    def _write(
        self,
        scaler: torch.amp.GradScaler,
        method: Literal["scale", "unscale_", "step", "update"],
        before: float,
        raised: str | None,
        *,
        skipped: bool | None,
    ) -> None:
        number = self._numbers.setdefault(id(scaler), len(self._numbers))
        self._tape.write(
            ScalerCall(
                scaler=number,
                method=method,
                enabled=bool(scaler.is_enabled()),  # it keeps what it was given, `args.amp` say
                scale_before=before,
                scale_after=scaler.get_scale(),
                skipped=skipped,
                raised=raised,
            )
        )
