"""What one rank did, as values: forwards, flows of gradient, updates.

What was recorded is numbers, in arrays of numpy: sums and norms of small ones take a fraction of the
time that they take in torch, which is only asked where a model is replayed.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from harness.domain.event import Clip, Event, OptimizerStep
from harness.domain.injection import OnePass

Array = NDArray[Any]
"""Numbers of any type."""

Parameters = dict[str, Array]
"""Values by name."""


@dataclass(slots=True)
class ForwardPass:
    """One forward through which a gradient could flow back."""

    id: int
    """Its number on the rank."""
    model: str
    """Which tracked model."""
    inputs: tuple[Array, ...]
    """Its inputs, as recorded (integers stay integers)."""
    outputs: tuple[Array, ...]
    """Its outputs, as recorded."""
    parameters: Parameters
    """The parameters at the call."""
    autocast: str | None
    """Element type of autocast, or bfloat16 where all parameters have it."""
    position: int
    """Index of its event."""
    batch: tuple[int, int] | None
    """Pass and place of the batch that the bound loader had last handed out; ``None`` before any."""
    evaluating: bool = False
    """Whether the model was in evaluation mode, in which layers of it work differently, and had been
    in training mode before.
    """
    attached: bool = False
    """Whether a gradient could flow on into what computed its input."""
    frozen: tuple[str, ...] = ()
    """Parameters that required no gradient at the call."""
    injected: OnePass | None = None
    """What the harness changed about it, if anything."""

    @property
    def in_pass(self) -> int | None:
        """Which pass over the bound loader it belongs to; ``None`` before any."""
        return self.batch[0] if self.batch else None


@dataclass  # no slots: what is asked of it several times is kept
class Flow:
    """The gradient that flowed back into one forward within one window."""

    forward: ForwardPass
    """The forward."""
    gradients: dict[int, Array]
    """dL/dout by output, loss scale included, summed over the calls of backward in the window."""
    loss_scale: float = 1.0
    """Loss scale in force."""
    calls: int = 0
    """How many output gradients were summed."""
    left: Parameters = field(default_factory=dict)
    """All of ``.grad`` after its last backward, loss scale included."""
    added: Parameters = field(default_factory=dict)
    """What that backward added, as recorded; only where the program trains a model of its own."""
    backward: int = -1
    """Position of that backward."""
    foreign: bool = False
    """Whether it comes from a loss that trains another part of the model."""
    recorded_only: bool = False
    """Whether the output gradients do not determine all that it added, because a gradient was
    differentiated again.
    """
    at_input: bool = False
    """Whether that backward reached an input that asks for a gradient."""
    covers: bool = False
    """Whether that backward went through the loss of an earlier one once more."""
    started_from: float = 1.0
    """The factor that the harness put on the gradients from which its backward started."""

    @property
    def factor(self) -> float:
        """The factor that the harness put on dL/dout."""
        one = self.forward.injected
        return self.started_from * (1.0 if one is None else one.times)

    @cached_property
    def both_ways(self) -> bool:
        """Whether dL/dout has both signs; asked once its window is whole."""
        return any(g.min(initial=0.0) < 0.0 < g.max(initial=0.0) for g in self.gradients.values())


@dataclass(slots=True)
class Consumed:
    """One update: what the optimizer(s) consumed, and the window before it."""

    flows: list[Flow]
    """The flows of its window."""
    gradients: Parameters
    """Consumed gradients by parameter, in double precision, divided by a fused kernel's scale."""
    steps: list[OptimizerStep]
    """The steps; several when several optimizers share an update; none when a scaler skipped it."""
    before: Parameters
    """Parameters before."""
    after: Parameters
    """Parameters after."""
    skipped: bool
    """Whether the parameters were left alone because of non-finite gradients."""
    position: int
    """Index of the last step's event."""
    loss_scale: float
    """Loss scale in force."""
    clips: list[Clip] = field(default_factory=list)
    """Clip calls in the window."""
    late_clips: list[Clip] = field(default_factory=list)
    """Clip calls after the step and before the next backward."""
    reduced: int = 0
    """Floating-point elements all-reduced since the update before."""
    exchanged: int = 0
    """Bytes of collectives that reduce no numbers, since the update before."""
    scheduler_steps: int = 0
    """Scheduler steps after it and before the next."""
    scheduled_elsewhere: int = 0
    """Those of them that moved the rates of an optimizer which had not stepped by then."""
    scheduled_for: int | None = None
    """How many steps the schedule was made for, where the last of them says so."""
    scheduled_early: int = 0
    """Scheduler steps between its last backward and its step, at a learning rate above 0."""
    scheduled_ahead: int = 0
    """Scheduler steps before the first backward of all, at a learning rate above 0."""
    kept_average: bool = False
    """Whether it began at averaged weights that an evaluation before it had put in."""
    timed: bool = False
    """Whether a clock had been read before it, and was read again after it."""
    last_batch: tuple[int, int] | None = None
    """Epoch and index of the last batch handed out before it."""
    norms: dict[str, float] = field(default_factory=dict)
    """Where its gradients are samples: the norm of each whole one; empty elsewhere."""
    beside: float = 0.0
    """Norm of the gradients that other parts of the model then had, loss scale taken out."""


@dataclass(slots=True)
class RankRun:
    """Everything one rank did, in order."""

    events: tuple[Event, ...]
    """The events."""
    initial: Parameters
    """Parameters at the start."""
    final: Parameters
    """Parameters last seen."""
    forwards: dict[int, ForwardPass]
    """Forwards that could carry gradient, by id."""
    updates: list[Consumed]
    """Updates."""
    open_flows: list[Flow]
    """Flows after the last update."""
    implicit_updates: int
    """How many times parameters changed without an optimizer."""
    sampled: bool
    """Whether tensors of parameter size are samples, scaled to the norm of the whole."""
    holding: frozenset[int] = frozenset()
    """Positions of the backwards after which some parameter had a gradient that is not 0."""
    in_vain: frozenset[int] = frozenset()
    """Positions of backwards that reached neither a forward nor a parameter."""
