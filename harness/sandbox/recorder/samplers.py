"""Passes of a sampler of ranks that bring their rows in an order of before: it shuffles by its epoch."""

from collections import Counter
from collections.abc import Iterator
from functools import wraps
from typing import Any

from torch.utils.data import DistributedSampler


class Samplers:
    """Looks at the passes that are trained on."""

    def __init__(self) -> None:
        """No pass began yet."""
        self._under_way: tuple[DistributedSampler[Any], int] | None = None
        self._passes = Counter[tuple[int, int]]()
        self._kept: list[DistributedSampler[Any]] = []  # or another one gets its identity

    def install(self) -> None:
        """Patch the class."""
        original = DistributedSampler.__iter__

        @wraps(original)
        def begun(sampler: DistributedSampler[Any]) -> Iterator[Any]:
            self._under_way = (sampler, sampler.epoch) if sampler.shuffle else None
            return original(sampler)

        setattr(DistributedSampler, "__iter__", begun)  # noqa: B010 - mypy refuses to assign

    def at_step(self) -> None:
        """An optimizer steps: the pass that began last is one of training."""
        if self._under_way is not None:
            sampler, epoch = self._under_way
            self._under_way = None
            self._kept.append(sampler)
            self._passes[id(sampler), epoch] += 1

    def in_an_order_of_before(self) -> int:
        """How many passes came in the order of an earlier one."""
        return sum(times - 1 for times in self._passes.values())
