"""Lightning's strategies on the ranks that exist: they use their process group, or are refused."""

import importlib
import os
import re
from collections.abc import Mapping
from typing import Any

import torch

from harness.sandbox.batches.loaders import Loader
from harness.sandbox.unbound import Unbound

STARTED = re.compile(r"^ddp_(spawn|fork|notebook)")
"""Strategies that start the processes of DDP; here the processes exist already."""

HALF = ("16", "16-mixed")
"""Lightning's names for half precision with a loss scale."""

NOT_DDP = "is not the DDP of Lightning, for which there are ranks here"

EXTERNAL = "TORCHELASTIC_RUN_ID"
"""Environment variable that tells Lightning that torchrun has started the processes."""


def arguments(tree: str, given: Mapping[str, Any], world_size: int) -> dict[str, Any]:
    """Arguments that decide where a Trainer or a Fabric runs, given what the program asks for.

    ``tree``: the package of Lightning. Raises ``Unbound`` where there are several ranks and the
    program asks for one device, or for anything but DDP.
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
    """The object for ``precision="16-mixed"``. On a CPU Lightning itself would use bfloat16."""
    plugin = importlib.import_module(f"{tree}.plugins.precision").MixedPrecision
    return plugin("16-mixed", "cpu", torch.amp.GradScaler("cpu"))


def leave_loaders_alone(asking: Any) -> None:
    """Keep Lightning from giving loaders another sampler: ours are divided among the ranks already.
    ``asking``: the class of Lightning that decides about it.
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
