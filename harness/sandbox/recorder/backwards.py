"""Calls of backward, with the gradients that they leave behind."""

from collections.abc import Callable, Iterable, Iterator, Sequence, ValuesView
from typing import Any, TypeVar

import torch
from torch import Tensor

from harness.domain.event import Backward
from harness.sandbox.batches.callers import line_of_program
from harness.sandbox.recorder.graphs import Graphs, Reached, times_mean
from harness.sandbox.recorder.injected import again, argument, inputs_in, seeds_in
from harness.sandbox.recorder.losses import Losses
from harness.sandbox.recorder.tape import Blob, Tape, tensors_in
from harness.sandbox.recorder.transforms import outside, unwrapped

R = TypeVar("R")
After = Callable[[tuple[Any, ...], dict[str, Any], object], Iterable[Blob]]
"""Told of the arguments and the result of a call that is over."""


ROOTS = (("backward", "tensors"), ("grad", "outputs"))
"""What torch's two functions are called, and under which name they take what they begin at."""


class Backwards:
    """Replaces ``torch.autograd.backward`` and ``grad``, through which ``Tensor.backward`` goes too."""

    def __init__(
        self,
        tape: Tape,
        loss_scale: Callable[[], float | None],
        has_own: Callable[[], bool],
        losses: Losses | None = None,
        after: After = lambda *_: (),
    ) -> None:
        """``loss_scale``: the scale in force, ``None`` when no enabled scaler has been used.

        ``has_own``: whether a model is tracked that the oracle cannot build anew, be it one whose
        layers the program exchanged, or parts of one that are trained apart; then what each backward
        adds is written too.

        ``losses``: what remembers what torch's loss functions returned.

        ``after``: told of each call that is over; returns tensors that belong to its event.
        """
        self._tape = tape
        self._has_own = has_own
        self._loss_scale = loss_scale
        self._losses = losses or Losses()
        self._after = after
        self.graphs: Graphs | None = None
        """Who looks at what it goes through, if anybody does."""
        self.looks: Callable[[Sequence[Tensor]], None] = lambda _: None
        """Called with the losses of each backward before it, unless it can be differentiated again."""
        self.met: Callable[[], None] = lambda: None
        """Called after each call, to name parameters that nobody knew before."""
        self._inside = False

    def install(self) -> None:
        """Patch torch; called once in a process that then runs one candidate."""
        kept = _kept(self._recorded(torch.autograd.grad))
        for name, function in (
            ("backward", self._recorded(torch.autograd.backward)),
            ("grad", kept),
        ):
            setattr(torch.autograd, name, function)

    def _recorded(self, function: Callable[..., R]) -> Callable[..., R]:
        def wrapper(*args: Any, **kwargs: Any) -> R:
            if self._inside:
                return function(*args, **kwargs)
            name, key = ROOTS[function.__name__ == "grad"]
            plain = unwrapped(tensors_in(argument(args, kwargs, 0, key))) or ()
            self._tape.settle()  # a step by hand ends a window as well
            (given, named), factor = self._tape.injected.at_root(name, args, kwargs)
            with outside():
                reached = self._reached(name, plain, given, named)
                values, times = tuple(_value(root) for root in plain), times_mean(plain)
                before = self._tape.gradient_values() if self._has_own() else None
            self._inside, result = True, None
            raised: str | None = "interrupted"
            try:
                result, raised = function(*given, **named), None
                self._note_derivatives(name, args, kwargs, result)
            except Exception as error:
                raised = str(error)[:500]
                raise
            finally:
                self._inside = False
                with outside():
                    more = {
                        "create_graph": again(name, args, kwargs),
                        "seed": _seed(name, plain, args, kwargs),
                        "injected": factor,
                        "times_mean": times,
                        "line": line_of_program(),
                    }
                    event = self._event(name, values, raised, reached).model_copy(update=more)
                    self._write(event, before, args, kwargs, result)
            return result

        return wrapper

    def _note_derivatives(
        self, function: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: object
    ) -> None:
        if function == "grad" and self.graphs is not None and not again(function, args, kwargs):
            self.graphs.constants.derived(inputs_in(args, kwargs), result)

    def _reached(
        self,
        function: str,
        roots: Sequence[Tensor],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Reached:
        """What it goes through, in a program's own world."""
        differentiable = again(function, args, kwargs)
        if function == "backward" and not differentiable:
            self.looks(roots)
        if self.graphs is None:
            return Reached()
        if function == "backward":
            return self.graphs.before_backward(roots, again=differentiable)
        self.graphs.asked_for(inputs_in(args, kwargs), again=differentiable)
        return Reached()

    def _event(
        self,
        function: str,
        roots: Iterable[float | None],
        raised: str | None,
        reached: Reached,
    ) -> Backward:
        self.met()
        return Backward(
            function="grad" if function == "grad" else "backward",
            roots=tuple(roots),
            loss_scale=None if reached.plain else self._loss_scale(),
            at_input=reached.at_input,
            covers=reached.covers,
            gradients_finite=self._tape.finite_gradients(),
            raised=raised,
            returned=self._losses.take(),
            arrived=self._losses.take_gradient(),
            weighed=self._losses.take_weights(),
        )

    def _write(
        self,
        event: Backward,
        before: dict[str, Tensor] | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        result: object,
    ) -> None:
        alone = event.function == "grad" and not event.create_graph
        given = _given(args, kwargs, result) if alone else []
        self._tape.reach(leaf for leaf, _ in given)
        added = self._tape.increments(before, given) if before is not None else ()
        found = self._after(args, kwargs, result)
        plain = self._tape.plain_ones()
        self._tape.write(event, [*self._tape.gradients(), *added, *found, *plain])


def _kept(grad: Callable[..., R]) -> Callable[..., R]:
    """``torch.autograd.grad`` with inputs that can be looked at afterwards: a generator is gone then,
    and the values of a dictionary have no places.
    """

    def wrapper(outputs: object, inputs: object, *args: object, **kwargs: object) -> R:
        known = tuple(inputs) if isinstance(inputs, Iterator | ValuesView) else inputs
        return grad(outputs, known, *args, **kwargs)

    return wrapper


def _given(
    args: tuple[Any, ...], kwargs: dict[str, Any], result: object
) -> list[tuple[Tensor, Tensor]]:
    """What ``torch.autograd.grad`` returned, each beside what it is the gradient of."""
    found = result if isinstance(result, tuple) else ()
    return [
        (leaf, gradient)
        for leaf, gradient in zip(
            inputs_in(args, kwargs), found, strict=False
        )  # nothing was found where it raised
        if isinstance(leaf, Tensor)
        and isinstance(gradient, Tensor)
        and gradient.shape == leaf.shape
    ]


def _seed(
    name: str, roots: Iterable[Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> float | None:
    """The gradient that was handed over for a single scalar root."""
    given = unwrapped(tensors_in(seeds_in(name, args, kwargs))) or []
    scalar = all(t.numel() == 1 for t in (*roots, *given))
    return _value(given[0]) if scalar and len(given) == 1 else None


def _value(root: Tensor) -> float | None:
    return float(root.detach()) if root.numel() == 1 else None
