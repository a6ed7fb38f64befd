"""Lightning on CPU processes, and LightningModules that are posted incompletely."""

import functools
import importlib
import logging
import os
import sys
import types
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn

from harness.domain.own import SHORTER
from harness.sandbox.absent.inert import Inert
from harness.sandbox.absent.lent import lend
from harness.sandbox.frameworks import fabric, strategies

TREES = ("lightning.pytorch", "pytorch_lightning")

INSTALLED = frozenset({"lightning", "lightning_fabric", "pytorch_lightning"})
"""Top-level packages that Lightning comes in."""

DROPPED = frozenset({
    "ModelCheckpoint", "LearningRateMonitor", "TQDMProgressBar", "RichProgressBar", "DeviceStatsMonitor",
    "ModelSummary", "RichModelSummary", "OnExceptionCheckpoint", "Timer", "Inert",
})  # fmt: skip
"""Class names of callbacks that only watch or write."""

LEFT_OUT = (
    "gpus", "tpu_cores", "num_processes", "auto_select_gpus", "profiler", "benchmark", "max_time",
    "enable_autolog_hparams", "default_root_dir", "weights_summary", "progress_bar_refresh_rate",
    "checkpoint_callback", "flush_logs_every_n_steps", "distributed_backend", "show_progress_bar",
)  # fmt: skip
"""A Trainer's arguments, of older versions too, that change no update."""

COUNTING = frozenset({"GradientAccumulationScheduler"})
"""Callbacks that count batches themselves."""

_patched: set[str] = set()


def install(
    paths: Iterable[str], epochs: int, notes: list[str], world_size: int, batches: int | None = None
) -> None:
    """Patch the packages that a program uses, told by its dotted ``paths``. ``batches``: how many a pass
    over the program's own data has at most.
    """
    used = set(paths)
    tops = {path.partition(".")[0] for path in used}
    for tree in TREES:
        if tree.partition(".")[0] in tops:
            module = importlib.import_module(tree)
            _patch_trainer(tree, module.Trainer, world_size, (epochs, batches), notes)
            _patch_module(module.LightningModule)
            _quiet(tree)
    if any("Fabric" in path for path in used):
        for tree in fabric.TREES:
            if tree.partition(".")[0] in tops:
                fabric.install(world_size, tree)


def _quiet(tree: str) -> None:
    for name in (*TREES, *fabric.TREES, "lightning", "lightning_utilities"):
        logging.getLogger(name).setLevel(logging.WARNING)
    loggers = importlib.import_module(f"{tree}.loggers")
    for name in vars(loggers).copy():
        if name.endswith("Logger") and name != "Logger":
            setattr(loggers, name, Inert())
    warnings.filterwarnings("ignore", module=rf"(lightning|pytorch_lightning|{tree})(\..*)?")
    connector = sys.modules[f"{tree}.trainer.connectors.signal_connector"]
    vars(connector)["_SignalConnector"].register_signal_handlers = lambda _: None
    vars(connector)["_SignalConnector"].teardown = lambda _: None


def _patch_trainer(
    tree: str, trainer: Any, world_size: int, most: tuple[int, int | None], notes: list[str]
) -> None:
    if tree in _patched:
        return
    _patched.add(tree)
    original = trainer.__init__

    def on_the_cpu(self: Any, *args: Any, **kwargs: Any) -> None:
        where = strategies.arguments(world_size)
        original(self, *args, **on_a_cpu(tree, kwargs, most, notes) | where)

    trainer.__init__ = on_the_cpu
    connectors = f"{tree}.trainer.connectors.data_connector"
    strategies.leave_loaders_alone(vars(importlib.import_module(connectors))["_DataConnector"])
    fit, shown = trainer.fit, importlib.import_module(tree).LightningDataModule

    def without_unseen(self: Any, *args: Any, **kwargs: Any) -> None:
        """A datamodule that nobody shows is left out: the model's own loader is the workload's. What
        was kept by an earlier run is left out too: it begins anew.
        """
        if not os.path.exists(kwargs.get("ckpt_path") or ""):
            kwargs.pop("ckpt_path", None)
        if not isinstance(kwargs.get("datamodule"), shown):
            kwargs.pop("datamodule", None)
        fit(self, *args, **kwargs)

    trainer.fit = without_unseen
    for name in ("validate", "test", "predict"):
        setattr(trainer, name, _of_what_is_there(getattr(trainer, name)))


