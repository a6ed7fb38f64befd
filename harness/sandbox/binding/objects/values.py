"""The workload's objects, by role."""

import contextlib
import math
from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from harness.sandbox.binding.machine import distributed
from harness.sandbox.binding.machine.devices import CPU
from harness.sandbox.binding.machine.inert import Inert
from harness.sandbox.binding.objects.loaders import Sampler, leaves
from harness.sandbox.binding.objects.parts import Parts
from harness.sandbox.binding.objects.shares import shares
from harness.sandbox.binding.objects.targets import Targets
from harness.sandbox.binding.roles.forms import Part
from harness.sandbox.binding.roles.known import CalledScaler
from harness.sandbox.binding.roles.reporting import SHOWN_AS
from harness.sandbox.binding.roles.teams import Member, Team
from harness.workloads import Batch, Workload

ADAPTIVE = frozenset({"Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "SparseAdam"})
"""Optimizers whose first steps have the length of the learning rate, however small the gradients are."""

ADAPTIVE_RATE = 1e-3


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
        self.parts = Parts(workload, self.model, self.batches[0].inputs)
        self.optimizer: torch.optim.Optimizer | None = None
        self._teams: dict[Team, list[torch.optim.Optimizer]] = {}
        self.trained: nn.Module = self.model
        """The model that a free optimizer steps: the workload's, or the program's own."""
        self.wrapped: nn.Module | None = None
        self._handed_out = False
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
        return self.optimizer

    def one_of(self, member: Member | None) -> torch.optim.Optimizer:
        """The workload's optimizer, or one of several over a share of the parameters each."""
        if member is None:
            return self.the_optimizer()
        if member.team not in self._teams:
            dealt = shares(self.trained, member.team.names)
            self._teams[member.team] = [self.workload.optimizer(share) for share in dealt]
        return self._teams[member.team][member.place]

    @property
    def optimizers(self) -> tuple[torch.optim.Optimizer, ...]:
        """Those of ours that names were bound to so far."""
        alone = [] if self.optimizer is None else [self.optimizer]
        return (*alone, *(one for team in self._teams.values() for one in team))

    def the_model(self, *, wrap: bool) -> nn.Module:
        """The workload's model; in DDP where the program expects that."""
        if not wrap:
            return self.model
        if self.wrapped is None:
            distributed.ensure_group()
            self.wrapped = distributed.wrap(self.model)
        return self.wrapped

    def another_model(self) -> nn.Module:
        """For constructors: at the first call the workload's model, later a fresh one each time."""
        if not self._handed_out:
            self._handed_out = True
            return self.model
        return self.workload.model()

    def whole(self, part: Part) -> Any:
        """What a leaf holds for all samples together."""
        rows = [leaves(batch)[part] for batch in self.batches]
        return torch.cat(rows)

    def criterion_of_each(self, output: Tensor, target: Tensor, *_: Any) -> Tensor:
        """The loss of every sample. (n, ...) -> (n,)"""
        batch = Batch(output, target, None, tuple(range(len(target))))
        return self.workload.sample_losses(output, batch)

    def scheduler(self, member: Member | None = None) -> torch.optim.lr_scheduler.LRScheduler:
        """A schedule that never changes the learning rate; what matters is when it steps."""
        return torch.optim.lr_scheduler.LambdaLR(self.one_of(member), lambda _: 1.0)

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
            "all_batches": p.epochs * p.batches, "warmup": 2,
            "seed": 0, "start": 0,
            "num_workers": 0, "ignore_index": -100, "probability": 0.0, "eps": 1e-8,
            "gamma": 0.9, "eta_min": 0.0, "patience": 3, "norm_type": 2.0, "dtype": torch.float16,
            "init_scale": 65536.0, "growth_interval": 2000, "step": 0, "epoch": 0, "flag_on": True,
            "flag_off": False, "several_ranks": self.world_size > 1,
            "main_process": self.rank == 0, "path": "checkpoint.pt", "backend": "nccl",
            "rank": self.rank, "local_rank": self.rank, "world_size": self.world_size,
            "nothing": None, "best": 0.0, "shown": SHOWN_AS,
            "device": torch.device("cuda", self.rank) if self.world_size > 1 else torch.device("cuda"),
            "device_type": "cuda", "cpu": CPU, "outputs": getattr(p, "outputs", 1),
        }  # fmt: skip
        if role in found:
            return found[role]
        names = {"features": ("width", "features"), "hidden": ("hidden", "width", "channels"),
                 "latent": ("latent", "hidden", "width"),
                 "vocabulary": ("vocabulary",), "length": ("length",), "depth": ("depth", "layers"),
                 "heads": ("heads",)}  # fmt: skip
        for name in names[role]:
            if hasattr(p, name):
                return getattr(p, name)
        raise KeyError(role)

    def simple(self, role: str) -> Any:
        """An object that depends on its role alone; ``KeyError`` for other roles."""
        makers: dict[str, Callable[[], Any]] = {
            "optimizer": self.the_optimizer,
            "scaler": lambda: torch.amp.GradScaler("cpu"),
            "scheduler": self.scheduler,
            "parameters": lambda: list(self.trained.parameters()),
            "sampler": Sampler,
            "logger": Inert,
            "ignored": Inert,
            "transform": lambda: _first,
            "type": lambda: object,
            "context": contextlib.nullcontext,
            "called_scaler": CalledScaler,
            "criteria": lambda: [self.criterion],
            "none_of_them": list,
            "base_class": lambda: Base,
            "module_class": lambda: nn.Module,
            "unwrap": lambda: _unwrapped,
        }
        if role in makers:
            return makers[role]()
        if role.endswith("_schedule"):
            return Constant(self.number(role.removesuffix("_schedule")), self.number("all_batches"))
        return self.number(role)


class Namespace(SimpleNamespace):
    """Settings that can be read as ``args.x``, ``cfg["x"]`` and ``cfg.get("x")``."""

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self, name, value)

    def get(self, name: str, default: Any = None) -> Any:
        """Like a dict's."""
        return getattr(self, name, default)

    def items(self) -> Any:
        """Like a dict's."""
        return vars(self).items()

    def values(self) -> Any:
        """Like a dict's."""
        return vars(self).values()

    def keys(self) -> Any:
        """Like a dict's: also lets ``**cfg`` work."""
        return vars(self).keys()


class Base:
    """Stands for a base class that the program does not show."""

    def __init__(self, *_: Any, **__: Any) -> None:
        """What it sets is there already."""


class Constant(Sequence[Any]):
    """A list of values for every update, all of them equal."""

    def __init__(self, value: Any, length: int) -> None:
        """``length``: what ``len`` returns; items beyond it exist, too."""
        self._value = value
        self._length = length

    def __getitem__(self, place: Any) -> Any:
        return self._value

    def __len__(self) -> int:
        return self._length


def _unwrapped(model: nn.Module, *_: Any, **__: Any) -> Any:
    return getattr(model, "module", model)


def _first(value: Any, *_: Any, **__: Any) -> Any:
    return value
