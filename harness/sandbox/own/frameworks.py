"""Frameworks that run the loop themselves, on CPU processes: Accelerate, Lightning, Fabric, Trainer."""

import ast

from harness.sandbox import extras
from harness.sandbox.absent import hub
from harness.sandbox.absent.imports import paths_in
from harness.sandbox.frameworks import fabric, huggingface, lightning, trainer
from harness.sandbox.machine import sharding
from harness.sandbox.own.shortening import window_of
from harness.syntax import source_of, walk

BATCHES = 4
"""How many windows of a pass Lightning trains on, where the program sets no limit."""

EPOCHS = 3
"""How many passes such a framework makes, where the program asks for more."""


def install(tree: ast.Module, world_size: int) -> None:
    """Patch those that the program imports."""
    paths = paths_in(walk(tree))
    notes: list[str] = []
    if any(p.startswith(sharding.PACKAGE) for p in paths):
        sharding.install()
    faces = any(p.partition(".")[0] in ("accelerate", "transformers") for p in paths)
    if faces and extras.absent("accelerate") is None:
        huggingface.install(["accelerate.Accelerator"])
    if any(p.startswith("transformers") for p in paths):
        hub.install()
        if extras.absent("transformers") is None:
            trainer.install(EPOCHS, notes, own_data=True)
    used = [p for p in paths if p.partition(".")[0] in lightning.INSTALLED]
    if used and extras.is_here("lightning"):
        lightning.install(used, EPOCHS, notes, world_size, _batches(tree))
        if any("fabric" in p.lower() for p in used) or any(p == "lightning" for p in used):
            for name in fabric.TREES:
                fabric.install(world_size, name)


def _batches(tree: ast.Module) -> int | None:
    """A limit of whole windows; none where a program counts batches itself, nobody knows to what."""
    by_itself = "automatic_optimization" in source_of(tree)
    return None if by_itself and window_of(tree) == 1 else BATCHES * window_of(tree)
