"""The Trainer of transformers on CPU processes: nothing is written, shown, saved or downloaded."""

import functools
import importlib
from collections.abc import Callable
from typing import Any

from harness.sandbox.binding.analysis import Analysis
from harness.sandbox.binding.flow.trainers import UNUSED
from harness.sandbox.binding.frameworks import huggingface
from harness.sandbox.binding.objects import models
from harness.sandbox.binding.resolver import Resolver
from harness.sandbox.binding.roles.forms import Leaf, Table
from harness.sandbox.binding.roles.results import Result
from harness.sandbox.binding.starting import Call, Start
from harness.sandbox.binding.unbound import Unbound

FORCED: dict[str, Any] = {
    "report_to": "none", "disable_tqdm": True, "logging_strategy": "no", "save_strategy": "no",
    "eval_strategy": "no", "load_best_model_at_end": False, "push_to_hub": False,
    "remove_unused_columns": False, "dataloader_num_workers": 0, "dataloader_pin_memory": False,
    "auto_find_batch_size": False,
}  # fmt: skip
"""Arguments that decide where it runs and what it writes, and about columns, since the loaders are
ours.
"""

DROPPED = frozenset({
    "activation_checkpointing", "bf16_full_eval", "dataloader_persistent_workers",
    "dataloader_prefetch_factor", "ddp_backend", "deepspeed", "evaluation_strategy", "fp16_backend",
    "fp16_full_eval", "fp16_opt_level", "fsdp", "gradient_checkpointing",
    "gradient_checkpointing_kwargs", "group_by_length", "half_precision_backend",
    "include_inputs_for_metrics", "jit_mode_eval", "local_rank", "logging_dir", "no_cuda",
    "overwrite_output_dir", "save_safetensors", "tf32", "torch_compile", "torch_compile_backend",
    "torch_compile_mode", "use_cpu", "use_ipex", "use_liger_kernel", "use_mps_device",
})  # fmt: skip
"""Arguments of other versions or other machines, and those that only affect speed or memory."""

LEFT_OUT = (*UNUSED, "eval_dataset")
"""Arguments that a Trainer takes for evaluation and for text."""

NOT_DONE = (
    "evaluate",
    "predict",
    "save_model",
    "save_state",
    "push_to_hub",
    "save_metrics",
    "log_metrics",
)

_patched: set[str] = set()
_made: list[Any] = []


class Training:
    """What one program needs of the Trainer; does nothing for other programs."""

    def __init__(self, analysis: Analysis, resolver: Resolver) -> None:
        """Patch what the program uses."""
        self._resolver = resolver
        self._analysis = analysis
        if analysis.trainers or analysis.trainer_arguments:
            huggingface.install(["transformers.Trainer"])
            _patch(int(resolver.values.number("epochs")), resolver.notes)

    def starts(self) -> list[Start]:
        """The call of ``train`` that the program leaves out."""
        if self._analysis.trainers_train:
            return []
        if self._analysis.trainers:
            return [Start(Call("Trainer.train", ()), lambda: _made[-1].train() if _made else None)]
        if self._analysis.trainer_arguments:
            return [Start(Call("Trainer.train", ("model", "args", "train_dataset")), self._plain)]
        return []

    def _plain(self) -> None:
        """A program that shows arguments and no trainer: a plain one takes them."""
        values = self._resolver.values
        library: Any = importlib.import_module("transformers")
        arguments = [
            v
            for v in vars(self._resolver.module).values()
            if isinstance(v, library.TrainingArguments)
        ]
        if not arguments:
            raise Unbound("TrainingArguments", "are made nowhere")
        wanted = models.Protocol(Result("fields"))
        answering = models.Answering(wanted, values.criterion, values.targets)
        models.adapt(values.model, answering)
        form = Table(((models.input_name(values.model), Leaf("input")), ("labels", Leaf("target"))))
        dataset = self._resolver.loader(form).dataset
        library.Trainer(model=values.model, args=arguments[-1], train_dataset=dataset).train()


def _patch(epochs: int, notes: list[str]) -> None:
    if "transformers" in _patched:
        return
    _patched.add("transformers")
    library: Any = importlib.import_module("transformers")
    _patch_arguments(library.TrainingArguments, epochs, notes)
    trainer = library.Trainer
    original, train = trainer.__init__, trainer.train

    @functools.wraps(original)
    def initialise(self: Any, *args: Any, **kwargs: Any) -> None:
        kept = {name: value for name, value in kwargs.items() if name not in LEFT_OUT}
        if type(kept.get("data_collator")).__module__.startswith("transformers."):
            del kept["data_collator"]  # it pads text
        if kept.get("args") is None and len(args) < 2:
            kept["args"] = library.TrainingArguments(output_dir="trainer")
        original(self, *args, **kept)
        self.remove_callback(library.PrinterCallback)
        _made.append(self)

    @functools.wraps(train)
    def from_the_start(self: Any, *_: Any, **__: Any) -> Any:
        return train(self)

    trainer.__init__ = initialise
    trainer.train = from_the_start
    for name in NOT_DONE:
        setattr(trainer, name, _nothing)


def _patch_arguments(arguments: Any, epochs: int, notes: list[str]) -> None:
    original: Callable[..., None] = arguments.__init__

    @functools.wraps(original)
    def on_a_cpu(self: Any, *args: Any, **kwargs: Any) -> None:
        for name in ("deepspeed", "fsdp"):
            if kwargs.get(name):
                raise Unbound(
                    name, "shards the model over devices, which one machine without any cannot"
                )
        kept = {name: value for name, value in kwargs.items() if name not in DROPPED} | FORCED
        if str(kept.get("optim", "")).endswith(("bit", "8bit", "apex_fused", "npu_fused")):
            kept["optim"] = "adamw_torch"
        posted = kept.get("num_train_epochs", 3)
        if kept.get("max_steps", -1) <= 0 and posted > epochs:
            kept["num_train_epochs"] = epochs
            notes.append(f"TrainingArguments: num_train_epochs {posted} -> {epochs}")
        with huggingface.one_process_where_one_is():
            original(self, *args, use_cpu=True, **kept)
            self.device  # noqa: B018 - decided at the first look, which has to be this one

    arguments.__init__ = on_a_cpu


def _nothing(*_: Any, **__: Any) -> dict[str, Any]:
    return {}
