"""What is known about libraries: names used without an import, and what calls do with values."""

import builtins
import importlib
from functools import lru_cache

NAMES: dict[str, str] = {
    "torch": "torch", "nn": "torch.nn", "F": "torch.nn.functional", "optim": "torch.optim",
    "functional": "torch.nn.functional", "dist": "torch.distributed", "mp": "torch.multiprocessing",
    "np": "numpy", "numpy": "numpy", "math": "math", "os": "os", "sys": "sys", "time": "time",
    "random": "random", "copy": "copy", "deepcopy": "copy.deepcopy", "json": "json", "re": "re",
    "logging": "logging", "warnings": "warnings", "itertools": "itertools",
    "islice": "itertools.islice",
    "cycle": "itertools.cycle", "chain": "itertools.chain", "functools": "functools",
    "partial": "functools.partial", "reduce": "functools.reduce", "collections": "collections",
    "defaultdict": "collections.defaultdict", "deque": "collections.deque",
    "Counter": "collections.Counter",
    "OrderedDict": "collections.OrderedDict", "namedtuple": "collections.namedtuple",
    "contextlib": "contextlib", "nullcontext": "contextlib.nullcontext",
    "suppress": "contextlib.suppress",
    "contextmanager": "contextlib.contextmanager", "ExitStack": "contextlib.ExitStack",
    "dataclass": "dataclasses.dataclass", "field": "dataclasses.field",
    "dataclasses": "dataclasses",
    "typing": "typing", "Any": "typing.Any", "Optional": "typing.Optional", "Union": "typing.Union",
    "List": "typing.List", "Dict": "typing.Dict", "Tuple": "typing.Tuple", "Set": "typing.Set",
    "Callable": "typing.Callable", "Iterable": "typing.Iterable", "Iterator": "typing.Iterator",
    "Sequence": "typing.Sequence", "Mapping": "typing.Mapping", "Literal": "typing.Literal",
    "Generator": "typing.Generator", "NamedTuple": "typing.NamedTuple",
    "Protocol": "typing.Protocol",
    "ABC": "abc.ABC", "abstractmethod": "abc.abstractmethod", "Enum": "enum.Enum",
    "Path": "pathlib.Path", "SimpleNamespace": "types.SimpleNamespace",
    "datetime": "datetime.datetime",
    "gc": "gc", "inspect": "inspect", "statistics": "statistics",
    "perf_counter": "time.perf_counter",
    "argparse": "argparse", "ArgumentParser": "argparse.ArgumentParser",
    "sqrt": "math.sqrt", "isnan": "math.isnan", "isfinite": "math.isfinite", "isinf": "math.isinf",
    "Tensor": "torch.Tensor", "Module": "torch.nn.Module", "Parameter": "torch.nn.Parameter",
    "DDP": "torch.nn.parallel.DistributedDataParallel",
    "FSDP": "torch.distributed.fsdp.FullyShardedDataParallel",
    "DistributedDataParallel": "torch.nn.parallel.DistributedDataParallel",
    "DataParallel": "torch.nn.DataParallel",
    "init_process_group": "torch.distributed.init_process_group",
    "destroy_process_group": "torch.distributed.destroy_process_group",
    "clip_grad": "torch.nn.utils.clip_grad", "clip_grad_norm_": "torch.nn.utils.clip_grad_norm_",
    "clip_grad_value_": "torch.nn.utils.clip_grad_value_",
    "get_total_norm": "torch.nn.utils.get_total_norm",
    "clip_grads_with_norm_": "torch.nn.utils.clip_grads_with_norm_",
    "parameters_to_vector": "torch.nn.utils.parameters_to_vector",
    "vector_to_parameters": "torch.nn.utils.vector_to_parameters",
    "GradScaler": "torch.amp.GradScaler", "autocast": "torch.amp.autocast", "amp": "torch.amp",
    "DataLoader": "torch.utils.data.DataLoader", "Dataset": "torch.utils.data.Dataset",
    "TensorDataset": "torch.utils.data.TensorDataset",
    "random_split": "torch.utils.data.random_split",
    "DistributedSampler": "torch.utils.data.distributed.DistributedSampler",
    "checkpoint": "torch.utils.checkpoint.checkpoint",
    "checkpoint_sequential": "torch.utils.checkpoint.checkpoint_sequential",
    "Optimizer": "torch.optim.Optimizer", "SGD": "torch.optim.SGD", "Adam": "torch.optim.Adam",
    "AdamW": "torch.optim.AdamW", "lr_scheduler": "torch.optim.lr_scheduler",
    "LambdaLR": "torch.optim.lr_scheduler.LambdaLR", "StepLR": "torch.optim.lr_scheduler.StepLR",
    "CosineAnnealingLR": "torch.optim.lr_scheduler.CosineAnnealingLR",
    "OneCycleLR": "torch.optim.lr_scheduler.OneCycleLR",
    "LinearLR": "torch.optim.lr_scheduler.LinearLR",
    "ReduceLROnPlateau": "torch.optim.lr_scheduler.ReduceLROnPlateau",
    "SequentialLR": "torch.optim.lr_scheduler.SequentialLR",
    "CosineAnnealingWarmRestarts": "torch.optim.lr_scheduler.CosineAnnealingWarmRestarts",
    "pl": "lightning.pytorch", "L": "lightning", "lightning": "lightning",
    "pytorch_lightning": "pytorch_lightning",
    "LightningModule": "lightning.pytorch.LightningModule",
    "tqdm": "tqdm.tqdm", "trange": "tqdm.trange", "wandb": "wandb", "mlflow": "mlflow",
    "SummaryWriter": "torch.utils.tensorboard.SummaryWriter",
    "rank_zero_only": "lightning.pytorch.utilities.rank_zero_only",
    "CrossEntropyLoss": "torch.nn.CrossEntropyLoss", "MSELoss": "torch.nn.MSELoss",
    "Accelerator": "accelerate.Accelerator", "deepspeed": "deepspeed",
    "TrainingArguments": "transformers.TrainingArguments",
    "TrainerCallback": "transformers.TrainerCallback",
    "swa_utils": "torch.optim.swa_utils",
}  # fmt: skip
"""What a free name stands for, if it is used that way: the dotted path of what it is usually
imported from.
"""

