"""States of recurrent layers that are cut off at each time step: then no gradient goes back through
time, whatever a window says.
"""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import torch
from torch import Tensor, nn

from harness.sandbox.recorder.transforms import memory_of

LAYERS = (nn.RNN, nn.GRU, nn.LSTM)
CELLS = (nn.RNNCell, nn.GRUCell, nn.LSTMCell)

OFTEN = 3
"""So many windows, none of which carried a state on."""


class Recurrences:
    """Wraps ``forward`` of torch's recurrent layers and cells."""

    def __init__(self) -> None:
        """No state was returned yet."""
        self._returned: dict[int, tuple[nn.Module, Tensor]] = {}
        """States since the last backward, by their memory, and who returned them."""
        self._cut = self._carried = 0
        """Calls since the last backward that were given such a state without its graph, and with it."""
        self._windows_cut = 0
        self._ever_carried = False

    @property
    def windows_cut(self) -> int:
        """Windows of several time steps each of which was cut off from the one before; 0 where any
        state was carried on.
        """
        often = self._windows_cut >= OFTEN and not self._ever_carried
        return self._windows_cut if often else 0

    def install(self) -> None:
        """Patch the classes."""
        for cls in (*LAYERS, *CELLS):
            setattr(cls, "forward", self._watched(cls.forward))  # noqa: B010 - a method is replaced on purpose

    def before_backward(self) -> None:
        """A loss goes backward, and with it the window ends."""
        self._ever_carried = self._ever_carried or self._carried > 0
        self._windows_cut += self._cut > 1
        self._cut = self._carried = 0
        self._returned.clear()

    def _watched(self, forward: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(forward)
        def watched(layer: nn.Module, *args: Any, **kwargs: Any) -> Any:
            given = kwargs.get("input", args[0] if args else None)
            one_step = torch.is_grad_enabled() and _length(layer, given) == 1
            if one_step:
                self._look_at(layer, kwargs.get("hx", args[1] if len(args) > 1 else None))
            result = forward(layer, *args, **kwargs)
            if one_step:
                states = result if isinstance(layer, CELLS) else result[1]
                self._returned |= {memory_of(s): (layer, s.detach()) for s in _tensors(states)}
            return result

        return watched

    def _look_at(self, layer: nn.Module, states: object) -> None:
        for state in _tensors(states):
            self._carried += state.requires_grad
            before = self._returned.get(memory_of(state))
            self._cut += not state.requires_grad and before is not None and before[0] is layer
            return


def _length(layer: nn.Module, given: object) -> int:
    """How many time steps it is given at once."""
    if isinstance(layer, CELLS):
        return 1
    if not isinstance(given, Tensor) or given.dim() < 2:
        return 0
    return given.shape[1 if given.dim() == 3 and layer.batch_first else 0]


def _tensors(states: object) -> Iterator[Tensor]:
    for state in states if isinstance(states, tuple | list) else (states,):
        if isinstance(state, Tensor):
            yield state
