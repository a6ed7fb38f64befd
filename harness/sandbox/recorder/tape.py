"""Where the probes write: events in order, tensors as bytes, parameters by name."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.utils.weak import TensorWeakRef

from harness.domain.event import Event
from harness.sandbox.frames import Json
from harness.sandbox.recorder.injected import InjectedFactors

Blob = tuple[str, str, tuple[int, ...], bytes]
"""Name, element type, sizes and row-major elements of one tensor."""

LARGE = 1_000_000
"""Above this many parameters gradients are written as norm and samples (see ``sampled``)."""

FROZEN = 100_000
"""Above this many numbers a parameter that asks for no gradient is not written at all."""

SAMPLES = 256
"""Coordinates of each tensor that are written for large models."""

_IN_NUMPY = frozenset({torch.float16, torch.float32, torch.float64})
"""Element types in which numpy looks at numbers, in a third of the time of torch where they are few."""


class Sink(Protocol):
    """What takes the events: the channel to the parent."""

    def send(self, kind: str, data: Mapping[str, Json], tensors: Sequence[Blob] = ()) -> object:
        """Send one event."""


class Tape:
    """Writes events, and knows every parameter by one name however many modules share it.

    It keeps none alive: a program that trains a copy after another would have all of them in every
    event.
    """

    def __init__(self, sink: Sink) -> None:
        """Write to ``sink``; parameters are registered later."""
        self._sink = sink
        self.sent = 0
        """Bytes of tensors that were written."""
        self._names: dict[int, tuple[str, TensorWeakRef]] = {}
        self._count = 0
        self._parameters: dict[str, TensorWeakRef] = {}
        self._last: dict[str, Blob] = {}
        self._versions: dict[str, int] = {}
        self.large = self.is_silent = False
        self.is_shared = False
        """Whether a model was called that is no copy of another, and holds its layers."""
        self.has_plain = False
        """Whether plain tensors are trained."""
        self._met: list[str] = []
        self._reached: set[str] = set()
        """Names of parameters that a backward has reached."""
        self._masters: dict[str, TensorWeakRef] = {}
        """By the name of what is copied from them: weights that an optimizer steps in its place."""
        self.expects = False
        """Whether it was told how much is trained before anything was called."""
        self.before_write: Callable[[], None] | None = None
        """Called before an event is written, or parameters are asked for changes."""
        self.injected = InjectedFactors()
        """What is done to gradients."""

    def register(self, prefix: str, named: Iterable[tuple[str, Tensor]]) -> None:
        """Remember parameters under ``prefix + name``; one that is known keeps its first name."""
        for name, parameter in named:
            if not self.knows(parameter):
                self._count += 1
                found = TensorWeakRef(parameter)
                self._names[id(parameter)] = prefix + name, found
                self._parameters[prefix + name] = found
        self.expect(sum(p.numel() for _, p in self._alive() if p.requires_grad))

    def expect(self, elements: int) -> None:
        """So many numbers are trained; of many only samples are written."""
        self.large = elements > LARGE or (self.large and self.expects)

    def register_plain(self, leaves: Iterable[Tensor]) -> None:
        """Remember tensors that are trained and are no parameters of any module: ``loose.0``."""
        for leaf in leaves:
            if not self.knows(leaf):
                self.has_plain = True
                self._met.append(self.name(leaf))

    def take_over(self, model: nn.Module) -> None:
        """Remember the parameters of a changed model: what took another's place has its name."""
        parameters = dict(model.named_parameters())
        there = {id(p) for p in parameters.values()}
        known = dict(self._alive())
        for name, parameter in parameters.items():
            if name in known and id(known[name]) in there:
                self.name(parameter)
            else:
                self.register("", [(name, parameter)])

    def knows(self, parameter: Tensor) -> bool:
        """Whether the parameter is registered; where one was that is gone, another may stand now."""
        known = self._names.get(id(parameter))
        return known is not None and known[1]() is parameter

    def _alive(self) -> Iterator[tuple[str, Tensor]]:
        """The parameters that the program still has, by name; of lazy ones those that have a size."""
        for name, found in list(self._parameters.items()):
            parameter = found.ref()  # `found()` looks at its type again each time
            if isinstance(parameter, Tensor):
                parameter._fix_weakref()  # type: ignore[attr-defined]  # what `found()` does next
                if not is_lazy(parameter):
                    yield name, parameter
                continue
            for known in (self._parameters, self._last, self._versions):
                known.pop(name, None)

    def gradient_values(self) -> dict[str, Tensor]:
        """A copy of every gradient that exists now; samples of it for large models."""
        return {
            name: sampled(p.grad.detach()) if self.large else dense(p.grad.detach()).clone()
            for name, p in self._alive()
            if p.grad is not None
        }

    def gradient_of_unchanged(self, parameter: Tensor) -> dict[str, Tensor]:
        """A copy of its gradient, by name, if it is as it was last written and has one."""
        if (
            parameter.grad is None
            or not self.knows(parameter)
            or not bool(dense(parameter.grad).any())
        ):
            return {}
        name = self.name(parameter)
        return (
            {} if self._differs(name, parameter) else {name: dense(parameter.grad.detach()).clone()}
        )

    def increments(
        self, before: dict[str, Tensor], given: Iterable[tuple[Tensor, Tensor]] = ()
    ) -> Iterator[Blob]:
        """``inc:<name>``: what was added to every gradient since ``before`` was taken, or was ``given``
        back for the parameter instead.
        """
        returned = {id(leaf): gradient for leaf, gradient in given}
        for name, parameter in self._alive():
            if id(parameter) in returned:
                yield self.blob(f"inc:{name}", returned[id(parameter)])
            elif parameter.grad is not None:
                now = sampled(parameter.grad.detach()) if self.large else dense(parameter.grad)
                yield as_blob(f"inc:{name}", now - before[name] if name in before else now)

    def name(self, parameter: Tensor) -> str:
        """Name of a parameter; one never seen before is registered as loose. A master has the name of
        the weight that is copied from it.
        """
        if not self.knows(parameter) and not self._is_master(parameter):
            self.register("loose.", [(str(self._count), parameter)])
        return self._names[id(parameter)][0]

    def reach(self, leaves: Iterable[Tensor]) -> None:
        """A backward returned the gradients of these; what one leaves in ``.grad`` is known anyway."""
        self._reached.update(self.name(leaf) for leaf in leaves if self.knows(leaf))

    def _is_master(self, parameter: Tensor) -> bool:
        """Whether a parameter that no backward reaches is equal to one that backward reaches."""
        for name, copy in self._alive():
            alike = copy.shape == parameter.shape and name in self._reached - self._masters.keys()
            if alike and torch.equal(parameter.detach().to(copy.dtype), copy.detach()):
                found = TensorWeakRef(parameter)
                self._names[id(parameter)] = name, found
                self._masters[name] = found
                return True
        return False

    def write(self, event: Event, tensors: Iterable[Blob] = ()) -> None:
        """Write one event."""
        self.settle()
        if self.is_silent:
            return
        data = event.model_dump(mode="json", exclude={"kind"})
        blobs = tuple(tensors)
        self.sent += sum(len(raw) for *_, raw in blobs)
        self._sink.send(event.kind, data, blobs)
        self.injected.saw(event)

    def gradients(self) -> Iterator[Blob]:
        """``grad:<name>`` of every parameter that has a gradient now."""
        for name, parameter in self._alive():
            if parameter.grad is not None:
                yield self.blob(f"grad:{name}", parameter.grad)

    def blob(self, name: str, tensor: Tensor) -> Blob:
        """One tensor of parameter size: whole, or sampled for large models."""
        if tensor.is_sparse:
            tensor = tensor.to_dense()
        return as_blob(name, sampled(tensor.detach()) if self.large else tensor)

    def values(self, names: Iterable[str] | None = None) -> Iterator[Blob]:
        """``param:<name>`` of the named parameters (all by default), remembered as known."""
        known = dict(self._alive())
        for name in known if names is None else (n for n in names if n in known):
            if not _is_left_out(known[name]):
                yield self._remembered(name, self._held(name, known[name]))

    def stepped(self, names: Iterable[str]) -> Iterator[Blob]:
        """The same right after an optimizer's step, of masters that were not copied yet."""
        known = dict(self._alive())
        for name in (n for n in names if n in known and not _is_left_out(known[n])):
            master = self._master(name)
            yield self._remembered(name, known[name] if master is None else master)

    def plain_ones(self) -> Iterator[Blob]:
        """``param:<name>`` of the plain tensors that were met since they were last asked for."""
        known = dict(self._alive())
        yield from (self._remembered(n, known[n]) for n in self._met if n in known)
        self._met = []

    def frozen(self) -> tuple[str, ...]:
        """Parameters that ask for no gradient now."""
        return tuple(name for name, p in self._alive() if not p.requires_grad)

    def changed_unseen(self) -> list[str]:
        """Parameters that differ from what was last written, or never were."""
        self.settle()
        return [name for name, p in self._alive() if self._differs(name, p)]

    def changed_by_itself(self) -> Iterator[Blob]:
        """``was:<name>``: what the program changed without an event until now."""
        for name, parameter in self._alive():
            if self._differs(name, parameter):
                yield self.blob(f"was:{name}", self._held(name, parameter))

    def differs(self, parameter: Tensor) -> bool:
        """Whether a known parameter differs from what was last written."""
        return self._differs(self.name(parameter), parameter)

    def has_at(self, where: int) -> bool:
        """Whether a parameter that is trained lies at this place in memory."""
        return any(p.requires_grad and p.data_ptr() == where for _, p in self._alive())

    def trained_like(self, tensor: Tensor) -> Iterator[Tensor]:
        """The other parameters of its shape that are trained."""
        for _, p in self._alive():
            if p.requires_grad and p.shape == tensor.shape and p.data_ptr() != tensor.data_ptr():
                yield p

    def has_changed(self) -> bool:
        """Whether any parameter differs from what was last written."""
        return any(self._differs(name, p) for name, p in self._alive())

    def finite_gradients(self) -> bool:
        """Whether every gradient is finite now, right after a backward."""
        there = {name: p.grad for name, p in self._alive() if p.grad is not None}
        self._reached.update(there)
        return all(_is_finite(g.sum() if self.large else dense(g)) for g in there.values())

    def settle(self) -> None:
        """Have written what happened and was not told yet."""
        if self.before_write is not None:
            self.before_write()

    def _master(self, name: str) -> Tensor | None:
        found = self._masters.get(name)
        return None if found is None else found()

    def _held(self, name: str, parameter: Tensor) -> Tensor:
        """The parameter, or its master, of which it is the rounded copy now."""
        master = self._master(name)
        if master is None or not torch.equal(master.detach().to(parameter.dtype), parameter):
            return parameter
        return master

    def _remembered(self, name: str, parameter: Tensor) -> Blob:
        blob = self.blob(f"param:{name}", parameter)
        self._versions[name] = parameter._version
        if not self.large:
            self._last[name] = blob
        return blob

    def _differs(self, name: str, parameter: Tensor) -> bool:
        if _is_left_out(parameter):
            return False
        if name not in self._versions:
            return True
        parameter = self._held(name, parameter)
        if name not in self._last:
            return parameter._version != self._versions[name]
        # bit comparison: NaN equals itself here, or a diverged model would be written at every forward
        return self._last[name] != self.blob(f"param:{name}", parameter)


