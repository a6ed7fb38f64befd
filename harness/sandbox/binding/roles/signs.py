"""Signs by which models, loaders and batches are told from other things."""

from harness.sandbox.binding.flow import hints
from harness.sandbox.binding.flow.definitions import Instance
from harness.sandbox.binding.flow.graph import Call, Node

MODEL_ATTRIBUTES = frozenset({
    ".parameters", ".named_parameters", ".no_sync", ".modules", ".named_modules", ".children",
    ".named_children", ".require_backward_grad_sync", "train()", "eval()", ".buffers", "ddp",
    ".named_buffers", ".gradient_checkpointing_enable", ".register_comm_hook", ".get_parameter",
    ".register_forward_hook", ".clip_grad_norm_", ".get_submodule",
})  # fmt: skip
"""Uses that indicate a model."""

NOT_DATA = frozenset({
    "parameters", "named_parameters", "modules", "named_modules", "children", "named_children",
    "state_dict", "param_groups", "items", "values", "keys", "split", "chunk", "unbind", "buffers",
    "named_buffers", "range", "readlines", "glob", "listdir",
})  # fmt: skip
"""Callables whose results are iterated, but do not yield batches."""

OF_PARAMETERS = frozenset(
    {".grad", ".requires_grad", ".parameters", ".weight", ".ndim", ".data_ptr"}
)
"""Uses of elements that indicate parameters, not batches."""

OF_DATA = frozenset({"model_arg", "loss_target"})
"""Uses of elements that indicate batches, whatever else is asked of them: ``if not x.requires_grad``."""

METHODS = frozenset({
    "append", "update", "add", "info", "debug", "warning", "log", "print", "write", "set_postfix",
    "size", "log_dict", "add_scalar", "set_description", "copy_", "index_select", "gather", "scatter_",
    "masked_select", "to", "item", "numel", "sum", "mean", "max", "min", "eq", "ne", "argmax", "view",
    "reshape", "extend", "save", "dim", "masked_fill", "where", "pop", "get", "step", "scale",
    "unscale_", "backward", "exp", "log_softmax",
})  # fmt: skip
"""Names of methods that take batches or outputs and are neither models nor criteria."""

NO_OPTIMIZER = frozenset({"loss", "constant", "output", "counter", "data", "norm"})
"""Tags of values that are no optimizer, so that ``scheduler.step(loss)`` takes none."""


def is_model(node: Node) -> bool:
    """Whether only a model is used like this."""
    return "model" in node.tags or holds_modules(node)


def holds_modules(node: Node) -> bool:
    """Whether its elements are layers: ``for m in net: if isinstance(m, nn.Linear)``."""
    return node.element is not None and "is_module" in node.element.uses


def is_root(node: Node) -> bool:
    """Whether no value but a default flows into it."""
    return all("constant" in source.tags for source in node.before)


OF_STEPPING = frozenset({".step", ".zero_grad", ".param_groups"})
"""Uses of optimizers and schedules that no batch has."""


def is_loader(node: Node) -> bool:
    """Whether it is iterated, and neither counted nor made of parameters."""
    if not node.uses & {"iter", "next"} or node.uses & {"parameters", "range"} or node.library:
        return False
    if node.tags & {"literal", "data", "output", "loss"} or is_model(node):
        return False
    element = node.element
    if element is None:
        return True
    if "called" in element.uses or element.uses & OF_STEPPING:
        return False
    uses = element.uses.union(*(part.uses for part in element.parts.values()))
    return bool(uses & OF_DATA) or not uses & OF_PARAMETERS


def is_plain(instances: list[Instance]) -> bool:
    """Whether they are instances of classes of the program that are no modules."""
    return bool(instances) and not any(instance.cls.module for instance in instances)


def is_undecided(call: Call) -> bool:
    """Whether what is called may still be a model, a criterion or neither."""
    callee = call.callee
    modules = all(isinstance(t, Instance) and t.cls.module for t in callee.targets)
    if callee.library or not modules or callee.names & METHODS:
        return False
    return not callee.uses & {"model_call", "criterion", "transform"}


def given_anew(call: Call) -> list[Node]:
    """Arguments that an earlier call did not return: no hidden states of a recurrent network."""
    returned = {id(n) for part in call.result.parts.values() for n in part.downstream()}
    return (
        [a for a in call.arguments() if id(a) not in returned] if returned else [*call.arguments()]
    )


def asks_for_a_loss(call: Call) -> bool:
    """Whether a module computes its loss by this call: ``self.criterion(output, y)``."""
    named = hints.first(sorted(call.callee.names), ("criterion",)) is not None
    return named and len(list(call.arguments())) > 1


def is_called_scaler(call: Call) -> bool:
    """Whether a scaler is called with a loss and an optimizer: ``loss_scaler(loss, optimizer, ...)``."""
    if len(call.args) < 2 or hints.first(sorted(call.callee.names), ("scaler",)) is None:
        return False
    return hints.first(call.args[1].all_names(), ("optimizer",)) is not None


def named_criterion(call: Call) -> bool:
    """Whether a module that is called with two arguments has the name of a loss, and not that of a
    model.
    """
    names = sorted(call.callee.names)
    named = hints.first(names, ("criterion",)) is not None and not hints.first(names, ("model",))
    return named and len(list(call.arguments())) > 1


def goes_back_as_it_is(value: Node, calls: list[Call]) -> bool:
    """Whether a backward starts from the value with only arithmetic in between, so that it is one
    number.
    """
    made = {id(call.result) for call in calls}
    seen, waiting = {id(value)}, [value]
    while waiting:
        node = waiting.pop()
        if ".backward" in node.uses:
            return True
        for other in (*node.after, *node.feeds):
            if id(other) not in seen and id(other) not in made:
                seen.add(id(other))
                waiting.append(other)
    handed = (c for c in calls if c.callee.names & {"scale", "backward", "manual_backward"})
    return any(id(argument) in seen for call in handed for argument in call.args)


BUSY = frozenset({
    "iter", "next", "called", "parameters", "optimizer", "optimizer?", "fit_model", "dataset", "mod",
    "divides", ".step", ".zero_grad", ".param_groups",
})  # fmt: skip
"""Uses that no batch has."""


def is_fetch(call: Call) -> bool:
    """Whether a call returns a batch, as ``x, y = get_batch("train")`` does."""
    parts = [part for (kind, _), part in call.result.parts.items() if kind == "[]"]
    if not parts or not any(u.startswith(("unpack:", "star:")) for u in call.result.uses):
        return False
    if any("constant" not in a.tags and not a.library for a in call.arguments()):
        return False
    return all(
        not part.uses & (BUSY | MODEL_ATTRIBUTES)
        and any("called with" in node.uses for node in part.downstream())
        for part in parts
    )