INERT = frozenset(
    {
        "wandb",
        "mlflow",
        "tensorboard",
        "tensorboardX",
        "comet_ml",
        "neptune",
        "clearml",
        "aim",
        "matplotlib",
        "seaborn",
        "rich",
        "colorama",
        "termcolor",
        "psutil",
        "pynvml",
        "GPUtil",
    }
)
"""Packages that only log. Installed or not, they are replaced by something inert."""

MEASURING = frozenset({"torchmetrics", "torcheval"})
"""Packages that only measure. They are replaced too, unless a framework has imported them already."""

REFUSED = {
    "deepspeed": "needs deepspeed",
    "apex": "needs apex", "fairscale": "needs fairscale", "jax": "needs jax",
    "tensorflow": "needs tensorflow",
    "ray": "needs ray", "fastai": "needs fastai", "colossalai": "needs colossalai",
    "horovod": "needs horovod", "megatron": "needs megatron", "torch_xla": "needs torch_xla",
    "opacus": "needs opacus", "peft": "needs peft", "keras": "needs keras",
    "ignite": "needs ignite",
}  # fmt: skip
"""Packages that nothing can stand in for without a change of meaning."""

DRIVING = frozenset(
    {"Trainer", "TrainingArguments", "Seq2SeqTrainer", "Seq2SeqTrainingArguments", "SFTTrainer"}
)
"""Names from missing packages that run the training loop themselves."""

SHARDED = (
    "FullyShardedDataParallel",
    "fully_shard",
    "init_device_mesh",
    "DeviceMesh",
    "parallelize_module",
)
"""Names under which a program shards its model."""

TRANSPARENT = frozenset({
    "to", "cuda", "cpu", "float", "half", "double", "bfloat16", "long", "int", "bool", "train",
    "eval",
    "detach", "clone", "contiguous", "requires_grad_", "pin_memory", "view", "reshape", "flatten",
    "squeeze", "unsqueeze", "transpose", "permute", "type", "copy", "share_memory", "type_as",
    "expand", "repeat", "compile", "unflatten", "view_as", "expand_as", "cpu_", "to_dense",
})  # fmt: skip
"""Methods whose result has the role of the object that they are called on."""

WRAPPERS = frozenset({
    "DistributedDataParallel", "DataParallel", "compile", "iter", "list", "tuple", "tqdm",
    "deepcopy",
    "copy", "reversed", "cycle", "islice", "sorted", "tee", "SyncBatchNorm.convert_sync_batchnorm",
    "convert_sync_batchnorm", "script", "as_tensor", "tensor", "auto", "cast", "deque",
})  # fmt: skip
"""Library callables whose result has the role of their first argument."""

