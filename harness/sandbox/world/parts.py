"""Networks that are trained against each other: which name means which, and an optimizer for each."""

import re
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from harness.sandbox.unbound import Unbound
from harness.workloads import Workload

ROLES = frozenset({"model", "optimizer", "scheduler", "parameters"})
"""Roles that each part has an object of its own for."""

WORDS: dict[str, re.Pattern[str]] = {
    "generator": re.compile(r"g|gen|generators?|netg|gnet|modelg|optg|optimg|optimizerg|gopt"),
    "discriminator": re.compile(
        r"d|dis|disc|discr|discriminators?|critics?|c|judge|adversary|netd|dnet|modeld|netc|optd|optimd"
        r"|optimizerd|dopt"
    ),
}
"""Words in a name that say which part it belongs to."""

PLAIN = frozenset({"net", "network", "model", "module", "self", "ddp"})
"""Words that only say that it is a network."""


class Parts:
    """The parts of a workload's model; empty for all other workloads."""

    def __init__(self, workload: Workload, model: nn.Module) -> None:
        """``model`` holds the parts by their names."""
        self._workload = workload
        self.given = {name: model.get_submodule(name) for name in workload.parts()}
        self._optimizers: dict[str, torch.optim.Optimizer] = {}

    def __bool__(self) -> bool:
        return bool(self.given)

    def is_network(self, name: str) -> bool:
        """Whether a name means one of the networks itself, not its class or something that belongs
        to it.
        """
        is_class = len(name) > 1 and name[0].isupper()
        return (
            not is_class
            and self.which([name]) is not None
            and all(
                word in PLAIN or any(pattern.fullmatch(word) for pattern in WORDS.values())
                for word in _words(name)
            )
        )

    def which(self, names: Iterable[str]) -> str | None:
        """The part that the first telling name means."""
        for name in names:
            for word in _words(name):
                for part in self.given:
                    if WORDS[part].fullmatch(word):
                        return part
        return None

    def of(self, role: str, names: list[str]) -> Any:
        """The object of one of ``ROLES`` for the part that the names mean."""
        part = self.which(names)
        if part is None:
            either = " or ".join(self.given)
            raise Unbound(names[0], f"is a {role} and does not say of which network: {either}")
        if role == "model":
            return self.given[part]
        if role == "parameters":
            return self._values(part)
        optimizer = self._optimizer(part)
        if role == "scheduler":
            return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)
        return optimizer

    def said(self, role: str, names: list[str]) -> str:
        """The role in words: ``generator``, ``optimizer of the generator``."""
        if not self or role not in ROLES:
            return role
        part = self.which(names)
        if part is None:
            return f"{role} of one of several networks"
        return f"the {part}" if role == "model" else f"{role} of the {part}"

    def _values(self, part: str) -> list[nn.Parameter]:
        return list(self.given[part].parameters())

    def _optimizer(self, part: str) -> torch.optim.Optimizer:
        if part not in self._optimizers:
            made = self._workload.optimizer(self.given[part].parameters())
            self._optimizers[part] = made
        return self._optimizers[part]


def _words(name: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return [word for word in re.split(r"[^a-z]+", spaced) if word]
