"""States that are loaded into a model whose memory they are: ``state_dict()`` copies nothing."""

from collections.abc import Callable, Mapping, MutableMapping
from functools import wraps
from typing import Any

from torch import Tensor, nn
from torch.utils.weak import WeakIdKeyDictionary

from harness.domain.event import NothingRestored
from harness.sandbox.recorder.graphs import LOADED
from harness.sandbox.recorder.steps import Steps
from harness.sandbox.recorder.tape import Tape


class States:
    """Wraps ``state_dict`` and ``load_state_dict`` of modules."""

    def __init__(self, tape: Tape, steps: Steps) -> None:
        """Write to ``tape``; ``steps`` counts the updates."""
        self._tape, self._steps = tape, steps
        self._taken: MutableMapping[Tensor, tuple[int, int]] = WeakIdKeyDictionary()
        """Of each tensor that ``state_dict()`` returned: how many updates had been made by then, and how
        often its memory had been written to.
        """
        self.kept = 0
        """How often, after an update, a state was put back onto itself that the program had kept."""

    def install(self) -> None:
        """Patch the class; a program that loads nothing does not come here."""
        returned: Callable[..., Any] = nn.Module.state_dict
        loaded: Callable[..., Any] = nn.Module.load_state_dict

        @wraps(returned)
        def state_dict(model: nn.Module, *args: Any, **kwargs: Any) -> Any:
            state = returned(model, *args, **kwargs)
            whole = not args and kwargs.get("destination") is None
            for tensor in state.values() if whole and isinstance(state, dict) else ():
                if isinstance(tensor, Tensor):
                    self._taken[tensor] = self._steps.count, _written(tensor)
            return state

        @wraps(loaded)
        def load_state_dict(
            model: nn.Module, state_dict: Mapping[str, Any], *args: Any, **kwargs: Any
        ) -> Any:
            itself = self._own(model, state_dict)
            result = loaded(model, state_dict, *args, **kwargs)
            LOADED.update(map(id, nn.Module.parameters(model)))
            if itself:
                self._tape.write(NothingRestored(parameters=itself))
            return result

        setattr(nn.Module, "state_dict", state_dict)  # noqa: B010 - a method is replaced on purpose
        setattr(nn.Module, "load_state_dict", load_state_dict)  # noqa: B010 - see above

    def _own(self, model: nn.Module, state: object) -> int:
        """How many known parameters the state holds, where each is the very one of the model; else 0."""
        if not isinstance(state, Mapping):
            return 0
        named = [(p, state[n]) for n, p in model.named_parameters() if n in state]
        same = all(self._tape.knows(p) and _is_same(p, saved) for p, saved in named)
        if same and any(self._was_kept(p, saved) for p, saved in named):
            self.kept += 1
        return len(named) * same

    def _was_kept(self, parameter: nn.Parameter, saved: Tensor) -> bool:
        """Whether it is trained, and was kept over updates, or is as it was taken after one. A state
        that the program wrote to itself is loaded for that.
        """
        updates, version = self._taken.get(saved, (self._steps.count, -1))
        was_kept = updates < self._steps.count or (updates > 0 and version == _written(saved))
        return was_kept and self._steps.has_trained(parameter)


def _written(tensor: Tensor) -> int:
    """How often its memory was written to; tensors of inference mode do not count that."""
    return -1 if tensor.is_inference() else tensor._version


def _is_same(parameter: nn.Parameter, saved: object) -> bool:
    """Whether both are one piece of memory."""
    return (
        isinstance(saved, Tensor)
        and saved.shape == parameter.shape
        and saved.data_ptr() == parameter.data_ptr() != 0
    )
