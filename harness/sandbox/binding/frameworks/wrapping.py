"""Whether a program expects its model to be wrapped for several ranks already."""

from collections.abc import Callable, Iterable

from harness.sandbox.binding.flow.graph import Node
from harness.sandbox.binding.flow.reader import Reader
from harness.sandbox.binding.frameworks import huggingface, lightning

DDP_ONLY = frozenset({".no_sync", ".require_backward_grad_sync", ".register_comm_hook"})

SET_UP = frozenset({".setup", ".setup_module"})
"""Methods by which a Fabric wraps a model."""


def is_expected(
    reader: Reader, nodes: Iterable[Node], role: Callable[[Node], str | None], world_size: int
) -> bool:
    """Whether free models have to come in DDP. ``nodes``: all values that the program does not make
    itself.
    """
    calls = [path for path, _ in reader.library_calls]
    paths = [*calls, *(base for cls in reader.classes for base in cls.bases)]
    if any(cls.lightning for cls in reader.classes) or any(map(_wraps, paths)):
        return False
    found = [*nodes]
    if any(node.uses & SET_UP and role(node) == "engine" for node in found):
        return False
    if any(node.uses & DDP_ONLY and role(node) == "model" for node in found):
        return True
    by_hand = any(
        path.startswith("torch.distributed.") and any("grad" in a.tags for a in call.arguments())
        for path, call in reader.library_calls
    )
    return world_size > 1 and not by_hand


def _wraps(path: str) -> bool:
    return (
        path.endswith("DistributedDataParallel")  # also a wrapper of its own that is built on it
        or huggingface.wraps(path)
        or lightning.wraps(path)
    )
