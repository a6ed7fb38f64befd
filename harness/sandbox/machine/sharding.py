"""Models that are spread over ranks (FSDP): here each rank holds all of one, and DDP brings the ranks
together. What a rank knows of its own part alone stays so.
"""

import contextlib
import functools
import gc
import importlib
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from harness.domain.event import SEES_A_PART
from harness.sandbox.absent.lent import lend

PACKAGE = "torch.distributed.fsdp"
SAVED = (
    "state_dict_type", "summon_full_params", "set_state_dict_type", "full_optim_state_dict",
    "sharded_optim_state_dict", "optim_state_dict", "optim_state_dict_to_load",
    "scatter_full_optim_state_dict", "shard_full_optim_state_dict",
)  # fmt: skip
"""What gathers a model to save it: it is whole already."""

_in_parts: set[int] = set()
"""Identities of parameters of which torch's own clip would see one part a rank."""


class _Spread:
    """What brings the ranks together once the outermost model runs: models inside of it are parts."""

    _ddp: DistributedDataParallel | None = None
    _inner = False
    _synchronises = True

    def spread(self, module: nn.Module) -> DistributedDataParallel:
        """The model in DDP; not one of its modules, or it would hold itself."""
        if self._ddp is None:
            for part in [*module.modules()]:
                if isinstance(part, _Spread) and part is not self:
                    part._inner = True
            self.__dict__["_ddp"] = DistributedDataParallel(module)
        assert self._ddp is not None
        return self._ddp


