"""Collective operations, whoever issues them: DDP's reducer in C++, ``dist``, functional collectives."""

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from harness.domain.event import Collective
from harness.sandbox.recorder.tape import Tape, tensors_in

_NAMESPACE = "c10d"
_SENDS_NOTHING = frozenset({"check_for_nan"})
_RESULT_FIRST = frozenset(
    {"reduce_scatter_", "_reduce_scatter_base_", "reduce_scatter_tensor_coalesced_"}
)  # each rank's slice of the result, which another tensor is reduced into
# Passed by every operation, under no_grad and in inference mode as well, which leave out autograd
_KEY = "BackendSelect"


@contextlib.contextmanager
def collectives(tape: Tape) -> Iterator[None]:
    """Write every operation to ``tape``; a Python-level patch of ``dist.all_reduce`` never sees DDP's
    reducer.

    A kernel of torch's dispatcher before each operation's own, so that nothing else is slower. A
    dispatch mode would see as much, but stands before every operation of a program: that took a third
    of the time of a rank's loop.
    """
    kernels = torch.library.Library(_NAMESPACE, "IMPL")
    try:
        for operation in operations():
            kernel = functools.partial(_issued, tape, operation)
            kernels.impl(operation._opname, kernel, _KEY, with_keyset=True)
        yield
    finally:
        kernels._destroy()


@functools.cache
def operations() -> tuple[Any, ...]:
    """All of torch's operations that send something. To find them takes a rank a tenth of its time, so
    the zygote asks first.
    """
    names = (name.split("::") for name in torch._C._dispatch_get_all_op_names())
    sending = [op for space, op in names if space == _NAMESPACE and op not in _SENDS_NOTHING]
    return tuple(getattr(torch.ops.c10d, name).default for name in sending)


def _issued(tape: Tape, operation: Any, keys: Any, *args: Any, **kwargs: Any) -> Any:
    """Write a collective, pass it on."""
    sent = list(tensors_in(args))
    reduced = args[1:] if operation._opname in _RESULT_FIRST else args
    tape.write(
        Collective(
            operation=operation._opname,
            elements=sum(t.numel() for t in tensors_in(reduced)),
            floating=any(_is_floating(t) for t in sent),
            size_bytes=sum(t.numel() * t.element_size() for t in sent),
        )
    )
    others = keys.remove(getattr(torch._C.DispatchKey, _KEY))
    return operation.redispatch(others, *args, **kwargs)


def _is_floating(tensor: Tensor) -> bool:
    return tensor.is_floating_point()
