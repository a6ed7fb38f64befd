"""Whether a program expects its model to be wrapped for several ranks already."""

import ast

from harness.sandbox.world.lending import Lender
from harness.sandbox.world.reading import ProgramReading, last_name
from harness.syntax import walk

WRAPPERS = frozenset({
    "DistributedDataParallel", "DDP", "Accelerator", "Fabric", "Trainer", "LightningModule",
    "TrainingArguments", "prepare", "setup", "setup_module", "notebook_launcher",
    "FullyShardedDataParallel", "FSDP", "fully_shard",
})  # fmt: skip
"""Calls and bases that wrap a model by themselves."""

DDP_ONLY = frozenset({"no_sync", "require_backward_grad_sync", "register_comm_hook"})
"""What only a wrapped model has."""

COLLECTIVES = frozenset({
    "all_reduce", "reduce_scatter_tensor", "reduce_scatter", "all_gather", "broadcast", "reduce",
    "all_gather_into_tensor", "all_reduce_coalesced", "gather", "all_to_all", "send", "isend",
})  # fmt: skip
"""Calls by which ranks exchange tensors."""

ASKING = frozenset(
    {"get_rank", "get_world_size", "barrier", "all_gather_object", "DistributedSampler"}
)
"""Calls that need a group as well."""

SETTING_UP = frozenset({
    "is_available", "is_initialized", "init_process_group", "is_nccl_available",
})  # fmt: skip


def is_expected(reading: ProgramReading, world_size: int) -> bool:
    """Whether free models have to come in DDP."""
    bases = {last_name(base) or "" for cls in reading.classes for base in cls.bases}
    if (WRAPPERS | _aliases(reading)) & (reading.called | bases):
        return False
    if DDP_ONLY & reading.mentioned:
        return True
    return world_size > 1 and not any(_exchanges_gradients(tree) for tree in _scopes(reading))


def _aliases(reading: ProgramReading) -> set[str]:
    """What wrappers are imported as: ``DistributedDataParallel as NativeDDP``."""
    imports = (n for n in reading.nodes if isinstance(n, ast.ImportFrom))
    return {a.asname for n in imports for a in n.names if a.asname and a.name in WRAPPERS}


def needs_group(reading: ProgramReading) -> bool:
    """Whether it talks to other ranks, and leaves the group to its reader."""
    return bool((COLLECTIVES - {"gather", "reduce"} | ASKING) & reading.called) and not (
        SETTING_UP & reading.called
    )


def _scopes(reading: ProgramReading) -> list[ast.AST]:
    """Functions, and the module without them."""
    functions = [n for n in reading.nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [*functions, *(s for s in reading.tree.body if not isinstance(s, ast.ClassDef))]


def _exchanges_gradients(scope: ast.AST) -> bool:
    """Whether gradients are handed to other ranks by hand: directly, or under a name they were given."""
    nodes = walk(scope)
    binding = [n for n in nodes if isinstance(n, BINDING)]
    given = {"grad", "grads"}
    for _ in binding:
        more = {t.id for n in binding if _names(_value(n)) & given for t in _stored(_target(n))}
        if more <= given:
            break
        given |= more
    calls = [n for n in nodes if isinstance(n, ast.Call) and last_name(n.func) in COLLECTIVES]
    return any(_names(a) & given for call in calls for a in call.args)


def _value(node: ast.AST) -> ast.AST:
    found = getattr(node, "value", None) or getattr(node, "iter", None)
    return found if isinstance(found, ast.AST) else node


def _target(node: ast.AST) -> ast.AST:
    targets = getattr(node, "targets", None)
    return ast.Tuple(list(targets)) if targets else getattr(node, "target", node)


BINDING = (ast.Assign, ast.For, ast.comprehension, ast.NamedExpr)
"""Where a name is given something."""


def _stored(tree: ast.AST) -> list[ast.Name]:
    return [n for n in walk(tree) if isinstance(n, ast.Name)]


def _names(tree: ast.AST) -> set[str]:
    found = {n.id for n in walk(tree) if isinstance(n, ast.Name)}
    return found | {n.attr for n in walk(tree) if isinstance(n, ast.Attribute)}


def builds_its_model(reading: ProgramReading, lender: Lender) -> bool:
    """Whether it trains a model that it builds, or has from a hub, and is lent none."""
    free = {lender.role(name) for name in lender.names}
    makes_one = reading.builds_models or reading.loads_a_model
    return makes_one and "model" not in free and not lender.values.parts
