"""The Trainer of transformers on CPU processes: nothing is written, shown, saved or downloaded."""

import functools
import importlib
from collections.abc import Callable
from typing import Any

from harness.sandbox.frameworks import huggingface
from harness.sandbox.unbound import Unbound

FORCED: dict[str, Any] = {
    "report_to": "none", "disable_tqdm": True, "logging_strategy": "no", "save_strategy": "no",
    "eval_strategy": "no", "load_best_model_at_end": False, "push_to_hub": False,
    "remove_unused_columns": False, "dataloader_num_workers": 0, "dataloader_pin_memory": False,
    "auto_find_batch_size": False,
}  # fmt: skip
"""Arguments that decide where it runs and what it writes, and about columns, since the loaders are
ours.
"""

ABOUT_DATA = frozenset({"remove_unused_columns"})
"""Those of them that a program decides for its own data."""

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

LEFT_OUT = (
    "tokenizer", "processing_class", "compute_metrics", "preprocess_logits_for_metrics", "eval_dataset",
)  # fmt: skip
"""Arguments that a Trainer takes for text and for evaluation."""

NOT_DONE = (
    "evaluate", "predict", "save_model", "save_state", "push_to_hub", "save_metrics",
    "log_metrics",
)  # fmt: skip

_patched: set[str] = set()


def install(epochs: int, notes: list[str], *, own_data: bool = False) -> None:
    """Patch the Trainer and its arguments. ``own_data``: whether data and what is done with them are
    the program's own, and stay.
    """
    if "transformers" in _patched:
        return
    _patched.add("transformers")
    library: Any = importlib.import_module("transformers")
    forced = {n: v for n, v in FORCED.items() if not (own_data and n in ABOUT_DATA)}
    _patch_arguments(library.TrainingArguments, epochs, notes, forced)
    trainer = library.Trainer
    original, train = trainer.__init__, trainer.train

    @functools.wraps(original)
    def initialise(self: Any, *args: Any, **kwargs: Any) -> None:
        left_out = () if own_data else LEFT_OUT
        kept = {name: value for name, value in kwargs.items() if name not in left_out}
        collator = type(kept.get("data_collator")).__module__
        if collator.startswith("transformers.") and not own_data:
            del kept["data_collator"]  # it pads text
        if kept.get("args") is None and len(args) < 2:
            kept["args"] = library.TrainingArguments(output_dir="trainer")
        original(self, *args, **kept)
        for shows_or_evaluates in (library.PrinterCallback, library.EarlyStoppingCallback):
            self.remove_callback(shows_or_evaluates)

    @functools.wraps(train)
    def from_the_start(self: Any, *_: Any, **__: Any) -> Any:
        return train(self)

    trainer.__init__ = initialise
    trainer.train = from_the_start
    for name in NOT_DONE:
        setattr(trainer, name, _nothing)


def _patch_arguments(arguments: Any, epochs: int, notes: list[str], forced: dict[str, Any]) -> None:
    original: Callable[..., None] = arguments.__init__

    @functools.wraps(original)
    def on_a_cpu(self: Any, *args: Any, **kwargs: Any) -> None:
        for name in ("deepspeed", "fsdp"):
            if kwargs.get(name):
                raise Unbound(
                    name, "shards the model over devices, which one machine without any cannot"
                )
        kept = {name: value for name, value in kwargs.items() if name not in DROPPED} | forced
        ratio = kept.get("warmup_ratio")
        if ratio is not None and "warmup_ratio" not in arguments.__dataclass_fields__:
            del kept["warmup_ratio"]
            kept.setdefault("warmup_steps", ratio)  # a part of all steps, in later versions
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
