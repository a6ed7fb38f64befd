"""The workload's objects, by role."""

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn

from harness.sandbox.batches.loaders import Sampler
from harness.sandbox.machine import distributed
from harness.sandbox.machine.devices import CPU
from harness.sandbox.world.parts import Parts
from harness.sandbox.world.targets import Targets
from harness.workloads import Workload, WorkloadBatch

ADAPTIVE = frozenset({"Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "SparseAdam"})
"""Optimizers whose first steps have the length of the learning rate, however small the gradients are."""

ADAPTIVE_RATE = 1e-3


class Device(str):  # noqa: SLOT000 - it has attributes
    """``cuda``, as a text and as a device: settings hold either."""

    type = "cuda"
    index = 0  # type: ignore[assignment]  # a device's attribute hides a text's method

    def __new__(cls, rank: int) -> Self:
        """``rank``: its index."""
        made = super().__new__(cls, "cuda")
        vars(made)["index"] = rank
        return made


class Values:
    """The workload's objects for one run; each is made once."""

    def __init__(self, workload: Workload, rank: int, world_size: int) -> None:
        """Only the model and the data are made at once, all else at first use."""
        self.workload = workload
        self.rank = rank
        self.world_size = world_size
        self.model = workload.model()
        self.batches = workload.batches(rank)
        self.criterion: Callable[..., Tensor] = workload.criterion()
        self.targets = Targets(self.batches)
        self.parts = Parts(workload, self.model)
        self.optimizer: torch.optim.Optimizer | None = None
        self._of_parts: dict[int, torch.optim.Optimizer] = {}
        self.trained: nn.Module = self.model
        """The model that a free optimizer steps: the workload's, or the program's own."""
        self.wrapped: nn.Module | None = None
        self.rate = workload.parameters.learning_rate
        """What a free learning rate is."""

    def for_optimizers(self, names: Iterable[str]) -> None:
        """Take down which of torch's optimizers the program builds: our learning rate is meant for
        our optimizer.
        """
        if ADAPTIVE & {*names} and self.workload.parameters.optimizer not in ("adam", "adamw"):
            self.rate = min(self.rate, ADAPTIVE_RATE)

    def the_optimizer(self) -> torch.optim.Optimizer:
        """The workload's optimizer over the model that is trained."""
        if self.optimizer is None:
            self.optimizer = self.workload.optimizer(self.trained.parameters())
            for group in self.optimizer.param_groups:
                group["initial_lr"] = group["lr"]  # as a schedule leaves it
        return self.optimizer

    def optimizer_of(self, networks: nn.ModuleList) -> torch.optim.Optimizer:
        """The workload's optimizer over some of several networks; each has one."""
        first = id(networks[0])
        if first not in self._of_parts:
            self._of_parts[first] = self.workload.optimizer(networks.parameters())
        return self._of_parts[first]

    def optimizer_of_part(self, part: int, parts: int) -> torch.optim.Optimizer:
        """The workload's optimizer over one of several parts of the model that is trained."""
        if part not in self._of_parts:
            every = list(self.trained.parameters())
            first, last = (len(every) * k // parts for k in (part, part + 1))
            self._of_parts[part] = self.workload.optimizer(every[first:last])
        return self._of_parts[part]

    @property
    def optimizers(self) -> tuple[torch.optim.Optimizer, ...]:
        """Those of ours that names were bound to so far."""
        whole = () if self.optimizer is None else (self.optimizer,)
        return (*whole, *self._of_parts.values())

    def the_model(self, *, wrap: bool) -> nn.Module:
        """The workload's model; in DDP where the program expects that."""
        if not wrap:
            return self.model
        if self.wrapped is None:
            distributed.ensure_group()
            self.wrapped = distributed.wrap(self.model)
        return self.wrapped

    def criterion_of_each(self, output: Tensor, target: Tensor, *_: Any) -> Tensor:
        """The loss of every sample. (n, ...) -> (n,)"""
        batch = WorkloadBatch(output, target, None, tuple(range(len(target))))
        return self.workload.sample_losses(output, batch)

    @property
    def windows(self) -> int:
        """Updates in one pass over the data, a short last window included."""
        p = self.workload.parameters
        return math.ceil(p.batches / p.accumulation_steps)

    def number(self, role: str) -> Any:
        """A plain value; ``KeyError`` for a role that has none."""
        p = self.workload.parameters
        found = {
            "accumulation": p.accumulation_steps, "max_norm": 1.0, "clip_value": 1.0,
            "epochs": p.epochs,
            "lr": self.rate, "weight_decay": 0.0, "momentum": 0.9, "betas": (0.9, 0.999),
            "beta1": 0.9, "beta2": 0.999,
            "interval": 10, "batch_size": p.batch_size, "total_steps": p.epochs * self.windows,
            "turns": max(1, p.batches // p.accumulation_steps), "steps_per_epoch": p.batches,
            "all_batches": p.epochs * p.batches, "warmup": 2, "phase": 1,
            "seed": 0, "start": 0, "class": 0,
            "num_workers": 0, "ignore_index": -100, "probability": 0.0, "eps": 1e-8,
            "gamma": 0.9, "eta_min": 0.0, "patience": 3, "norm_type": 2.0, "dtype": torch.float16,
            "init_scale": 65536.0, "growth_interval": 2000, "step": 0, "epoch": 0, "flag_on": True,
            "flag_off": False, "several_ranks": self.world_size > 1,
            "main_process": self.rank == 0, "path": LentPath("checkpoint.pt"), "backend": "nccl",
            "rank": self.rank, "local_rank": self.rank, "world_size": self.world_size,
            "best": 0.0, "shown": 1,
            "device": Device(self.rank),
            "device_type": "cuda", "cpu": CPU,
            "length": getattr(p, "length", 10),  # or the steps of a diffusion
            "outputs": getattr(p, "outputs", getattr(p, "vocabulary", 1)),
        }  # fmt: skip
        if role in found:
            return found[role]
        names = {"features": ("width", "features"), "hidden": ("hidden", "width", "channels"),
                 "latent": ("latent", "hidden", "width"),
                 "vocabulary": ("vocabulary",), "depth": ("depth", "layers"),
                 "heads": ("heads",)}  # fmt: skip
        for name in names[role]:
            if hasattr(p, name):
                size = getattr(p, name)
                return LentVocabulary(size) if role == "vocabulary" else size
        raise KeyError(role)

    def simple(self, role: str) -> Any:
        """An object that depends on its role alone; ``KeyError`` for other roles."""
        makers: dict[str, Callable[[], Any]] = {
            "scaler": lambda: torch.amp.GradScaler("cpu"),
            "sampler": Sampler,
            "unwrap": lambda: _unwrapped,
        }
        if role in makers:
            return makers[role]()
        return self.number(role)


def _unwrapped(model: nn.Module, *_: Any, **__: Any) -> Any:
    return getattr(model, "module", model)


class LentPath(str):
    """A path as a text, with which whoever takes it for a ``Path`` can go on as well."""

    __slots__ = ()

    def __truediv__(self, other: str) -> Path:
        """``folder / "best.pt"``."""
        return Path(self) / other

    def __getattr__(self, name: str) -> Any:
        """What only a ``Path`` has: ``parent``, ``exists``."""
        return getattr(Path(self), name)


class LentVocabulary(int):
    """How many words there are, with which whoever takes it for the words can go on as well."""

    def __len__(self) -> int:
        return int(self)

    def __getitem__(self, word: object) -> int:
        """The number of a word."""
        return sum(str(word).encode()) % int(self)

    def __contains__(self, word: object) -> bool:
        return True

    def __call__(self, words: Iterable[object]) -> list[int]:
        """The numbers of words."""
        return [self[word] for word in words]

    def get(self, word: object, default: int | None = None) -> int:
        """The number of a word, each of which is there."""
        return self[word]
