"""The workload's data, handed out the way one program takes it: by loaders, by names, one at a time."""

from dataclasses import replace
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from harness.sandbox.batches.loaders import Loader, OnBatch, leaves
from harness.sandbox.batches.rows import Shape
from harness.sandbox.world.policies import rollout
from harness.sandbox.world.values import Values
from harness.workloads import WorkloadBatch


class Data:
    """What yields batches to one program, and the names whose value changes with every batch."""

    def __init__(self, values: Values, shape: Shape, module: ModuleType, on_batch: OnBatch) -> None:
        """``shape``: how the program takes batches apart; ``module``: where names are rebound."""
        self.shape = shape
        self.on_batch = on_batch
        self.of_a_policy = False
        """Whether batches are what a policy met."""
        self.in_time = False
        """Whether that has two dimensions, times and worlds."""
        self.in_windows = False
        """Whether each turn is given the micro-batches of one update."""
        self.handed = 0
        """Batches that were handed out so far, validation included."""
        self.current: WorkloadBatch | None = None
        """The last one of these."""
        self._values = values
        self._module = module
        self._published: dict[str, str] = {}
        self._loaders: dict[str, Loader] = {}

    def loader(self, name: str = "train", *, other: bool = False, whole: bool = False) -> Loader:
        """The loader of that name; it is made once. ``other``: over rows of its own. ``whole``: of the
        inputs alone.
        """
        if name not in self._loaders:
            batches = self._values.batches
            if other:
                batches = tuple(replace(b, inputs=b.inputs.roll(1, -1)) for b in batches)
            shape = replace(self.shape, whole=True) if whole else self.shape
            self._loaders[name] = Loader.over(batches, shape, self.on_batch, self.publish, name)
            if self.in_windows and name == "train":
                self._loaders[name].window = int(self._values.number("accumulation"))
        return self._loaders[name]

    def draw(self, *_: Any, **__: Any) -> Any:
        """The next batch at each call, pass after pass."""
        return next(self.loader())

    def part(self, part: str, name: str) -> Any:
        """One part of the first batch; from now on ``name`` follows the batches."""
        self._published[name] = part
        return self.leaves(self._values.batches[0])[part]

    def everything(self, part: str) -> Tensor:
        """One part of all batches, row after row."""
        return torch.cat([self.leaves(batch)[part] for batch in self._values.batches])

    def leaves(self, batch: WorkloadBatch) -> dict[str, Any]:
        """What names of one batch can mean."""
        found = leaves(batch)
        if self.of_a_policy:
            found.update(rollout(batch, in_time=self.in_time))
        return found

    def publish(self, batch: WorkloadBatch, index: int) -> None:
        """Rebind the names that change with every batch; ``index`` is its place in the pass."""
        self.handed += 1
        self.current = batch
        parts = self.leaves(batch) if self._published else {}
        for name, part in self._published.items():
            setattr(self._module, name, parts[part])
