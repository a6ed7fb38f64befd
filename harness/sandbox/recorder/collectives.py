"""Collective operations, whoever issues them: DDP's reducer in C++, ``dist``, functional collectives."""

from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from harness.domain.event import Collective
from harness.sandbox.recorder.tape import Tape, tensors_in

IGNORED = frozenset({"_wrap_tensor_autograd", "wait_tensor"})
"""Operations of the namespaces that send nothing."""


class Collectives(TorchDispatchMode):
    """Sees every operation; a Python-level patch of ``dist.all_reduce`` never sees DDP's reducer.

    Used only where there are several ranks: a dispatch mode costs 3 to 9 % on every operation.
    """

    def __init__(self, tape: Tape) -> None:
        """Write to ``tape``."""
        super().__init__()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        self._tape = tape

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Write collectives, pass everything on."""
        name = func._opname
        if "c10d" in func.namespace and name not in IGNORED:
            sent = list(tensors_in(args))
            self._tape.write(
                Collective(
                    operation=name,
                    elements=sum(t.numel() for t in sent),
                    floating=any(_is_floating(t) for t in sent),
                    size_bytes=sum(t.numel() * t.element_size() for t in sent),
                )
            )
        return func(*args, **(kwargs or {}))


def _is_floating(tensor: Tensor) -> bool:
    return tensor.is_floating_point()
