"""One rank's recording as what happened: forwards, flows of gradient, updates; tensors in double
precision.
"""

import numpy as np

from harness.domain.event import (
    Backward,
    BatchYielded,
    Clip,
    ClockRead,
    Collective,
    Event,
    Finished,
    Forward,
    OptimizerStep,
    OutputGradient,
    ScalerCall,
    SchedulerStep,
    Start,
)
from harness.domain.recording import Recorded
from harness.oracle.averages import Averages
from harness.oracle.by_hand import read_by_hand
from harness.oracle.facts import Array, Consumed, Flow, ForwardPass, Parameters, RankRun
from harness.oracle.gradient import norm
from harness.oracle.tensors import array_of, is_rounded, named, same_bits

AGAIN = 1 << 32
"""More than there are forwards: makes a key of one and the backward that went through it again."""

REDUCTIONS = frozenset(
    {
        "allreduce_",
        "allreduce_coalesced_",
        "all_reduce",
        "all_reduce_",
        "all_reduce_coalesced",
        "reduce_scatter_",
        "_reduce_scatter_base_",
        "reduce_scatter_tensor",
        "reduce_scatter_tensor_coalesced_",
        "reduce_",
    }
)
"""Collectives that reduce. Broadcasts of buffers and gathers do not synchronise gradients."""

PUT_BACK = 1e-6
"""Distance that moving weights away and back leaves in single precision."""

MANY_READS = 500
"""From this many clock reads on, the recorder may have left some out."""


def read_rank(recorded: tuple[Recorded, ...]) -> RankRun:
    """Walk through one rank's events."""
    recorded = read_by_hand(recorded)
    walk = _Walk()
    for position, item in enumerate(recorded):
        walk.take(position, item)
    last = _last_clock(recorded)
    for update in walk.updates:
        update.timed = update.timed and update.position < last
    return RankRun(
        events=tuple(item.event for item in recorded),
        initial=walk.initial,
        final=walk.parameters,
        forwards=walk.forwards,
        updates=walk.updates,
        open_flows=list(walk.window.values()),
        in_vain=frozenset(walk.in_vain),
        implicit_updates=walk.implicit,
        sampled=walk.sampled,
        holding=frozenset(walk.holding),
    )


def _last_clock(recorded: tuple[Recorded, ...]) -> int:
    """Position of the last read of a clock: what follows it is training again, unless the
    measurement broke off. Of many reads the recorder may have left out the last ones.
    """
    reads = [at for at, item in enumerate(recorded) if isinstance(item.event, ClockRead)]
    end = recorded[-1].event if recorded else None
    through = isinstance(end, Finished) and end.outcome in ("returned", "exited")
    whole = through and 1 < len(reads) < MANY_READS
    return reads[-1] if whole else len(recorded)