def _of_what_is_there(original: Callable[..., Any]) -> Callable[..., Any]:
    """Evaluation of the model as it is: no checkpoint was kept."""

    @functools.wraps(original)
    def evaluate(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = {k: v for k, v in kwargs.items() if k != "ckpt_path"}
        if not args and given.get("model") is None:  # else it looks for the best of a fit
            given["model"] = self.lightning_module
        return original(self, *args, **given)

    return evaluate


def _patch_module(module: Any) -> None:
    """A class whose own ``__init__`` is left out still takes what the reader's takes."""
    original = module.__init__
    if original.__name__ == "initialise":
        return

    def initialise(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self)
        given = (v for v in (*args, *kwargs.values()) if isinstance(v, nn.Module))
        self.as_posted = next(given, None)

    module.__init__ = initialise


def on_a_cpu(
    tree: str, kwargs: dict[str, Any], most: tuple[int, int | None], notes: list[str]
) -> dict[str, Any]:
    """A Trainer's arguments, with those replaced that decide how long it runs and what it writes.
    ``most``: passes, and batches of each.
    """
    kept, (epochs, batches) = dict(kwargs), most
    for name in LEFT_OUT:
        kept.pop(name, None)
    shown = ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary")
    kept |= dict.fromkeys(shown, False)
    callbacks = kept.get("callbacks") or []
    callbacks = callbacks if isinstance(callbacks, list | tuple) else [callbacks]
    for one in callbacks:
        if type(one).__name__ == "ModelCheckpoint":
            one.best_model_score = torch.zeros(())  # programs show what was best at their end
    kept["callbacks"] = [c for c in callbacks if type(c).__name__ not in DROPPED]
    if str(kept.get("precision")) in strategies.HALF:
        kept.pop("precision")
        kept["plugins"] = [strategies.half_precision(tree)]
        notes.append("Trainer: 16-mixed on the CPU")
    posted = kept.get("max_epochs")
    if kept.get("max_steps", -1) == -1 and (posted is None or posted < 0 or posted > epochs):
        kept["max_epochs"] = epochs
        notes.append(f"Trainer: max_epochs {posted} -> {epochs}")
    if batches is not None and not any(type(c).__name__ in COUNTING for c in callbacks):
        said = kept.get("accumulate_grad_batches")
        window = said if isinstance(said, int) else 1
        _few_batches(kept, window * max(3, -(-batches // window)))
    return kept


def _few_batches(kept: dict[str, Any], most: int) -> None:
    """Limit the batches of a pass, where the program does not."""
    if "limit_train_batches" in kept or kept.get("fast_dev_run") or kept.get("overfit_batches"):
        return
    kept["limit_train_batches"] = most
    if isinstance(kept.get("val_check_interval"), int):  # more of them than there are is refused
        kept["val_check_interval"] = min(kept["val_check_interval"], most)
    lend(f"{SHORTER}a Trainer: at most the first {most} of each pass")


def _is_library(cls: type) -> bool:
    return cls.__module__.partition(".")[0] in INSTALLED | {"torch", "builtins"}


def plain_module(tree: str, criterion: Callable[..., Any]) -> type[Any]:
    """A LightningModule for a program that shows only a Trainer; it is completed like any other."""
    base: Any = importlib.import_module(tree).LightningModule
    parts = {"training_step": step_with(criterion), "__module__": "__main__"}
    return type("Module", (base,), parts)


def step_with(criterion: Callable[..., Any]) -> Callable[..., Any]:
    """The usual ``training_step``."""

    def training_step(self: Any, batch: Any, batch_idx: int) -> Any:
        inputs, target = batch
        return criterion(self(inputs), target)

    return training_step


def tree_of(paths: Iterable[str]) -> str:
    """The package of Lightning that a program's dotted paths belong to."""
    return TREES[any(path.startswith("pytorch_lightning") for path in paths)]


def trainer_of(module: types.ModuleType, tree: str) -> Any:
    """The Trainer that the program makes, or a plain one."""
    made: Any = importlib.import_module(tree).Trainer
    return next((v for v in vars(module).values() if isinstance(v, made)), None) or made()