def _is_left_out(parameter: Tensor) -> bool:
    """Whether it is large and frozen: a teacher beside the model is not what is trained."""
    return not parameter.requires_grad and parameter.numel() > FROZEN


def as_blob(name: str, tensor: Tensor) -> Blob:
    """A tensor as bytes: detached, dense, row-major; bfloat16 widened, which numpy lacks."""
    tensor = dense(tensor.detach())
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.float()
    return name, _dtype(tensor.dtype), tuple(tensor.shape), tensor.numpy().tobytes()


def dense(tensor: Tensor) -> Tensor:
    """The same without gaps, a complex number as two real ones: the gradient of an embedding may hold
    only the rows that were used.
    """
    whole = tensor if tensor.layout == torch.strided else tensor.to_dense()
    return torch.view_as_real(whole.resolve_conj()) if whole.is_complex() else whole


def sampled(tensor: Tensor) -> Tensor:
    """Norm, then ``SAMPLES`` coordinates at a fixed stride: linear in the tensor, so sums can be
    checked. (257,)
    """
    flat = dense(tensor).reshape(-1)
    stride = max(1, flat.numel() // SAMPLES)
    picked = flat[::stride][:SAMPLES].float()
    return torch.cat([torch.linalg.vector_norm(flat, dtype=torch.float32).reshape(1), picked])


def tensors_in(value: object) -> Iterator[Tensor]:
    """Every tensor in a nest of tuples, lists, mappings and dataclass-like outputs, in order."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from tensors_in(item)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors_in(item)


@cache
def _dtype(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _is_finite(tensor: Tensor) -> bool:
    if tensor.dtype in _IN_NUMPY and tensor.layout is torch.strided:
        return bool(np.isfinite(tensor.detach().numpy()).all())
    return bool(torch.isfinite(tensor).all())
