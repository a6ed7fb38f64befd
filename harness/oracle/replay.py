"""The pristine model, replayed: parameter gradients that a backward must have produced."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import torch
from torch import Tensor, nn

from harness.domain.injection import OnePass
from harness.domain.workload import WorkloadSpec
from harness.oracle.facts import Array, Flow, ForwardPass, Parameters
from harness.oracle.gradient import Gradient, norm
from harness.oracle.objective import (
    UNIFORM,
    fitted_weights,
    part_on_padding,
    unevenness,
    uniform_factor,
)
from harness.oracle.recent import RecentValues, digest
from harness.oracle.replayed import Replayed
from harness.oracle.samples import SampleIndex
from harness.workloads import Workload, WorkloadBatch, build

BESIDE = ("loose.", "own")
"""Beginning of the names of parameters that do not belong to the workload's model."""


RECENT = RecentValues[Replayed](128 << 20)
"""Flows that were recomputed, of all workloads."""

FORGOTTEN = Flow(ForwardPass(-1, "", (), (), {}, None, -1, None), {})
"""Stands for the flow in what is kept: what was computed is remembered, not what from."""


class Replay:
    """Recomputes flows of one rank in double precision."""

    def __init__(self, spec: WorkloadSpec, rank: int) -> None:
        """Build the pristine workload."""
        self._spec = f"{spec.model_dump_json()} {rank}".encode()
        self.workload: Workload = build(spec)
        self.model: nn.Module = self.workload.model().double()
        self.names = [name for name, _ in self.model.named_parameters()]
        self._leaves = list(self.model.parameters())
        self._values = [leaf.detach().numpy() for leaf in self._leaves]
        self._sizes = tuple(leaf.numel() for leaf in self._leaves)
        self._loaded: Parameters | None = None
        ranks = tuple(self.workload.batches(r) for r in range(spec.world_size))
        self.index = SampleIndex(ranks, rank)
        self.batches = ranks[rank]
        self.parts = self.workload.parts()
        sound = [b for b in self.batches if _is_finite(b.inputs) and _is_finite(b.target)]
        self._sound = (
            self.index.target(tuple(s for b in sound for s in b.samples)) if sound else None
        )

    def knows(self, passed: ForwardPass) -> bool:
        """Whether the forward ran the workload's model, or a part of it that is trained apart, with
        parameters of the right sizes.
        """
        known = passed.model in ("model", *self.parts) and self.fits(passed.parameters)
        return known and not self._has_more(passed.parameters)

    def _has_more(self, parameters: Parameters) -> bool:
        """Whether the model has parameters that the pristine one has not: the program changed it."""
        if len(parameters) == len(self.names):
            return False
        more = parameters.keys() - {*self.names}
        return any(not name.startswith(BESIDE) for name in more)

    def fits(self, parameters: Parameters) -> bool:
        """Whether these are values of the pristine model's parameters."""
        return all(
            name in parameters and parameters[name].shape == tuple(leaf.shape)
            for name, leaf in zip(self.names, self._leaves, strict=True)
        )

    def output(self, passed: ForwardPass) -> Tensor:
        """The model's output for what entered, with gradient. (n, ...)"""
        self._load(passed.parameters)
        return _as_injected(self.model(_entering(passed.inputs[0])), passed.injected)

    def recorded(self, flow: Flow) -> Replayed:
        """A flow through a model that the program defines: its gradient as recorded, its weights
        recomputed.
        """
        gradient = Gradient.of(flow.added).scaled(1.0 / flow.loss_scale)
        samples = self.index.recognise(flow.forward.inputs)
        if samples is None or not flow.forward.outputs or 0 not in flow.gradients:
            rows = _rows(flow) if samples is None else 0
            return Replayed(flow, samples, rows, gradient, None, None, None, recomputed=False)
        if not flow.forward.outputs[0].shape:  # the model returns its own loss
            return Replayed(flow, samples, 0, gradient, None, None, None, recomputed=False)
        output = torch.from_numpy(flow.forward.outputs[0].astype(np.float64))
        batch = self.index.target(samples)
        weights = batch.weights.double().numpy()
        real = int((weights > 0).sum())
        try:
            reference = self._loss_gradient(output, batch) * flow.factor
        except RuntimeError:  # the program's model ends in other sizes than the workload's
            return Replayed(flow, samples, real, gradient, None, None, None, recomputed=False)
        weight, error = fitted_weights(flow.gradients[0] / flow.loss_scale, reference, weights)
        own = (
            gradient.scaled(real / weight)
            if weight and error is not None and error < UNIFORM
            else None
        )
        return Replayed(
            flow, samples, real, gradient, own, weight, error,
            recomputed=False, target=batch.target.numpy(),
            uneven=unevenness(flow.gradients[0], reference, weights),
        )  # fmt: skip

    def flow(self, flow: Flow) -> Replayed:
        """What one flow added, and how its loss weighed the samples."""
        return self.flows([flow])[0]

    def flows(self, flows: Sequence[Flow]) -> list[Replayed]:
        """The same for several flows; those at the same parameters are recomputed together."""
        together = groupby(flows, lambda flow: id(flow.forward.parameters))
        return [replayed for _, group in together for replayed in self._at_once([*group])]

    def _at_once(self, flows: Sequence[Flow]) -> list[Replayed]:
        keys = self._keys(flows)
        known = [RECENT.get(key) for key in keys]
        asked = [flow for flow, before in zip(flows, known, strict=True) if before is None]
        computed = iter(self._computed(asked))
        return [
            _kept(key, next(computed)) if before is None else replace(before, flow=flow)
            for key, flow, before in zip(keys, flows, known, strict=True)
        ]

    def _keys(self, flows: Sequence[Flow]) -> list[bytes]:
        parameters = flows[0].forward.parameters  # of all: that is why they are together
        together = digest(self._spec, [parameters[name] for name in self.names])
        return [_key(together, flow) for flow in flows]

    def _computed(self, flows: Sequence[Flow]) -> list[Replayed]:
        whole = [flow for flow in flows if flow.forward.model not in self.parts]
        outputs = [self.output(flow.forward) for flow in whole]
        losses = self._losses(outputs, [self.index.recognise(f.forward.inputs) for f in whole])
        computed = iter(zip(outputs, losses, strict=True))
        return [
            self._of_a_part(flow)
            if flow.forward.model in self.parts
            else self._replayed(flow, *next(computed))
            for flow in flows
        ]

    def _replayed(self, flow: Flow, output: Tensor, loss: "_Loss | None") -> Replayed:
        received = flow.gradients[0].reshape(output.shape) / flow.loss_scale
        gradient = self._pull(output, received)
        if loss is None:
            return Replayed(flow, None, len(output), gradient, None, None, None)
        reference = loss.gradient * flow.factor
        weighted = reference * loss.weights.reshape(-1, *[1] * (output.ndim - 1))
        weight, error = fitted_weights(received, reference, loss.weights)
        factor = uniform_factor(received, weighted)
        own = gradient.scaled(1.0 / factor) if factor else self._pull(output, weighted)
        differs = _distance(flow.forward, output)
        # full precision has no excuse to differ
        breakdown = differs if flow.forward.autocast is not None else 0.0
        return Replayed(
            flow, loss.samples, int((loss.weights > 0).sum()), gradient, own, weight, error, breakdown,
            differs=differs, target=loss.target,
            uneven=unevenness(received, reference, loss.weights),
            on_padding=part_on_padding(received, loss.weights),
        )  # fmt: skip

    def _of_a_part(self, flow: Flow) -> Replayed:
        """What one flow added to a part that is trained apart: which loss is right stays open."""
        passed = flow.forward
        self._load(passed.parameters)
        part = self.model.get_submodule(passed.model)
        leaves = {f"{passed.model}.{name}": leaf for name, leaf in part.named_parameters()}
        output: Tensor = part(_entering(passed.inputs[0]))
        received = flow.gradients[0].reshape(output.shape) / flow.loss_scale
        pulled = torch.autograd.grad(output, [*leaves.values()], torch.from_numpy(received))
        gradient = Gradient.of({n: g.numpy() for n, g in zip(leaves, pulled, strict=True)})
        samples = self.index.recognise(passed.inputs)
        differs = _distance(passed, output)
        return Replayed(
            flow, samples, len(output), gradient,
            None, None, None, differs if passed.autocast is not None else 0.0, differs=differs,
        )  # fmt: skip

    def loss(self, parameters: Parameters) -> float:
        """The objective over all data of this rank that nothing was put into, at some parameters;
        infinite or NaN where it is.
        """
        batch = self._sound
        if batch is None:
            return math.nan
        self._load(parameters)
        with torch.no_grad():
            inputs = batch.inputs.double() if batch.inputs.is_floating_point() else batch.inputs
            losses = self.workload.sample_losses(self.model(inputs), batch)
            return float((losses * batch.weights).sum() / batch.weights.sum())

    def _load(self, parameters: Parameters) -> None:
        """Give the pristine model these values; the same mapping again costs nothing."""
        if self._loaded is parameters:
            return
        for name, values in zip(self.names, self._values, strict=True):
            values[...] = parameters[name]
        self._loaded = parameters

    def _losses(
        self, outputs: Sequence[Tensor], samples: Sequence[tuple[int, ...] | None]
    ) -> "list[_Loss | None]":
        """The workload's own loss at each output, ``None`` where the samples are unknown.

        It is differentiated for all of them at once: samples share nothing there, and most of the
        time of a small gradient is the call.
        """
        known = [(o.detach(), s) for o, s in zip(outputs, samples, strict=True) if s is not None]
        if not known:
            return [None] * len(outputs)
        batch = self.index.target(tuple(sample for _, of_one in known for sample in of_one))
        gradients = self._loss_gradient(torch.cat([output for output, _ in known]), batch)
        weights, target = batch.weights.double().numpy(), batch.target.numpy()
        found: list[_Loss | None] = []
        first = 0
        for of_one in samples:
            rows = slice(first, first + len(of_one or ()))
            first = rows.stop
            found.append(
                None
                if of_one is None
                else _Loss(of_one, gradients[rows], weights[rows], target[rows])
            )
        return found

    def _loss_gradient(self, output: Tensor, batch: WorkloadBatch) -> Array:
        leaf = output.detach().requires_grad_()
        losses = self.workload.sample_losses(leaf, batch)
        (gradient,) = torch.autograd.grad(losses.sum(), leaf)
        return gradient.numpy()

    def _pull(self, output: Tensor, received: Array) -> Gradient:
        pulled = torch.autograd.grad(
            output,
            self._leaves,
            torch.from_numpy(received),
            retain_graph=True,
            allow_unused=True,
            materialize_grads=True,
        )
        flat = torch.cat([g.reshape(-1) for g in pulled]).numpy()
        return Gradient(tuple(self.names), self._sizes, flat)


