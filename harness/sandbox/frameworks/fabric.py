"""Lightning's Fabric on CPU processes, also where the program uses one without making it."""

import contextlib
import importlib
from typing import Any

from torch.nn.parallel import DistributedDataParallel

from harness.sandbox.frameworks import strategies
from harness.sandbox.machine.devices import nothing
from harness.sandbox.unbound import Unbound

TREES = ("lightning.fabric", "lightning_fabric")

_patched: set[str] = set()


def install(world_size: int, tree: str = TREES[0]) -> None:
    """Make every Fabric run on the existing CPU processes, whatever devices it asks for."""
    if tree in _patched:
        return
    _patched.add(tree)
    fabric: Any = importlib.import_module(tree).Fabric
    original, no_sync = fabric.__init__, fabric.no_backward_sync

    def on_the_cpu(self: Any, *_: Any, **kwargs: Any) -> None:
        where, plugins = strategies.on_these_ranks(world_size, tree), _precision(tree, kwargs)
        plugins["plugins"] = [*where.pop("plugins", ()), *plugins.pop("plugins", ())]
        original(self, **where, **plugins)
        self._wrap_and_launch(nothing)  # as its command line does: then nobody calls `launch`

    def no_backward_sync(self: Any, module: Any, enabled: bool = True) -> Any:  # noqa: FBT001, FBT002 - its signature
        """Of one process there is nothing to skip; a module that was set up elsewhere is plain here."""
        if type(module).__name__ == "_FabricModule":
            return no_sync(self, module, enabled)
        if isinstance(module, DistributedDataParallel) and enabled:
            return module.no_sync()
        if world_size > 1 and not isinstance(module, DistributedDataParallel):
            raise Unbound("no_backward_sync", "gets a model that this program never sets up")
        return contextlib.nullcontext()

    fabric.__init__ = on_the_cpu
    fabric.no_backward_sync = no_backward_sync
    strategies.leave_loaders_alone(fabric)


def unseen(world_size: int) -> Any:
    """A Fabric for a program that uses one and never makes it."""
    install(world_size)
    return importlib.import_module(TREES[0]).Fabric()


def _precision(tree: str, given: dict[str, Any]) -> dict[str, Any]:
    precision = given.get("precision")
    if str(precision) in strategies.HALF:
        return {"plugins": [strategies.half_precision(tree)]}
    return {"precision": precision} if precision is not None else {}