class _Walk:
    """The state that events change."""

    def __init__(self) -> None:
        self.initial: Parameters = {}
        self.parameters: Parameters = {}
        self.forwards: dict[int, ForwardPass] = {}
        self.window: dict[int, Flow] = {}
        self.updates: list[Consumed] = []
        self.in_vain: set[int] = set()
        self.implicit = 0
        self.holding: list[int] = []
        self._fresh: list[Flow] = []
        self._left_there: set[int] = set()
        """Forwards of the window whose gradient a backward has left in ``.grad``."""
        self._own_world = False
        self._clips: list[Clip] = []
        self._reduced = self._exchanged = 0
        self._scale = 1.0
        self._batch: tuple[int, int] | None = None
        self._last_gradients: Parameters = {}
        self._last_backward: tuple[int, bool, tuple[int, int] | None] = 0, True, None
        self.sampled = self._timed = False
        self._in_training: set[str] = set()
        self._early = self._ahead = self._ended = 0
        self._rate = 0.0
        self._spread: dict[str, float] = {}
        self._norms: dict[str, float] = {}
        self._averages = Averages()

    def take(self, position: int, item: Recorded) -> None:
        match item.event:
            case Forward() as event:
                self._forward(position, event, item)
            case OutputGradient() as event:
                self._flow(event, item)
            case Backward() as event:
                self._backward(position, event, item)
            case OptimizerStep() as event:
                self._step(position, event, item)
            case ScalerCall() as event:
                self._scaler(position, event)
            case Start() | Finished():
                self._edge(item)
            case event:
                self._side_event(event)

    def _edge(self, item: Recorded) -> None:
        if isinstance(item.event, Start):
            self.sampled, self._own_world = item.event.sampled, item.event.own_world
            self.initial = self.parameters = dict(named(item, "param:"))
        else:
            self._note_change(dict(named(item, "param:")))

    def _side_event(self, event: Event) -> None:
        match event:
            case Clip():
                self._clip(event)
            case Collective() if event.floating and event.operation in REDUCTIONS:
                self._reduced += event.elements
            case Collective():
                self._exchanged += event.size_bytes
            case SchedulerStep():
                self._early += bool(self.window) and self._rate > 0.0
                untouched = not self.window and not self.updates
                self._ahead += untouched and max(event.before, default=0.0) > 0.0
                if self.updates:
                    self.updates[-1].scheduler_steps += event.positions
                    self.updates[-1].scheduled_elsewhere += 0 if event.reaches else event.positions
                    self.updates[-1].scheduled_for = event.planned
            case ClockRead():
                self._timed = True
            case BatchYielded():
                self._batch = (event.epoch, event.index)
            case _:
                pass

    def _forward(self, position: int, event: Forward, item: Recorded) -> None:
        self.sampled = self.sampled or event.sampled
        self._rate = max(event.learning_rates, default=0.0)
        before = self.parameters
        self._note_change(dict(named(item, "param:")))
        self._averages.look(event, before, self.parameters, self.updates, self.initial)
        if event.differentiable and event.training:
            self._in_training.add(event.model)
        if event.differentiable:
            self._ended = self._ended or position - 1  # of what came of the last backward
            self.forwards[event.id] = ForwardPass(
                id=event.id,
                model=event.model,
                inputs=tuple(array_of(b) for b in item.tensors if b.name.startswith("input:")),
                outputs=tuple(array_of(b) for b in item.tensors if b.name.startswith("output:")),
                parameters=self.parameters,
                autocast=event.autocast,
                position=position,
                batch=self._batch,
                evaluating=event.modal and not event.training and event.model in self._in_training,
                attached=event.attached,
                frozen=event.frozen,
                injected=event.injected,
            )

    def _note_change(self, changed: Parameters) -> None:
        really = {
            name: value
            for name, value in changed.items()
            if name not in self.parameters or not same_bits(value, self.parameters[name])
        }
        if really:
            trained = self._last_backward[0] > 0  # before a backward it is initialisation
            self.implicit += trained and any(name in self.parameters for name in really)
            self.parameters = {**self.parameters, **really}

    def _flow(self, event: OutputGradient, item: Recorded) -> None:
        passed = self.forwards.get(event.forward)
        if passed is None:
            return
        key, known = event.forward, self.window.get(event.forward)
        if self._own_world and known is not None and event.forward in self._left_there:
            key = event.forward + AGAIN * (self._last_backward[0] + 1)  # a loss of its own
        flow = self.window.setdefault(key, Flow(passed, {}, self._scale))
        gradient = array_of(item.tensors[0]).astype(np.float64)
        before = flow.gradients.get(event.output)
        flow.gradients[event.output] = gradient if before is None else before + gradient
        flow.calls += 1
        self._fresh.append(flow)

    def _backward(self, position: int, event: Backward, item: Recorded) -> None:
        self._note_change(dict(named(item, "param:")))
        self._given_up(finite=event.gradients_finite)
        self._last_backward = position, event.gradients_finite, self._batch
        self._scale = event.loss_scale if event.loss_scale is not None else 1.0
        self._early = self._ended = 0
        left, self._last_gradients = self._last_gradients, self._gradients(item, "grad:")
        if any(np.any(g) for g in self._last_gradients.values()):
            self.holding.append(position)
        if event.function == "backward" and not self._fresh and self._adds_nothing(left):
            self.in_vain.add(position)
        added = self._gradients(item, "inc:")
        if self._own_world and not self._fresh and event.function == "backward":
            self._through_nothing(position, added)
        for flow in self._fresh:
            flow.loss_scale, flow.added = self._scale, added
            flow.backward, flow.started_from = position, event.injected
            flow.at_input, flow.covers = event.at_input, event.covers
            if event.function == "backward":  # torch.autograd.grad leaves nothing in .grad
                flow.left = self._last_gradients
                self._left_there.add(flow.forward.id)
        self._fresh = []

    def _through_nothing(self, position: int, added: Parameters) -> None:
        """A gradient reached parameters and went through no forward that was recorded: the program
        called it by another way, or trains what is no model.
        """
        if not any(np.any(g) for g in added.values()):
            return
        passed = ForwardPass(
            -1 - position, "own", (), (), self.parameters, None, position, self._batch
        )
        self.window[passed.id] = flow = Flow(passed, {}, self._scale)
        self._fresh.append(flow)

    def _adds_nothing(self, left: Parameters) -> bool:
        """Whether the last backward left every gradient at what the one before it had left, or at 0."""
        return all(
            not np.any(gradient) or (name in left and same_bits(gradient, left[name]))
            for name, gradient in self._last_gradients.items()
        )

    def _given_up(self, *, finite: bool) -> None:
        """Gradients that were not finite are gone without a step: the program itself skipped it."""
        position, was_finite, batch = self._last_backward
        position = self._ended or position
        new = {n: flow for n, flow in self.window.items() if any(flow is f for f in self._fresh)}
        if was_finite or not finite or len(new) == len(self.window):
            return
        now, self._batch = self._batch, batch
        self.window = {n: flow for n, flow in self.window.items() if n not in new}
        self._close(self._last_gradients, [], self.parameters, position, skipped=True)
        self.window, self._batch = new, now

    def _step(self, position: int, event: OptimizerStep, item: Recorded) -> None:
        divisor = event.fused_scale or 1.0
        self._norms = {}
        gradients = {n: np.asarray(g / divisor) for n, g in self._gradients(item, "grad:").items()}
        norms = {name: size / divisor for name, size in self._norms.items()}
        after = dict(named(item, "param:"))
        before = self._found_by(item)
        self.parameters = {**before, **after}
        last = self.updates[-1] if self.updates else None
        if last and last.steps and not self.window and not _overlap(last, event):
            last.gradients |= gradients
            last.norms |= norms
            last.steps.append(event)
            last.after, last.position = self.parameters, position
            return
        if last and last.skipped and not self.window and _is_of_a_part(event, last.gradients):
            last.after, last.position = self.parameters, position  # beside one that was skipped
            return
        self._close(gradients, [event], before, position, skipped=event.fused_skip, norms=norms)

    def _found_by(self, item: Recorded) -> Parameters:
        """The parameters that a step found. On data that are lent, what the program changed between the
        forward and the step counts only where it puts back what the last update left, and what another
        forward since then was run with.
        """
        known = {n: v for n, v in named(item, "was:") if n in self.parameters}
        if known and not self._own_world:
            left = self.updates[-1].after if self.updates else self.initial
            since = self.updates[-1].position if self.updates else -1
            runs = [p.parameters for p in self.forwards.values() if p.position > since]
            known = {n: v for n, v in known.items() if n in left and _is_put_back(v, left[n])}
            if not any(all(is_rounded(run[n], left[n]) for n in known) for run in runs):
                known = {}
        return {**self.parameters, **known} if known else self.parameters

    def _scaler(self, position: int, event: ScalerCall) -> None:
        skips = event.method == "step" and event.enabled and event.skipped and event.raised is None
        beside = not self.window and self.updates and self.updates[-1].steps  # another's step
        if skips and not beside:
            self._close(self._last_gradients, [], self.parameters, position, skipped=True)

    def _close(
        self,
        gradients: Parameters,
        steps: list[OptimizerStep],
        before: Parameters,
        position: int,
        *,
        skipped: bool,
        norms: dict[str, float] | None = None,
    ) -> None:
        self.updates.append(
            Consumed(
                flows=list(self.window.values()),
                gradients=gradients,
                norms=norms or {},
                steps=steps,
                before=before,
                after=self.parameters,
                skipped=skipped,
                position=position,
                loss_scale=self._scale,
                clips=self._clips,
                reduced=self._reduced,
                exchanged=self._exchanged,
                timed=self._timed,
                scheduled_early=self._early,
                scheduled_ahead=0 if self.updates else self._ahead,
                last_batch=self._batch,
                kept_average=self._averages.kept,
            )
        )
        self._averages.kept = False
        self.window, self._clips, self._early = {}, [], 0
        self._left_there = set()
        self._reduced = self._exchanged = 0

    def _gradients(self, item: Recorded, prefix: str) -> Parameters:
        """In double precision; samples are scaled, by a factor a parameter, to the whole's norm."""
        found: Parameters = {}
        for name, array in named(item, prefix):
            value = array.astype(np.float64)
            if self.sampled:
                size, value = float(value[0]), value[1:]
                self._norms[name] = size
                if name not in self._spread and prefix == "grad:" and norm(value) > 0:
                    self._spread[name] = size / norm(value)
                value = value * self._spread.get(name, 1.0)
            found[name] = value
        return found

    def _clip(self, event: Clip) -> None:
        if not self.window and self.updates:
            self.updates[-1].late_clips.append(event)
        self._clips.append(event)


def _overlap(update: Consumed, event: OptimizerStep) -> bool:
    stepped = {n for step in update.steps for g in step.groups for n in g.parameters}
    return any(name in stepped for group in event.groups for name in group.parameters)


def _is_of_a_part(event: OptimizerStep, gradients: Parameters) -> bool:
    """Whether others than those that it steps got gradients as well."""
    own = {name for group in event.groups for name in group.parameters}
    got = {name for name, gradient in gradients.items() if np.any(gradient)}
    return bool(got - own)


def _is_put_back(now: Array, left: Array) -> bool:
    """Whether values are those of before: moved away and back they lose what rounding takes."""
    return now.shape == left.shape and bool(np.allclose(now, left, rtol=PUT_BACK, atol=PUT_BACK))
