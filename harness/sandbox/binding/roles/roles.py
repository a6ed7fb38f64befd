"""The role that a value plays: told by what is done with it, and by its name where that leaves a
choice.
"""

from collections.abc import Callable
from dataclasses import dataclass

from harness.sandbox.binding.flow import hints
from harness.sandbox.binding.flow.definitions import Instance
from harness.sandbox.binding.flow.graph import Call, Node
from harness.sandbox.binding.flow.switches import is_switch, switched
from harness.sandbox.binding.roles import plain
from harness.sandbox.binding.roles.reporting import is_shown
from harness.sandbox.binding.roles.signs import OF_DATA, is_loader, is_model
from harness.sandbox.binding.roles.whole import picked_role

Role = str
"""A word such as ``loader`` or ``max_norm``. ``resolver`` turns it into an object."""

ANNOTATIONS = {
    "DataLoader": "loader", "Optimizer": "optimizer", "GradScaler": "scaler",
    "LRScheduler": "scheduler", "_LRScheduler": "scheduler", "Dataset": "dataset",
    "device": "device", "DDP": "model", "DistributedDataParallel": "model",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Judge:
    """Decides roles. Some depend on what the program does elsewhere."""

    has_optimizer: bool
    """Whether the program itself builds an optimizer, or uses a free one unmistakably."""
    training_loader: bool
    """Whether some free loader is certainly used for training."""

    def role(self, node: Node) -> Role | None:
        """The role of a free value, ``None`` if neither usage nor name tells."""
        for rule in RULES:
            found = rule(self, node)
            if found is not None:
                return found
        return None


def made_role(node: Node) -> Role | None:
    """The role of a value that the program makes itself, by what it is made with."""
    path = node.library.removesuffix("()")
    last = path.rpartition(".")[2]
    if path.startswith("torch.optim."):
        return "scheduler" if "lr_scheduler" in path else "optimizer"
    if path.startswith("torch.nn.") and node.library.endswith("()"):
        return "criterion" if last.endswith("Loss") else "model"
    named = {"GradScaler": "scaler", "DataLoader": "loader", "device": "device"}.get(last)
    if named is not None:
        return named
    own = any(isinstance(t, Instance) and t.cls.module for t in node.targets)
    return "model" if is_model(node) or own else None


def attributes(node: Node) -> set[str]:
    """Names of attributes that are read, written or called."""
    return {use[1:] for use in node.uses if use.startswith(".")}


def is_unpacked(node: Node) -> bool:
    """Whether it is taken apart somewhere into as many values as it has."""
    return any(use.startswith("unpack:") for use in node.uses)


# ------------------------------------------------------------------------------------------- rules


def _annotated(judge: Judge, node: Node) -> Role | None:
    for use in sorted(node.uses):
        if use.startswith("annotated:"):
            found = ANNOTATIONS.get(use.removeprefix("annotated:"))
            if found is not None:
                return _which_loader(judge, node) if found == "loader" else found
    return None


def _engine(judge: Judge, node: Node) -> Role | None:
    drives = any(call.args for call in _method_calls(node, "backward"))
    return "engine" if drives else None


def _optimizer(judge: Judge, node: Node) -> Role | None:
    found = attributes(node)
    steps = "step" in found or "optimizer?" in node.uses
    if "optimizer" in node.uses and "scale" not in found:
        return "optimizer"
    if "param_groups" in found or (steps and found & {"zero_grad", "add_param_group"}):
        return "optimizer"
    return None


def _scaler(judge: Judge, node: Node) -> Role | None:
    if "called_scaler" in node.uses:
        return "called_scaler"
    found = attributes(node)
    scales = "scale" in found and (found & {"step", "update"} or _method_calls(node, "scale"))
    return "scaler" if scales or found & {"unscale_", "get_scale"} else None


def _model(judge: Judge, node: Node) -> Role | None:
    if "fit_model" in node.uses:
        return "lightning_model"
    if "criterion" in node.uses and ("model_call" not in node.uses or not is_model(node)):
        return "figure" if _measures(node) else "criterion"
    called = "model_call" in node.uses and "transform" not in node.uses
    return "model" if is_model(node) or called or "zero_grad" in attributes(node) else None


def _measures(node: Node) -> bool:
    """Whether it compares outputs with targets and nothing goes back from it: ``accuracy(out, y)``."""
    back = any(n.uses & {"to_loss", ".backward"} for c in node.calls for n in c.result.downstream())
    named = hints.first(node.all_names(), ("figure",)) is not None
    dropped = all(call.result.uses == {"discarded"} for call in node.calls)  # no scaler took it
    return bool(node.calls) and not back and (named or dropped)


def _step_only(judge: Judge, node: Node) -> Role | None:
    found = attributes(node)
    if found & {"get_last_lr", "last_epoch", "get_lr"}:
        return "scheduler"
    if "optimizer?" in node.uses and not node.uses & {"format", "compare", "to_loss"}:
        return "optimizer"
    named = hints.first(node.all_names(), ("scheduler", "optimizer"))
    if "step" not in found or (named is None and hints.first(node.all_names(), ("logger", "ema"))):
        return None
    if judge.has_optimizer and named != "optimizer":  # of two networks each may have one
        return "scheduler"
    return named or "optimizer"


def _several(judge: Judge, node: Node) -> Role | None:
    """``for optimizer in optimizers``, or in their ``values()``."""
    viewed = node.parts.get(("[]", "*")) if node.uses & {".values", ".items"} else None
    items = [part for key, part in node.items().items() if isinstance(key, int)]
    elements = [e for e in (node.element, viewed, *items) if e is not None and attributes(e)]
    if not elements or "called" in node.uses or is_loader(node) or _keyed(node):
        return None
    named = hints.first(node.all_names(), ("scheduler", "optimizer"))
    steps = all("step" in attributes(e) for e in elements)
    kinds = {_optimizer(judge, e) or (steps and named) or _step_only(judge, e) for e in elements}
    return f"{kinds.pop()}s" if len(kinds) == 1 and kinds <= {"optimizer", "scheduler"} else None


def _parameters(judge: Judge, node: Node) -> Role | None:
    element = node.element
    uses = element.uses if element is not None else set[str]()
    holds = uses & {".grad", ".requires_grad"} and not uses & OF_DATA
    return "parameters" if holds or "parameters" in node.uses else None


def _data(judge: Judge, node: Node) -> Role | None:
    found = attributes(node)
    if "dataset" in node.uses:
        return "dataset"
    measured = "len" in node.uses and hints.first(node.all_names(), ("loader", "dataset"))
    if measured == "dataset":
        return "dataset"
    if is_loader(node) or measured or "sampler" in found:
        return _which_loader(judge, node)
    return "sampler" if found == {"set_epoch"} else None


def _which_loader(judge: Judge, node: Node) -> Role:
    if "iter_backward" in node.uses:
        return "loader"
    if hints.first(node.all_names()[:1], ("validation",)):
        return "validation"
    return "validation" if judge.training_loader and "iter_no_grad" in node.uses else "loader"


NOT_A_LOSS = frozenset({
    "divides", "mod", "loss_target", "multiplies_loss", "model_arg", "model_extra", "model_spread",
    "loss_output", "loss_extra", "max_norm", "spread", "called",
})  # fmt: skip
"""Uses of values that go into a loss and are none themselves."""


def _loss(judge: Judge, node: Node) -> Role | None:
    enters = "to_loss" in node.uses and not _named_target(node)
    goes_back = "backward" in attributes(node) or enters
    return "loss" if goes_back and not node.uses & NOT_A_LOSS and not _keyed(node) else None


UNPACKED = frozenset({"unpack:2", "unpack:3", "star:2", "star:3"})


def _batch(judge: Judge, node: Node) -> Role | None:
    if "called" in node.uses:
        return None
    enters = any(part.uses & {"model_arg", "loss_target"} for part in node.parts.values())
    taken_apart = _keyed(node) or node.uses & UNPACKED
    return "batch" if (enters and taken_apart) or "model_spread" in node.uses else None


def _part_of_a_batch(judge: Judge, node: Node) -> Role | None:
    if "called" in node.uses:
        return None
    if "model_arg" in node.uses:
        return "input"
    if node.uses & {"loss_target", "loss_extra", "multiplies_loss", "multiplies_output"}:
        return _target_or_mask(node)
    if "loss_output" in node.uses:
        return "output"
    if "to_loss" in node.uses and _named_target(node):
        return "target"
    return "step" if "mod_left" in node.uses else None


def _named_target(node: Node) -> bool:
    """What enters a loss by no operation that tells, such as a quotient, is told by its name."""
    return hints.first(node.all_names()[:1], ("target",)) is not None


def _target_or_mask(node: Node) -> Role:
    named = hints.first(node.all_names(), ("target", "mask"))
    if "loss_target" in node.uses:
        return "mask" if "multiplies_loss" in node.uses and named == "mask" else "target"
    return "target" if named == "target" else "mask"


def _callable(judge: Judge, node: Node) -> Role | None:
    if "called" not in node.uses:
        return None
    if "unwraps" in node.uses:
        return "unwrap"
    return "transform" if "transform" in node.uses else "factory"


def _container(judge: Judge, node: Node) -> Role | None:
    found = attributes(node)
    if found & {"update", "step"} and hints.first(node.all_names(), ("ema",)):
        return "logger"
    if found and hints.first(node.all_names()[:1], ("logger",)):
        return "logger"
    methods = {name for name, part in node.attributes().items() if part.calls}
    if _keyed(node) and not methods - {"get", "items"}:
        return "mapping"
    if not node.attributes():
        return None
    calls = [call for part in node.parts.values() for call in part.calls]
    reports = all(not call.result.uses - {"discarded"} for call in calls)
    only_methods = methods == set(node.attributes())
    return "logger" if only_methods and reports else "namespace"


def _named(judge: Judge, node: Node) -> Role | None:
    names = node.all_names()
    if ("called with" in node.uses or not node.uses) and hints.first(names, ("loader",)):
        return _which_loader(judge, node)
    things = ("device", "target", "mask", "logger", "model", "optimizer")
    found = hints.first(names, plain.BY_NAME) or hints.first(names, things)
    if found is None and node.uses and node.uses <= {"called with", "model_extra"}:
        return hints.first(names, ("criterion",)) or "ignored"
    return found


def _switch(judge: Judge, node: Node) -> Role | None:
    return switched(node) if is_switch(node) else None


def _shown(judge: Judge, node: Node) -> Role | None:
    return "shown" if is_shown(node) else None


def is_untouched(node: Node) -> bool:
    """Whether it is a parameter that the function never reads."""
    uses = {use for use in node.uses if not use.startswith("annotated:")}
    return not (uses or node.after or node.feeds or node.parts or node.calls)


def _untouched(judge: Judge, node: Node) -> Role | None:
    return "ignored" if is_untouched(node) else None


def _keyed(node: Node) -> bool:
    return any(isinstance(key, str) and key != "*" for key in node.items())


def _method_calls(node: Node, name: str) -> list[Call]:
    part = node.parts.get((".", name))
    return part.calls if part is not None else []


def _plain(decide: Callable[[Node], Role | None]) -> Callable[[Judge, Node], Role | None]:
    return lambda _, node: decide(node)


RULES: tuple[Callable[[Judge, Node], Role | None], ...] = (
    _annotated, _engine, _optimizer, _scaler, _model, _step_only, _several, _parameters,
    _plain(plain.functions), _plain(picked_role), _data, _plain(plain.schedule), _plain(plain.device),
    _plain(plain.choice), _plain(plain.modulus), _plain(plain.number), _plain(plain.size), _loss, _batch,
    _part_of_a_batch, _plain(plain.idle), _plain(plain.called), _callable, _container, _named,
    _plain(plain.counter), _switch, _shown, _untouched,
)  # fmt: skip
"""The rules, in the order in which they are tried."""