DERIVING = frozenset({
    "torch.func.grad", "torch.func.grad_and_value", "torch.func.jacrev", "torch.func.jacfwd",
    "functorch.grad", "functorch.grad_and_value",
})  # fmt: skip
"""Library callables that return a function of the same arguments with a result of another form."""

LOSSES = frozenset({
    "cross_entropy", "mse_loss", "nll_loss", "binary_cross_entropy", "l1_loss", "huber_loss",
    "kl_div",
    "binary_cross_entropy_with_logits", "smooth_l1_loss", "poisson_nll_loss", "soft_margin_loss",
})  # fmt: skip
"""Loss functions of torch: ``(output, target)``."""

POSITIONS: dict[str, tuple[str, ...]] = {
    "DistributedDataParallel": ("ddp",), "DataParallel": ("ddp",),
    "clip_grad_norm_": ("parameters", "max_norm"), "clip_grad_norm": ("parameters", "max_norm"),
    "clip_grad_value_": ("parameters", "clip_value"), "get_total_norm": ("gradients",),
    "clip_grads_with_norm_": ("parameters", "max_norm", "norm"),
    "parameters_to_vector": ("parameters",), "set_device": ("device_id",), "device": ("device",),
    "randn": ("", "drawn"), "rand": ("", "drawn"),
    "GradScaler": ("device_type",), "autocast": ("device_type",), "manual_seed": ("seed",),
    "manual_seed_all": ("seed",), "seed": ("seed",), "seed_everything": ("seed",),
    "DataLoader": ("dataset", "batch_size"),
    "DistributedSampler": ("dataset",), "random_split": ("dataset",), "Linear": ("in_size",
    "out_size"),
    "Embedding": ("vocabulary", "hidden_size"), "Dropout": ("probability",), "Conv2d": ("in_size",
    "out_size"),
    "islice": ("", "count"), "grad_norm": (".parameters",), "init_process_group": ("backend",),
    "Subset": ("dataset",),
}  # fmt: skip
"""What is done with positional arguments, by the last component of the callable's path."""

KEYWORDS: dict[str, str] = {
    "lr": "lr", "weight_decay": "weight_decay", "momentum": "momentum", "betas": "betas",
    "eps": "eps",
    "max_norm": "max_norm", "clip_value": "clip_value", "parameters": "parameters",
    "params": "parameters",
    "device": "device", "device_type": "device_type", "output_device": "device_id", "rank": "rank",
    "num_replicas": "world_size", "world_size": "world_size", "batch_size": "batch_size",
    "shuffle": "flag", "enabled": "flag", "foreach": "flag", "drop_last": "flag",
    "pin_memory": "flag",
    "num_workers": "num_workers", "dataset": "dataset", "sampler": "sampler",
    "collate_fn": "collate",
    "T_max": "total_steps", "total_steps": "total_steps", "num_training_steps": "total_steps",
    "total_iters": "total_steps", "epochs": "epochs", "steps_per_epoch": "steps_per_epoch",
    "num_warmup_steps": "warmup", "max_lr": "lr", "eta_min": "eta_min", "gamma": "gamma",
    "step_size": "total_steps", "max_epochs": "epochs", "accumulate_grad_batches": "accumulation",
    "gradient_accumulation_steps": "accumulation",
    "gradient_clip_val": "max_norm", "dtype": "dtype", "init_scale": "init_scale",
    "growth_interval": "growth_interval", "norm_type": "norm_type",
    "label_smoothing": "probability",
    "ignore_index": "ignore_index", "reduction": "reduction",
}  # fmt: skip
"""What is done with keyword arguments of any library callable."""


def is_builtin(name: str) -> bool:
    """Whether the name is a builtin or a module attribute such as ``__name__``."""
    return hasattr(builtins, name) or name in ("__name__", "__file__", "__doc__", "__builtins__")


@lru_cache(maxsize=256)
def lookup(path: str) -> object:
    """The object at a dotted path, imported. Raises ``ImportError`` or ``AttributeError``."""
    parts = path.split(".")
    found: object = importlib.import_module(parts[0])
    for i, part in enumerate(parts[1:], 2):
        try:
            found = getattr(found, part)
        except AttributeError:
            importlib.import_module(".".join(parts[:i]))
            found = getattr(found, part)
    return found
