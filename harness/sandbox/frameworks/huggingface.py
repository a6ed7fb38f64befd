"""Accelerate on CPU processes: where it runs and what it writes is replaced, what it does to
training is not.
"""

import contextlib
import functools
import importlib
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from harness.sandbox.batches.loaders import Loader
from harness.sandbox.extras import absent, is_here
from harness.sandbox.machine.devices import nothing
from harness.sandbox.unbound import Unbound

KEPT = frozenset({
    "mixed_precision", "gradient_accumulation_steps", "gradient_accumulation_plugin",
    "step_scheduler_with_optimizer", "kwargs_handlers", "split_batches",
})  # fmt: skip
"""Arguments of an Accelerator that affect training."""

SHARDING = ("deepspeed_plugin", "deepspeed_plugins", "fsdp_plugin", "megatron_lm_plugin")
"""Arguments that need accelerators or several machines."""

_patched: set[str] = set()
_expected_prepared: list[Any] = []


def install(paths: Iterable[str]) -> None:
    """Patch what a program uses of Accelerate, which its dotted ``paths`` tell."""
    tops = {path.partition(".")[0] for path in paths}
    wanted = tops & {"accelerate", "transformers"} and is_here("accelerate")
    if wanted and "accelerate" not in _patched:
        _patched.add("accelerate")
        library: Any = importlib.import_module("accelerate")
        _patch_accelerator(library.Accelerator)
        _patch_preparing(library.Accelerator)
        library.notebook_launcher = library.launchers.notebook_launcher = _in_this_process
        memory: Any = importlib.import_module("accelerate.utils.memory")
        memory.clear_device_cache = nothing  # collecting garbage takes a fifth of a second here


def accelerator(name: str, accumulation_steps: int, *, prepares: bool) -> Any:
    """An accelerator for a program that uses one and never makes it. ``prepares``: it calls
    ``prepare``.
    """
    if (needs := absent("accelerate")) is not None:
        raise Unbound(name, needs)
    install(["accelerate.Accelerator"])
    made: Any = importlib.import_module("accelerate").Accelerator
    found = made(gradient_accumulation_steps=accumulation_steps)
    if not prepares:
        _expected_prepared.append(found)
    return found


def prepare_what_is_expected(names: dict[str, Any]) -> None:
    """Where a program never calls ``prepare``, prepare the objects that it uses with its
    accelerator.

    A model needs nothing: it is wrapped for several ranks as in any other program.
    """
    for engine in _expected_prepared:
        for kind in (Loader | torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler):
            for name, value in list(names.items()):
                if isinstance(value, kind):
                    names[name] = engine.prepare(value)


def _patch_accelerator(accelerator: Any) -> None:
    original = accelerator.__init__
    places = ("device_placement", "split_batches", "mixed_precision")

    @functools.wraps(original)
    def on_the_cpu(self: Any, *args: Any, **kwargs: Any) -> None:
        given = dict(zip(places, args, strict=False)) | kwargs
        for name in SHARDING:
            if given.get(name) is not None:
                why = "shards the model over devices, which one machine without any cannot"
                raise Unbound(name, why)
        kept = {name: value for name, value in given.items() if name in KEPT}
        with one_process_where_one_is():
            original(self, cpu=True, **kept)
        if self.state.mixed_precision == "fp16":  # on a CPU it leaves scaler and autocast out
            handler = self.scaler_handler
            self.native_amp = True
            self.scaler = torch.amp.GradScaler("cpu", **(handler.to_kwargs() if handler else {}))

    accelerator.__init__ = on_the_cpu


def _patch_preparing(accelerator: Any) -> None:
    """The workload's loaders are divided among the ranks already, and so is their length."""
    prepare_data_loader = accelerator.prepare_data_loader
    prepare_scheduler = accelerator.prepare_scheduler

    def loader_as_it_is(self: Any, data_loader: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(data_loader, Loader):
            return prepare_data_loader(self, data_loader, *args, **kwargs)
        found = _prepared(data_loader)
        self._dataloaders.append(found)
        return found

    def one_move_an_update(self: Any, scheduler: Any) -> Any:
        found = prepare_scheduler(self, scheduler)
        found.split_batches = True  # else it moves once for each rank
        return found

    accelerator.prepare_data_loader = loader_as_it_is
    accelerator.prepare_scheduler = one_move_an_update


def _in_this_process(
    function: Callable[..., Any], args: tuple[Any, ...] = (), *_: Any, **__: Any
) -> None:
    """Every rank is a process already: each runs its own part."""
    function(*args)


@contextlib.contextmanager
def one_process_where_one_is() -> Iterator[None]:
    """The variables of torchrun would make a group of one, and wrap the model for it."""
    alone = os.environ["WORLD_SIZE"] == "1"
    rank = os.environ.pop("LOCAL_RANK", None) if alone else None
    try:
        yield
    finally:
        if rank is not None:
            os.environ["LOCAL_RANK"] = rank


@functools.cache
def _prepared_class() -> type[Loader]:
    mixin: Any = importlib.import_module("accelerate.data_loader").DataLoaderStateMixin

    class Prepared(mixin, Loader):  # type: ignore[misc]  # a class that is only there with the extra
        """Tells the accelerator when a batch is the last of a pass."""

        def __iter__(self) -> Any:
            self.begin()
            try:
                for number, batch in enumerate(Loader.__iter__(self), 1):
                    if number == len(self):
                        self.end_of_dataloader = True
                    yield batch
            finally:
                self.end()

    return Prepared


def _prepared(loader: Loader) -> Loader:
    if hasattr(loader, "gradient_state"):
        return loader
    found: Loader = object.__new__(_prepared_class())
    state = importlib.import_module("accelerate.state").GradientState()
    vars(found).update(vars(loader), gradient_state=state, _drop_last=True)
    return found