@dataclass(frozen=True, slots=True)
class _Loss:
    """The workload's own loss of some samples, at one output."""

    samples: tuple[int, ...]
    """The samples."""
    gradient: Array
    """Derivative of each sample's loss. (n, ...)"""
    weights: Array
    """1.0 for every sample that counts. (n,)"""
    target: Array
    """What they are compared with. (n, ...)"""


def _key(together: bytes, flow: Flow) -> bytes:
    passed = flow.forward
    more = repr((passed.model, passed.autocast, flow.loss_scale, flow.factor)).encode()
    return digest(together + more, (*passed.inputs, flow.gradients[0], *passed.outputs))


def _kept(key: bytes, found: Replayed) -> Replayed:
    own = 0 if found.own is None else found.own.flat.nbytes
    target = 0 if found.target is None else found.target.nbytes
    size = 1024 + found.gradient.flat.nbytes + own + target
    RECENT.keep(key, replace(found, flow=FORGOTTEN), size)
    return found


def _entering(inputs: Array) -> Tensor:
    """What a model in double precision takes; tokens stay what they are."""
    return torch.tensor(inputs.astype(np.float64) if inputs.dtype.kind == "f" else inputs)


def _is_finite(tensor: Tensor) -> bool:
    return bool(torch.isfinite(tensor).all())


def _as_injected(output: Tensor, one: OnePass | None) -> Tensor:
    if one is None or one.row == 1.0:
        return output
    row = torch.ones_like(output)
    row[:1] = one.row_factor
    return output * row


def _distance(passed: ForwardPass, output: Tensor) -> float:
    """How far the recorded output is from the recomputed one, relative to it."""
    if not passed.outputs or passed.outputs[0].size != output.numel():
        return 0.0
    computed = output.detach().numpy()
    recorded = passed.outputs[0].astype(np.float64).reshape(computed.shape)
    return norm(recorded - computed) / max(norm(computed), 1e-300)


def _rows(flow: Flow) -> int:
    """How many rows entered a model of the program's own, by the first of its inputs."""
    sizes = [x.shape[0] for x in flow.forward.inputs if x.ndim]
    return sizes[0] if sizes else 0
