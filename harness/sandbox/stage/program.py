"""A program on a stage: its free names are the workload's objects, and nothing else is replaced."""

import ast
import sys
import types
from collections.abc import Mapping

import torch
from torch import nn

from harness.sandbox.absent.inert import install_progress
from harness.sandbox.batches.callers import FILENAME
from harness.sandbox.frameworks import packages
from harness.sandbox.machine import arguments, cuda, devices, distributed
from harness.sandbox.names.table import libraries, table
from harness.sandbox.own.patience import Patience
from harness.sandbox.ready import ReadyProgram, compiled, namespace
from harness.sandbox.stage import copies, workers
from harness.sandbox.unbound import Unbound, no_input, parsed
from harness.sandbox.world.reading import ProgramReading
from harness.syntax import source_of
from harness.workloads.workload import Note


def prepare(
    program: str, stage: Mapping[str, object], rank: int, world_size: int, note: Note
) -> ReadyProgram:
    """Lend every free name what the stage has for it.

    Raises:
        Unbound: there is nothing for a name.
    """
    tree = parsed(program, FILENAME)
    packages.lend_imports(tree)
    module = namespace(input=no_input, **devices.LENT)
    sys.argv = ["candidate.py"]
    distributed.environment(rank, world_size)
    cuda.told(local_rank=rank, count=world_size)
    arguments.supplied_by(lambda name: _found(name, stage))
    workers.install(vars(module), note)
    copies.install(note)
    install_progress()
    reading = ProgramReading(tree, source_of(tree), table())
    given = {name: _found(name, stage) for name in reading.free if name not in vars(module)}
    given |= _read_first(tree, stage)
    vars(module).update(given)
    devices.map_calls(tree, bare=True)
    source = source_of(tree)
    code, left_out = compiled(tree)
    parameters = [one for one in given.values() if isinstance(one, nn.Module)]
    return ReadyProgram(
        module=module,
        code=code,
        source=source,
        journal=[f"{name}: {_said(one)}" for name, one in given.items()],
        models=tuple(one for one in parameters if any(True for _ in one.parameters())),
        optimizers=tuple(o for o in given.values() if isinstance(o, torch.optim.Optimizer)),
        patience=Patience(world_size, wanted=1 << 20),
        untaken=left_out,
    )


def _found(name: str, stage: Mapping[str, object]) -> object:
    """The object under a name, or under one that means the same; else a library."""
    if name in stage:
        return stage[name]
    role = table().role(name)
    for known, one in stage.items():
        if role is not None and table().role(known) == role:
            return one
    if name in libraries():
        return packages.lookup(libraries()[name])
    raise Unbound(name, "stands for nothing here; what is there are " + ", ".join(sorted(stage)))


def _read_first(tree: ast.Module, stage: Mapping[str, object]) -> dict[str, object]:
    """Names that the program binds and may read before: ``model = DDP(model)``."""
    bound = {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    return {name: stage[name] for name in sorted(bound & stage.keys())}


def _said(one: object) -> str:
    return one.__name__ if isinstance(one, types.ModuleType) else f"the {type(one).__name__} lent"
