"""Batches of a replay memory: states, actions, rewards, the states that came next, and ends."""

import re
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from harness.workloads import WorkloadBatch

PARTS: Mapping[str, re.Pattern[str]] = {
    "next input": re.compile(
        r"(next_?\w*|\w+_next|n(s|obs|o)|(s|o|obs|state|states)(2|_|p|1|_prime))"
    ),
    "input": re.compile(r"s|o|x|(\w+_)?(states?|obs|observations?)"),
    "action": re.compile(r"a|u|(\w+_)?(acts?|actions?)"),
    "reward": re.compile(r"r|(\w+_)?(rews?|rewards?)"),
    "end": re.compile(r"d|(\w+_)?(dones?|terminals?|terminated|ends?|finished)"),
}
"""What a row of it holds, and how programs call it."""

NEEDED = frozenset({"input", "action", "reward", "next input"})


def transition(names: Sequence[str]) -> tuple[str, ...] | None:
    """The parts that names of a row mean; ``None`` for another row."""
    found = [
        next(
            (part for part, pattern in PARTS.items() if pattern.fullmatch(name.lower())), "nothing"
        )
        for name in names
    ]
    return tuple(found) if {*found} >= NEEDED and len({*found}) == len(found) else None


def is_a_part(name: str) -> bool:
    """Whether a name may mean a part of a row."""
    return any(pattern.fullmatch(name.lower()) for pattern in PARTS.values())


def met(batch: WorkloadBatch) -> dict[str, Tensor]:
    """What an agent met on its way through the rows of a batch; its action is the first one, which any
    network has. (n, ...) and (n,)
    """
    row = batch.inputs.float().flatten(1).sum(1)
    return {
        "action": torch.zeros(len(row), dtype=torch.long),
        "reward": torch.tanh(row),
        "next input": batch.inputs.roll(1, 0),
        "end": torch.zeros_like(row),
    }
