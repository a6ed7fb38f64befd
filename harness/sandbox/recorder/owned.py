"""What a program of its own world trains: what its optimizers hold, be it called as a model or not."""

from typing import Any
from weakref import WeakSet

from torch.optim import Optimizer

from harness.sandbox.recorder.tape import Tape


class OwnOptimizers:
    """Knows every optimizer that the program makes."""

    def __init__(self, tape: Tape) -> None:
        """None is made yet."""
        self._tape = tape
        self._optimizers: WeakSet[Optimizer] = WeakSet()

    def install(self) -> None:
        """Patch the class from which all of them inherit."""
        original = Optimizer.__init__
        owned = self

        def made(self: Optimizer, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            owned._optimizers.add(self)
            owned._tape.expect(sum(p.numel() for p in owned._parameters()))

        setattr(Optimizer, "__init__", made)  # noqa: B010 - mypy refuses to assign to a method

    def met(self) -> None:
        """Name what got a gradient and came with no model that was called: its forward was called by
        another way, or it is no part of a model.
        """
        for parameter in self._parameters():
            if parameter.grad is not None:
                self._tape.name(parameter)

    def optimizers(self) -> list[Optimizer]:
        """Those that the program has now."""
        return list(self._optimizers)

    def _parameters(self) -> list[Any]:
        groups = (group for optimizer in self._optimizers for group in optimizer.param_groups)
        return [p for group in groups for p in group["params"]]
