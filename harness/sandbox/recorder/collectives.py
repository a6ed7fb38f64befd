"""Collective operations, whoever issues them: DDP's reducer in C++, ``dist``, functional collectives."""

import functools
from types import TracebackType
from typing import Any, Self

import torch
from torch import Tensor

from harness.domain.event import Collective
from harness.sandbox.recorder.tape import Tape, tensors_in

_NAMESPACE = "c10d"
_SENDS_NOTHING = frozenset({"check_for_nan"})
# Passed by every operation, under no_grad and in inference mode as well, which leave out autograd
_KEY = "BackendSelect"


class Collectives:
    """Sees every operation; a Python-level patch of ``dist.all_reduce`` never sees DDP's reducer.

    A kernel of torch's dispatcher before each operation's own, so that nothing else is slower. A
    dispatch mode would see as much, but stands before every operation of a program: that took a third
    of the time of a run of two ranks.
    """

    def __init__(self, tape: Tape) -> None:
        """Write to ``tape``."""
        self._tape = tape
        self._kernels: torch.library.Library | None = None

    def __enter__(self) -> Self:
        """Begin to watch."""
        self._kernels = torch.library.Library(_NAMESPACE, "IMPL")
        for name in _operations():
            kernel = functools.partial(self._issued, getattr(torch.ops.c10d, name).default)
            self._kernels.impl(name, kernel, _KEY, with_keyset=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Watch no longer."""
        if self._kernels is not None:
            self._kernels._destroy()

    def _issued(self, operation: Any, keys: Any, *args: Any, **kwargs: Any) -> Any:
        """Write a collective, pass it on."""
        sent = list(tensors_in(args))
        self._tape.write(
            Collective(
                operation=operation._opname,
                elements=sum(t.numel() for t in sent),
                floating=any(_is_floating(t) for t in sent),
                size_bytes=sum(t.numel() * t.element_size() for t in sent),
            )
        )
        return operation.redispatch(
            keys.remove(getattr(torch._C.DispatchKey, _KEY)), *args, **kwargs
        )


def _operations() -> list[str]:
    """Names of all that sends something."""
    names = (name.split("::") for name in torch._C._dispatch_get_all_op_names())
    return [op for space, op in names if space == _NAMESPACE and op not in _SENDS_NOTHING]


def _is_floating(tensor: Tensor) -> bool:
    return tensor.is_floating_point()
