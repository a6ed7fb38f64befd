"""Models that are put together in the loop: a recurrent layer and a head, an encoder and a decoder.

No module holds them, so none is called that maps a batch to its outputs. What torch was asked from the
first of their calls on is noted, and when backward comes, what its root was computed of is a call of
the whole: the batch that entered, and what the last part returned. What was noted is then computed once
more, without hooks and without anything cut off, and the gradients that backward leaves have to be
those.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from torch.overrides import TorchFunctionMode

from harness.domain.injection import OnePass
from harness.sandbox.recorder.asked import MOST, Asked, Graph
from harness.sandbox.recorder.forwards import Forwards
from harness.sandbox.recorder.injected import at_output
from harness.sandbox.recorder.rows import Rows
from harness.sandbox.recorder.tape import Tape, tensors_in

LIKE = 1e-3
"""Relative distance of a gradient from the one that was computed anew, up to which they are the same."""
UNTRUE = "the parts of the model get gradients that are not the derivatives of the loss"
UNSEEN = "what the loss is computed of was not seen"
STRANGE = (
    "the parts of the model are trained together with tensors that are none of their parameters"
)
BESIDE = "parts of its own are trained beside the model that was given"


class Assembled(TorchFunctionMode):
    """Watches calls of the program's own modules, and what is done between them."""

    def __init__(self, tape: Tape, forwards: Forwards, rows: tuple[int, ...]) -> None:
        """``rows``: sizes of one sample of the workload's inputs."""
        super().__init__()
        self._tape, self._forwards, self._rows = tape, forwards, Rows(rows)
        self._noted = list[Asked]()
        self._returned = list[tuple[nn.Module, list[Tensor]]]()
        self._depth = 0
        self._noting = self._over = self._passing = self._changes = False
        self._one: OnePass | None = None
        self._before: dict[nn.Parameter, Tensor | None] = {}
        self._anew: dict[nn.Parameter, Tensor] = {}
        self.untrue: str | None = None
        """Why the gradients of the parts cannot be believed, if they cannot."""

    def install(self) -> None:
        """Watch all modules that the program calls by itself."""
        register_module_forward_pre_hook(self._enters)
        leaves: Callable[..., Any] = self._leaves
        register_module_forward_hook(leaves, always_call=True)

    def _enters(self, module: nn.Module, _: object) -> None:
        self._depth += 1
        if self._depth > 1 or next(module.parameters(), None) is None:
            return
        if self._forwards.is_given(module):
            self.untrue = BESIDE
            return
        self._forwards.hold(module)
        if self._over or not self._noting:
            self._noted, self._returned = [], []
            self._noting, self._over = True, False
        if torch.is_grad_enabled() and not self._passing:
            self._passing = self._changes = True
            self._one = self._tape.injected.next_pass()

    def _leaves(self, module: nn.Module, _: object, output: object) -> object:
        """What torch hands on in place of ``output``; ``None`` for that itself."""
        self._depth -= 1
        if self._depth or not self._noting or next(module.parameters(), None) is None:
            return None
        if (
            self._one is not None and self._changes
        ):  # the first of a pass: the others are given that
            self._changes = False
            output = at_output(self._one.model_copy(update={"times": 1.0}), output)
            self._tape.injected.at_next_root = self._one.times
        found = [t for t in tensors_in(output) if t.requires_grad]
        self._returned.append((module, found))
        return output

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Note what is asked of torch, and hand it on."""
        given = kwargs or {}
        if not self._noting or self._over or len(self._noted) >= MOST:
            return func(*args, **given)
        asked = Asked.of(func, args, given)
        asked.answered(func(*args, **given))
        self._noted.append(asked)
        return asked.result

    # ----------------------------------------------------------------------------- backward

    def before_backward(self, roots: Iterable[Tensor], seed: Tensor | None) -> None:
        """Write the calls that a backward goes back through, and compute what it has to leave."""
        asked = [*roots]
        graph = Graph(self._noted)
        needed = graph.above(asked)
        places = {
            id(t): place
            for place, (_, outputs) in enumerate(self._returned)
            for t in outputs
            if id(t) in needed
        }
        if not places:
            self.untrue = self.untrue or (UNSEEN if self._forwards.held() else None)
            return
        onward = graph.leading_to(asked, places)
        for place, (module, outputs) in enumerate(self._returned):
            own = [t for t in outputs if places.get(id(t)) == place]
            if own and not any(onward.get(id(t), set()) - {place} for t in own):
                entered = self._rows.among(graph.constants(own))
                self._forwards.assembled(module, entered, own, self._one)
        parameters = [p for p in self._forwards.held() if p.requires_grad]
        self._before = {p: None if p.grad is None else p.grad.clone() for p in parameters}
        with torch._C.DisableTorchFunction():
            anew = graph.gradients(asked, parameters, seed)
        self._anew = anew or {}
        known = {id(p) for p in self._forwards.held()}
        if anew is None:
            self.untrue = self.untrue or UNSEEN
        elif any(id(leaf) not in known for leaf in graph.leaves(asked)):
            self.untrue = self.untrue or STRANGE

    def after_backward(self, given: list[tuple[Tensor, Tensor]] | None) -> None:
        """Compare what was left. ``given``: what was returned instead, and for which parameters."""
        self._over = self._over or bool(self._anew)
        self._passing, self._one = False, None
        found = {id(leaf): gradient for leaf, gradient in given or ()}
        for parameter, anew in self._anew.items():
            if given is not None and id(parameter) not in found:
                continue
            now = found.get(id(parameter), parameter.grad)
            was = self._before[parameter] if given is None else None
            if not _alike(_difference(now, was, anew), anew):
                self.untrue = self.untrue or UNTRUE
        self._anew, self._before = {}, {}


def _difference(now: Tensor | None, was: Tensor | None, like: Tensor) -> Tensor:
    found = torch.zeros_like(like) if now is None else now.detach()
    return found if was is None else found - was


def _alike(one: Tensor, other: Tensor) -> bool:
    if not bool(torch.isfinite(other).all()):
        return True  # what overflowed shows nothing
    distance = float((one.double() - other.double()).norm())
    return distance <= LIKE * float(other.double().norm()) + 1e-9
