"""Process groups: the worker has made the real one; a program's own set-up finds it done."""

import functools
import multiprocessing
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from harness.sandbox.machine.devices import is_accelerator
from harness.sandbox.unbound import Unbound


def environment(rank: int, world_size: int) -> None:
    """What ``torchrun`` would have set."""
    os.environ.update(
        RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world_size),
        LOCAL_WORLD_SIZE=str(world_size), GROUP_RANK="0", NODE_RANK="0",
        MASTER_ADDR="127.0.0.1", MASTER_PORT="29500",
    )  # fmt: skip


def is_asked_for() -> bool:
    """Whether the program, or a library for it, wanted a group of processes."""
    return bool(_wanted)


def ranks_asked_for() -> int | None:
    """How many ranks the program starts or waits for, where it says that itself."""
    return max(_ranks, default=_Process.made) or None


def ensure_group() -> None:
    """Make a gloo group of this one process, unless a group was made before."""
    if dist.is_initialized():
        return
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    try:
        _init("gloo", store=torch._C._distributed_c10d.HashStore(), rank=0, world_size=1)
    except (RuntimeError, ValueError) as error:
        raise Unbound("init_process_group", f"found no way to make a group: {error}") from error


_wanted: list[None] = []
_ranks: list[int] = []
_init: Callable[..., None] = dist.init_process_group
_destroy: Callable[..., None] = dist.destroy_process_group


def _by_the_harness() -> bool:
    """Whether the worker asks, which makes and ends the real groups."""
    asker = str(sys._getframe(2).f_globals.get("__name__"))
    return asker.startswith("harness.")


def _init_once(*args: Any, **kwargs: Any) -> None:
    """A program's call finds the group made; the worker's own, which brings the store, makes it.

    The names are patched before the worker forks: without this, every rank once met nobody but itself.
    """
    if "store" in kwargs or _by_the_harness():
        _init(*args, **kwargs)
    else:
        _wanted.append(None)
        _says(kwargs.get("world_size", args[3] if len(args) > 3 else None))
        ensure_group()


def _says(ranks: object) -> None:
    if isinstance(ranks, int) and ranks > 0:
        _ranks.append(ranks)


def _leave_alone(*args: Any, **kwargs: Any) -> None:
    if _by_the_harness():
        _destroy(*args, **kwargs)


def install() -> None:
    """Patch what starts, ends and describes groups, and DDP's device arguments."""
    meshes = dist.device_mesh
    for module in (dist, dist.distributed_c10d, meshes):
        for name, patched in {
            "init_process_group": _init_once,
            "destroy_process_group": _leave_alone,
            "new_group": _without(dist.new_group, "backend", "device_id"),
            "barrier": _without(dist.barrier, "device_ids"),
            "init_device_mesh": _on_the_cpu(meshes.init_device_mesh),
        }.items():
            setattr(module, name, patched)
    _ddp()
    for name in ("spawn", "start_processes"):
        setattr(torch.multiprocessing, name, _spawn)
    # without a GPU torch refuses it: each rank keeps the statistics of its own rows
    setattr(nn.SyncBatchNorm, "forward", nn.modules.batchnorm._BatchNorm.forward)  # noqa: B010 - mypy refuses otherwise
    setattr(DistributedDataParallel, "_passing_sync_batchnorm_handle", lambda *_: None)  # noqa: B010 - as above
    contexts = multiprocessing.context.BaseContext.__subclasses__()
    for maker in (torch.multiprocessing, multiprocessing, *contexts):
        setattr(maker, "Process", _Process)  # noqa: B010 - mypy refuses otherwise
    for shared in (nn.Module, torch.Tensor):  # there is no other process to share it with
        name = "share_memory" if shared is nn.Module else "share_memory_"
        setattr(shared, name, lambda itself: itself)
    setattr(torch.multiprocessing, "set_start_method", lambda *_, **__: None)  # noqa: B010 - as above


def _without(original: Callable[..., Any], *names: str) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        return original(*args[:2], **{n: v for n, v in kwargs.items() if n not in names})

    return call


def _on_the_cpu(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def mesh(device_type: str, *args: Any, **kwargs: Any) -> Any:
        return original("cpu" if is_accelerator(device_type) else device_type, *args, **kwargs)

    return mesh


def _ddp() -> None:
    original = DistributedDataParallel.__init__

    @functools.wraps(original)
    def on_the_cpu(self: Any, module: Any, *args: Any, **kwargs: Any) -> None:
        _wanted.append(None)
        ensure_group()
        for name in ("device_ids", "output_device"):
            kwargs.pop(name, None)
        original(self, module, None, None, *args[2:], **kwargs)

    setattr(DistributedDataParallel, "__init__", on_the_cpu)  # noqa: B010 - mypy refuses otherwise


def _spawn(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, *_: Any, **__: Any
) -> None:
    """Every rank is a process already: each runs its own part."""
    _says(nprocs)
    fn(int(os.environ.get("RANK", "0")), *args)


class _Process:
    """A process that a program starts for a rank: the n-th one is rank n, and runs here."""

    made = 0
    exitcode = 0

    def __init__(
        self,
        group: None = None,
        target: Callable[..., Any] = lambda *_, **__: None,
        name: str | None = None,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] = MappingProxyType({}),
        *,
        daemon: bool | None = None,
    ) -> None:
        self._target = functools.partial(target, *args, **kwargs)
        self._rank = _Process.made
        _Process.made += 1

    def start(self) -> None:
        if self._rank == int(os.environ.get("RANK", "0")):
            self.run()

    def run(self) -> None:
        """What it was made for; a class of the program's own has its own."""
        self._target()

    def join(self, timeout: float | None = None) -> None:
        """It has ended."""

    def is_alive(self) -> bool:
        return False


def wrap(model: torch.nn.Module) -> DistributedDataParallel:
    """The model in DDP, as a program expects it that never wraps it."""
    return DistributedDataParallel(model)
