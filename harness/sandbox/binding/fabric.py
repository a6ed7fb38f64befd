"""Lightning's Fabric on one CPU process, and one that a program is handed and never makes."""

import contextlib
import importlib
from typing import Any

from harness.sandbox.binding.unbound import Unbound

_patched: set[str] = set()


def install() -> None:
    """Every Fabric runs on one CPU process, whatever it is asked for."""
    fabric: Any = importlib.import_module("lightning.fabric").Fabric
    if "fabric" in _patched:
        return
    _patched.add("fabric")
    original, no_sync = fabric.__init__, fabric.no_backward_sync

    def on_the_cpu(self: Any, *_: Any, **kwargs: Any) -> None:
        kept = {"precision": kwargs["precision"]} if "precision" in kwargs else {}
        original(self, accelerator="cpu", devices=1, **kept)

    def no_backward_sync(self: Any, module: Any, enabled: bool = True) -> Any:  # noqa: FBT001, FBT002 - its signature
        """Of one process there is nothing to skip; a module that was set up elsewhere is plain here."""
        set_up = type(module).__name__ == "_FabricModule"
        return no_sync(self, module, enabled) if set_up else contextlib.nullcontext()

    fabric.__init__ = on_the_cpu
    fabric.no_backward_sync = no_backward_sync


def unseen(name: str, world_size: int) -> Any:
    """The fabric that a program uses and never makes. Raises ``Unbound`` where there are several ranks:
    it would have set the model up for them.
    """
    if world_size > 1:
        raise Unbound(name, "is made elsewhere, and set the model up for several ranks there")
    install()
    return importlib.import_module("lightning.fabric").Fabric()