class FullyShardedDataParallel(_Spread, nn.DataParallel[nn.Module]):
    """FSDP1, which wraps. Its strategy decides whether a rank sees a part of each gradient."""

    def __init__(self, module: nn.Module, *given: Any, **options: Any) -> None:
        """Where its parts go, and in which type, makes no difference here."""
        nn.Module.__init__(self)
        lend("FullyShardedDataParallel: each rank holds the whole model, in DDP")
        self.module = module
        strategy = options.get("sharding_strategy", given[1] if len(given) > 1 else None)
        if getattr(strategy, "name", "") != "NO_SHARD":
            _in_parts.update(map(id, module.parameters()))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """By DDP, unless it is a part of another."""
        return (self.module if self._inner else self.spread(self.module))(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "module":  # a copy that is not filled yet
                raise
            return getattr(self.module, name)

    def no_sync(self) -> contextlib.AbstractContextManager[None]:
        """As DDP's."""
        return self.spread(self.module).no_sync()

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """By the norm of the whole."""
        parts = _in_parts.intersection(map(id, self.module.parameters()))
        _in_parts.difference_update(parts)
        try:
            return nn.utils.clip_grad_norm_(self.module.parameters(), max_norm, norm_type)
        finally:
            _in_parts.update(parts)

    @staticmethod
    def fsdp_modules(module: nn.Module, *_: Any, **__: Any) -> list[nn.Module]:
        """All of them inside of one."""
        return [m for m in module.modules() if isinstance(m, FullyShardedDataParallel)]


class FSDPModule(_Spread):
    """FSDP2, which is mixed into the class of a model."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """By DDP the first time, which calls it once more."""
        call: Callable[..., Any] = super().__call__  # type: ignore[misc]  # of the model's class
        if self._inner:
            return call(*args, **kwargs)
        assert isinstance(self, nn.Module)
        ddp = self.spread(self)
        self.__dict__["_inner"] = True
        try:
            with contextlib.nullcontext() if self._synchronises else ddp.no_sync():
                return ddp(*args, **kwargs)
        finally:
            self.__dict__["_inner"] = False

    def set_requires_gradient_sync(self, requires: bool, **_: Any) -> None:  # noqa: FBT001 - as there
        """Whether the next backward brings the ranks together."""
        self.__dict__["_synchronises"] = requires

    def __getattr__(self, name: str) -> Any:
        if name.startswith("set_") or name in ("unshard", "reshard"):
            return lambda *_, **__: None
        return super().__getattr__(name)  # type: ignore[misc]  # of the model's class


def fully_shard(  # noqa: PLR0913 - as there: what it is not given by name it refuses
    module: Any,
    *,
    mesh: Any = None,
    reshard_after_forward: Any = None,
    shard_placement_fn: Any = None,
    mp_policy: Any = None,
    offload_policy: Any = None,
    ignored_params: Any = None,
    dp_mesh_dims: Any = None,
) -> Any:
    """The same module, or modules, of a class that is FSDP2's as well. An optimizer that was made before
    holds parameters that are its no more.
    """
    lend("fully_shard: each rank holds the whole model, in DDP")
    for one in module if isinstance(module, list | tuple) else [module]:
        if not isinstance(one, FSDPModule):
            _renew(one)
            cls = type(one)
            one.__class__ = type(f"FSDP{cls.__name__}", (FSDPModule, cls), {})
    return module


def _renew(module: nn.Module) -> None:
    """A copy in place of each parameter that an optimizer holds already."""
    made = (one for one in gc.get_objects() if issubclass(type(one), torch.optim.Optimizer))
    held = {id(p) for one in made for group in one.param_groups for p in group["params"]}
    copies: dict[int, nn.Parameter] = {}
    for inner in module.modules():
        for name, old in inner.named_parameters(recurse=False):
            if id(old) in held:
                new = nn.Parameter(old.detach().clone(), old.requires_grad)
                setattr(inner, name, copies.setdefault(id(old), new))


def install() -> None:
    """Replace both where programs look them up; for a program that names them."""
    package: Any = importlib.import_module(PACKAGE)
    scalers: Any = importlib.import_module(f"{PACKAGE}.sharded_grad_scaler")
    scalers.ShardedGradScaler = _scaler
    for name in SAVED:
        setattr(FullyShardedDataParallel, name, staticmethod(_saved(name)))
    for module in (package, package.fully_sharded_data_parallel):
        for replacement in (FullyShardedDataParallel, FSDPModule, fully_shard):
            setattr(module, replacement.__name__, replacement)
    for name in ("full_tensor", "to_local"):
        setattr(Tensor, name, lambda self, **_: self)
    for module in (nn.utils, nn.utils.clip_grad):
        setattr(module, "clip_grad_norm_", _by_parts(nn.utils.clip_grad_norm_))  # noqa: B010 - mypy refuses otherwise


def _scaler(*args: Any, process_group: object = None, **kwargs: Any) -> torch.amp.GradScaler:
    return torch.amp.GradScaler(*args, **kwargs)


def _saved(name: str) -> Callable[..., Any]:
    def whole(*given: Any, **_: Any) -> Any:
        if "optim" in name:
            found = (one for one in given if isinstance(one, torch.optim.Optimizer))
            states = (one for one in given if isinstance(one, dict))
            return next((one.state_dict() for one in found), next(states, {}))
        return contextlib.nullcontext()

    return whole


def _by_parts(original: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A clip that knows one part of FSDP1's gradients a rank: each is bounded on its own."""

    @functools.wraps(original)
    def clip(parameters: Any, max_norm: float, *args: Any, **kwargs: Any) -> Tensor:
        given = [parameters] if isinstance(parameters, Tensor) else [*parameters]
        held = [p.grad for p in given if p.grad is not None]
        ranks = dist.get_world_size() if dist.is_initialized() else 1
        if ranks < 2 or not held or not all(id(p) in _in_parts for p in given):
            return original(given, max_norm, *args, **kwargs)
        lend(SEES_A_PART)
        before = [gradient.clone() for gradient in held]
        norm = original(given, max_norm, *args, **kwargs)
        _bound_each(held, before, max_norm, ranks)
        return norm

    return clip


def _bound_each(held: Iterable[Tensor], before: list[Tensor], limit: float, ranks: int) -> None:
    flat = torch.cat([gradient.reshape(-1) for gradient in before])
    parts = [part * (limit / (part.norm() + 1e-6)).clamp(max=1.0) for part in flat.chunk(ranks)]
    bounded = torch.cat(parts).split([gradient.numel() for gradient in before])
    for gradient, part in zip(held, bounded, strict=True):
        gradient.copy_(part.view_as(gradient))
