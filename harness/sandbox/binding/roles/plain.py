"""Which plain value a name stands for: a count, a threshold, a device, a size, a flag."""

from harness.sandbox.binding.flow import hints
from harness.sandbox.binding.flow.graph import Node

BY_USE: tuple[tuple[str, str], ...] = (
    ("range_start", "start"),
    ("max_norm", "max_norm"), ("clip_value", "clip_value"), ("lr", "lr"),
    ("weight_decay", "weight_decay"), ("momentum", "momentum"), ("betas", "betas"),
    ("beta1", "beta1"), ("beta2", "beta2"),
    ("range_epochs", "epochs"), ("epochs", "epochs"), ("divides_loss", "accumulation"),
    ("divides_grad", "accumulation"), ("range_inner", "accumulation"),
    ("accumulation", "accumulation"), ("count", "accumulation"), ("range_steps", "total_steps"),
    ("range_batches", "all_batches"),
    ("total_steps", "total_steps"), ("steps_per_epoch", "steps_per_epoch"), ("warmup", "warmup"),
    ("batch_size", "batch_size"), ("num_workers", "num_workers"), ("seed", "seed"),
    ("world_size", "world_size"), ("rank", "rank"), ("device_id", "local_rank"),
    ("probability", "probability"), ("vocabulary", "vocabulary"), ("gamma", "gamma"),
    ("eta_min", "eta_min"), ("init_scale", "init_scale"), ("growth_interval", "growth_interval"),
    ("ignore_index", "ignore_index"), ("flag", "flag_on"), ("dtype", "dtype"),
    ("backend", "backend"), ("sampler", "sampler"), ("collate", "nothing"), ("eps", "eps"),
    ("norm_type", "norm_type"), ("drawn", "latent"), ("compare_norm", "max_norm"),
)  # fmt: skip
"""What a use as an argument or operand says about a value, the most telling first."""

BY_NAME = (
    "best", "accumulation", "clip_value", "max_norm", "weight_decay", "momentum", "steps_per_epoch",
    "warmup", "interval", "batch_size", "epoch", "epochs", "total_steps", "outputs", "features",
    "latent", "hidden", "vocabulary", "length", "depth", "heads", "lr", "seed", "num_workers",
    "ignore_index", "probability", "eps", "betas", "beta1", "beta2", "gamma", "patience",
    "world_size", "local_rank", "rank", "step", "dtype", "main_process", "several_ranks",
    "flag_off", "flag_on", "path",
)  # fmt: skip
"""What a name may suggest, narrower meanings first."""


def device(node: Node) -> str | None:
    """A device, or a device's index."""
    if not node.uses & {"device", "device_type"}:
        return None
    named = hints.first(node.all_names(), ("local_rank", "rank")) is not None
    typed, read = "device_type" in node.uses, any(use.startswith(".") for use in node.uses)
    compared = "compare:constant" in node.uses and not typed and not read
    if named or compared or "device_id" in node.uses:
        return "local_rank"
    return "device_type" if typed and not read else "device"


def modulus(node: Node) -> str | None:
    """The divisor of a counter modulo something: micro-batches in an update, or batches between two
    reports.
    """
    if "mod" not in node.uses:
        return None
    if node.uses & {"guards_step", "divides_loss"}:
        return "accumulation"
    return hints.first(node.all_names(), ("interval", "accumulation")) or "interval"


def number(node: Node) -> str | None:
    """A plain value, told by the call or operation that takes it."""
    keyed = any(isinstance(key, str) and key != "*" for key in node.items())
    if keyed or "called" in node.uses or any(use.startswith(".") for use in node.uses):
        return None
    found = next((kind for use, kind in BY_USE if use in node.uses), None)
    if found == "accumulation" and "divides_loss" in node.uses and _belongs_to_a_batch(node):
        return "count"
    if found == "latent":
        return hints.first(node.all_names(), BY_NAME) or found
    if found in ("total_steps", "epochs"):
        named = hints.first(node.all_names(), ("accumulation", "epochs", "total_steps"))
        return named or found
    return found


def _belongs_to_a_batch(node: Node) -> bool:
    """Whether a divisor counts what is real in a batch, and not batches."""
    counts = hints.first(node.all_names(), ("accumulation", "count")) == "count"
    return counts and not node.uses & {"mod", "range_inner", "count"}


def size(node: Node) -> str | None:
    """The width of a layer."""
    if not node.uses & {"out_size", "in_size", "hidden_size"} or any(
        use.startswith(".") for use in node.uses
    ):
        return None
    kinds = ("outputs", "features", "hidden", "vocabulary", "length")
    named = hints.first(node.all_names(), kinds)
    if named is not None:
        return named
    if "in_size" in node.uses:
        return "hidden" if "out_size" in node.uses else "features"
    return "outputs"


def choice(node: Node) -> str | None:
    """An option that is compared with texts, or names a function."""
    asked = node.uses & {"compare:text", "picks:text"}
    return "choice" if asked and "called" not in node.uses else None


def schedule(node: Node) -> str | None:
    """A list of values for every update: ``group["lr"] = lr_schedule[step]``."""
    item = node.parts.get(("[]", "*"))
    if item is None or "indexed" not in node.uses or node.uses & {"iter", "called", "item:str"}:
        return None
    kind = hints.first([*sorted(node.names), *item.all_names()], SCHEDULED)
    return f"{kind}_schedule" if kind is not None else None


SCHEDULED = ("weight_decay", "momentum", "lr")
"""Settings that programs change with every update by a list of values."""


def functions(node: Node) -> str | None:
    """A list of functions that is iterated and called: ``for metric in metrics``."""
    element = node.element
    if element is None or "called" not in element.uses or "called" in node.uses:
        return None
    if "model" in element.tags or "model_call" in element.uses:
        return None
    back = any("to_loss" in call.result.uses for call in element.calls)
    return "criteria" if back and "criterion" in element.uses else "none_of_them"


def idle(node: Node) -> str | None:
    """Something that needs no particular object: a type, a base class, a decorator, a context."""
    if not node.uses:
        return None
    if node.uses <= {"annotation"}:
        return "type"
    if "base" in node.uses or "base:module" in node.uses:
        return "module_class" if "base:module" in node.uses else "base_class"
    if node.uses <= {"decorates"}:
        return "transform"
    if "unused" in node.uses or node.uses == {"keyword:tokenizer"}:
        return "ignored"
    return "context" if "context" in node.uses and node.uses <= {"context", "guards"} else None


COUNTED = frozenset({
    "augmented", "compare", "compare:constant", "format", "called with", "guards", "discarded",
    "mod_left",
})  # fmt: skip
"""Uses of a counter that the program increments itself."""


def counter(node: Node) -> str | None:
    """A counter of updates that nobody initialises: ``completed_steps += 1``."""
    return "step" if "augmented" in node.uses and node.uses <= COUNTED else None


PLAINLY = {"model": "model", "criterion": "criterion", "loss_fn": "criterion"}
"""Names that say what is called where nothing is seen to be done with what it returns."""


def called(node: Node) -> str | None:
    """The role of a model or a loss whose calls lie where no reading follows."""
    meant = PLAINLY.keys() & node.names if "called" in node.uses else set()
    return PLAINLY[min(meant)] if meant else None
