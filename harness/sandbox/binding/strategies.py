"""Lightning on the ranks that exist: its strategies use their process group, or are refused."""

import importlib
import os
import re
from collections.abc import Mapping
from typing import Any

import torch

from harness.sandbox.binding.loaders import Loader
from harness.sandbox.binding.unbound import Unbound

STARTED = re.compile(r"^ddp_(spawn|fork|notebook)")
"""Ways to start the processes of DDP, which are there already."""

HALF = ("16", "16-mixed")
"""Half precision with a loss scale, as Lightning names it."""

NOT_DDP = "is not the DDP of Lightning, for which there are ranks here"

EXTERNAL = "TORCHELASTIC_RUN_ID"
"""The variable by which Lightning learns that torchrun has made the processes."""


def arguments(tree: str, given: Mapping[str, Any], world_size: int) -> dict[str, Any]:
    """Where a Trainer or a Fabric runs, for what the program asks of it.

    ``tree``: the module tree of its strategies. Raises ``Unbound`` where there are several ranks and
    it asks for one device, or for anything but DDP.
    """
    where = {"accelerator": "cpu", "devices": world_size, "num_nodes": 1}
    if world_size == 1:
        return where | {"strategy": "auto"}
    devices = given.get("devices", given.get("gpus", "auto"))
    if _is_one(devices) and given.get("num_nodes", 1) == 1:
        raise Unbound("devices", f"asks for one device, and {world_size} ranks are trained here")
    os.environ[EXTERNAL] = "none"
    return where | {"strategy": _strategy(tree, given.get("strategy") or "auto")}


def half_precision(tree: str) -> Any:
    """What ``precision="16-mixed"`` stands for; on a CPU Lightning would take bfloat16 for it."""
    plugin = importlib.import_module(f"{tree}.plugins.precision").MixedPrecision
    return plugin("16-mixed", "cpu", torch.amp.GradScaler("cpu"))


def leave_loaders_alone(asking: Any) -> None:
    """The workload's loaders are divided among the ranks already. ``asking``: a class of Lightning
    that decides whether a loader needs another sampler for that.
    """
    original = asking._requires_distributed_sampler

    def required(self: Any, dataloader: Any) -> bool:
        return not isinstance(dataloader, Loader) and bool(original(self, dataloader))

    asking._requires_distributed_sampler = required


def _is_one(devices: Any) -> bool:
    if isinstance(devices, str):  # "1" is a number of devices, "1," is a list of them
        places = [place for place in devices.split(",") if place.strip()]
        return len(places) == 1 and ("," in devices or places[0].strip() == "1")
    return bool(devices == 1) or (isinstance(devices, list | tuple) and len(devices) == 1)


def _strategy(tree: str, asked: Any) -> Any:
    if isinstance(asked, str):
        name = STARTED.sub("ddp", asked.lower())
        if name in ("auto", "ddp") or name.startswith("ddp_find"):
            return name
        raise Unbound("strategy", f"{asked!r} {NOT_DDP}")
    if type(asked) is not importlib.import_module(f"{tree}.strategies").DDPStrategy:
        raise Unbound("strategy", f"{type(asked).__name__} {NOT_DDP}")
    if getattr(asked, "_ddp_comm_hook", None) is not None:
        raise Unbound("ddp_comm_hook", "is something that Lightning leaves out on a CPU")
    asked._start_method = "popen"
    asked._process_group_backend = asked.parallel_devices = asked._accelerator = None
    asked.cluster_environment = None
    return asked
