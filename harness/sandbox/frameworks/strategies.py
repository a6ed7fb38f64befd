"""Where Lightning runs: on the one process that is there, in half precision where that is asked for."""

import importlib
from typing import Any

import torch

from harness.sandbox.batches.loaders import Loader
from harness.sandbox.unbound import Unbound

HALF = ("16", "16-mixed")
"""Lightning's names for half precision with a loss scale."""


def on_these_ranks(world_size: int, tree: str) -> dict[str, Any]:
    """Arguments of a Fabric that runs on the ranks that are there, as if ``torchrun`` had started it."""
    if world_size == 1:
        return arguments(world_size)
    there = importlib.import_module(f"{tree}.plugins.environments").TorchElasticEnvironment()
    return {
        "accelerator": "cpu", "devices": world_size, "num_nodes": 1, "strategy": "ddp",
        "plugins": [there],
    }  # fmt: skip


def arguments(world_size: int) -> dict[str, Any]:
    """Arguments that decide where a Trainer or a Fabric runs, whatever the program asks for.

    Raises ``Unbound`` where there are several ranks: none of them starts the others here.
    """
    if world_size > 1:
        raise Unbound("strategy", f"starts {world_size} ranks, which Lightning does not do here")
    return {"accelerator": "cpu", "devices": 1, "num_nodes": 1, "strategy": "auto"}


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
