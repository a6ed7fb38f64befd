"""States that are loaded in vain: into a model whose memory they are, since ``state_dict()`` copies
nothing, or under names of which the model has none.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from torch import Tensor, nn

from harness.domain.event import NothingRestored
from harness.sandbox.recorder.graphs import LOADED
from harness.sandbox.recorder.steps import Steps
from harness.sandbox.recorder.tape import Tape


class States:
    """Wraps ``load_state_dict`` of modules."""

    def __init__(self, tape: Tape, steps: Steps) -> None:
        """Write to ``tape``; ``steps`` knows what is trained."""
        self._tape, self._steps = tape, steps
        self.kept = 0
        """How often, after an update, a state was put back onto itself that the program had kept."""

        self._in_vain: set[int] = set()
        """Models, by their ids, of whose names the last state had none (``strict=False``)."""

    @property
    def of_others(self) -> int:
        """How many models stay as they were because a state had other names."""
        return len(self._in_vain)

    def install(self) -> None:
        """Patch the class; a program that loads nothing does not come here."""
        loaded: Callable[..., Any] = nn.Module.load_state_dict

        @wraps(loaded)
        def load_state_dict(
            model: nn.Module, state_dict: Mapping[str, Any], *args: Any, **kwargs: Any
        ) -> Any:
            itself = self._own(model, state_dict)
            result = loaded(model, state_dict, *args, **kwargs)
            (self._in_vain.add if _fits_nothing(state_dict, result) else self._in_vain.discard)(
                id(model)
            )
            LOADED.update(map(id, nn.Module.parameters(model)))
            if itself:
                self._tape.write(NothingRestored(parameters=itself))
            return result

        setattr(nn.Module, "load_state_dict", load_state_dict)  # noqa: B010 - a method is replaced on purpose

    def _own(self, model: nn.Module, state: object) -> int:
        """How many known parameters the state holds, where each is the very one of the model; else 0."""
        if not isinstance(state, Mapping):
            return 0
        named = [(p, state[n]) for n, p in model.named_parameters() if n in state]
        if not all(self._tape.knows(p) and _is_same(p, saved) for p, saved in named):
            return 0
        trained = [p for p, _ in named if self._steps.has_trained(p)]
        # who wrote to the state loads it for that
        self.kept += bool(trained) and not any(map(self._tape.differs, trained))
        return len(named)


def _is_same(parameter: nn.Parameter, saved: object) -> bool:
    """Whether both are one piece of memory."""
    return (
        isinstance(saved, Tensor)
        and saved.shape == parameter.shape
        and saved.data_ptr() == parameter.data_ptr() != 0
    )


def _fits_nothing(state: Mapping[str, Any], result: Any) -> bool:
    """Whether a load took nothing of a state, as torch says what it missed and did not expect."""
    missing, other = (getattr(result, n, ()) for n in ("missing_keys", "unexpected_keys"))
    return bool(missing) and bool(state) and {*other} == {*state}
