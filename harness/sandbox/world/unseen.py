"""Calls of models that no probe may see: to ask whether their gradients are true."""

import contextlib
from collections.abc import Iterator

from torch.nn.modules import module as module_internals


@contextlib.contextmanager
def unseen() -> Iterator[None]:
    """Hide what runs inside from probes that watch all modules."""
    watching = (module_internals._global_forward_pre_hooks, module_internals._global_forward_hooks)
    kept = [dict(hooks) for hooks in watching]
    for hooks in watching:
        hooks.clear()
    try:
        yield
    finally:
        for hooks, was in zip(watching, kept, strict=True):
            hooks.update(was)
