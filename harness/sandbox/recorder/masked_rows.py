"""Rows of a parameter that a program keeps from learning by gradients of zeros, as those of the old
words of a vocabulary: weight decay and momentum move them all the same.
"""

import contextlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator

import torch
from torch import Tensor, nn

from harness.sandbox.recorder.tape import Tape, dense
from harness.sandbox.recorder.transforms import outside

MASKS = re.compile(
    r"grad\w*\[[^\]\n]*\]\s*(=\s*0|\.zero_\(|\.fill_\(0|\*=)|\.grad\b[^=\n]*(mul_\(|\*=)|register_hook"
)
"""How the text of a program shows that it may do so."""

OFTEN = 3
"""So many steps that moved them are no accident."""


class MaskedRows:
    """Follows rows whose gradient is taken away before each step."""

    def __init__(self, tape: Tape) -> None:
        """Nothing is looked at until a program shows that it masks gradients."""
        self._tape = tape
        self.looks = False
        """Whether the program masks gradients."""
        self._had: dict[str, Tensor] = {}
        """Rows to which a backward brought a gradient, by the parameter's name."""
        self._without: dict[str, Tensor] = {}
        """Rows that had none in any step so far."""
        self._kept: dict[str, tuple[Tensor, Tensor]] = {}
        """Which of them there were before the last step, and their values."""
        self._moved: Counter[str] = Counter()

    def after_backward(self, parameters: Iterable[nn.Parameter]) -> None:
        """Note what has a gradient, or would have one without the program's hook."""
        if not self.looks:
            return
        with outside(), torch.no_grad():
            for parameter, name, with_gradient in self._looked_at(parameters):
                here = with_gradient | _taken_away(parameter)
                self._had[name] = self._had.get(name, torch.zeros_like(here)) | here

    def before_step(self, parameters: Iterable[nn.Parameter]) -> None:
        """Note rows that had a gradient once and had none in any step, this one included; and count
        those of the step before that are not what they were: who puts them back means it.
        """
        if not self.looks:
            return
        with outside(), torch.no_grad():
            for parameter, name, with_gradient in self._looked_at(parameters):
                empty = ~with_gradient
                self._without[name] = empty & self._without.get(name, torch.ones_like(empty))
                if (before := self._kept.pop(name, None)) is not None:
                    self._moved[name] += not torch.equal(parameter[before[0]], before[1])
                masked = self._without[name] & self._had.get(name, torch.zeros_like(empty))
                if masked.any() and not empty.all():
                    self._kept[name] = masked, parameter[masked].clone()

    def moved(self) -> tuple[str, ...]:
        """Parameters of which such rows moved."""
        return tuple(name for name, steps in self._moved.items() if steps >= OFTEN)

    def _looked_at(
        self, parameters: Iterable[nn.Parameter]
    ) -> Iterator[tuple[nn.Parameter, str, Tensor]]:
        """Matrices with a gradient, their names, and which of their rows have one."""
        for parameter in parameters:
            gradient = parameter.grad
            if gradient is not None and parameter.dim() > 1 and gradient.shape == parameter.shape:
                yield parameter, self._tape.name(parameter), _rows_with(dense(gradient))


def _rows_with(gradient: Tensor) -> Tensor:
    return gradient.flatten(1).any(1)


def _taken_away(parameter: nn.Parameter) -> Tensor:
    """Rows of which hooks of the program return nothing, whatever they are given."""
    taken = torch.zeros(len(parameter), dtype=torch.bool)
    for hook in list((parameter._backward_hooks or {}).values()):
        with contextlib.suppress(Exception):  # code of the program's own
            given = hook(torch.ones_like(parameter))
            if isinstance(given, Tensor) and given.shape == parameter.shape:
                taken |= ~_rows_with(given)
    return taken
